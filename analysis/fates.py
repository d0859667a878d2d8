"""Fates: what became of each job of a run's clients, and of its energy.

Wasted is the energy of the spans of a job that was dropped. What was spent on a job that had not ended (the
run was stopped) is neither useful nor wasted, and has a fate of its own; so has what a client did outside of
jobs.

Scope: a run that kept no rows of its clients says nothing of them, which is not that nothing was dropped
(`keeps_clients`).

Usage::

    fates = Fates.of(result)
    print(fates.energy_j("wasted", "send"), fates.wasted_percent())
"""

from collections.abc import Iterable
from functools import cached_property

import attrs
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.activities import in_words
from cosim.records import DONE, NO_JOB
from cosim.results import Result

NOT_KEPT = "the run kept no rows of its clients. Usual fix: a run that keeps them"


def keeps_clients(result: Result) -> bool:
    """Whether a run kept what its clients did; one that asked none for an update has nothing to keep."""
    return len(result.fates) > 0 or result.summary.num_updates == 0


def check_clients(results: Iterable[Result]) -> None:
    """Refuse runs that say nothing of their clients.

    Raises:
        ValueError: One kept no rows of them.
    """
    if not all(map(keeps_clients, results)):
        raise ValueError(f"{NOT_KEPT}.")


@attrs.frozen(kw_only=True, eq=False)
class Fates:
    """What became of each job of the clients.

    Attributes:
        spans: The clients' spans, with `fate`: "arrived", "wasted", "not ended" or "no job".
        attempts: A row per job that has ended: client, job, edge, arrived, reason, energy_j.
    """

    spans: pd.DataFrame
    attempts: pd.DataFrame
    _known: dict[str, dict[str, NDArray[np.bool_]]] = attrs.field(factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, result: Result) -> "Fates":
        """From the rows of a run."""
        key = ["client", "job"]
        jobs = result.fates.set_index(key)
        spans = result.spans.rename(columns={"node": "client"})
        spans = spans[spans["client"].str.startswith("client")].sort_values("end_s", kind="stable")
        outcome = spans[key].join(jobs["outcome"].rename("of_job"), on=key)["of_job"]
        fates = (spans["job"] == NO_JOB, outcome.isna(), outcome == DONE)
        spans["fate"] = np.select(fates, ("no job", "not ended", "arrived"), "wasted")
        doing = spans["activity"].map(in_words)
        spans["reason"] = (spans["outcome"] + ", while " + doing).where(spans["outcome"] != DONE)
        grouped = spans[spans["job"] != NO_JOB].groupby(key)
        attempts = jobs[["edge"]].assign(
            arrived=jobs["outcome"] == DONE,
            reason=grouped["reason"].last().reindex(jobs.index).fillna(jobs["outcome"]),
            energy_j=grouped["energy_j"].sum().reindex(jobs.index, fill_value=0.0),
        )
        attempts["reason"] = attempts["reason"].where(~attempts["arrived"])
        return cls(spans=spans, attempts=attempts.reset_index())

    def spent(self) -> pd.Series:
        """Joules by fate and activity, of the pairs that took any."""
        energy_j = self.spans.groupby(["fate", "activity"])["energy_j"].sum()
        return energy_j[energy_j > 0.0]

    def energy_j(self, fate: str | None = None, activity: str | None = None) -> float:
        """Energy of the clients, of one fate and one activity if given."""
        chosen = np.ones(len(self.spans), dtype=bool)
        if fate is not None:
            chosen &= self._are("fate").get(fate, False)
        if activity is not None:
            chosen &= self._are("activity").get(activity, False)
        return float(self._energy_j[chosen].sum())

    def wasted_percent(self) -> float | None:
        """Share of the clients' energy that was wasted; None where there is none."""
        total_j = self.energy_j()
        return 100.0 * self.energy_j("wasted") / total_j if total_j else None

    @cached_property
    def _energy_j(self) -> NDArray[np.float64]:
        return self.spans["energy_j"].to_numpy()

    def _are(self, column: str) -> dict[str, NDArray[np.bool_]]:
        """Value -> the spans that have it; a report asks for many of them."""
        if column not in self._known:
            values = self.spans[column].to_numpy(dtype=object)
            self._known[column] = {value: values == value for value in dict.fromkeys(values)}
        return self._known[column]

    def reasons(self) -> dict[str, int]:
        """Dropped updates by reason."""
        return {str(reason): int(n) for reason, n in self.attempts["reason"].value_counts().items()}
