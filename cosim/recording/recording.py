"""Recording: what the recorder of a run keeps besides rows of the events that it is told."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import attrs

from cosim.records.rows import Span

if TYPE_CHECKING:
    from cosim.clock.event_clock import Clock
    from cosim.engine.clients.rest import Rest

Write = Callable[[Iterable[Span]], None]
"""Function that keeps spans that have ended, perhaps before others that are already kept."""


class CellClients(NamedTuple):
    """Clients of a cell.

    Attributes:
        edge: Its edge server.
        which: Their numbers, as an index.
    """

    edge: str
    which: slice


@attrs.frozen(kw_only=True, eq=False)
class Recording:
    """Options of a recorder.

    Attributes:
        rest: Makes the recorder of clients' rest between their activities; None if they take no power then.
        num_remembered: Number of clients whose history parts read; 0 if no part reads it.
        tallied: Cells with a tally of each edge round on arrays, in place of rows of its clients: all, or
            none.
    """

    rest: "Callable[[Clock, Write], Rest] | None" = None
    num_remembered: int = 0
    tallied: tuple[CellClients, ...] = ()


NOTHING_ELSE = Recording()
"""Rows of all events that are told, and no more."""
