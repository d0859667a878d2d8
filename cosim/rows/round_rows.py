"""Round rows: what the clients of edge rounds on arrays do, told in the order of the story.

The verbs are those that `cosim.rows.recorder` has for one client, with an array for each number: `spent`,
`carried`, `ended`. They keep references; the rows of many rounds are made together when they are handed over
(`columns_of`). A client whose activity would begin after it is cut has no row of it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cosim.records import DONE, DOWN, UP, Fate, Row, Span, Transfer
from cosim.rows.columns import Columns, Words

GIVEN_UP = "deadline"
"""The outcome of an upload that is given up after its time, as `Simulation.with_deadline` has it."""


class Telling(Protocol):
    """The clients of a round: a view of all clients of a run."""

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Their numbers, ascending, shape (clients,)."""
        ...

    @property
    def which(self) -> NDArray[np.int64] | slice:
        """Their numbers, as an index of what has one element for each client of the run."""
        ...


class Way(Protocol):
    """Uploads or downloads, of one for each client of a round."""

    ends_s: NDArray[np.float64]

    def bits_left(self, cut_s: Any) -> NDArray[np.float64]:
        """Bits of each that are not through when it is closed, shape (clients,)."""
        ...


class RoundOf(NamedTuple):
    """Whose round it is.

    Attributes:
        num: How many clients.
        names: Of all clients of the run, by their numbers.
        edge: Name of the edge server.
    """

    clients: Telling
    num: int
    names: Sequence[str]
    edge: str
    global_round: int
    edge_round: int
    job: int
    start_s: float


class Cut(NamedTuple):
    """When clients are cut that have not ended.

    Attributes:
        at_s: Of all, or of each.
        reason: Why they are cut with their round.
        is_given_up: Whether each is cut before, by its own deadline; None: none has one.
    """

    at_s: float | NDArray[np.float64]
    reason: str
    is_given_up: NDArray[np.bool_] | None = None

    def lasts_s(self, from_s: NDArray[np.float64], to_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """How long each does what it would do between two instants, shape (clients,)."""
        return np.maximum(np.minimum(to_s, self.at_s) - from_s, 0.0)


class _Spent(NamedTuple):
    of: RoundOf
    activity: str
    from_s: NDArray[np.float64]
    to_s: NDArray[np.float64]
    power_w: NDArray[np.float64]
    cut: Cut


class _Carried(NamedTuple):
    of: RoundOf
    direction: str
    opens_s: NDArray[np.float64]
    way: Way
    bits: int
    cut: Cut


class _Ended(NamedTuple):
    of: RoundOf
    ends_s: NDArray[np.float64]
    counts: NDArray[np.bool_]
    cut: Cut


class RoundRows:
    """The rows of the clients of one edge round.

    Attributes:
        end_s: When the last of them ends.
    """

    __slots__ = ("end_s", "fates", "of", "spans", "transfers")

    def __init__(self, of: RoundOf) -> None:
        self.of, self.end_s = of, of.start_s
        self.spans: list[_Spent] = []
        self.transfers: list[_Carried] = []
        self.fates: list[_Ended] = []

    @property
    def num_rows(self) -> int:
        """About how many there are."""
        return self.of.num * (len(self.spans) + len(self.transfers) + len(self.fates))

    def spent(
        self,
        activity: str,
        from_s: NDArray[np.float64],
        to_s: NDArray[np.float64],
        power_w: NDArray[np.float64],
        cut: Cut,
    ) -> None:
        """Each client does something, unless it is cut before.

        Args:
            from_s: When each would begin, shape (clients,).
            to_s: When each would end.
            power_w: What it takes, shape (clients,).
        """
        self.spans.append(_Spent(self.of, activity, from_s, to_s, power_w, cut))

    def carried(self, direction: str, opens_s: NDArray[np.float64], way: Way, bits: int, cut: Cut) -> None:
        """Each client sends (`UP`) or receives (`DOWN`) bits, unless it is cut before.

        Args:
            opens_s: When each would open its upload or download, shape (clients,).
        """
        self.transfers.append(_Carried(self.of, direction, opens_s, way, bits, cut))

    def ended(
        self,
        end_s: float,
        ends_s: NDArray[np.float64],
        counts: NDArray[np.bool_],
        cut: Cut,
    ) -> None:
        """Each client has ended its part.

        Args:
            end_s: When the last of them has.
            ends_s: When each has, shape (clients,).
            counts: Whose update counts.
        """
        self.end_s = end_s
        self.fates.append(_Ended(self.of, ends_s, counts, cut))


def columns_of(rounds: Sequence[RoundRows]) -> dict[type[Row], Columns]:
    """The rows of edge rounds, at least one, by kind and column."""
    names = rounds[0].of.names
    fates = [fate for of in rounds for fate in of.fates]
    words = [*dict.fromkeys([DONE, GIVEN_UP, *(fate.cut.reason for fate in fates)])]
    return {
        Span: _spans([spent for of in rounds for spent in of.spans], names, words),
        Transfer: _transfers([carried for of in rounds for carried in of.transfers], names),
        Fate: _fates(fates, names, words),
    }


def _spans(told: Sequence[_Spent], names: Sequence[str], words: Sequence[str]) -> Columns:
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


def _transfers(told: Sequence[_Carried], names: Sequence[str]) -> Columns:
    sizes = _sizes(told)
    cut_s = _each([one.cut.at_s for one in told], sizes)
    opens_s = np.concatenate([one.opens_s for one in told])
    done_s = np.concatenate([one.way.ends_s for one in told])
    bits = np.repeat([one.bits for one in told], sizes)
    left_bits = np.concatenate([one.way.bits_left(one.cut.at_s) for one in told])
    directions = [UP, DOWN]
    direction = np.repeat([directions.index(one.direction) for one in told], sizes)
    columns = _jobs(told, sizes, names) | {
        "start_s": opens_s,
        "end_s": np.minimum(done_s, cut_s),
        "payload_bits": bits,
        "sent_bits": bits - left_bits,
        "arrived": done_s <= cut_s,
        "direction": Words(directions, direction),
    }
    return _rows(columns, opens_s <= cut_s)


def _fates(told: Sequence[_Ended], names: Sequence[str], words: Sequence[str]) -> Columns:
    sizes = _sizes(told)
    is_lost = ~np.concatenate([one.counts for one in told])
    return _jobs(told, sizes, names) | {
        "start_s": np.repeat([one.of.start_s for one in told], sizes),
        "end_s": np.concatenate([one.ends_s for one in told]),
        "outcome": Words(words, _outcomes(is_lost, told, sizes, words)),
    }


def _sizes(told: Sequence[_Spent | _Carried | _Ended]) -> list[int]:
    return [one.of.num for one in told]


def _jobs(told: Sequence[_Carried | _Ended], sizes: Sequence[int], names: Sequence[str]) -> Columns:
    edges = [*dict.fromkeys(one.of.edge for one in told)]
    return {
        "client": Words(names, _numbers(told)),
        "edge": Words(edges, np.repeat([edges.index(one.of.edge) for one in told], sizes)),
        "global_round": np.repeat([one.of.global_round for one in told], sizes),
        "edge_round": np.repeat([one.of.edge_round for one in told], sizes),
        "job": np.repeat([one.of.job for one in told], sizes),
    }


def _each(values: Sequence[float | NDArray[np.float64]], sizes: Sequence[int]) -> NDArray[np.float64]:
    """A value of each round, or of each of its clients, for every client."""
    if any(isinstance(value, np.ndarray) and value.ndim for value in values):
        return np.concatenate([np.broadcast_to(of, size) for of, size in zip(values, sizes, strict=True)])
    return np.repeat(np.array(values, dtype=float), sizes)


def _numbers(told: Sequence[_Spent | _Carried | _Ended]) -> NDArray[np.int64]:
    return np.concatenate([one.of.clients.numbers for one in told])


def _outcomes(
    is_cut: NDArray[np.bool_], told: Sequence[_Spent | _Ended], sizes: Sequence[int], words: Sequence[str]
) -> NDArray[np.int64]:
    """What became of each, by its place among words."""
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
