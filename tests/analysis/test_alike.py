"""Metrics that are the same in all runs are said once, and no others."""

import math

import numpy as np
import pandas as pd
import pytest

from analysis.alike import alike, same_in_words
from analysis.metrics import metrics

pytestmark = pytest.mark.quick


def table(**columns) -> pd.DataFrame:
    """Two designs of two seeds each, which all last 12 s and drop nothing."""
    runs = pd.DataFrame({"design": [0, 0, 1, 1], "seed": [1, 2, 1, 2], "name": list("aabb")})
    runs = runs.assign(status="complete", num_updates=5.0, num_dropped=0.0, time_s=12.0, last_version=3.0)
    runs = runs.assign(energy_j=[1.0, 2.0, 3.0, 4.0], bits_per_client=2e6, **columns)
    runs.attrs = {"measures": {}, "targets": ["0.8"], "fields": []}
    return runs


def test_what_all_runs_share_is_said_once():
    reached = {
        f"{cost}_to_0.8{unit}": 3.0 for cost, unit in (("time", "_s"), ("energy", "_j"), ("versions", ""))
    }
    runs = table(**reached, **{"bits_per_client_to_0.8": [1e6, 1e6, 1e6, np.nan]})
    same = alike(runs, ["time_s", "energy_j", "dropped_share", "bits_per_client", "reached_0.8"])
    assert same_in_words(same) == (
        "The same in all runs: simulated time 12 s, dropped updates 0 %, sent per client 2 Mbit, "
        "0.8 reached 100 %."
    )
    assert not alike(runs, ["bits_per_client_to_0.8"])


def test_a_single_design_or_a_seed_that_missed_shares_nothing():
    missed = table(**{"time_to_0.8_s": [3.0, math.nan, 3.0, 3.0]})
    assert not alike(missed, ["time_to_0.8_s"])
    alone = missed.query("design == 0")
    alone.attrs = missed.attrs
    assert same_in_words(alike(alone, ["time_s"])) == ""
    assert [metric.column for metric in alike(missed, ["time_s"])] == ["time_s"]
    assert "time_s" in metrics(missed)
