"""Trainee: a client or cell that an asynchronous server gives jobs, and a job that it was given."""

from collections.abc import Callable

import attrs

from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Process, Simulation
from cosim.jobs.cell import Availability
from cosim.values.pending import PendingModel, PendingUpdate


@attrs.define(eq=False, kw_only=True)
class Flight:
    """A job that a trainee was given.

    Attributes:
        client: Name of the trainee: a client, or the edge server of a cell.
        number: Number of the job among its jobs, from 0.
        model: Model that it starts from.
        version: The server's version of that model.
        result: Result of the job; None while it is under way.
    """

    client: str
    number: int
    model: PendingModel
    version: int
    start_s: float
    arrival_s: float = 0.0
    result: PendingUpdate | PendingModel | Dropped | None = None


@attrs.frozen(kw_only=True, eq=False)
class Trainee:
    """A client or cell that may be given jobs.

    Attributes:
        edge: The edge server of its cell; itself, if it is one.
        run: Does a job; returns an update or a model, as it reaches the server, or `Dropped`.
        availability: Its presence; None means that it is always there.
    """

    name: str
    edge: str
    run: Callable[[Simulation, Flight], Process]
    availability: Availability | None = None

    @property
    def is_present(self) -> bool:
        """True if it is present at this instant."""
        return self.availability is None or self.availability.is_present

    @property
    def is_gone(self) -> bool:
        """True if it is never there again."""
        return self.availability is not None and self.availability.is_over
