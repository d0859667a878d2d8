"""Many rows: rows of rounds on arrays, and of rest, made many at a time when they are handed over."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosim.recording.told_round import GIVEN_UP, Carried, Cut, ToldRound
from cosim.records.columns import Columns, Words, stacked
from cosim.records.rows import DONE, WAIT, Fate, Row, Span, Transfer

if TYPE_CHECKING:
    from cosim.engine.clients.rest import Rested


class ManyRows:
    """Rounds that have ended, in that order, and rest."""

    def __init__(self) -> None:
        self._rounds: list[ToldRound] = []
        self._rested: list[Rested] = []
        self._forgotten_s = -math.inf
        self.num_rows = 0

    def add(self, told: ToldRound) -> None:
        """Keep a round that has ended."""
        self._rounds.append(told)
        self.num_rows += told.num_rows

    def add_rest(self, rested: "Rested") -> None:
        """Keep rests, which may be recorded before the round that ends them."""
        if len(rested.numbers):
            self._rested.append(rested)
            self.num_rows += len(rested.numbers)

    def columns(self, until_s: float, after_s: float) -> dict[type[Row], Columns]:
        """Rows that ended by one instant and after another, by kind and column."""
        after_s = max(after_s, self._forgotten_s)
        rounds = [of for of in self._rounds if of.start_s <= until_s and after_s < of.end_s]
        rested = [of for of in self._rested if after_s < of.until_s]
        found = _columns_of(rounds) if rounds else {}
        if rested:
            at_work = [found[Span]] if Span in found else []
            found[Span] = stacked([*at_work, *rested[0].rest.spans(rested)])
        for kind, columns in found.items():
            ends_s = columns["end_s"]
            found[kind] = _rows(columns, (after_s < ends_s) & (ends_s <= until_s))
        return found

    def forget(self, until_s: float) -> None:
        """Forget the rows that ended by then; no row that ended so early may be added later."""
        self._rounds = [of for of in self._rounds if of.end_s > until_s]
        self._rested = [of for of in self._rested if of.until_s > until_s]
        of_rest = sum(len(of.numbers) for of in self._rested)
        self.num_rows = sum(of.num_rows for of in self._rounds) + of_rest
        self._forgotten_s = until_s


def _columns_of(rounds: Sequence[ToldRound]) -> dict[type[Row], Columns]:
    """Rows of edge rounds, at least one, by kind and column."""
    words = [*dict.fromkeys([DONE, GIVEN_UP, *(of.cut.reason for of in rounds)])]
    return {Span: _spans(rounds, words), Transfer: _transfers(rounds), Fate: _fates(rounds, words)}


def _spans(rounds: Sequence[ToldRound], words: Sequence[str]) -> Columns:
    of = [each for each in rounds for _ in each.spans]
    told = [one for each in rounds for one in each.spans]
    sizes, cuts = _sizes(of), [one.cut for one in told]
    from_s, to_s = np.concatenate([one.from_s for one in told]), np.concatenate([one.to_s for one in told])
    cut_s = _cut_s(cuts, sizes)
    stop_s = np.minimum(to_s, cut_s)
    lasts_s = stop_s - from_s
    activity = _words([one.activity for one in told], sizes)
    is_cut = to_s > cut_s
    if WAIT in activity.words:  # at one instant, the cut comes before the grant
        is_cut |= (to_s == cut_s) & activity.isin([WAIT])
    columns = {
        "node": _names(of),
        "activity": activity,
        "start_s": from_s,
        "end_s": stop_s,
        "energy_j": np.concatenate([one.power_w for one in told]) * lasts_s,
        "outcome": Words(words, _outcomes(is_cut, cuts, sizes, words)),
        "job": np.repeat([each.job.number for each in of], sizes),
    }
    return _rows(columns, lasts_s > 0.0)


def _transfers(rounds: Sequence[ToldRound]) -> Columns:
    of = [each for each in rounds for _ in each.transfers]
    told = [one for each in rounds for one in each.transfers]
    sizes = _sizes(of)
    cut_s = _cut_s([one.cut for one in told], sizes)
    opens_s = np.concatenate([one.opens_s for one in told])
    done_s = np.concatenate([one.way.ends_s for one in told])
    bits = np.repeat([one.bits for one in told], sizes)
    arrived = done_s <= cut_s
    columns = _jobs(of, sizes) | {
        "start_s": opens_s,
        "end_s": np.minimum(done_s, cut_s),
        "payload_bits": bits,
        "sent_bits": bits - _left_bits(told, arrived, sizes),
        "arrived": arrived,
        "direction": _words([one.direction for one in told], sizes),
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


def _fates(rounds: Sequence[ToldRound], words: Sequence[str]) -> Columns:
    sizes = _sizes(rounds)
    is_lost = ~np.concatenate([of.counts for of in rounds])
    return _jobs(rounds, sizes) | {
        "start_s": np.repeat([of.start_s for of in rounds], sizes),
        "end_s": np.concatenate([of.ends_s for of in rounds]),
        "outcome": Words(words, _outcomes(is_lost, [of.cut for of in rounds], sizes, words)),
    }


def _sizes(rounds: Sequence[ToldRound]) -> list[int]:
    return [len(of.counts) for of in rounds]


def _names(rounds: Sequence[ToldRound]) -> Words:
    """Name of each client of each round."""
    names = rounds[0].clients.fleet.names.names
    return Words(names, np.concatenate([of.clients.numbers for of in rounds]))


def _words(words: Sequence[str], sizes: Sequence[int]) -> Words:
    """Word of each round, for every client."""
    known = [*dict.fromkeys(words)]
    return Words(known, np.repeat([known.index(word) for word in words], sizes))


def _jobs(rounds: Sequence[ToldRound], sizes: Sequence[int]) -> Columns:
    return {
        "client": _names(rounds),
        "edge": _words([of.edge for of in rounds], sizes),
        "global_round": np.repeat([of.job.global_round for of in rounds], sizes),
        "edge_round": np.repeat([of.job.edge_round for of in rounds], sizes),
        "job": np.repeat([of.job.number for of in rounds], sizes),
    }


def _cut_s(cuts: Sequence[Cut], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Instant of the cut of each round, or of each of its clients, for every client."""
    values = [cut.at_s for cut in cuts]
    if any(isinstance(value, np.ndarray) and value.ndim for value in values):
        return np.concatenate([np.broadcast_to(of, size) for of, size in zip(values, sizes, strict=True)])
    return np.repeat(np.array(values, dtype=float), sizes)


def _outcomes(
    is_cut: NDArray[np.bool_], cuts: Sequence[Cut], sizes: Sequence[int], words: Sequence[str]
) -> NDArray[np.int64]:
    """Outcome of each client, by its place among words."""
    if not is_cut.any():
        return np.zeros(len(is_cut), dtype=np.int64)
    reasons = np.repeat([words.index(cut.reason) for cut in cuts], sizes)
    if any(cut.is_given_up is not None for cut in cuts):
        is_given_up = [
            np.zeros(size, dtype=bool) if cut.is_given_up is None else cut.is_given_up
            for cut, size in zip(cuts, sizes, strict=True)
        ]
        reasons = np.where(np.concatenate(is_given_up), words.index(GIVEN_UP), reasons)
    return np.where(is_cut, reasons, 0)


def _rows(columns: Columns, which: NDArray[np.bool_]) -> Columns:
    """Some rows of columns."""
    if which.all():
        return columns
    numbers = np.flatnonzero(which)
    return {name: values[numbers] for name, values in columns.items()}
