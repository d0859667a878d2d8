"""Laws beside the clock: what is refused, what decides, and how surely a wrong theory is caught."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.intervals.statistics import Interval
from analysis.laws import Clock, Exact, Independent, Law, Sample, Series, Trials
from analysis.laws.checks import WrongLaw, factor_between
from analysis.laws.comparison import CLOSED_FORM, Criterion, not_caught, rows
from analysis.laws.picture import CLOCK, drawn
from analysis.laws.power import longer, power

pytestmark = pytest.mark.quick
WAIT = "wait (s)"
CRITERION = Criterion(level=0.95, margin=0.1)


class Here:
    """A clock without systems."""

    seed, size = 1, 1.0

    def num(self, full: float) -> int:
        return int(full)


class Said(Law):
    """Numbers that it is told."""

    def __init__(self, predicted: Any, wrong: Any, found: Any) -> None:
        object.__setattr__(self, "said", (predicted, wrong, found))

    def predict(self):
        return self.said[0]

    def wrong(self):
        return self.said[1]

    def simulate(self, clock: Clock):
        return self.said[2]


def compared(
    found: Mapping[str, Sample], predicted: Any = None, wrong: Any = None, criterion: Criterion = CRITERION
) -> pd.DataFrame:
    predicted = {WAIT: 1.0} if predicted is None else predicted
    wrong = {"twice": {WAIT: 2.0}} if wrong is None else wrong
    return pd.DataFrame(rows("mine", Said(predicted, wrong, found), Here(), criterion))


def sample_about(mean: float, spread: float = 0.1, num: int = 400) -> dict[str, Sample]:
    """Values whose mean is the mean, exactly."""
    values = np.random.default_rng(1).normal(0.0, spread, num)
    return {WAIT: Independent(values=mean + values - values.mean())}


# --- What decides -------------------------------------------------------------------------------------------


def test_a_title_is_the_first_line_of_the_documentation():
    assert Said({}, {}, {}).title == "Numbers that it is told"


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (sample_about(1.0), "agrees"),
        (sample_about(1.2), "disagrees"),
        (sample_about(1.0, spread=3.0), "too noisy"),
        (sample_about(1.0, num=100), "too noisy"),
        ({WAIT: Exact(estimate=1.0 + 1e-12)}, "agrees"),
        ({WAIT: Exact(estimate=1.0 + 1e-6)}, "disagrees"),
        ({WAIT: Series(values=np.cumsum(np.random.default_rng(2).normal(size=2000)))}, "too noisy"),
    ],
    ids=["agrees", "disagrees", "wide", "few", "exact", "not exact", "remembers"],
)
def test_verdicts(found, verdict):
    points = compared(found)
    assert points.loc[points["theory"] == CLOSED_FORM, "verdict"].tolist() == [verdict]


def test_a_series_that_remembers_has_a_wider_interval_than_independent_values():
    """Of an AR(1) series with coefficient 0.9 the mean has (1 + 0.9) / (1 - 0.9) = 19 times the variance."""
    rng, values = np.random.default_rng(3), np.zeros(40_000)
    for place, noise in enumerate(rng.normal(size=len(values) - 1), start=1):
        values[place] = 0.9 * values[place - 1] + noise
    as_series, as_independent = (kind(values=values).interval(0.95) for kind in (Series, Independent))
    assert as_series.half_width / as_independent.half_width == pytest.approx(math.sqrt(19.0), rel=0.35)


def test_a_run_that_is_too_short_says_how_long_it_must_be():
    """The half width is 2.9 times the margin, so the run must be 8.6 times as long."""
    (row,) = compared(sample_about(1.0, spread=3.0)).query("theory == @CLOSED_FORM").to_dict("records")
    half_width = (row["high"] - row["low"]) / 2.0
    assert row["longer"] == pytest.approx((half_width / 0.1) ** 2)
    assert row["longer"] > 5.0


# --- Power --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", [0.0, 0.5, 1.0, 1.7, 3.0])
def test_power_is_the_share_of_runs_that_catch_a_theory(distance):
    """Runs of 400 normal values; the standard error of a share of 4000 runs is 0.8 % at most."""
    rng, num, level = np.random.default_rng(4), 400, 0.95
    wrong = 1.0 + distance * stats.norm.ppf(0.975) / math.sqrt(num)
    values = rng.normal(1.0, 1.0, (4000, num))
    reach = stats.t.ppf(0.975, num - 1) * values.std(axis=1, ddof=1) / math.sqrt(num)
    caught = (np.abs(values.mean(axis=1) - wrong) > reach).mean()
    typical = Interval(estimate=1.0, low=1.0 - reach.mean(), high=1.0 + reach.mean(), level=level)
    assert power(typical, 1.0, wrong) == pytest.approx(caught, abs=0.025)


def test_a_run_as_much_longer_has_the_power_that_is_wanted():
    interval = Interval(estimate=1.02, low=0.92, high=1.12, level=0.99)
    times = longer(interval, 1.0, 1.07)
    reach = 0.1 / math.sqrt(times)
    narrow = Interval(estimate=1.0, low=1.0 - reach, high=1.0 + reach, level=0.99)
    assert power(narrow, 1.0, 1.07) == pytest.approx(0.9, abs=1e-6)
    assert power(interval, 1.0, 1.07) < 0.5


def test_power_of_what_decides_nothing_and_of_what_is_exact():
    flagged = Interval(estimate=1.0, low=0.9, high=1.1, level=0.95, too_noisy=True)
    assert (power(flagged, 1.0, 5.0), longer(flagged, 1.0, 5.0)) == (0.0, math.inf)
    exact = Exact(estimate=1.0).interval(0.95)
    assert (power(exact, 1.0, 1.1), power(exact, 1.0, 1.0)) == (1.0, 0.0)
    interval = Interval(estimate=1.0, low=0.9, high=1.1, level=0.95)
    assert longer(interval, 1.0, 1.0) == math.inf


def test_what_is_not_caught_has_its_power_and_what_helps():
    wrong = {"near": {WAIT: 1.001}, "far": {WAIT: 2.0}}
    (missed,) = not_caught(compared(sample_about(1.0), wrong=wrong)).items()
    (law, theory), (chance, times) = missed
    assert (law, theory) == ("mine", "near")
    assert chance < 0.1
    assert times > 50.0


# --- What is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("predicted", "wrong", "found", "said"),
    [
        ({}, {"x": {}}, {}, r"predict: gives \{\}\. Use"),
        ([1.0], {"x": {}}, {}, r"predict: gives \[1\.0\]\. Use"),
        ({WAIT: math.nan}, {"x": {}}, {}, r"predict, 'wait \(s\)': is nan, no finite number\. Use"),
        ({WAIT: "1"}, {"x": {}}, {}, r"predict, 'wait \(s\)': is '1', no finite number\. Use"),
        ({1: 1.0}, {"x": {}}, {}, r"predict: 1 is not a name\. Use"),
        ({WAIT: 1.0}, {}, {}, r"wrong: gives \{\}, and without a wrong theory .*\. Use"),
        ({WAIT: 1.0}, {"same": {WAIT: 1.0}}, {}, r"wrong, 'same': says the same as predict\. Use"),
        ({WAIT: 1.0}, {"x": {WAIT: math.inf}}, {}, r"wrong, 'x', 'wait \(s\)': is inf, .*Use"),
        (
            {WAIT: 1.0},
            {"x": {"wait (ms)": 2000.0}},
            {},
            r"wrong, 'x': 'wait \(ms\)' is 'wait \(s\)' of predict in another unit\. Use one",
        ),
        ({WAIT: 1.0}, {"x": {"wiat": 2.0}}, {}, r"'wiat' is not predicted\..*Use a name of predict: 'wait"),
        ({WAIT: 1.0}, {"x": {WAIT: 2.0}}, None, r"simulate: gives None\. Use"),
        ({WAIT: 1.0}, {"x": {WAIT: 2.0}}, {}, r"simulate: has no 'wait \(s\)', which predict has\. Use"),
        (
            {WAIT: 1.0},
            {"x": {WAIT: 2.0}},
            {"wait (ms)": Exact(estimate=1e3)},
            r"simulate: 'wait \(ms\)' is 'wait \(s\)' of predict in another unit\. Use one",
        ),
        (
            {WAIT: 1.0},
            {"x": {WAIT: 2.0}},
            {WAIT: 1.0},
            r"simulate, 'wait \(s\)': 1\.0 is no sample\. Use Series",
        ),
        ({WAIT: 0.0}, {"x": {WAIT: 2.0}}, sample_about(1.0), r"predict, 'wait \(s\)': is 0, .*\. Use"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(predicted, wrong, found, said):
    with pytest.raises(WrongLaw, match=said):
        compared(found, predicted, wrong)


@pytest.mark.parametrize(
    ("kind", "values", "said"),
    [
        (Series, [1.0, math.nan, 2.0], r"finite values\. Use"),
        (Independent, [[1.0]], r"must be one axis .*Use"),
        (Trials, [0.0, 0.5], r"neither true nor false\. Use"),
    ],
)
def test_values_that_are_none_are_refused(kind, values, said):
    with pytest.raises(ValueError, match=said):
        kind(values=values)


@pytest.mark.parametrize(
    ("clock", "law", "words"),
    [(1.0, 1e3, "1 / 1000 of"), (1e3, 1.0, "1000 times"), (8.0, 1.0, "8 times"), (1.3, 1.0, None)],
)
def test_a_factor_between_units_is_seen(clock, law, words):
    interval = Interval(estimate=clock, low=0.99 * clock, high=1.01 * clock, level=0.95)
    assert factor_between(interval, law) == words


def test_a_number_in_another_unit_disagrees_with_a_remark():
    points = compared(sample_about(1.0), {WAIT: 1e3}, {"x": {WAIT: 2e3}})
    assert points["remark"].iloc[0] == "the clock has 1 / 1000 of the law's number: look at the units"


# --- The picture --------------------------------------------------------------------------------------------


def test_the_picture_of_one_law_names_every_wrong_theory_and_its_verdicts():
    wrong = {"twice": {WAIT: 2.0}, "half": {WAIT: 0.5, "lost": 0.25}}
    found = {**sample_about(1.0), "lost": Exact(estimate=0.1)}
    figure = drawn(compared(found, {WAIT: 1.0, "lost": 0.1}, wrong), {"mine": "Title"})
    (axes,) = figure.axes
    at = {line.get_label(): np.asarray(line.get_xdata(), dtype=float) for line in axes.lines}
    assert at["twice"].tolist() == [2.0]
    assert sorted(at["half"]) == [0.5, 2.5]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["twice", "half", CLOCK]
    assert [label.get_text() for label in axes.get_yticklabels()] == [WAIT, "lost"]
    (beside,) = axes.child_axes
    assert [label.get_text() for label in beside.get_yticklabels()] == ["agrees", "agrees"]
    assert axes.get_xscale() == "log"


def test_the_picture_of_a_theory_of_0_is_not_logarithmic():
    figure = drawn(compared(sample_about(1.0), wrong={"none": {WAIT: 0.0}}), {"mine": "Title"})
    assert figure.axes[0].get_xscale() == "linear"
    assert figure.axes[0].get_xlim()[0] <= 0.0
