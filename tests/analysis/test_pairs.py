"""Pairs on one seed of which one may have missed the target, against every truth that fits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.pairs import Pairs, pairs

pytestmark = pytest.mark.quick

RUN = st.tuples(st.integers(1, 9), st.integers(1, 9))
"""When a run would reach its target, and how long it lasts."""


def censored(runs: list[tuple[int, int]]) -> tuple[list[float], list[float]]:
    """Observed runs: taken (infinite if missed) and lasted."""
    taken = [float(truth) if truth <= lasts else math.inf for truth, lasts in runs]
    return taken, [float(lasts) for _, lasts in runs]


@given(st.lists(st.tuples(RUN, RUN), min_size=1, max_size=8))
def test_pairs_are_decided_only_where_every_truth_that_fits_says_so(seeds):
    own, other = censored([a for a, _ in seeds]), censored([b for _, b in seeds])

    def possible(taken: float, lasted: float) -> list[float]:
        return [taken] if math.isfinite(taken) else [lasted + 0.5, lasted + 100.0, math.inf]

    counts = [0, 0, 0]
    for a, a_lasted, b, b_lasted in zip(*own, *other, strict=True):
        ways = [
            np.sign(x - y) if x != y else 0.0 for x in possible(a, a_lasted) for y in possible(b, b_lasted)
        ]
        counts[0 if set(ways) == {-1.0} else 1 if set(ways) == {1.0} else 2] += 1
    assert pairs(*own, *other) == Pairs(*counts)
    assert pairs(*other, *own) == Pairs(counts[1], counts[0], counts[2])


def test_pairs_that_differ_by_rounding_are_undecided():
    sums, again = [0.1 + 0.2, 2.0], [0.3, 1.0]
    assert sums[0] > again[0]
    assert pairs(sums, sums, again, again) == Pairs(wins=0, losses=1, undecided=1)
    assert pairs(again, again, sums, sums) == Pairs(wins=1, losses=0, undecided=1)


def test_pairs_in_words():
    assert str(Pairs(3, 1, 0)) == "3 wins, 1 loss, 0 undecided"
