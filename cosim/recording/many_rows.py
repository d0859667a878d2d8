"""Many rows: rows of rounds on arrays, and of rest, made many at a time when they are handed over."""

import math
from typing import TYPE_CHECKING

from cosim.recording.round_rows import RoundRows, columns_of
from cosim.records.columns import Columns, stacked
from cosim.records.rows import Row, Span

if TYPE_CHECKING:
    from cosim.engine.clients.rest import Rested


class ManyRows:
    """Rounds that have ended, in that order, and rest."""

    def __init__(self) -> None:
        self._rounds: list[RoundRows] = []
        self._rested: list[Rested] = []
        self._forgotten_s = -math.inf
        self.num_rows = 0

    def add(self, ended: RoundRows) -> None:
        """Keep a round that has ended."""
        self._rounds.append(ended)
        self.num_rows += ended.num_rows

    def add_rest(self, rested: "Rested") -> None:
        """Keep rests, which may be recorded before the round that ends them."""
        if len(rested.numbers):
            self._rested.append(rested)
            self.num_rows += len(rested.numbers)

    def columns(self, until_s: float, from_s: float = -math.inf) -> dict[type[Row], Columns]:
        """Rows that ended by then, and no earlier than from another time, by column."""
        rounds = [of for of in self._rounds if of.of.start_s <= until_s and from_s <= of.end_s]
        rested = [of for of in self._rested if from_s <= of.until_s]
        found = columns_of(rounds) if rounds else {}
        if rested:
            at_work = [found[Span]] if Span in found else []
            found[Span] = stacked([*at_work, *rested[0].rest.spans(rested)])
        for kind, columns in found.items():
            ends_s = columns["end_s"]
            which = (self._forgotten_s < ends_s) & (from_s <= ends_s) & (ends_s <= until_s)
            if not which.all():
                found[kind] = {name: values[which] for name, values in columns.items()}
        return found

    def forget(self, until_s: float) -> None:
        """Forget the rows that ended by then; no row that ended so early may be added later."""
        self._rounds = [of for of in self._rounds if of.end_s > until_s]
        self._rested = [of for of in self._rested if of.until_s > until_s]
        of_rest = sum(len(of.numbers) for of in self._rested)
        self.num_rows = sum(of.num_rows for of in self._rounds) + of_rest
        self._forgotten_s = until_s
