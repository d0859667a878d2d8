"""Critical path: who made a global round last as long as it did, doing what.

The path of a global round is one unbroken line from its start to its end, read off the rows:

- the cell that was ready last (of several at once, the first by number);
- in each of its edge rounds the client whose job ended with the round, where there are several one whose
  update arrived, of these the first by number; its spans lead back to the start of the edge round;
- an edge round that ended with nobody's job lasted as long as its server let it: the server's spans;
- between the edge rounds, and after the last, what the cell's server did, then what the cloud did.

Time in which nobody on the path wrote a span is "no activity". The pieces of a path meet end to end, so their
durations add up to the round's. The *slack* of a job is the time from its end to the end of its edge round:
how much longer it could have taken without making the edge round longer (where all are waited for). The
slack of a cell is the same for its part of a global round.

Scope and limitations: global rounds that have ended. What does not end in rounds has no path. Where a rule
cuts those who are late, a client on the path is one whom the server waited for in vain; faster, it would have
ended the round earlier only if all others had been faster too.

Usage::

    path = CriticalPath.of(Result.load("runs/a"))
    path.by_activity()                     # seconds of all global rounds together
    path.rounds[["global_round", "ended_by", "doing"]]
    path.stragglers().head()

Validation: tests/analysis/test_critical_path.py.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import attrs
import pandas as pd

from analysis.activities import IDLE, of_node
from cosim.names import CLOUD, by_number
from cosim.records import DONE
from cosim.results import Result

_ROUND = ["edge", "global_round", "edge_round"]


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
    """A global round: the cell that was ready last, and who ended it; outcome "done", or why it was cut."""

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
        jobs, edge_rounds = _with_enders(result)
        whole = result.rounds[result.rounds["level"] == "global"].sort_values("global_round")
        servers = result.spans[~result.spans["node"].str.startswith("client")]
        wanted = edge_rounds[["ended_by", "job"]].drop_duplicates()
        enders = result.spans.merge(wanted, left_on=["node", "job"], right_on=["ended_by", "job"])
        of_job = {key: _spans(own) for key, own in enders.groupby(["node", "job"])}
        of_round = dict(iter(edge_rounds.groupby("global_round")))
        pieces: list[Piece] = []
        rounds: list[EndedRound] = []
        cells: list[dict[str, Any]] = []
        for number, start_s, end_s in whole[["global_round", "start_s", "end_s"]].itertuples(index=False):
            own = of_round.get(number, edge_rounds.iloc[:0])
            served = servers[(servers["start_s"] < end_s) & (servers["end_s"] > start_s)]
            ready_s = _ready(own, served, end_s)
            last = min(ready_s, key=lambda edge: (-ready_s[edge], by_number(edge)), default="")
            rows = own[own["edge"] == last].sort_values("start_s").itertuples()
            of_servers = _spans(served[served["node"].isin([last, CLOUD])])
            path = _path(int(number), last, rows, (start_s, end_s), of_servers, of_job)
            pieces += path
            rounds.append(_ended(int(number), start_s, end_s, last, path, own))
            cells += [
                {"edge": edge, "global_round": number, "slack_s": ready_s[last] - ready_s[edge]}
                for edge in sorted(ready_s, key=by_number)
            ]
        return cls(
            pieces=pd.DataFrame(pieces, columns=list(Piece._fields)),
            rounds=pd.DataFrame(rounds, columns=list(EndedRound._fields)),
            edge_rounds=edge_rounds.drop(columns="job"),
            jobs=jobs,
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


class _Stretch(NamedTuple):
    """What a node did, from when to when."""

    node: str
    activity: str
    start_s: float
    end_s: float


def _spans(table: pd.DataFrame) -> list[_Stretch]:
    """Spans of nodes by their start."""
    table = table.sort_values(["start_s", "end_s"], kind="stable")
    columns = (table[name] for name in _Stretch._fields)
    return [_Stretch(*row) for row in zip(*columns, strict=True)]


def _with_enders(result: Result) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The jobs with their slack, and the edge rounds with the job that ended each."""
    edge_rounds = result.rounds[result.rounds["level"] == "edge"].rename(columns={"node": "edge"})
    edge_rounds = edge_rounds[[*_ROUND, "start_s", "end_s"]].reset_index(drop=True)
    ends = edge_rounds[[*_ROUND, "end_s"]].rename(columns={"end_s": "round_end_s"})
    jobs = result.fates.merge(ends, on=_ROUND)
    jobs["slack_s"] = jobs["round_end_s"] - jobs["end_s"]
    last = jobs[jobs["slack_s"] == 0.0]
    place = {name: number for number, name in enumerate(sorted(last["client"].unique(), key=by_number))}
    last = last.assign(was_cut=last["outcome"] != DONE, place=last["client"].map(place))
    last = last.sort_values(["was_cut", "place"]).drop_duplicates(_ROUND)
    jobs["ended_round"] = jobs.index.isin(last.index)
    named = last.rename(columns={"client": "ended_by"})[[*_ROUND, "ended_by", "job", "outcome"]]
    edge_rounds = edge_rounds.merge(named, on=_ROUND, how="left")
    edge_rounds["ended_by"] = edge_rounds["ended_by"].fillna(edge_rounds["edge"])
    edge_rounds["outcome"] = edge_rounds["outcome"].fillna(DONE)
    edge_rounds["job"] = edge_rounds["job"].fillna(-2).astype("int64")
    columns = ["client", "edge", "global_round", "edge_round", "outcome", "slack_s", "ended_round"]
    return jobs[columns], edge_rounds


def _ready(edge_rounds: pd.DataFrame, served: pd.DataFrame, end_s: float) -> dict[str, float]:
    """When each cell was ready: the end of its last edge round, or of what its server did after that."""
    ready_s = {str(edge): float(last) for edge, last in edge_rounds.groupby("edge")["end_s"].max().items()}
    after_s = served.groupby("node")["end_s"].max()
    return {edge: min(max(last, after_s.get(edge, last)), end_s) for edge, last in ready_s.items()}


def _path(
    number: int,
    edge: str,
    edge_rounds: Iterable[Any],
    between: tuple[float, float],
    served: Sequence[_Stretch],
    of_job: dict[Any, list[_Stretch]],
) -> list[Piece]:
    """The path of a global round, from its start to its end."""
    now_s, end_s = between
    pieces: list[Piece] = []
    for row in edge_rounds:
        if row.end_s <= now_s or row.start_s >= end_s:
            continue
        pieces += _filled(number, edge, -1, served, edge, now_s, row.start_s)
        now_s = max(now_s, row.start_s)
        own = of_job.get((row.ended_by, row.job))
        until_s = min(row.end_s, end_s)
        who = served if own is None else own
        pieces += _filled(number, edge, row.edge_round, who, row.ended_by, now_s, until_s)
        now_s = until_s
    return pieces + _filled(number, edge, -1, served, edge or CLOUD, now_s, end_s)


def _filled(
    number: int,
    edge: str,
    edge_round: int,
    stretches: Sequence[_Stretch],
    otherwise: str,
    start_s: float,
    end_s: float,
) -> list[Piece]:
    """Pieces from one time to another: what somebody did, and where nobody did anything, that."""
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


def _ended(
    number: int, start_s: float, end_s: float, edge: str, path: Sequence[Piece], edge_rounds: pd.DataFrame
) -> EndedRound:
    """Who ended a global round: the last client on its path; a server, where no client is on it."""
    clients = [piece for piece in path if piece.edge_round >= 0]
    last = clients[-1] if clients else path[-1] if path else None
    if last is None:
        return EndedRound(number, start_s, end_s, edge, edge, IDLE, DONE)
    own = edge_rounds[(edge_rounds["edge"] == edge) & (edge_rounds["edge_round"] == last.edge_round)]
    outcome = str(own["outcome"].iloc[0]) if len(own) else DONE
    return EndedRound(number, start_s, end_s, edge, last.node, last.doing, outcome)
