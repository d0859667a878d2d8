"""Samples: a metric seed by seed, where runs miss a target; nothing vanishes or is beyond the possible."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.metrics import metrics
from analysis.pairs import Pairs
from analysis.samples import Sample, samples

pytestmark = pytest.mark.quick

RUN = st.tuples(st.integers(1, 9), st.integers(1, 9))
"""When a run would reach its target, and how long it lasts."""


def table(
    designs: dict[int, list[tuple[float, float]]], protocols: tuple[str, ...] = ("A", "A", "A")
) -> pd.DataFrame:
    """Runs by what they take to the target 0.8 and how long they last; a run that takes longer missed it."""
    rows = [
        {
            "design": design,
            "name": f"x={design}",
            "protocol": protocols[design],
            "seed": seed,
            "status": "complete",
            "last_version": lasts,
            **dict.fromkeys(("time_s", "energy_j", "bits_per_client"), lasts),
            **dict.fromkeys(
                ("time_to_0.8_s", "energy_to_0.8_j", "bits_per_client_to_0.8", "versions_to_0.8"),
                takes if takes <= lasts else math.nan,
            ),
        }
        for design, own in designs.items()
        for seed, (takes, lasts) in enumerate(own)
    ]
    runs = pd.DataFrame(rows).assign(num_updates=1.0, num_dropped=0.0)
    runs.attrs = {"measures": {}, "targets": ["0.8"], "fields": []}
    return runs


def of(runs: pd.DataFrame, column: str = "time_to_0.8_s") -> dict[int, Sample]:
    return samples(runs, metrics(runs)[column])


@settings(max_examples=60)
@given(st.lists(RUN, min_size=2, max_size=8), st.lists(RUN, min_size=2, max_size=8))
def test_restricted_means_are_those_of_the_truth(first, second):
    """Up to its horizon a design's mean is what runs that never end would give; so is a difference."""
    found = of(table({0: first, 1: second}))
    for own, runs in zip(found.values(), (first, second), strict=True):
        missed = [lasts for takes, lasts in runs if takes > lasts]
        assert own.horizon == min(missed, default=math.inf)
        within = np.minimum([takes for takes, _ in runs], own.horizon)
        if missed and (within == own.horizon).all():
            assert own.note == own.statistic == own.value.remark == f"none by {own.horizon:.0f} s"
            assert math.isnan(own.value.estimate)
            continue
        assert own.value.estimate == pytest.approx(within.mean(), rel=1e-12)
        assert 0.0 <= own.value.low <= own.value.estimate <= own.value.high <= own.horizon
        assert own.note == (f"{own.num_reached} of {len(runs)}" if missed else "")
    shared, horizon = min(len(first), len(second)), min(own.horizon for own in found.values())
    truths = [np.minimum([takes for takes, _ in runs[:shared]], horizon) for runs in (first, second)]
    difference = found[1].difference(found[0])
    if any((np.minimum([takes for takes, _ in runs], horizon) == horizon).all() for runs in (first, second)):
        assert difference is None
    else:
        assert difference.estimate == pytest.approx((truths[1] - truths[0]).mean(), abs=1e-12)


def test_where_no_run_gets_there_by_the_horizon_there_is_no_number_and_no_difference():
    """Three bands: one run of the fastest missed at 584 ms; the slower ones are later in every seed."""
    runs = table(
        {
            0: [(0.50, 0.60), (0.70, 0.584), (0.51, 0.60)],
            1: [(0.70, 0.90), (0.80, 0.90), (0.71, 0.90)],
            2: [(9.9, 0.584)] * 3,
        }
    )
    fast, slow, never = of(runs).values()
    assert (fast.statistic, fast.note) == ("mean up to 584 ms", "2 of 3")
    assert (slow.statistic, slow.note) == ("mean", "")
    assert slow.value.estimate == pytest.approx(np.mean([0.7, 0.8, 0.71]))
    assert slow.difference(fast) is None
    assert slow.pairs(fast) == Pairs(0, 2, 1)
    assert never.statistic == never.note == never.value.remark == "none by 584 ms"
    assert math.isnan(never.value.estimate)
    assert never.difference(slow) is never.difference(fast) is None


def test_a_design_in_which_one_seed_missed_does_not_vanish_and_changes_no_other():
    taken, lasted = [2.0, 3.0, 9.9, 2.5, 2.0], [6.0, 6.0, 5.0, 6.0, 6.0]
    both = of(table({0: list(zip(taken, lasted, strict=True)), 1: [(6.5, 7.0), (5.5, 7.0), (6.0, 7.0)]}))
    own = both[0]
    assert (own.reached_in_words, own.horizon) == ("4 of 5", 5.0)
    half = stats.t.ppf(0.975, 4) * np.std([2.0, 3.0, 5.0, 2.5, 2.0], ddof=1) / math.sqrt(5.0)
    assert own.value.estimate == pytest.approx(2.9, rel=1e-12)
    assert own.value.half_width == pytest.approx(half, rel=1e-12)
    assert own.median is None
    assert both[1].value.estimate == pytest.approx(6.0, rel=1e-12)
    six = of(table({0: [*zip(taken, lasted, strict=True), (2.2, 6.0)]}))[0].median
    assert (six.low, six.estimate, six.high) == (2.0, pytest.approx(2.35), math.inf)


def test_versions_are_compared_within_one_protocol_only():
    runs = table({0: [(1, 2), (2, 3)], 1: [(4, 5), (6, 7)], 2: [(2, 3), (3, 4)]}, ("A", "B", "A"))
    found = of(runs, "versions_to_0.8")
    assert found[1].difference(found[0]) is found[1].ratio(found[0]) is found[1].pairs(found[0]) is None
    assert found[2].difference(found[0]).estimate == 1.0
    times_s = of(runs)
    assert times_s[1].difference(times_s[0]).estimate == 3.5
    nothing = of(table({0: [(3, 2)] * 2}), "versions_to_0.8")[0]
    assert nothing.note == "none by 2 versions"
    assert of(table({0: [(3, 1)] * 2}), "versions_to_0.8")[0].note == "none by 1 version"


def test_a_ratio_is_of_geometric_means_on_the_same_seeds_by_t_of_logarithms():
    found = of(
        table({0: [(1.0, 9), (2.0, 9), (4.0, 9)], 1: [(3.0, 9), (5.0, 9), (9.0, 9)], 2: [(10, 9)] * 3})
    )
    logs = np.log([3.0, 2.5, 2.25])
    half = stats.t.ppf(0.975, 2) * np.std(logs, ddof=1) / math.sqrt(3.0)
    ratio = found[1].ratio(found[0])
    wanted = [math.exp(logs.mean() + by) for by in (-half, 0.0, half)]
    assert [ratio.low, ratio.estimate, ratio.high] == pytest.approx(wanted, rel=1e-9)
    assert found[2].ratio(found[0]) is None


def test_no_interval_is_beyond_the_end_of_every_run():
    runs = table({0: [(2.0, 12.0), (3.0, 12.0), (11.9, 12.0)], 1: [(1.0, 12.0), (2.0, 12.0), (9.0, 12.0)]})
    assert of(runs)[0].value.high > 12.0
    found = of(runs.assign(latest_s=12.0))
    assert (found[0].value.low, found[0].value.high) == (0.0, 12.0)
    assert found[1].difference(found[0]).low >= -12.0
    assert (
        of(runs.assign(latest_s=12.0), "energy_to_0.8_j")[0].value.high > 12.0
    )  # no energy ends at an instant


def test_one_run_has_no_width():
    own = of(table({0: [(2.0, 4.0)]}))[0].value
    assert (own.estimate, own.low, own.too_noisy, own.remark) == (2.0, 2.0, True, "one seed")


def test_a_mean_lies_within_its_interval_to_the_last_bit():
    horizon = 0.2831853071795865
    for number in range(3, 12):
        for value in (0.1, horizon - 1e-9):
            found = of(table({0: [*[(value, horizon)] * number, (9.9, horizon)]}))[0].value
            assert 0.0 <= found.low <= found.estimate <= found.high <= horizon
