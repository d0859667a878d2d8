"""Trainee: what an asynchronous server gives jobs to, and a job that it has given."""

from collections.abc import Callable

import attrs

from cosim.clock.simulation import Dropped, Process, Simulation
from cosim.jobs.cell import Availability
from cosim.values.pending import PendingModel, PendingUpdate


@attrs.define(eq=False, kw_only=True)
class Flight:
    """A job that somebody has been given.

    Attributes:
        client: Who has it: a client, or the edge server of a cell.
        number: Which of its jobs, from 0.
        start: The model that it starts from.
        version: Which of the server's versions that is.
        result: What came of it; None: it is under way.
    """

    client: str
    number: int
    start: PendingModel
    version: int
    start_s: float
    arrival_s: float = 0.0
    result: PendingUpdate | PendingModel | Dropped | None = None


@attrs.frozen(kw_only=True, eq=False)
class Trainee:
    """Who may be given jobs.

    Attributes:
        edge: The edge server of its cell; itself, where it is one.
        play: Does a job; returns an update or a model, as it reaches the server, or `Dropped`.
        availability: Whether it is there; None: it always is.
    """

    name: str
    edge: str
    play: Callable[[Simulation, Flight], Process]
    availability: Availability | None = None

    @property
    def is_there(self) -> bool:
        """Whether it is there at this instant."""
        return self.availability is None or self.availability.is_there
