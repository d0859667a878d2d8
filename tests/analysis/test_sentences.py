"""Sentences: none claims what the intervals do not say, in any table; and how they read."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import settings as tried
from hypothesis import strategies as st
from scipy import stats

from analysis.metrics import metrics
from analysis.samples import samples
from analysis.sentences import order, sentences, settings

pytestmark = pytest.mark.quick


def table(times_s: dict[str, list[float]], energies_j: dict[str, list[float]], **columns) -> pd.DataFrame:
    """Designs by what their seeds took to an accuracy of 0.7, NaN where one missed it."""
    rows = [
        {"design": number, "name": name, "seed": seed, "time_to_0.7_s": time_s, "energy_to_0.7_j": energy_j}
        for number, name in enumerate(times_s)
        for seed, (time_s, energy_j) in enumerate(zip(times_s[name], energies_j[name], strict=True))
    ]
    runs = pd.DataFrame(rows).assign(status="complete", base="", num_updates=1.0, num_dropped=0.0)
    runs = runs.assign(time_s=99.0, energy_j=99.0, bits_per_client=99.0, last_version=9.0, **columns)
    runs = runs.assign(**{"versions_to_0.7": 1.0, "bits_per_client_to_0.7": 1.0})
    runs.attrs = {"measures": {"accuracy": ["test accuracy", True, True]}, "targets": ["0.7"], "fields": []}
    return runs


def test_two_designs_as_the_field_says_it():
    hist, averaging = [1.0, 1.1, 1.2, 0.9, 1.0], [2.8, 3.1, 3.3, 2.6, 2.7]
    found = sentences(
        table({"HIST": hist, "HFedAvg": averaging}, {"HIST": [5, 6, 7, 8, 9], "HFedAvg": [6, 5, 7, 9, 8]})
    )
    logs = np.log(np.divide(averaging, hist))
    half = stats.t.ppf(0.975, 4) * np.std(logs, ddof=1) / math.sqrt(5.0)
    ratio, low, high = (math.exp(logs.mean() + by) for by in (0.0, -half, half))
    assert found == [
        f"HIST reaches 70 % {ratio:.3g} times [{low:.3g}, {high:.3g}] faster than HFedAvg; "
        "energy cannot be told apart."
    ]


def test_a_design_that_is_better_twice_is_named_once():
    times_s, energies_j = {"A": [1, 1.1, 1.2], "B": [2, 2.3, 2.4]}, {"A": [1, 1.1, 1.2], "B": [4, 4.1, 4.4]}
    (words,) = sentences(table(times_s, energies_j))
    number = r"[\d.]+"
    by = rf"{number} times \[{number}, {number}\]"
    assert re.fullmatch(rf"A reaches 70 % {by} faster than B, and with {by} less energy\.", words)
    (words,) = sentences(table(times_s, {"A": energies_j["B"], "B": energies_j["A"]}))
    assert re.fullmatch(rf"A reaches .* faster than B; B reaches 70 % with {by} less energy than A\.", words)


def test_a_seed_that_missed_leaves_no_ratio():
    times_s = {"A": [1.0, 1.0, 1.0, 1.0, math.nan], "B": [5.0, 6.0, 7.0, 5.0, 6.0]}
    found = sentences(table(times_s, times_s))
    assert found == ["A reaches 70 % in 4 of 5 runs."]
    none = [math.nan] * 5
    assert sentences(table({"A": none, "B": none}, {"A": none, "B": none})) == ["No run reaches 70 %."]


def test_the_same_on_every_seed_is_no_finding_and_a_fixed_ratio_is_said_so():
    times_s = {"A": [1.0, 1.1, 1.2], "B": [2.0, 2.2, 2.4]}
    assert sentences(table(times_s, {"A": [1, 2, 3], "B": [1, 2, 3]})) == [
        "A reaches 70 % 2 times on every seed faster than B; energy is the same."
    ]


def test_one_seed_or_one_design_says_nothing():
    assert sentences(table({"A": [1.0], "B": [2.0]}, {"A": [1.0], "B": [2.0]})) == []
    assert sentences(table({"A": [1.0, 2.0]}, {"A": [1.0, 2.0]})) == []


def test_of_many_designs_the_best_stands_against_the_rest():
    rng, base = np.random.default_rng(1), np.array([1.0, 1.2, 0.9, 1.1, 1.0])
    scales = {"A": 1.0, "B": 1.5, "C": 2.0, "D": 1.0}
    times_s = {name: list(by * base * rng.normal(1.0, 0.01, 5)) for name, by in scales.items()}
    first, second = sentences(table(times_s, {name: [1.0, 2.0, 3.0, 4.0, 5.0] for name in "ABCD"}))
    assert re.fullmatch(
        r"(A|D) reaches 70 % 1\.\d+ times \[.*\] faster than B; it cannot be told apart from (A|D)\.", first
    )
    assert second == "All have the same energy to 70 %."


def test_a_factorial_is_told_setting_by_setting():
    base = [1.0, 1.2, 0.9, 1.1, 1.0]
    times_s = {
        f"{kind}, {hz}": [by * time_s * (1 + 0.01 * n) for n, time_s in enumerate(base)]
        for kind, by in (("P", 1.0), ("Q", 2.0))
        for hz in (1, 2)
    }
    runs = table(times_s, times_s)
    runs["protocol.kind"] = [name.partition(",")[0] for name in runs["name"]]
    runs["uplink.sharing.bandwidth_hz"] = [1e6 * float(name.rpartition(" ")[2]) for name in runs["name"]]
    runs.attrs |= {"fields": ["protocol.kind", "uplink.sharing.bandwidth_hz"], "parts": {}}
    assert [setting.words for setting in settings(runs)] == ["At 1 MHz: ", "At 2 MHz: "]
    first, second = sentences(runs)
    assert first.startswith("At 1 MHz: P reaches 70 % 2 times")
    assert second.startswith("At 2 MHz: P reaches 70 % 2 times")


@tried(max_examples=60)
@given(st.integers(2, 4), st.integers(3, 7), st.integers(0, 2**32 - 1), st.sampled_from([0.02, 0.3, 1.0]))
def test_no_sentence_disagrees_with_an_interval(num_designs, num_seeds, seed, spread):
    """By scipy: what is called faster is so by the paired intervals of differences and of logarithms."""
    rng = np.random.default_rng(seed)
    names = "ABCD"[:num_designs]
    scales = dict(zip(names, rng.choice([1.0, 1.1, 2.0], num_designs), strict=True))
    times_s = {name: list(scales[name] * rng.lognormal(0.0, spread, num_seeds)) for name in names}
    found = " ".join(sentences(table(times_s, times_s)))
    claims = re.findall(
        r"(\w) reaches 70 % ([\d.e+]+) times \[([\d.e+-]+), ([\d.e+-]+)\] faster than (\w)", found
    )
    for better, ratio, low, high, other in claims:
        assert 1.0 <= float(low) <= float(ratio) <= float(high)
        steps = np.subtract(times_s[other], times_s[better])
        logs = np.log(times_s[other]) - np.log(times_s[better])
        assert float(ratio) == pytest.approx(math.exp(logs.mean()), rel=6e-3)
        for values in [steps] if num_designs > 2 else [steps, logs]:
            low_end, _ = stats.t.interval(0.95, num_seeds - 1, values.mean(), stats.sem(values))
            assert low_end > 0.0
    if num_designs == 2 and not claims:
        assert "A and B cannot be told apart" in found or "B and A cannot be told apart" in found
        steps, logs = np.subtract(*times_s.values()), np.subtract(*np.log(list(times_s.values())))
        ends = [stats.t.interval(0.95, num_seeds - 1, v.mean(), stats.sem(v)) for v in (steps, logs)]
        assert any(low <= 0.0 <= high for low, high in ends) or ends[0][0] * ends[1][0] < 0.0


@tried(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_the_best_score_is_claimed_only_where_the_paired_difference_says_so(seed):
    rng = np.random.default_rng(seed)
    runs = table({"A": [1.0] * 5, "B": [1.0] * 5}, {"A": [1.0] * 5, "B": [1.0] * 5})
    runs["accuracy"] = 0.7 + rng.normal(0.0, 0.01, 10) + 0.02 * (runs["design"] == 1)
    runs.attrs["targets"] = []
    (words, *_) = sentences(runs)
    one, two = (runs.loc[runs["design"] == d, "accuracy"].to_numpy() for d in (0, 1))
    low, high = stats.t.interval(0.95, 4, np.mean(two - one), stats.sem(two - one))
    if low > 0.0 or high < 0.0:
        assert words.startswith("B ends with" if low > 0.0 else "A ends with")
        assert "points" in words
    else:
        assert "cannot be told apart in test accuracy" in words


def test_scores_of_many_designs_are_compared_at_a_level_that_all_pairs_share():
    runs = table({name: [1.0] * 4 for name in "ABC"}, {name: [1.0] * 4 for name in "ABC"})
    runs["accuracy"] = [0.70, 0.71, 0.72, 0.70, 0.80, 0.80, 0.83, 0.81, 0.5, 0.51, 0.55, 0.53]
    found = order(samples(runs, metrics(runs)["accuracy"]), dict(enumerate("ABC")))
    steps = np.subtract([0.80, 0.80, 0.83, 0.81], [0.70, 0.71, 0.72, 0.70])
    half = stats.t.ppf(1.0 - 0.05 / 6.0, 3) * np.std(steps, ddof=1) / 2.0
    assert (found.name, found.others[0].name) == ("B", "A")
    assert found.others[0].interval.half_width == pytest.approx(half, rel=1e-9)


def test_a_seed_that_failed_in_one_design_is_left_out_of_the_others_too():
    times_s = {"A": [1.0, 1.1, 1.2, 1.3], "B": [2.0, 2.3, 2.4, 2.5]}
    runs = table(times_s, times_s)
    runs.loc[7, "status"] = "failed"
    (words,) = sentences(runs)
    shared = table(
        {name: own[:3] for name, own in times_s.items()}, {name: own[:3] for name, own in times_s.items()}
    )
    assert [words] == sentences(shared)
    assert "faster" in words
