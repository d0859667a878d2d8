"""Rows that critical paths are read from: edge rounds, which job ended each, and what was done meanwhile.

Nodes are places among their names, which go by number: so do ties.

Usage::

    rows = PathRows(result)
    ready = rows.ready(1, start_s, end_s)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.columns import coded, places
from analysis.stretches import Stretch, Stretches
from cosim.names import CLOUD
from cosim.records.rows import DONE
from cosim.results.result import Result

_ROUND = ["edge", "global_round", "edge_round"]


class EdgeRound(NamedTuple):
    """An edge round, the client that ended it, how its job ended, and what was done: nothing by a server."""

    edge_round: int
    start_s: float
    end_s: float
    ended_by: str
    outcome: str
    done: list[Stretch]


class Ready(NamedTuple):
    """A global round: when its cells were ready, by number, and the one that was last.

    Attributes:
        edges: Names of the cells.
        ready_s: Shape (cells,).
        last: Its name; "" where there was no cell.
        rounds: Its edge rounds, by their start.
        served: What its server and the cloud did meanwhile, by its start.
    """

    edges: list[str]
    ready_s: NDArray[np.float64]
    last: str
    rounds: list[EdgeRound]
    served: list[Stretch]


class PathRows:
    """Edge rounds that have ended, and the jobs in them.

    Attributes:
        edge_rounds: A row per edge round, by their ends: edge, global_round, edge_round, start_s, end_s,
            ended_by, outcome.
        jobs: A row per job: client, edge, global_round, edge_round, outcome, slack_s, ended_round.
    """

    def __init__(self, result: Result) -> None:
        fates = result.fates
        rounds = result.rounds[result.rounds["level"] == "edge"].rename(columns={"node": "edge"})
        rounds = rounds.sort_values("end_s", kind="stable")
        named = fates["client"], fates["edge"], rounds["edge"], result.spans["node"]
        self._names, (client, cell, self._edge, node) = coded(*named)
        self._spans = Stretches(result.spans, self._names, node)
        of_jobs, of_rounds = ([each[name].to_numpy() for name in _ROUND[1:]] for each in (fates, rounds))
        round_of = places([cell, *of_jobs], [self._edge, *of_rounds])
        rows = np.flatnonzero(round_of >= 0)
        round_of, client, was_done = round_of[rows], client[rows], fates["outcome"].to_numpy()[rows] == DONE
        self._start_s, self._end_s = rounds["start_s"].to_numpy(), rounds["end_s"].to_numpy()
        slack_s = self._end_s[round_of] - fates["end_s"].to_numpy()[rows]
        last = np.flatnonzero(slack_s == 0.0)
        last = last[np.lexsort((client[last], ~was_done[last], round_of[last]))]
        ended, first = np.unique(round_of[last], return_index=True)
        enders = last[first]

        self.jobs = fates.iloc[rows][["client", *_ROUND, "outcome"]].reset_index(drop=True)
        outcome = np.full(len(rounds), DONE, dtype=object)
        outcome[ended] = self.jobs["outcome"].to_numpy()[enders]
        ended_by = self._edge.copy()
        ended_by[ended] = client[enders]
        did_end = np.zeros(len(rows), dtype=bool)
        did_end[enders] = True
        self.jobs["slack_s"], self.jobs["ended_round"] = slack_s, did_end
        self.edge_rounds = rounds[[*_ROUND, "start_s", "end_s"]].reset_index(drop=True)
        done = self._spans.of_jobs(client[enders], fates["job"].to_numpy()[rows[enders]])
        self._done = dict(zip(ended.tolist(), done, strict=True))
        self._edge_round_of, self._ended_by, self._outcome = of_rounds[1], self._names[ended_by], outcome
        self.edge_rounds["ended_by"], self.edge_rounds["outcome"] = self._ended_by, outcome
        self._order = np.lexsort((self._start_s, self._edge, of_rounds[0]))
        self._numbers = of_rounds[0][self._order]

    def ready(self, number: int, start_s: float, end_s: float) -> Ready:
        """Times at which cells were ready, after their last edge rounds and their servers' activities."""
        own = self._order[slice(*np.searchsorted(self._numbers, [number, number + 1]))]
        served = self._spans.of_servers(start_s, end_s)
        edges, first = np.unique(self._edge[own], return_index=True)
        ready_s = np.maximum.reduceat(self._end_s[own], first) if len(own) else np.empty(0)
        of = places([self._spans.node[served]], [edges])
        np.maximum.at(ready_s, of[of >= 0], self._spans.end_s[served[of >= 0]])
        ready_s = np.minimum(ready_s, end_s)
        names = self._names[edges].tolist()
        last = names[np.argmax(ready_s)] if names else ""
        is_meant = np.isin(self._names[self._spans.node[served]], [last, CLOUD])
        rounds = [self._edge_round(row) for row in own[self._names[self._edge[own]] == last].tolist()]
        return Ready(names, ready_s, last, rounds, self._spans.rows(served[is_meant]))

    def _edge_round(self, row: int) -> EdgeRound:
        return EdgeRound(
            edge_round=int(self._edge_round_of[row]),
            start_s=float(self._start_s[row]),
            end_s=float(self._end_s[row]),
            ended_by=self._ended_by[row],
            outcome=self._outcome[row],
            done=self._spans.rows(self._done[row]) if row in self._done else [],
        )
