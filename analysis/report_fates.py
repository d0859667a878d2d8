"""Fates: what became of each client's work in each edge round of a run, and of its energy.

Wasted is the energy of the spans of a client in an edge round in which its update did not arrive. A span is
in the edge round of its cell in which it began and ended. What was spent in an edge round that never ended
(the run was stopped) is neither useful nor wasted, and has a fate of its own.

Scope and limitations: a client of which no upload and no plan tells the cell counts by its cut spans, for it
never came to sending.

Usage::

    fates = Fates.of(result)
    print(fates.energy_j("wasted", "send"), fates.wasted_percent())
"""

import attrs
import numpy as np
import pandas as pd

from cosim.records import DONE
from cosim.results import Result

_DOING = {"train": "training", "send": "sending", "wait": "waiting to send"}
_LOST = "left no rows"


@attrs.frozen(kw_only=True, eq=False)
class Fates:
    """What became of each client's work in each edge round.

    Attributes:
        spans: The clients' spans, with `fate`: "arrived", "wasted" or "not ended".
        attempts: A row per client and edge round that ended: client, edge, arrived, reason, energy_j.
        num_dropped: Updates that did not arrive, by the run's summary.
    """

    spans: pd.DataFrame
    attempts: pd.DataFrame
    num_dropped: int

    @classmethod
    def of(cls, result: Result) -> "Fates":
        """From the rows of a run."""
        spans = _spans(result)
        stray = (spans["edge"] == "") & (spans["outcome"] != DONE)
        ended = (spans["end_s"] <= spans["closed_s"]) | stray
        key = ["client", "global_round", "edge_round"]
        arrivals = result.transfers[result.transfers["arrived"]][key].drop_duplicates()
        arrivals = arrivals.astype({"global_round": "float64", "edge_round": "float64"}).assign(come=True)
        spans[key[1:]] = spans[key[1:]].astype("float64")
        spans.loc[stray, "global_round"] = -1.0
        spans.loc[stray, "edge_round"] = np.flatnonzero(stray)
        come = spans[key].merge(arrivals, on=key, how="left")["come"].notna()
        spans["fate"] = np.where(~ended, "not ended", np.where(come, "arrived", "wasted"))
        cut = spans["outcome"] != DONE
        doing = [_DOING.get(activity, activity) for activity in spans["activity"]]
        spans["reason"] = pd.Series(spans["outcome"] + ", while " + pd.Series(doing, dtype="str")).where(cut)
        grouped = spans[ended].sort_values("end_s", kind="stable").groupby(key, sort=True)
        attempts = grouped.agg(
            edge=("edge", "last"),
            fate=("fate", "last"),
            reason=("reason", "last"),
            energy_j=("energy_j", "sum"),
        ).reset_index()
        attempts["arrived"] = attempts["fate"] == "arrived"
        attempts["reason"] = (
            attempts["reason"].fillna("ended before it could send").where(~attempts["arrived"])
        )
        return cls(spans=spans, attempts=attempts, num_dropped=result.summary.num_dropped)

    def energy_j(self, fate: str | None = None, activity: str | None = None) -> float:
        """Energy of the clients, of one fate and one activity ("other": neither train nor send) if given."""
        chosen = pd.Series(True, index=self.spans.index)
        if fate is not None:
            chosen &= self.spans["fate"] == fate
        if activity == "other":
            chosen &= ~self.spans["activity"].isin(["train", "send"])
        elif activity is not None:
            chosen &= self.spans["activity"] == activity
        return float(self.spans.loc[chosen, "energy_j"].sum())

    def wasted_percent(self) -> float | None:
        """Share of the clients' energy that was wasted; None where there is none."""
        total_j = self.energy_j()
        return 100.0 * self.energy_j("wasted") / total_j if total_j else None

    def reasons(self) -> dict[str, int]:
        """Dropped updates by reason; those of which no span tells are counted too."""
        counts = {str(reason): int(n) for reason, n in self.attempts["reason"].value_counts().items()}
        lost = self.num_dropped - sum(counts.values())
        return counts | ({_LOST: lost} if lost > 0 else {})


def _spans(result: Result) -> pd.DataFrame:
    """The clients' spans, each with its cell and the edge round in which it began."""
    spans = result.spans[result.spans["node"].str.startswith("client")]
    spans = spans.rename(columns={"node": "client"}).sort_values("start_s", kind="stable")
    told = pd.concat([result.transfers[["client", "edge"]], result.plans[["client", "edge"]]])
    edge_of = dict(zip(told["client"], told["edge"], strict=True))
    rounds = result.rounds[result.rounds["level"] == "edge"]
    only = rounds["node"].iloc[0] if rounds["node"].nunique() == 1 else ""
    edges = [edge_of.get(client, only) for client in spans["client"]]
    spans = spans.assign(edge=pd.Series(edges, index=spans.index, dtype=rounds["node"].dtype))
    rounds = rounds.sort_values(["start_s", "end_s"], kind="stable").rename(
        columns={"node": "edge", "end_s": "closed_s"}
    )
    columns = ["start_s", "edge", "closed_s", "global_round", "edge_round"]
    return pd.merge_asof(spans, rounds[columns], on="start_s", by="edge")
