"""Kinds of clients: outcomes of their jobs, and any of their measures, by design and kind.

Numbers come from the table `clients`, which every run has, even one that keeps no other rows of clients.

Validation: tests/analysis/test_client_kinds.py.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis.kinds import ALL, COLUMNS, OUTCOMES, Group, late_groups
from analysis.metrics import Metric
from analysis.plots.amounts import Amounts
from analysis.plots.bars import MOST_BARS, stacked
from analysis.plots.style import Looks
from analysis.samples import Sample

_LOOKS: Mapping[str, Looks] = {
    "arrived": {"facecolor": "#9cc5e3", "edgecolor": "#0b3c5d"},
    "late": {"facecolor": "#9b2226", "edgecolor": "#9b2226"},
    "left": {"facecolor": "#ffffff", "edgecolor": "#4a4a4a", "hatch": "////"},
}
"""Outcome -> how it looks, in grey, too: light, dark, hatched."""


def named(groups: Sequence[Group]) -> dict[str, Group]:
    """The groups by the names of their rows: design, kind, or both, whichever differ."""
    is_alone = len({group.design.name for group in groups}) == 1
    found = {}
    for group in groups:
        parts = [*([] if is_alone else [group.design.name]), *([] if group.kind == ALL else [group.kind])]
        found[", ".join(parts) or ALL] = group
    return found


def outcomes(axes: Axes, groups: Mapping[str, Group]) -> int:
    """Shares of the jobs of each group that arrived, were late, or left; means over runs.

    Args:
        groups: By the names of their rows.

    Returns:
        How many were drawn, the first ones.
    """
    rows = {name: _shares(group) for name, group in [*groups.items()][:MOST_BARS]}
    stacked(axes, rows, _LOOKS, "jobs (%)")
    axes.set_xlim(0.0, 100.0)
    return len(rows)


def outcomes_in_words(groups: Mapping[str, Group]) -> str:
    """Caption: number of late jobs of each group over all runs."""
    return f"{said}." if (said := late_groups(groups)) else "None was late."


def amounts_of(groups: Mapping[str, Group], column: str) -> Amounts:
    """Numbers of each group, by the names of their rows.

    Args:
        column: One of `analysis.kinds.COLUMNS`.

    Raises:
        ValueError: No group has it.
    """
    metric = Metric(column, COLUMNS[column][1], least=0.0)
    found = {}
    for number, (name, group) in enumerate(groups.items()):
        taken = pd.Series([value for value in group.values(column) if value is not None], dtype=float)
        if len(taken):
            found[name] = Sample(metric=metric, design=number, name=name, taken=taken, lasted=taken)
    if not found:
        raise ValueError(f"no client has {metric.measure.words}.")
    return Amounts.of(found)


def _shares(group: Group) -> dict[str, float]:
    """Per cent of jobs by what became of them, means over the runs in which the kind had any."""
    values = {name: [value for value in group.values(name) if value is not None] for name in OUTCOMES}
    return {name: 100.0 * float(np.mean(own)) for name, own in values.items()}
