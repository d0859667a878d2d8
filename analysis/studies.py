"""Studies read: tables of designs with intervals, and the difference that each design makes.

All designs have the same seeds, so the difference to a reference is taken seed by seed; its interval is
usually much shorter than those of the two means.

Scope and limitations: intervals are Student's t over seeds, 95 %; runs that failed are left out and counted.
Time and energy to a target are means over the seeds that reached it, and only where all did.

Usage::

    runs = load("studies/bandwidth")
    compared(runs, reference=0)
"""

import json
import math
from pathlib import Path

import attrs
import numpy as np
import pandas as pd

from analysis.intervals.statistics import Interval, paired_difference, t_interval
from cosim.files import place
from cosim.results import Result
from cosim.units import SUFFIXES

METRICS = {
    "time_s": "simulated time (s)",
    "energy_j": "energy (J)",
    "dropped_share": "dropped updates (share)",
    "bits_per_client": "bits per client",
    "time_to_target_s": "time to target (s)",
    "energy_to_target_j": "energy to target (J)",
}
"""Metric -> what it is called in a table; scores come besides, as the tasks of the runs call them."""
_ABBREVIATIONS = {"mse": "MSE", "mae": "MAE", "rmse": "RMSE"}


@attrs.frozen(kw_only=True)
class Comparison:
    """One metric of one design.

    Attributes:
        design: Its number.
        name: Its values in words.
        metric: One of METRICS, or a score.
        num_runs: Seeds with a value.
        value: Mean over seeds.
        difference: Mean difference to the reference on the same seeds; None for the reference itself, or
            where fewer than two seeds are shared.
    """

    design: int
    name: str
    metric: str
    num_runs: int
    value: Interval
    difference: Interval | None


def load(path: str | Path) -> "Result | pd.DataFrame":
    """A run's tables, or a study's table of runs with plain values of its fields.

    Raises:
        ConfigurationError: There is neither.
    """
    folder = place(path)
    if not (folder / "study.json").exists():
        return Result.load(folder)
    from cosim.studies.table import table_in  # not for a run, which needs no engine

    runs = table_in(folder)
    for column in [name for name in map(str, runs.columns) if name.startswith("field.")]:
        runs[column.removeprefix("field.")] = [json.loads(value) for value in runs.pop(column)]
    return with_shares(runs)


def with_shares(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with the share of updates that were dropped."""
    return runs.assign(dropped_share=runs["num_dropped"] / runs["num_updates"])


def metrics(runs: pd.DataFrame) -> dict[str, str]:
    """What runs can be compared by, and what it is called in a table.

    Scores are the columns between those of the whole run and those of its target.
    """
    columns, before = list(map(str, runs.columns)), list(METRICS).index("time_to_target_s")
    first, end = columns.index("bits_per_client") + 1, columns.index("time_to_target_s")
    scores = {column: words_of(column) for column in columns[first:end]}
    named = list(METRICS.items())
    return dict([*named[:before], *scores.items(), *named[before:]])


def words_of(column: str) -> str:
    """The words of a column's name, and its unit in brackets."""
    suffix = next((suffix for suffix in SUFFIXES if column.endswith(suffix)), "")
    words = column.removesuffix(suffix).strip("_").split("_")
    said = " ".join(_ABBREVIATIONS.get(word, word) for word in words)
    return f"{said} ({SUFFIXES[suffix]})" if suffix else said


def of_design(runs: pd.DataFrame, design: int, metric: str) -> pd.Series:
    """A metric of a design's runs by seed; empty where a run lacks it."""
    own = runs[(runs["design"] == design) & (runs["status"] == "complete")].set_index("seed")[metric]
    return own if own.notna().all() else own.iloc[:0]


def compared(runs: pd.DataFrame, reference: int = 0) -> list[Comparison]:
    """Every metric that there is, of every design, beside the reference."""
    runs = with_shares(runs)
    rows = []
    for design, name in runs[["design", "name"]].drop_duplicates().itertuples(index=False):
        for metric in metrics(runs):
            own = of_design(runs, design, metric)
            if own.empty:
                continue
            other = of_design(runs, reference, metric)
            shared = own.index.intersection(other.index)
            difference = None
            if design != reference and len(shared) > 1:
                difference = paired_difference(other.loc[shared].to_numpy(), own.loc[shared].to_numpy())
            rows.append(
                Comparison(
                    design=int(design),
                    name=str(name),
                    metric=metric,
                    num_runs=len(own),
                    value=interval(own.to_numpy()),
                    difference=difference,
                )
            )
    return rows


def interval(values: np.ndarray) -> Interval:
    """Of the mean over seeds; of one seed without width, and saying so."""
    if len(values) > 1:
        return t_interval(values)
    estimate = float(values[0])
    return Interval(
        estimate=estimate, low=estimate, high=estimate, level=0.95, too_noisy=True, remark="one seed"
    )


def is_tight(runs: pd.DataFrame, precision: dict[str, float]) -> bool:
    """Whether a design's intervals are as tight as asked: half width at most this share of the mean.

    Args:
        runs: The runs of one design.
        precision: Metric -> share. A metric that the runs do not have counts as tight.
    """
    runs = with_shares(runs)
    for metric, share in precision.items():
        if metric not in runs:
            continue
        values = runs.loc[runs["status"] == "complete", metric].dropna().to_numpy()
        if len(values) < 2:
            return len(values) == 0
        found = t_interval(values)
        if not found.half_width <= share * abs(found.estimate) + math.ulp(0.0):
            return False
    return True
