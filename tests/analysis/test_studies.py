"""Studies read: intervals and paired differences of hand-made runs against scipy."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.studies import METRICS, compared, is_tight, load, of_design
from cosim import ConfigurationError, Result

TIMES_S = {0: [10.0, 12.0, 17.0], 1: [9.0, 11.5, 16.0]}


def runs(**changes) -> pd.DataFrame:
    """Two designs of three seeds each."""
    rows = [
        {"design": design, "name": f"x={design}", "seed": seed, "status": "complete", "time_s": time_s}
        for design, times_s in TIMES_S.items()
        for seed, time_s in enumerate(times_s)
    ]
    table = pd.DataFrame(rows).assign(num_updates=20.0, num_dropped=[0.0, 1.0, 2.0, 4.0, 5.0, 6.0])
    for metric in METRICS:
        if metric not in table and metric != "dropped_share":
            table[metric] = np.nan
    return table.assign(**changes)


def t_half(values) -> float:
    return stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))


def test_means_and_paired_differences_are_those_of_scipy():
    found = {(row.design, row.metric): row for row in compared(runs())}
    assert set(found) == {(d, m) for d in (0, 1) for m in ("time_s", "dropped_share")}
    for design, times_s in TIMES_S.items():
        row = found[design, "time_s"]
        assert row.num_runs == 3
        assert row.value.estimate == pytest.approx(np.mean(times_s), rel=1e-12)
        assert row.value.half_width == pytest.approx(t_half(times_s), rel=1e-12)
    assert found[0, "time_s"].difference is None
    difference = found[1, "time_s"].difference
    steps = np.subtract(TIMES_S[1], TIMES_S[0])
    assert difference.estimate == pytest.approx(np.mean(steps), rel=1e-12)
    assert difference.half_width == pytest.approx(t_half(steps), rel=1e-12)
    assert difference.half_width < 0.2 * found[1, "time_s"].value.half_width
    assert found[1, "dropped_share"].value.estimate == pytest.approx(0.25)


def test_the_reference_may_be_any_design():
    found = {(row.design, row.metric): row for row in compared(runs(), reference=1)}
    assert found[1, "time_s"].difference is None
    assert found[0, "time_s"].difference.estimate == pytest.approx(np.mean([1.0, 0.5, 1.0]), rel=1e-12)


def test_runs_that_failed_are_left_out_and_only_shared_seeds_are_paired():
    table = runs()
    table.loc[(table["design"] == 1) & (table["seed"] == 0), ["status", "time_s"]] = ["failed", np.nan]
    found = {(row.design, row.metric): row for row in compared(table)}
    assert found[1, "time_s"].num_runs == 2
    assert found[1, "time_s"].difference.estimate == pytest.approx(-0.75)


def test_a_target_that_not_all_seeds_reached_has_no_mean():
    table = runs()
    table["time_to_target_s"] = [1.0, 2.0, np.nan, 1.0, 2.0, 3.0]
    assert of_design(table, 0, "time_to_target_s").empty
    assert len(of_design(table, 1, "time_to_target_s")) == 3
    found = {(row.design, row.metric) for row in compared(table)}
    assert (0, "time_to_target_s") not in found
    assert (1, "time_to_target_s") in found


def test_one_seed_has_no_interval_and_says_so():
    table = runs().query("seed == 0")
    (row,) = [row for row in compared(table) if (row.design, row.metric) == (1, "time_s")]
    assert row.value.too_noisy
    assert row.value.remark == "one seed"
    assert row.difference is None


@pytest.mark.parametrize("share", [0.5, 0.68, 0.69, 0.7])
def test_tight_is_a_half_width_of_at_most_a_share_of_the_mean(share):
    own = runs().query("design == 0")
    ratio = t_half(TIMES_S[0]) / np.mean(TIMES_S[0])
    assert 0.68 < ratio < 0.69
    assert is_tight(own, {"time_s": share}) == (ratio <= share)
    assert is_tight(own, {"time_s": share, "accuracy": 0.1}) == (ratio <= share)
    assert is_tight(own, {})
    assert not is_tight(own.iloc[:1], {"time_s": 0.9})


def test_load_reads_a_study_with_plain_values(tmp_path):
    (tmp_path / "study.json").write_text("{}")
    table = runs(error="", folder="").assign(
        **{"field.uplink.sharing.bandwidth_hz": [json.dumps(5e6)] * 3 + [json.dumps(1e7)] * 3}
    )
    table.to_parquet(tmp_path / "runs.parquet")
    found = load(tmp_path)
    assert isinstance(found, pd.DataFrame)
    assert list(found["uplink.sharing.bandwidth_hz"]) == [5e6] * 3 + [1e7] * 3
    assert list(found["dropped_share"]) == pytest.approx([0.0, 0.05, 0.1, 0.2, 0.25, 0.3])
    assert not isinstance(found, Result)
    with pytest.raises(ConfigurationError, match="cannot be read as a run folder"):
        load(tmp_path / "nothing")
