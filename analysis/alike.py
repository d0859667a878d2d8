"""Metrics that tell no designs apart, because every run has the same value: said once, in place of rows.

Usage::

    same = alike(runs, metrics(runs))
    print(same_in_words(same))  # The same in all runs: dropped updates 0 %, simulated time 12 s.

Validation: tests/analysis/test_alike.py.
"""

from collections.abc import Iterable

import pandas as pd

from analysis.metrics import Metric, metrics
from analysis.samples import samples


def alike(runs: pd.DataFrame, columns: Iterable[str]) -> dict[Metric, float]:
    """The metrics of several designs that are the same in all runs, each with its value.

    Args:
        columns: Columns of metrics.
    """
    known, found = metrics(runs), {}
    for metric in (known[column] for column in columns):
        own = samples(runs, metric).values()
        values = {value for sample in own for value in sample.taken}
        if len(own) > 1 and len(values) == 1 and not any(sample.missed or sample.num_lost for sample in own):
            found[metric] = float(values.pop())
    return found


def same_in_words(same: dict[Metric, float]) -> str:
    """A sentence about the metrics that are the same in all runs; empty where there is none."""
    told = [f"{metric.name} {metric.amount(value)}" for metric, value in same.items()]
    return f"The same in all runs: {', '.join(told)}." if told else ""
