"""Studies read: intervals and paired differences of hand-made runs, against scipy and by hand."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.intervals.medians import median_interval
from analysis.intervals.shares import share_interval, wilson
from analysis.metrics import metrics
from analysis.pairs import Pairs
from analysis.samples import samples
from analysis.studies import compared, is_tight, load
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
    return table.assign(energy_j=np.nan, bits_per_client=np.nan, **changes)


def reaching(times_s: dict[int, list[float]], lasts_s: float = 9.0) -> pd.DataFrame:
    """Two designs that took these times to the target 0.8, or missed it (NaN), in runs of one length."""
    rows = [
        {"design": design, "name": f"x={design}", "seed": seed, "status": "complete", "time_to_0.8_s": time_s}
        for design, own in times_s.items()
        for seed, time_s in enumerate(own)
    ]
    table = pd.DataFrame(rows).assign(num_updates=1.0, num_dropped=0.0, time_s=lasts_s, last_version=9.0)
    for column in ("energy_j", "bits_per_client"):
        table[column] = lasts_s
    for column in ("energy_to_0.8_j", "bits_per_client_to_0.8", "versions_to_0.8"):
        table[column] = table["time_to_0.8_s"]
    table.attrs = {"measures": {}, "targets": ["0.8"], "fields": []}
    return table


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


def test_scores_are_those_that_the_table_means_and_shares_stay_within_0_and_1():
    shares = [0.9, 0.99, 1.0, 0.5, 0.6, 0.7]
    table = runs(accuracy=shares, loss_nats=shares, other=shares)
    table.attrs["measures"] = {"accuracy": ["test accuracy", True, True], "loss_nats": ["loss (nats)", False]}
    assert {"accuracy", "loss_nats"} <= set(metrics(table))
    assert "other" not in metrics(table)
    found = {(row.design, row.metric): row for row in compared(table)}
    share, loss = found[0, "accuracy"].value, found[0, "loss_nats"].value
    assert (share.low, share.high) == (share_interval(shares[:3]).low, share_interval(shares[:3]).high)
    assert share.high < 1.0 < loss.high
    assert found[1, "accuracy"].difference.half_width == pytest.approx(
        t_half(np.subtract(shares[3:], shares[:3]))
    )


def test_a_design_in_which_a_seed_missed_its_target_stands_beside_the_others():
    """Three seeds: the mean of min(T, horizon), where the horizon is what the run that missed lasted."""
    found = {
        (r.design, r.metric): r for r in compared(reaching({0: [1.0, 2.0, math.nan], 1: [1.5, 1.0, 3.0]}))
    }
    missed, other = found[0, "time_to_0.8_s"], found[1, "time_to_0.8_s"]
    assert missed.statistic == "mean up to 9 s"
    assert missed.value.estimate == pytest.approx(np.mean([1.0, 2.0, 9.0]), rel=1e-12)
    assert missed.value.high == 9.0
    assert missed.note == "2 of 3"
    assert (other.statistic, other.note, other.horizon) == ("mean", "", 9.0)
    assert other.value.estimate == pytest.approx(np.mean([1.5, 1.0, 3.0]), rel=1e-12)
    assert other.difference.estimate == pytest.approx(np.mean([0.5, -1.0, -6.0]), rel=1e-12)
    assert other.pairs == Pairs(wins=2, losses=1, undecided=0)
    assert missed.pairs is None
    share = found[0, "reached_0.8"]
    assert share.statistic == "2 of 3 reached"
    assert (share.value.low, share.value.high) == (wilson(2, 3).low, wilson(2, 3).high)
    assert found[0, "versions_to_0.8"].statistic == "mean up to 9 versions"


def test_with_six_seeds_there_is_a_median_besides():
    times_s = {0: [1.0, 2.0, 3.0, 4.0, 5.0, math.nan], 1: [1.0] * 5 + [2.0]}
    found = {(row.design, row.metric): row for row in compared(reaching(times_s))}
    own, wanted = found[0, "time_to_0.8_s"], median_interval([1.0, 2.0, 3.0, 4.0, 5.0, math.inf])
    assert own.statistic == "mean up to 9 s"
    median = own.sample.median
    assert (median.low, median.estimate, median.high) == (wanted.low, 3.5, math.inf)
    assert found[0, "reached_0.8"].sample.median is None


def test_what_nobody_reached_is_said_once():
    runs = reaching({0: [math.nan] * 2, 1: [math.nan] * 2})
    assert {row.metric for row in compared(runs) if "0.8" in row.metric} == {"reached_0.8"}
    found = samples(runs, metrics(runs)["time_to_0.8_s"])[1]
    assert (found.horizon, found.note) == (9.0, "none by 9 s")


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


def test_tight_is_asked_of_what_a_target_takes_too():
    own = reaching({0: [1.0, 1.1, 1.2]})
    half = t_half([1.0, 1.1, 1.2]) / 1.1
    assert is_tight(own, {"time_to_0.8_s": 1.01 * half})
    assert not is_tight(own, {"time_to_0.8_s": 0.99 * half})
    assert is_tight(reaching({0: [math.nan] * 3}), {"time_to_0.8_s": 0.01})


def test_load_reads_a_study_with_plain_values(tmp_path):
    (tmp_path / "study.json").write_text("{}")
    table = runs(
        error="",
        folder="",
        base="base",
        last_version=9.0,
        received_bits_per_client=0.0,
        latest_s=np.nan,
        protocol="",
    ).assign(
        is_diverged=False,
        **{"field.uplink.sharing.bandwidth_hz": [json.dumps(5e6)] * 3 + [json.dumps(1e7)] * 3},
    )
    table.to_parquet(tmp_path / "runs.parquet")
    found = load(tmp_path)
    assert isinstance(found, pd.DataFrame)
    assert list(found["uplink.sharing.bandwidth_hz"]) == [5e6] * 3 + [1e7] * 3
    assert list(found["dropped_share"]) == pytest.approx([0.0, 0.05, 0.1, 0.2, 0.25, 0.3])
    assert not isinstance(found, Result)
    with pytest.raises(ConfigurationError, match="cannot be read as a run folder"):
        load(tmp_path / "nothing")


def learned(losses: dict[int, list[float]], other: dict[int, list[float]] | None = None) -> pd.DataFrame:
    """Designs whose runs end with these losses, and with another task's; nan means diverged."""
    rows = [
        {"design": design, "name": f"x={design}", "seed": seed, "loss": loss, "is_diverged": math.isnan(loss)}
        for design, own in losses.items()
        for seed, loss in enumerate(own)
    ]
    table = pd.DataFrame(rows).assign(status="complete", last_version=3.0, num_updates=1.0, num_dropped=0.0)
    table = table.assign(time_s=1.0, energy_j=1.0, bits_per_client=1.0)
    measures = {"loss": ["loss (nats)", False, False]}
    if other is not None:
        table["error_m"] = [error for own in other.values() for error in own]
        measures["error_m"] = ["error (m)", False, False]
    table.attrs = {"measures": measures, "targets": [], "fields": []}
    return table


def test_a_diverged_seed_is_not_left_out_of_a_mean():
    found = {
        (row.design, row.metric): row
        for row in compared(learned({0: [1.0, 2.0], 1: [0.5, math.nan], 2: [math.nan] * 2, 3: [2.0, 3.0]}))
    }
    for design, remark in ((1, "not finite in 1 of 2"), (2, "not finite in 2 of 2")):
        row = found[design, "loss"]
        assert math.isnan(row.value.estimate)
        assert (row.value.remark, row.num_runs, row.difference) == (remark, 2, None)
    assert found[3, "loss"].difference.estimate == pytest.approx(1.0)
    assert found[2, "time_s"].num_runs == 2
    against = compared(learned({0: [1.0, math.nan], 1: [0.5, 0.5]}))
    assert all(row.difference is None for row in against if row.metric == "loss")


def test_an_infinite_score_has_no_mean():
    table = learned({0: [1.0, 2.0], 1: [0.5, 1.0]})
    table.loc[3, ["loss", "is_diverged"]] = [math.inf, True]
    found = {(row.design, row.metric): row for row in compared(table)}
    assert found[1, "loss"].value.remark == "not finite in 1 of 2"


def test_the_columns_of_another_task_are_none_of_a_diverged_design():
    nothing = [math.nan] * 2
    table = learned({0: [1.0, 2.0], 1: nothing, 2: nothing}, {0: nothing, 1: [1.0, 2.0], 2: [1.0, math.nan]})
    table["is_diverged"] = [False] * 5 + [True]
    found = {(row.design, row.metric): row for row in compared(table)}
    assert (1, "loss") not in found
    assert (2, "loss") not in found
    assert (0, "error_m") not in found
    assert found[2, "error_m"].value.remark == "not finite in 1 of 2"


def test_no_seed_is_asked_for_that_cannot_make_a_mean():
    assert not is_tight(learned({0: [1.0, 2.0]}), {"loss": 0.1})
    assert is_tight(learned({0: [1.0, math.nan]}), {"loss": 0.1})
