"""Downlink: the port of the ways on which models travel from edge servers to their clients.

A downlink gives each cell a link. A client opens a download on it, receives until it is done, and closes it,
also where a deadline cuts it off.

Scope and limitations: a client that receives takes its static power. No plan knows how long a download takes,
so protocols that plan are refused.

Usage::

    @configuration
    class CableDown(Downlink):
        \"\"\"A cable to each client.

        Attributes:
            rate_bps: Rate of a cable. [no source]
        \"\"\"

        rate_bps: float = field(positive, default=1e6)

        def links(self, sim, cells):
            return [CableDownLink(sim, self.rate_bps) for _ in cells]

    class CableDownLink(CellDownlink):
        def __init__(self, sim, rate_bps):
            self.sim, self.rate_bps = sim, rate_bps

        def open(self, client, payload, job):
            return Download(self.sim.timer(payload.bits / self.rate_bps))
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from cosim.configuration import ConfigurationError, Port, configuration
from cosim.links.payload import Payload
from cosim.links.uplink import Cell, Job
from cosim.simulation import Event, Simulation


class Download:
    """A download on its way.

    Attributes:
        done: Comes when all of it has arrived.
    """

    def __init__(self, done: Event) -> None:
        self.done = done

    def close(self) -> None:
        """End it, done or not, and free what it holds."""


class CellDownlink(ABC):
    """What the clients of a cell receive over."""

    @abstractmethod
    def open(self, client: str, payload: Payload, job: Job) -> Download | None:
        """Begin a download at this instant; None: all of it is there."""


@configuration
class Downlink(Port, ABC):
    """The way on which models travel from edge servers to their clients."""

    @property
    def takes_time(self) -> bool:
        """Whether a download lasts; then protocols that plan how long jobs take are refused."""
        return True

    def fit(self, system: Any) -> None:
        """Refuse protocols whose plans would not know of downloads."""
        if self.takes_time and system.protocol.plans_times:
            raise ConfigurationError(
                f"System.downlink = {type(self).__name__}: {type(system.protocol).__name__} plans how long "
                "jobs take, and no plan knows how long a download does. Usual fix: downlink = "
                "Instantaneous, or a protocol that does not plan."
            )

    @abstractmethod
    def links(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellDownlink]:
        """The downlink of each cell, in their order; asked once for a simulation."""


@configuration
class Instantaneous(Downlink):
    """Models are with the clients at once."""

    @property
    def takes_time(self) -> bool:
        """None passes."""
        return False

    def links(self, sim: Simulation, cells: Sequence[Cell]) -> Sequence[CellDownlink]:
        """One that has all there."""
        return [_AtOnce()] * len(cells)


class _AtOnce(CellDownlink):
    def open(self, client: str, payload: Payload, job: Job) -> None:
        """Everything is there."""
