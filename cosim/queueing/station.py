"""Station: one server with a queue on the event clock, first in, first out.

Packets of the public arrive in a Poisson stream; messages of the learning system enter the same queue. Each
packet has an arrival and a departure, both events: what a message waits for emerges from them. A message
enters when everything else of its instant is over; messages of one instant queue in the order of the names of
their senders, those of one sender in the order of sending. It cannot be recalled: packets that their sender
has given up stay and take their service.

The public's arrivals, its services, the messages' services and the work at the start are streams of
their own, so no message moves a draw of the public.

Scope and limitations: unlimited room, no priorities, no losses. The load counts the public alone; messages
add to it. Names of stations must differ, as they name the streams.

Usage::

    station = Station(sim, "path", arrival_rate_per_s=2.0, service=Exponential(), start=StationaryStart())
    message = station.send("client-0001", num_packets=1)
    yield from sim.spend("client-0001", "send", message.done)

Validation: `arrays` gives the same packets the same sojourn times.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cosim.configuration import not_negative, refuse
from cosim.names import by_number
from cosim.queueing.service import Durations, ServiceLaw
from cosim.queueing.start import Start
from cosim.simulation import Event, Simulation

BLOCK_SIZE = 1024
"""Numbers drawn from a stream at once, whatever the law and the length of the run."""


class Message:
    """What a sender has put into a queue.

    Attributes:
        sender: Who sent it.
        num_packets: Its packets.
        num_served: Those that have left.
        done: Comes when the last has left.
    """

    def __init__(self, sender: str, num_packets: int, done: Event) -> None:
        self.sender = sender
        self.num_packets = num_packets
        self.num_served = 0
        self.done = done

    def count_served(self) -> None:
        """Note that a packet has left."""
        self.num_served += 1
        if self.num_served == self.num_packets:
            self.done.succeed()


class Packet(NamedTuple):
    """A packet that has left; `sender` is empty for the public's."""

    arrival_s: float
    service_s: float
    departure_s: float
    sender: str


class Station:
    """A server and its queue.

    Args:
        name: Names the random streams.
        arrival_rate_per_s: Packets of the public per second; 0 for none.
        service: Law of the service times, of the public's packets and of the messages'.
        start: The work in the queue at time 0.
        keep_packets: Whether `packets` keeps every packet that has left, in the order of service.

    Raises:
        ConfigurationError: A negative arrival rate; a stationary start at a load of 1 or more.
    """

    def __init__(
        self,
        sim: Simulation,
        name: str,
        arrival_rate_per_s: float,
        service: ServiceLaw,
        start: Start,
        *,
        keep_packets: bool = False,
    ) -> None:
        broken = not_negative(arrival_rate_per_s)
        if broken:
            raise refuse("Station", "arrival_rate_per_s", arrival_rate_per_s, broken)
        self.name = name
        self.load = arrival_rate_per_s * service.mean_s
        start.check(f"Station {name!r}", self.load)
        self.initial_work_s = start.draw_work_s(self.load, service, sim.stream(name, "start"))
        self.num_served = 0
        self.packets: list[Packet] | None = [] if keep_packets else None
        self._sim = sim
        self._waiting: deque[tuple[float, float, Message | None]] = deque()
        self._in_service: tuple[float, float, Message | None] | None = None
        self._newcomers: list[Message] = []
        gaps, services, message_services = (
            sim.stream(name, purpose) for purpose in ("arrivals", "service", "message service")
        )
        self._service_s = _one_by_one(lambda count: service.draw(services, count))
        self._message_service_s = _one_by_one(lambda count: service.draw(message_services, count))
        if self.initial_work_s > 0.0:
            self._in_service = (sim.now_s, self.initial_work_s, None)
            self._call_after(self.initial_work_s, self._start_next)
        if arrival_rate_per_s > 0.0:
            self._gap_s = _one_by_one(lambda count: gaps.standard_exponential(count) / arrival_rate_per_s)
            self._call_after(next(self._gap_s), self._arrive)

    def send(self, sender: str, num_packets: int) -> Message:
        """Put a message at the end of the queue; its packets arrive at this instant.

        Raises:
            ValueError: Less than one packet.
        """
        if num_packets < 1:
            raise ValueError(f"{sender} cannot send {num_packets} packets: a message has at least one")
        if not self._newcomers:
            self._sim.end_of_instant().callbacks.append(self._admit)  # type: ignore[union-attr]
        message = Message(sender, num_packets, self._sim.event())
        self._newcomers.append(message)
        return message

    def _call_after(self, delay_s: float, callback: Callable[[Event], None]) -> None:
        self._sim.timer(delay_s).callbacks.append(callback)  # type: ignore[union-attr]

    def _admit(self, _end_of_instant: Event) -> None:
        newcomers, self._newcomers = self._newcomers, []
        for message in sorted(newcomers, key=lambda message: by_number(message.sender)):
            for _ in range(message.num_packets):
                self._enter(next(self._message_service_s), message)

    def _arrive(self, _timer: Event) -> None:
        self._enter(next(self._service_s), None)
        self._call_after(next(self._gap_s), self._arrive)

    def _enter(self, service_s: float, message: Message | None) -> None:
        self._waiting.append((self._sim.now_s, service_s, message))
        if self._in_service is None:
            self._start_next()

    def _start_next(self, _timer: Event | None = None) -> None:
        self._in_service = packet = self._waiting.popleft() if self._waiting else None
        if packet is not None:
            self._call_after(packet[1], self._depart)

    def _depart(self, _timer: Event) -> None:
        assert self._in_service is not None
        arrival_s, service_s, message = self._in_service
        self.num_served += 1
        if message is not None:
            message.count_served()
        if self.packets is not None:
            sender = "" if message is None else message.sender
            self.packets.append(Packet(arrival_s, service_s, self._sim.now_s, sender))
        self._start_next()


def _one_by_one(draw: Callable[[int], Durations]) -> Iterator[float]:
    while True:
        yield from draw(BLOCK_SIZE).tolist()
