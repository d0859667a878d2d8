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
    Tally,
    Traffic,
    Transfer,
    Version,
)
from cosim.records.tables import ENDS, GROWING, TABLES


class Group(NamedTuple):
    """Rows of whole stretches, without evaluations.

    Attributes:
        rows: Rows that were kept one by one.
        columns: Rows that were kept many at a time.
        ends_s: Last instants of the stretches, rising; later rows are in one more stretch.
    """

    rows: Mapping[type[Row], Sequence[Row]]
    columns: Mapping[type[Row], Columns]
    ends_s: Sequence[float]


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


class _Ended(NamedTuple):
    """A stretch that has ended, and the number of rows by then."""

    end_s: float
    num_rows: int


class KeptRows:
    """Rows of one run that were not handed over yet, a list for each kind, in the order in which they ended.

    Evaluations are never handed over.

    Attributes:
        num_arrived: Updates of clients that have arrived in edge rounds, or were applied.
        many: Rows that are kept many at a time.
        client_sums: Sums of each client, if rounds on arrays keep no rows of clients; None if they keep them.
    """

    def __init__(self) -> None:
        self._lists: dict[type[Row], list[Any]] = {TABLES[name]: [] for name in GROWING}
        self.spans: list[Span] = self._lists[Span]
        self.transfers: list[Transfer] = self._lists[Transfer]
        self.fates: list[Fate] = self._lists[Fate]
        self.plans: list[Allotment] = self._lists[Allotment]
        self.rounds: list[Round] = self._lists[Round]
        self.tallies: list[Tally] = self._lists[Tally]
        self.versions: list[Version] = self._lists[Version]
        self.updates: list[Applied] = self._lists[Applied]
        self.stations: list[Traffic] = self._lists[Traffic]
        self.evaluations: list[Evaluation] = []
        self.num_arrived = 0
        self.many = ManyRows()
        self.client_sums: ClientSums | None = None
        self._ended: list[_Ended] = []
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
        if self._ended and self._ended[-1].end_s == now_s:
            self._ended.pop()
        self._ended.append(_Ended(now_s, self._num_handed_over + self.num_rows))

    def whole_until_s(self, num_rows: int) -> float | None:
        """Last instant of whole stretches that have a number of rows together; None if they have fewer."""
        if not self._ended or self._ended[-1].num_rows - self._num_handed_over < num_rows:
            return None
        # More rows may end at the last instant.
        num_whole = bisect_left(self._ended, self._whole_before_s(self._ended[-1].end_s), key=_end_s)
        if not num_whole:
            return None
        until_s, num_by_then = self._ended[num_whole - 1]
        return until_s if num_by_then - self._num_handed_over >= num_rows else None

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
        del self._ended[: bisect_right(self._ended, until_s, key=_end_s)]
        self._num_handed_over += num_rows - self.num_rows

    def group(self, until_s: float = math.inf) -> Group:
        """Rows that ended by then."""
        return Group(
            {kind: rows[: _num_ended(kind, rows, until_s)] for kind, rows in self._lists.items()},
            self.many.columns(until_s),
            [end_s for end_s, _ in self._ended if end_s <= until_s],
        )

    def between(self, from_s: float, before_s: float) -> Group:
        """Rows that ended in a time, its end excluded."""
        rows = {}
        for kind, kept in self._lists.items():
            ends_s = attrgetter(ENDS[kind])
            first = bisect_left(kept, from_s, key=ends_s)
            rows[kind] = kept[first : bisect_left(kept, before_s, first, key=ends_s)]
        until_s = math.nextafter(before_s, -math.inf)
        return Group(rows, self.many.columns(until_s, from_s), ())


def _num_ended(kind: type[Row], rows: Sequence[Row], until_s: float) -> int:
    column = ENDS[kind]
    bisect = bisect_left if kind is Allotment else bisect_right
    return bisect(rows, until_s, key=lambda row: getattr(row, column))


def _end_s(ended: _Ended) -> float:
    return ended.end_s
