"""Downlink: the port of the ways on which models travel from edge servers to their clients.

A downlink gives each cell a link. A client opens a download on it, waits without power until it is granted,
receives until it is done, and closes it, also where a deadline cuts it off. A download is an `Upload` that
goes the other way.

Scope and limitations: a client that receives takes its receiving and its static power; what servers take is
not counted. No plan knows how long a download takes, so protocols that plan are refused where it counts.

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
            return SteadyUpload(self.sim, payload.bits, self.rate_bps)
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import (
    HELPERS,
    ConfigurationError,
    Port,
    Shortcuts,
    configuration,
    passed_over,
    stand_for,
)
from cosim.links.model_codec import ModelCodec
from cosim.links.payload import Payload
from cosim.links.uplink import ByEvents, Cell, Job, Places, Upload, Uploads
from cosim.simulation import Simulation


class CellDownlink(Shortcuts, ABC):
    """What the clients of a cell receive over.

    Attributes:
        ends_together: Whether those of an edge round have their models at the same instant; a class says so.
    """

    shortcuts = stand_for(downloads=("open", HELPERS))
    ends_together: ClassVar[bool] = False

    def by_events(self) -> ByEvents:
        """Why `downloads` knows no arrays."""
        return ByEvents(None, passed_over(self))

    def begin_round(self, num_clients: int, places: Places | None = None) -> None:
        """Take note that so many clients receive from now on, for an edge round or one by one.

        Args:
            places: Those of an edge round among the clients of the cell, ascending, who all open their
                downloads at this instant; None: whoever comes.
        """

    @abstractmethod
    def open(self, client: str, payload: Payload, job: Job) -> Upload | None:
        """Begin a download at this instant; None: all of it is there."""

    def downloads(
        self, places: Places, begins_s: NDArray[np.float64], payload: Payload, job: Job
    ) -> Uploads | None:
        """The downloads of the edge round that has begun as arrays, where their ends follow from begins.

        To the last bit those of `open`, if none is closed before it is done but all at once at the end of the
        round. None: the round is played by events.

        Args:
            places: The participants' among the clients of the cell, ascending.
            begins_s: When each opens its download, shape (participants,): this instant.
        """
        return None


@configuration
class Downlink(Port, ABC):
    """The way on which models travel from edge servers to their clients."""

    @property
    def takes_time(self) -> bool:
        """Whether a download lasts."""
        return True

    @property
    def model_codec(self) -> ModelCodec | None:
        """What models are on their way down; None: they arrive as they are, with bits by `System.codec`."""
        return None

    @property
    def counts_in_round(self) -> bool:
        """Whether an edge round's deadline, its first so many and energy budgets count the downloads.

        Else all participants have received before the round's clock starts, and who has waits for the others.
        """
        return True

    def fit(self, system: Any) -> None:
        """Refuse protocols whose plans would not know of downloads, and those without rounds to count in."""
        own, protocol = type(self).__name__, type(system.protocol).__name__
        if self.model_codec is not None and not system.protocol.sends_all_the_same:
            raise ConfigurationError(
                f"System.downlink = {own}: {type(self.model_codec).__name__} changes models, and {protocol} "
                "sends more than a model. Usual fix: leave model_codec out."
            )
        if self.takes_time and self.counts_in_round and system.protocol.plans_times:
            raise ConfigurationError(
                f"System.downlink = {own}: {protocol} plans how long jobs take, and no plan knows how long a "
                "download does. Usual fix: counts_in_round = false, so that a round begins when all have "
                "received; downlink = Instantaneous; or a protocol that does not plan."
            )
        if not self.counts_in_round and not system.protocol.plays_edge_rounds:
            raise ConfigurationError(
                f"System.downlink = {own}: with counts_in_round = false clients of an edge round wait for "
                f"each other, and {protocol} gives them jobs one by one. Usual fix: leave it out."
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
