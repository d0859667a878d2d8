"""Round rows: the rows of the clients of edge rounds on arrays, made many rounds at a time.

Events are kept by reference; columns are made when rows are handed over (`columns_of`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.recording.told_round import GIVEN_UP, Carried, Ended, RoundOf, Spent, ToldRound
from cosim.records.columns import Columns, Words
from cosim.records.rows import DONE, DOWN, UP, Fate, Row, Span, Transfer

if TYPE_CHECKING:
    from cosim.recording.history import History
    from cosim.recording.kept_rows import KeptRows


class RoundRows(ToldRound):
    """Rows of the clients of one edge round.

    Attributes:
        end_s: End of the last client.
    """

    __slots__ = ("end_s", "fates", "spans", "transfers")

    def __init__(self, of: RoundOf, history: "History | None" = None) -> None:
        super().__init__(of, history)
        self.end_s = of.start_s
        self.spans: list[Spent] = []
        self.transfers: list[Carried] = []
        self.fates: list[Ended] = []

    @property
    def num_rows(self) -> int:
        """Approximate number of rows."""
        return self.of.num * (len(self.spans) + len(self.transfers) + len(self.fates))

    @override
    def keep_in(self, kept: "KeptRows", now_s: float) -> None:
        kept.many.add(self)

    @override
    def _add_spent(self, spent: Spent) -> None:
        self.spans.append(spent)

    @override
    def _add_carried(self, carried: Carried) -> None:
        self.transfers.append(carried)

    @override
    def _add_ended(self, ended: Ended) -> None:
        self.end_s = ended.end_s
        self.fates.append(ended)


def columns_of(rounds: Sequence[RoundRows]) -> dict[type[Row], Columns]:
    """Rows of edge rounds, at least one, by kind and column."""
    names = rounds[0].of.names
    fates = [fate for of in rounds for fate in of.fates]
    words = [*dict.fromkeys([DONE, GIVEN_UP, *(fate.cut.reason for fate in fates)])]
    return {
        Span: _spans([spent for of in rounds for spent in of.spans], names, words),
        Transfer: _transfers([carried for of in rounds for carried in of.transfers], names),
        Fate: _fates(fates, names, words),
    }


def _spans(told: Sequence[Spent], names: Sequence[str], words: Sequence[str]) -> Columns:
    sizes = _sizes(told)
    from_s, to_s = np.concatenate([one.from_s for one in told]), np.concatenate([one.to_s for one in told])
    cut_s = _each([one.cut.at_s for one in told], sizes)
    stop_s = np.minimum(to_s, cut_s)
    lasts_s = stop_s - from_s
    power_w = np.concatenate([one.power_w for one in told])
    activities = [*dict.fromkeys(one.activity for one in told)]
    activity = np.repeat([activities.index(one.activity) for one in told], sizes)
    is_cut = to_s > cut_s
    if "wait" in activities:  # at one instant, the cut comes before the grant
        is_cut |= (to_s == cut_s) & (activity == activities.index("wait"))
    columns = {
        "node": Words(names, _numbers(told)),
        "activity": Words(activities, activity),
        "start_s": from_s,
        "end_s": stop_s,
        "energy_j": power_w * lasts_s,
        "outcome": Words(words, _outcomes(is_cut, told, sizes, words)),
        "job": np.repeat([one.of.job for one in told], sizes),
    }
    return _rows(columns, lasts_s > 0.0)


def _transfers(told: Sequence[Carried], names: Sequence[str]) -> Columns:
    sizes = _sizes(told)
    cut_s = _each([one.cut.at_s for one in told], sizes)
    opens_s = np.concatenate([one.opens_s for one in told])
    done_s = np.concatenate([one.way.ends_s for one in told])
    bits = np.repeat([one.bits for one in told], sizes)
    arrived = done_s <= cut_s
    directions = [UP, DOWN]
    direction = np.repeat([directions.index(one.direction) for one in told], sizes)
    columns = _jobs(told, sizes, names) | {
        "start_s": opens_s,
        "end_s": np.minimum(done_s, cut_s),
        "payload_bits": bits,
        "sent_bits": bits - _left_bits(told, arrived, sizes),
        "arrived": arrived,
        "direction": Words(directions, direction),
    }
    return _rows(columns, opens_s <= cut_s)


def _left_bits(
    told: Sequence[Carried], arrived: NDArray[np.bool_], sizes: Sequence[int]
) -> NDArray[np.float64]:
    """Bits of each client that are not through; asked only in rounds in which some have not arrived."""
    left_bits = np.zeros(len(arrived))
    starts_in = np.cumsum([0, *sizes])
    late_in = np.unique(np.searchsorted(starts_in, np.flatnonzero(~arrived), side="right") - 1)
    for place in late_in.tolist():
        one = told[place]
        left_bits[starts_in[place] : starts_in[place + 1]] = one.way.bits_left(one.cut.at_s)
    return left_bits


def _fates(told: Sequence[Ended], names: Sequence[str], words: Sequence[str]) -> Columns:
    sizes = _sizes(told)
    is_lost = ~np.concatenate([one.counts for one in told])
    return _jobs(told, sizes, names) | {
        "start_s": np.repeat([one.of.start_s for one in told], sizes),
        "end_s": np.concatenate([one.ends_s for one in told]),
        "outcome": Words(words, _outcomes(is_lost, told, sizes, words)),
    }


def _sizes(told: Sequence[Spent | Carried | Ended]) -> list[int]:
    return [one.of.num for one in told]


def _jobs(told: Sequence[Carried | Ended], sizes: Sequence[int], names: Sequence[str]) -> Columns:
    edges = [*dict.fromkeys(one.of.edge for one in told)]
    return {
        "client": Words(names, _numbers(told)),
        "edge": Words(edges, np.repeat([edges.index(one.of.edge) for one in told], sizes)),
        "global_round": np.repeat([one.of.global_round for one in told], sizes),
        "edge_round": np.repeat([one.of.edge_round for one in told], sizes),
        "job": np.repeat([one.of.job for one in told], sizes),
    }


def _each(values: Sequence[float | NDArray[np.float64]], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Value of each round, or of each of its clients, for every client."""
    if any(isinstance(value, np.ndarray) and value.ndim for value in values):
        return np.concatenate([np.broadcast_to(of, size) for of, size in zip(values, sizes, strict=True)])
    return np.repeat(np.array(values, dtype=float), sizes)


def _numbers(told: Sequence[Spent | Carried | Ended]) -> NDArray[np.int64]:
    return np.concatenate([one.of.clients.numbers for one in told])


def _outcomes(
    is_cut: NDArray[np.bool_], told: Sequence[Spent | Ended], sizes: Sequence[int], words: Sequence[str]
) -> NDArray[np.int64]:
    """Outcome of each client, by its place among words."""
    if not is_cut.any():
        return np.zeros(len(is_cut), dtype=np.int64)
    reasons = np.repeat([words.index(one.cut.reason) for one in told], sizes)
    if any(one.cut.is_given_up is not None for one in told):
        is_given_up = [
            np.zeros(size, dtype=bool) if one.cut.is_given_up is None else one.cut.is_given_up
            for one, size in zip(told, sizes, strict=True)
        ]
        reasons = np.where(np.concatenate(is_given_up), words.index(GIVEN_UP), reasons)
    return np.where(is_cut, reasons, 0)


def _rows(columns: Columns, which: NDArray[np.bool_]) -> Columns:
    """Some rows of columns."""
    if which.all():
        return columns
    numbers = np.flatnonzero(which)
    return {name: values[numbers] for name, values in columns.items()}
