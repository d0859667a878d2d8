"""Stretches: what nodes did, from when to when, read off the spans of a run as columns.

Usage::

    spans = Stretches(result.spans, names, node)
    spans.rows(spans.of_servers(start_s, end_s))
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.columns import Numbers, places


class Stretch(NamedTuple):
    """Activity of a node, from when to when."""

    node: str
    activity: str
    start_s: float
    end_s: float


class Stretches:
    """The spans of a run.

    Attributes:
        node: Places of their nodes among the names, shape (spans,).
        start_s: Shape (spans,).
        end_s: Shape (spans,).

    Args:
        names: Of nodes, shape (names,).
    """

    def __init__(self, spans: pd.DataFrame, names: NDArray[Any], node: Numbers) -> None:
        self.node, self._names, self._job = node, names, spans["job"].to_numpy()
        self.start_s, self.end_s = spans["start_s"].to_numpy(), spans["end_s"].to_numpy()
        self._activity, activities = pd.factorize(spans["activity"])
        self._activities = activities.tolist()
        is_server = np.array([not name.startswith("client") for name in names], dtype=bool)
        self._servers = self._in_time(np.flatnonzero(is_server[node]))
        self._latest_s = np.maximum.accumulate(self.end_s[self._servers])

    def of_servers(self, start_s: float, end_s: float) -> Numbers:
        """Rows of what servers did between two times, by their start."""
        first = np.searchsorted(self._latest_s, start_s, side="right")
        rows = self._servers[first : np.searchsorted(self.start_s[self._servers], end_s)]
        return rows[self.end_s[rows] > start_s]

    def of_jobs(self, node: Numbers, job: Numbers) -> list[Numbers]:
        """Activities in some jobs of nodes, in the order of their starts."""
        of = places([self.node, self._job], [node, job])
        rows = self._in_time(np.flatnonzero(of >= 0))
        rows = rows[np.argsort(of[rows], kind="stable")]
        return np.split(rows, np.searchsorted(of[rows], np.arange(1, len(node))))[: len(node)]

    def rows(self, rows: Numbers) -> list[Stretch]:
        """Rows one by one."""
        names, activities = self._names[self.node[rows]], (self._activities[a] for a in self._activity[rows])
        columns = names, activities, self.start_s[rows].tolist(), self.end_s[rows].tolist()
        return [Stretch(*row) for row in zip(*columns, strict=True)]

    def _in_time(self, rows: Numbers) -> Numbers:
        return rows[np.lexsort((self.end_s[rows], self.start_s[rows]))]
