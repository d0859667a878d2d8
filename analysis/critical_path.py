"""Critical path: which clients and servers made a global round last as long as it did, doing what.

The path of a global round is one unbroken line from its start to its end, read off the rows:

- the cell that was ready last (of several at once, the first by number);
- in each of its edge rounds the client whose job ended with the round, where there are several one whose
  update arrived, of these the first by number; its spans lead back to the start of the edge round;
- an edge round that ended with no client's job lasted as long as its server let it: the server's spans;
- between the edge rounds, and after the last, what the cell's server did, then what the cloud did.

Time without a span of any node on the path is "no activity". The pieces of a path meet end to end, so their
durations add up to the round's. The *slack* of a job is the time from its end to the end of its edge round:
how much longer it could have taken without making the edge round longer (where all are waited for). The slack
of a cell is the same for its part of a global round.

Scope and limitations: global rounds that have ended. What does not end in rounds has no path. Where a rule
cuts off late clients, a client on the path is one that the server waited for in vain; had it been faster, the
round would have ended earlier only if all others had been faster too.

Usage::

    path = CriticalPath.of(Result.load("runs/a"))
    path.by_activity()                     # seconds of all global rounds together
    path.rounds[["global_round", "ended_by", "doing"]]
    path.stragglers().head()

Validation: tests/analysis/test_critical_path.py.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import attrs
import numpy as np
import pandas as pd

from analysis.activities import IDLE, of_node
from analysis.path_rows import PathRows, Ready
from analysis.stretches import Stretch
from cosim.names import CLOUD, by_number
from cosim.records.rows import DONE
from cosim.results.result import Result


class Piece(NamedTuple):
    """A stretch of a path; edge round -1 is outside of edge rounds."""

    global_round: int
    edge: str
    edge_round: int
    node: str
    doing: str
    start_s: float
    end_s: float


class EndedRound(NamedTuple):
    """A global round: the last cell to be ready, and the node that ended it; outcome "done" or the reason."""

    global_round: int
    start_s: float
    end_s: float
    edge: str
    ended_by: str
    doing: str
    outcome: str


@attrs.frozen(kw_only=True, eq=False)
class CriticalPath:
    """The paths of a run's global rounds.

    Attributes:
        pieces: A row per `Piece`, in the order of time.
        rounds: A row per global round (`EndedRound`), ended by the last on its path within an edge round.
        edge_rounds: A row per edge round: edge, global_round, edge_round, start_s, end_s, ended_by, outcome.
        jobs: A row per job of a client, in an edge round that has ended: client, edge, global_round,
            edge_round, outcome, slack_s, ended_round.
        cells: A row per cell and global round: edge, global_round, slack_s.
    """

    pieces: pd.DataFrame
    rounds: pd.DataFrame
    edge_rounds: pd.DataFrame
    jobs: pd.DataFrame
    cells: pd.DataFrame

    @classmethod
    def of(cls, result: Result) -> "CriticalPath":
        """From the rows of a run."""
        rows = PathRows(result)
        pieces: list[Piece] = []
        rounds: list[EndedRound] = []
        cells: list[tuple[str, int, float]] = []
        whole = result.rounds[result.rounds["level"] == "global"].sort_values("global_round")
        columns = (whole[name].tolist() for name in ("global_round", "start_s", "end_s"))
        for number, start_s, end_s in zip(*columns, strict=True):
            ready = rows.ready(number, start_s, end_s)
            path = _path(number, ready, start_s, end_s)
            pieces += path
            rounds.append(_ended(number, ready, start_s, end_s, path))
            slack_s = ready.ready_s.max(initial=-np.inf) - ready.ready_s
            cells += [
                (edge, number, slack) for edge, slack in zip(ready.edges, slack_s.tolist(), strict=True)
            ]
        return cls(
            pieces=pd.DataFrame(pieces, columns=list(Piece._fields)),
            rounds=pd.DataFrame(rounds, columns=list(EndedRound._fields)),
            edge_rounds=rows.edge_rounds,
            jobs=rows.jobs,
            cells=pd.DataFrame(cells, columns=["edge", "global_round", "slack_s"]),
        )

    def by_activity(self) -> pd.Series:
        """Seconds on the path by what was done, all global rounds together, the longest first."""
        return self._by_activity

    @cached_property
    def _by_activity(self) -> pd.Series:
        return _lasted(self.pieces).groupby(self.pieces["doing"]).sum().sort_values(ascending=False)

    def by_round(self) -> pd.DataFrame:
        """Seconds on the path by what was done, a row per global round."""
        lasted = self.pieces.assign(lasted_s=_lasted(self.pieces))
        table = lasted.pivot_table(
            index="global_round", columns="doing", values="lasted_s", aggfunc="sum", fill_value=0.0
        )
        return table[[doing for doing in self.by_activity().index if doing in table]]

    def stragglers(self) -> pd.DataFrame:
        """Clients by the time that they were on the path, the longest first.

        Columns: edge, rounds_ended (edge rounds of its cell), on_path_s, num_jobs, mean_slack_s.
        """
        on_path_s = _lasted(self.pieces).groupby(self.pieces["node"]).sum()
        grouped = self.jobs.groupby("client")
        table = pd.DataFrame(
            {
                "edge": grouped["edge"].last(),
                "rounds_ended": grouped["ended_round"].sum(),
                "num_jobs": grouped.size(),
                "mean_slack_s": grouped["slack_s"].mean(),
            }
        )
        table["on_path_s"] = on_path_s.reindex(table.index, fill_value=0.0)
        table = table.loc[sorted(table.index, key=by_number)]
        return table.sort_values(["on_path_s", "rounds_ended"], ascending=False, kind="stable")

    def by_cell(self) -> pd.DataFrame:
        """Cells by number.

        Columns: rounds_ended (global rounds), on_path_s, mean_slack_s (of the cell), mean_job_slack_s.
        """
        ended = self.rounds["edge"].value_counts()
        on_path_s = _lasted(self.pieces).groupby(self.pieces["edge"]).sum()
        names = sorted(set(self.edge_rounds["edge"]), key=by_number)
        table = pd.DataFrame(index=pd.Index(names, name="edge"))
        table["rounds_ended"] = ended.reindex(names, fill_value=0)
        table["on_path_s"] = on_path_s.reindex(names, fill_value=0.0)
        table["mean_slack_s"] = self.cells.groupby("edge")["slack_s"].mean().reindex(names)
        table["mean_job_slack_s"] = self.jobs.groupby("edge")["slack_s"].mean().reindex(names)
        return table


def _lasted(pieces: pd.DataFrame) -> pd.Series:
    return pieces["end_s"] - pieces["start_s"]


def _path(number: int, ready: Ready, start_s: float, end_s: float) -> list[Piece]:
    """The path of a global round, from its start to its end."""
    now_s, edge, served = start_s, ready.last, ready.served
    pieces: list[Piece] = []
    for row in ready.rounds:
        if row.end_s <= now_s or row.start_s >= end_s:
            continue
        pieces += _filled(number, edge, -1, served, edge, now_s, row.start_s)
        now_s = max(now_s, row.start_s)
        until_s = min(row.end_s, end_s)
        stretches = row.done or served
        pieces += _filled(number, edge, row.edge_round, stretches, row.ended_by, now_s, until_s)
        now_s = until_s
    return pieces + _filled(number, edge, -1, served, edge or CLOUD, now_s, end_s)


def _filled(
    number: int,
    edge: str,
    edge_round: int,
    stretches: Sequence[Stretch],
    otherwise: str,
    start_s: float,
    end_s: float,
) -> list[Piece]:
    """Pieces from one time to another: what a node did, and `otherwise` in between."""
    pieces: list[Piece] = []

    def add(node: str, doing: str, until_s: float) -> None:
        nonlocal start_s
        if until_s > start_s:
            pieces.append(Piece(number, edge, edge_round, node, doing, start_s, until_s))
            start_s = until_s

    for each in stretches:
        if each.end_s > start_s and each.start_s < end_s:
            add(otherwise, IDLE, each.start_s)
            add(each.node, of_node(each.node, each.activity), min(each.end_s, end_s))
    add(otherwise, IDLE, end_s)
    return pieces


def _ended(number: int, ready: Ready, start_s: float, end_s: float, path: Sequence[Piece]) -> EndedRound:
    """The node that ended a global round: the last client on its path; a server if no client is on it."""
    clients = [piece for piece in path if piece.edge_round >= 0]
    last = clients[-1] if clients else path[-1] if path else None
    if last is None:
        return EndedRound(number, start_s, end_s, ready.last, ready.last, IDLE, DONE)
    outcome = next((row.outcome for row in ready.rounds if row.edge_round == last.edge_round), DONE)
    return EndedRound(number, start_s, end_s, ready.last, last.node, last.doing, outcome)
