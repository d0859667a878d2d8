"""What a study says: means of every design with intervals, and differences to the reference, seed by seed."""

from collections.abc import Mapping, Sequence

import pandas as pd
from rich.table import Table

from analysis.intervals.statistics import Interval
from analysis.studies import Comparison


def words(interval: Interval) -> str:
    """Mean and ends."""
    if interval.low == interval.high:
        return f"{interval.estimate:.4g}"
    return f"{interval.estimate:.4g} [{interval.low:.4g}, {interval.high:.4g}]"


def table(comparisons: Sequence[Comparison], names: Mapping[str, str], reference: str) -> Table:
    """Every metric of every design, and the difference to the reference on the same seeds.

    Args:
        names: Metric -> what it is called.
    """
    shown = Table(title="Mean over seeds and 95 % interval", title_justify="left")
    for heading in ("", "design", "mean", f"difference to {reference}, seed by seed"):
        shown.add_column(heading, overflow="fold")
    for metric, name in names.items():
        own = [row for row in comparisons if row.metric == metric]
        for row in own:
            difference = words(row.difference) if row.difference else "-"
            cells = (name if row is own[0] else "", row.name, words(row.value), difference)
            shown.add_row(*cells, end_section=row is own[-1])
    return shown


def frame(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """The same as a table with numbers."""
    rows = []
    for row in comparisons:
        values = {"mean": row.value.estimate, "low": row.value.low, "high": row.value.high}
        if row.difference is not None:
            found = row.difference
            values |= {"difference": found.estimate, "difference_low": found.low}
            values |= {"difference_high": found.high}
        own = {"design": row.design, "name": row.name, "metric": row.metric, "num_runs": row.num_runs}
        rows.append(own | values)
    return pd.DataFrame(rows)
