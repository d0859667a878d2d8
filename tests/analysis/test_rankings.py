"""Rankings of designs: which have a rank, what ratios mean, and which change places."""

import math

import numpy as np
import pandas as pd
import pytest

from analysis.intervals.ranks import Ranks
from analysis.metrics import TO_TARGET
from analysis.rankings import COSTS, ranked, reversals

pytestmark = pytest.mark.quick

SEEDS = range(1, 5)
NOISE = np.array([1.0, 1.02, 0.99, 1.01])


def runs_of(**designs: tuple[float, float]) -> pd.DataFrame:
    """Runs with about these versions and seconds to 0.9; a negative number means that the last misses it."""
    rows = []
    for turn, (name, (versions, time_s)) in enumerate(designs.items()):
        for seed, noise in zip(SEEDS, np.roll(NOISE, turn), strict=True):
            missed = versions < 0.0 and seed == SEEDS[-1]
            taken = {"versions_to_0.9": abs(versions) * noise, "time_to_0.9_s": time_s * noise}
            rows.append(
                {"name": name, "seed": seed, **{k: math.nan if missed else v for k, v in taken.items()}}
            )
    return pd.DataFrame(rows)


RUNS = runs_of(plain=(10.0, 3.0), doubled=(5.0, 6.0), alike=(10.1, 3.02), never=(-8.0, 4.0))


def test_every_cost_of_a_target_is_ranked():
    assert set(COSTS) == {cost.column for cost in TO_TARGET}


def test_ranks_and_ratios():
    plain, doubled, alike, never = ranked(RUNS, "0.9", "versions_to_{}", "plain")
    assert [entry.name for entry in (plain, doubled, alike, never)] == ["plain", "doubled", "alike", "never"]
    assert (doubled.ranks, plain.ranks, alike.ranks) == (Ranks(1, 1), Ranks(2, 3), Ranks(2, 3))
    assert plain.ratio is None
    assert plain.taken == pytest.approx(10.0 * np.prod(NOISE) ** 0.25)
    assert doubled.ratio.estimate == pytest.approx(0.5)
    assert doubled.ratio.low < 0.5 < doubled.ratio.high < 1.0
    assert alike.ratio.low < 1.0 < alike.ratio.high


def test_who_missed_the_target_has_no_rank_and_moves_no_other():
    entries = ranked(RUNS, "0.9", "time_to_{}_s", "plain")
    never = entries[-1]
    assert (never.ranks, never.ratio, never.num_reached, never.num_runs) == (None, None, 3, 4)
    assert never.in_words == "3 of 4 reached"
    without = ranked(RUNS[RUNS["name"] != "never"], "0.9", "time_to_{}_s", "plain")
    assert entries[:-1] == without


def test_words_have_units():
    plain, doubled, *_ = ranked(RUNS, "0.9", "time_to_{}_s", "plain")
    assert plain.in_words == f"{plain.taken:.3g} s" == "3.01 s"
    assert doubled.in_words == f"{doubled.taken:.3g} s"


def test_who_changes_places_for_sure():
    found = reversals(RUNS, "0.9", "versions_to_{}", "time_to_{}_s")
    assert set(found) == {("doubled", "plain"), ("doubled", "alike")}
    assert reversals(RUNS, "0.9", "time_to_{}_s", "time_to_{}_s") == []


def test_one_seed_has_no_ranks():
    entries = ranked(RUNS[RUNS["seed"] == 1], "0.9", "time_to_{}_s", "plain")
    assert {entry.ranks for entry in entries} == {None}
    assert entries[0].in_words == "3 s"
    assert reversals(RUNS[RUNS["seed"] == 1], "0.9", "versions_to_{}", "time_to_{}_s") == []
