"""Queued link: updates wait in queues with packets of the public.

An update is a message to a station (`station`): one packet as in the VHFL paper, or as many as its bits need.
An upload that its sender gives up does not change the queue: late packets stay in their queue and take their
service.

Scope and limitations: only the uplink; one station on each path, no loss except by lateness, unless the
discipline loses a packet (`FiniteBuffer`, `Impatient`) and with it the whole update; no reaction of the
public's traffic to congestion. The paper has no energy model: here a client sends, at its transmit power,
from the start of its upload until it has arrived or been given up, so waiting in the queue costs it as well.

Usage::

    uplink = QueuedLink(service=HyperExponential(weights=(0.3, 0.7)))
    (link,) = uplink.of_cells(sim, [cell])
    upload = link.open("client-0001", payload, Job(1, 0, 0), 0.2)

Source: Wan et al., "How global observation works in federated learning" (VHFL), Sections II-A and IV.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from cosim.clock.simulation import Event, Simulation
from cosim.configuration import ConfigurationError, at_least, knob, part
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.links.port import Cell, CellLink, Link
from cosim.links.upload import Upload
from cosim.queues.arrivals import Arrivals, PoissonArrivals
from cosim.queues.disciplines import FirstComeFirstServed
from cosim.queues.initial_work import InitialWork, StationaryWork
from cosim.queues.message import Message
from cosim.queues.paths import OwnPaths, Paths
from cosim.queues.port import Discipline
from cosim.queues.service import HyperExponential, ServiceLaw
from cosim.queues.station import Station
from cosim.records.rows import UP


@part
class QueuedLink(Link):
    """Link through queues that the clients share with the public, as in a public network.

    Attributes:
        arrivals: Instants at which packets of the public come to each station. [VHFL, Section V-E: Poisson]
        service: Law of the service times. [VHFL, Section V-E]
        paths: Rule for clients that share a queue. [VHFL, Section IV: none]
        packet_bits: Largest packet; None means that every message is one packet. [VHFL, Section IV: none]
        initial_work: The work in the queues at time 0. [VHFL, Appendix B: steady state]
        discipline: Order of service. [VHFL, Section IV: first come first served]
        num_servers: Servers of each station. [VHFL, Section IV: one]
        message_service: Law of the service times of the clients' packets; None means the public's law. [VHFL,
            Section IV: none]
    """

    directions: ClassVar[tuple[str, ...]] = (UP,)
    arrivals: Arrivals = PoissonArrivals()
    service: ServiceLaw = HyperExponential()
    paths: Paths = OwnPaths()
    packet_bits: int | None = knob(at_least(1), default=None)
    initial_work: InitialWork = StationaryWork()
    discipline: Discipline = FirstComeFirstServed()
    num_servers: int = knob(at_least(1), default=1)
    message_service: ServiceLaw | None = None

    def __attrs_post_init__(self) -> None:
        self.initial_work.check("QueuedLink", self.load)

    @property
    def load(self) -> float:
        """Share rho of the time that the public keeps a server busy, if below 1."""
        return self.arrivals.mean_rate_per_s * self.service.mean_s / self.num_servers

    @override
    def fit(self, system: Any) -> None:
        """Refuse initial work that does not suit the order of service."""
        in_line = self.num_servers == 1 and self.discipline.form == "in_order"
        self.initial_work.check_order("QueuedLink", in_line=in_line, is_poisson=self.arrivals.is_poisson)

    @override
    def of_cells(self, sim: Simulation, cells: Sequence[Cell]) -> "list[QueueLink]":
        """Build the stations, and the link of each cell.

        Raises:
            ConfigurationError: A client has no path.

        Warns:
            UserWarning: A load of 1 or more.
        """
        if self.load >= 1.0:
            warnings.warn(
                f"QueuedLink: a load of rho = {self.load:g} is 1 or more, so queues grow without bound as "
                "long as the run lasts, and no result is stationary.",
                stacklevel=2,
            )
        names = self.paths.stations(cells)
        lost = [client for cell in cells for client in cell.clients if client not in names]
        if lost:
            raise ConfigurationError(
                f"{type(self.paths).__name__}.stations gives no station for {len(lost)} clients, such "
                f"as {lost[0]}. Give one for every client of every cell."
            )
        stations = {
            name: Station(
                sim,
                name,
                self.arrivals,
                self.service,
                self.initial_work,
                discipline=self.discipline,
                num_servers=self.num_servers,
                message_service=self.message_service,
            )
            for name in dict.fromkeys(names.values())
        }
        of_clients = {client: stations[name] for client, name in names.items()}
        return [QueueLink(of_clients, self.packet_bits) for _ in cells]


class QueuedUpload(Upload):
    """Upload through a queue; closing it changes nothing, as its packets stay in the queue."""

    def __init__(self, bits: float, message: Message) -> None:
        self.done: Event = message.done
        self._bits = bits
        self._message = message

    @property
    @override
    def bits_left(self) -> float:
        """Bits of the upload, in proportion to the packets that have not left."""
        num_left = self._message.num_packets - self._message.num_served
        return self._bits * num_left / self._message.num_packets


class QueueLink(CellLink):
    """Paths of a cell's clients through queues.

    Args:
        stations: Client -> the station on its way.
        packet_bits: Largest packet; None means that every message is one packet.
    """

    sends_while_queued: ClassVar[bool] = True

    def __init__(self, stations: Mapping[str, Station], packet_bits: int | None) -> None:
        self._stations, self._packet_bits = stations, packet_bits

    @override
    def open(self, client: str, payload: Payload, job: Job, tx_power_w: float | None = None) -> QueuedUpload:
        """Put a message into the client's queue; power and job have no effect on a queue."""
        num_packets = 1 if self._packet_bits is None else max(1, int(-(-payload.bits // self._packet_bits)))
        return QueuedUpload(payload.bits, self._stations[client].send(client, num_packets))
