"""Station: servers with a queue on the event clock, by default one server, first come first served.

Packets of the public arrive by a rule (`cosim.queues.arrivals`); messages of the learning system enter the
same queue. Each packet has an arrival and a departure, both events: the waiting time of a message emerges
from them. A message enters when everything else of its instant is over; messages of one instant queue in the
order of their senders' names, messages of one sender in the order of sending. It cannot be recalled: packets
that their sender has given up stay and take their service. A discipline decides the order of service, and
which packets leave without service (`cosim.queues.port`); if one of its packets does, a message is never
done.

The public's arrivals, its services, the messages' services and the initial work are streams of
their own, so no message changes a draw of the public.

Records written: `Traffic`, one per station when the run ends, with the packets that were lost.

Scope and limitations: a service is not interrupted. The load counts the public alone; messages add to it.
Names of stations must differ, as they name the streams.

Usage::

    station = Station(sim, "path", PoissonArrivals(), service=Exponential(), initial_work=StationaryWork())
    message = station.send("client-0001", num_packets=1)
    yield from sim.spend("client-0001", "send", message.done)

Validation: `arrays` gives the same packets the same sojourn times; `cosim validate delay-laws`.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cosim.clock.simulation import Event, Simulation
from cosim.configuration import ConfigurationError, at_least, refuse
from cosim.names import by_number
from cosim.queues.arrivals import BLOCK_SIZE, Arrivals
from cosim.queues.disciplines import FirstComeFirstServed
from cosim.queues.initial_work import InitialWork
from cosim.queues.message import Message
from cosim.queues.port import Discipline, Queued
from cosim.queues.service import Durations, ServiceLaw
from cosim.records.rows import Traffic

FIRST_COME = FirstComeFirstServed()


class Packet(NamedTuple):
    """A packet that has left; `sender` is empty for the public's."""

    arrival_s: float
    service_s: float
    departure_s: float
    sender: str


class Station:
    """Servers and their queue.

    Args:
        name: Names the random streams.
        arrivals: Instants at which packets of the public come.
        service: Law of the service times.
        initial_work: The work at time 0, all at one server.
        discipline: Order of service.
        num_servers: Servers, each of which works on one packet at a time.
        message_service: Law of the service times of the messages' packets; None means the public's law.
        keep_packets: True if `packets` keeps every packet that was served, in the order of departures, and
            `lost` every one that was lost.

    Attributes:
        num_arrived: Packets that have come.
        num_served: Packets that have left after service.
        num_lost: Packets that have left without service.
        num_client_packets: Packets of messages, of all that have come.
        num_lost_client_packets: Packets of messages, of all that were lost.

    Raises:
        ConfigurationError: Less than one server; initial work that does not suit the queue.
    """

    def __init__(
        self,
        sim: Simulation,
        name: str,
        arrivals: Arrivals,
        service: ServiceLaw,
        initial_work: InitialWork,
        *,
        discipline: Discipline = FIRST_COME,
        num_servers: int = 1,
        message_service: ServiceLaw | None = None,
        keep_packets: bool = False,
    ) -> None:
        if broken := at_least(1)(num_servers):
            raise refuse("Station", "num_servers", num_servers, broken)
        self.name = name
        self.load = arrivals.mean_rate_per_s * service.mean_s / num_servers
        initial_work.check(f"Station {name!r}", self.load)
        in_line = num_servers == 1 and discipline.form == "in_order"
        initial_work.check_order(f"Station {name!r}", in_line=in_line, is_poisson=arrivals.is_poisson)
        self.initial_work_s = initial_work.draw_work_s(self.load, service, sim.stream(name, "start"))
        self.num_served, self.num_arrived, self.num_lost = 0, 0, 0
        self.num_client_packets, self.num_lost_client_packets = 0, 0
        self.packets: list[Packet] | None = [] if keep_packets else None
        self.lost: list[Queued] | None = [] if keep_packets else None
        self._sim = sim
        self._queue, self._num_idle = discipline.queue(), num_servers
        self._in_service: dict[Event, Queued] = {}
        self._newcomers: list[Message] = []
        gaps, services, message_services = (
            sim.stream(name, purpose) for purpose in ("arrivals", "service", "message service")
        )
        self._service_s = _one_by_one(lambda count: service.draw(services, count))
        messages = message_service or service
        self._message_service_s = _one_by_one(lambda count: messages.draw(message_services, count))
        if self.initial_work_s > 0.0:
            self._num_idle -= 1
            self._call_after(self.initial_work_s, self._go_on)
        self._gap_s, self._arrivals = arrivals.gaps_s(gaps), type(arrivals).__name__
        self._await_arrival()
        sim.recorder.at_end.append(self.row)

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
        self._await_arrival()

    def _await_arrival(self) -> None:
        """Let the next packet of the public come, if there is one.

        Raises:
            ConfigurationError: The gap before it is none.
        """
        gap_s = next(self._gap_s, math.inf)
        if not gap_s >= 0.0:
            raise ConfigurationError(
                f"{self._arrivals}.gaps_s: gives {gap_s}: a gap must be 0 s or above. Use the times between "
                "arrivals, in their order."
            )
        if gap_s < math.inf:
            self._call_after(gap_s, self._arrive)

    def _enter(self, service_s: float, message: Message | None) -> None:
        packet = Queued(self._sim.now_s, service_s, message, self._lose)
        self.num_arrived += 1
        self.num_client_packets += message is not None
        if self._num_idle:
            self._num_idle -= 1
            self._serve(packet)
        else:
            self._queue.enter(packet)

    def _serve(self, packet: Queued) -> None:
        timer = self._sim.timer(packet.service_s)
        timer.callbacks.append(self._depart)  # type: ignore[union-attr]
        self._in_service[timer] = packet

    def _lose(self, packet: Queued) -> None:
        """Count a packet that leaves without service."""
        self.num_lost += 1
        self.num_lost_client_packets += packet.message is not None
        if self.lost is not None:
            self.lost.append(packet)

    def row(self, now_s: float) -> Traffic:
        """Packets of the whole run."""
        return Traffic(
            self.name,
            0.0,
            now_s,
            self.num_arrived,
            self.num_lost,
            self.num_client_packets,
            self.num_lost_client_packets,
        )

    def _go_on(self, _timer: Event | None = None) -> None:
        """Let a server that has become free serve the next packet."""
        packet = self._queue.next(self._sim.now_s)
        if packet is None:
            self._num_idle += 1
        else:
            self._serve(packet)

    def _depart(self, timer: Event) -> None:
        arrival_s, service_s, message, _ = self._in_service.pop(timer)
        self.num_served += 1
        if message is not None:
            message.count_served()
        if self.packets is not None:
            sender = "" if message is None else message.sender
            self.packets.append(Packet(arrival_s, service_s, self._sim.now_s, sender))
        self._go_on()


def _one_by_one(draw: Callable[[int], Durations]) -> Iterator[float]:
    while True:
        yield from draw(BLOCK_SIZE).tolist()
