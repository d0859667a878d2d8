"""Recording: what the recorder of a run keeps beside the rows of what it is told, known before it is made."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import attrs

from cosim.records.rows import Span

if TYPE_CHECKING:
    from cosim.clock.event_clock import Clock
    from cosim.engine.clients.rest import Rest

Write = Callable[[Iterable[Span]], None]
"""Keeps spans that have ended, perhaps before others that are kept."""


class CellClients(NamedTuple):
    """The clients of a cell.

    Attributes:
        edge: Its edge server.
        which: Their numbers, as an index.
    """

    edge: str
    which: slice


@attrs.frozen(kw_only=True, eq=False)
class Recording:
    """What a recorder keeps.

    Attributes:
        rest: Makes what writes down what clients do between their activities; None: they take no power then.
        num_remembered: Clients whose history parts read; 0: none reads it.
        tallied: Cells of which a tally of each edge round on arrays is kept, in place of rows of its clients:
            all, or none.
    """

    rest: "Callable[[Clock, Write], Rest] | None" = None
    num_remembered: int = 0
    tallied: tuple[CellClients, ...] = ()


NOTHING_ELSE = Recording()
"""Rows of all that is told, and of nothing else."""
