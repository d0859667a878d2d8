"""Kept rows: the rows of one run, as they are recorded, and the groups in which they are handed over.

The instants at which the global model had a new version divide a run into *stretches*, each with its last
instant: global rounds, if there are rounds. A row belongs to the stretch in which it ended, a plan to the
one that it begins. Whole stretches are handed over together when they have enough rows, so that memory does
not grow with the length of a run; stretches around an open edge round are kept, since their jobs may still be
overruled, or recorded with the round.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from cosim.recording.many_rows import ManyRows
from cosim.records.client_sums import ClientSums
from cosim.records.columns import Columns
from cosim.records.rows import (
    Allotment,
    Applied,
    Evaluation,
    Fate,
    Round,
    Row,
    Span,
    Transfer,
)
from cosim.records.tables import ENDS, GROWING, TABLES, columns_of


class Moment(NamedTuple):
    """Rows that are final when the global model has a new version, for any order of the events of an instant.

    Attributes:
        before_s: Time before which rows that ended are final.
        now_s: The instant of the version. If no edge round is open, rows of global rounds that have ended are
            final then, too.
        num_global_rounds: Number of these rounds.
    """

    before_s: float = -math.inf
    now_s: float = 0.0
    num_global_rounds: int = 0


class KeptRows:
    """Rows of one run that were not handed over yet, a list for each kind, in the order in which they ended.

    Evaluations are never handed over.

    Attributes:
        num_arrived: Updates of clients that have arrived in edge rounds, or were applied.
        many: Rows that are kept many at a time.
        client_sums: Sums of each client, if rounds on arrays keep no rows of clients; None if they keep them.
        stretches_s: Last instants of the stretches that have ended, rising.
    """

    def __init__(self) -> None:
        self._lists: dict[type[Row], list[Any]] = {TABLES[name]: [] for name in GROWING}
        self.spans: list[Span] = self._lists[Span]
        self.transfers: list[Transfer] = self._lists[Transfer]
        self.fates: list[Fate] = self._lists[Fate]
        self.plans: list[Allotment] = self._lists[Allotment]
        self.rounds: list[Round] = self._lists[Round]
        self.evaluations: list[Evaluation] = []
        self.num_arrived = 0
        self.many = ManyRows()
        self.client_sums: ClientSums | None = None
        self.stretches_s: list[float] = []
        self._num_rows_by: list[int] = []
        self._num_handed_over = 0
        self._open_rounds: dict[object, float] = {}

    @property
    def num_rows(self) -> int:
        """Approximate number of rows."""
        return sum(map(len, self._lists.values())) + self.many.num_rows

    def record(self, row: Row) -> None:
        """Keep one row."""
        if isinstance(row, Evaluation):
            self.evaluations.append(row)
            return
        self._lists[type(row)].append(row)
        if isinstance(row, Round) and row.level == "edge":
            self.num_arrived += row.num_arrived
        elif isinstance(row, Applied):
            self.num_arrived += row.of_client

    def overrule(self, reasons: Mapping[tuple[str, int], str]) -> None:
        """Set the reasons why servers dropped jobs that have just ended, by client and number."""
        left = dict(reasons)
        for place in reversed(range(len(self.fates))):
            if not left:
                return
            fate = self.fates[place]
            if reason := left.pop((fate.client, fate.job), None):
                self.fates[place] = fate._replace(outcome=reason)

    def open_round(self, start_s: float) -> object:
        """Keep the rows that end after this time, until the edge round that begins then is closed."""
        self._open_rounds[opened := object()] = start_s
        return opened

    def close_round(self, opened: object) -> None:
        """End what `open_round` has begun, before the edge round is recorded."""
        del self._open_rounds[opened]

    def complete(self, until_s: float) -> None:
        """Record activities that ended by an instant and are not recorded yet."""

    def end_stretch(self, now_s: float) -> None:
        """End a stretch at this instant."""
        if self.stretches_s and self.stretches_s[-1] == now_s:
            del self.stretches_s[-1], self._num_rows_by[-1]
        self.stretches_s.append(now_s)
        self._num_rows_by.append(self._num_handed_over + self.num_rows)

    def whole_until_s(self, num_rows: int) -> float | None:
        """Last instant of whole stretches that have a number of rows together; None if they have fewer."""
        wanted = self._num_handed_over + num_rows
        if not self.stretches_s or self._num_rows_by[-1] < wanted:
            return None
        # More rows may end at the last instant.
        num_whole = bisect_left(self.stretches_s, self._whole_before_s(self.stretches_s[-1]))
        if not num_whole or self._num_rows_by[num_whole - 1] < wanted:
            return None
        return self.stretches_s[num_whole - 1]

    def moment(self, now_s: float, num_global_rounds: int) -> Moment:
        """Rows that are final at this instant."""
        return Moment(self._whole_before_s(now_s), now_s, num_global_rounds)

    def _whole_before_s(self, now_s: float) -> float:
        return min(now_s, *self._open_rounds.values(), math.inf)

    def forget(self, until_s: float) -> None:
        """Forget the rows that ended by then."""
        num_rows = self.num_rows
        for kind, rows in self._lists.items():
            del rows[: _num_ended(kind, rows, until_s)]
        self.many.forget(until_s)
        num_stretches = bisect_right(self.stretches_s, until_s)
        del self.stretches_s[:num_stretches], self._num_rows_by[:num_stretches]
        self._num_handed_over += num_rows - self.num_rows

    def tables(self, until_s: float = math.inf, after_s: float = -math.inf) -> dict[str, Columns]:
        """Rows that ended by one instant and after another, by table, in the order of recording."""
        many, found = self.many.columns(until_s, after_s), {}
        for name in GROWING:
            rows = self._lists[kind := TABLES[name]]
            first, last = (_num_ended(kind, rows, time_s) for time_s in (after_s, until_s))
            found[name] = columns_of(name, rows[first:last], many.get(kind))
        return found


def _num_ended(kind: type[Row], rows: Sequence[Row], until_s: float) -> int:
    """Number of rows, sorted by their end, in stretches that ended by an instant."""
    bisect = bisect_left if kind is Allotment else bisect_right
    return bisect(rows, until_s, key=attrgetter(ENDS[kind]))
