"""Fates: what became of each job of a run's clients, and of its energy.

Wasted is the energy of the spans of a job that was dropped. What was spent on a job that had not ended (the
end of the run met it, or the run was stopped) is neither useful nor wasted, and has a fate of its own; so has
what a client did outside of jobs.

Scope: a run that kept no rows of its clients says nothing of them, which is not that nothing was dropped
(`keeps_clients`). Where it kept rows of its edge rounds (`Result.tallies`), energy by activity is known, and
what was wasted of it is not.

Usage::

    fates = Fates.of(result)
    print(fates.energy_j("wasted", "send"), fates.wasted_percent())
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import product
from typing import Any

import attrs
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.activities import in_words
from analysis.columns import Numbers, coded, places
from cosim.records.rows import DONE, END_OF_RUN, NO_JOB
from cosim.results.result import Result

NOT_KEPT = "the run kept no rows of its clients. Use cosim run --records all"
UNKNOWN = "unknown"
"""The fate of energy in a run that kept rows of its edge rounds alone."""


def keeps_clients(result: Result) -> bool:
    """True if a run kept what its clients did; one that asked none for an update has nothing to keep."""
    return len(result.fates) > 0 or result.summary.num_updates == 0


def keeps_energy(result: Result) -> bool:
    """True if a run kept the energy of its clients by activity, in their rows or in rows of edge rounds."""
    return keeps_clients(result) or len(result.tallies) > 0


def check_clients(results: Iterable[Result], keeps: Callable[[Result], bool] = keeps_clients) -> None:
    """Refuse runs that say nothing of their clients.

    Args:
        keeps: True if a run says what is asked for.

    Raises:
        ValueError: One kept no rows of them.
    """
    if not all(map(keeps, results)):
        raise ValueError(f"{NOT_KEPT}.")


_TALLIED = ("idle", "receive", "send", "sleep", "train", "wait")
_FATES = ("arrived", "wasted", "not ended", "no job")


@attrs.frozen(kw_only=True, eq=False)
class Fates:
    """Fate of each job of the clients, and of their energy.

    Attributes:
        spent_j: Joules by fate ("arrived", "wasted", "not ended" or "no job") and activity, of the pairs that
            took any, sorted; "unknown" where rows of edge rounds alone were kept.
        attempts: A row per job that has ended: client, job, edge, arrived, reason, energy_j.
    """

    spent_j: Mapping[tuple[str, str], float]
    attempts: pd.DataFrame

    @classmethod
    def of(cls, result: Result) -> "Fates":
        """From the rows of a run."""
        jobs, spans, told = result.fates, result.spans, result.tallies
        jobs = jobs[jobs["outcome"] != END_OF_RUN]
        names, (client, node) = coded(jobs["client"], spans["node"])
        is_client = np.array([name.startswith("client") for name in names], dtype=bool)
        own = np.flatnonzero(is_client[node])
        job, energy_j = spans["job"].to_numpy()[own], spans["energy_j"].to_numpy()[own]
        of = places([node[own], job], [client, jobs["job"].to_numpy()])
        has_ended, arrived = of >= 0, (jobs["outcome"] == DONE).to_numpy()
        did_arrive = np.append(arrived, False)[of]
        fate = np.select([job == NO_JOB, ~has_ended, did_arrive], [3, 2, 0], 1)
        activity, words = pd.factorize(spans["activity"])
        attempts = jobs[["client", "job", "edge"]].assign(
            arrived=arrived,
            reason=pd.Series(_why_dropped(jobs, spans, own, of), jobs.index, dtype=object),  # None: no reason
            energy_j=_sums_j(of[has_ended], energy_j[has_ended], len(jobs)),
        )
        spent_j = _by_pair(fate, activity[own], words, energy_j)
        tallied_j = {(UNKNOWN, name): float(told[f"{name}_j"].sum()) for name in _TALLIED}
        return cls(spent_j=spent_j | {pair: own for pair, own in tallied_j.items() if own}, attempts=attempts)

    @property
    def is_known(self) -> bool:
        """True if it is known of all energy what became of it."""
        return all(fate != UNKNOWN for fate, _ in self.spent_j)

    def energy_j(self, fate: str | None = None, activity: str | None = None) -> float | None:
        """Energy of the clients, of one fate and one activity if given; None where fates are not known."""
        if fate is not None and not self.is_known:
            return None
        return sum(
            (
                joules
                for (became, doing), joules in self.spent_j.items()
                if fate in (None, became) and activity in (None, doing)
            ),
            0.0,
        )

    def wasted_percent(self) -> float | None:
        """Share of the clients' energy that was wasted; None where there is none."""
        total_j, wasted_j = self.energy_j(), self.energy_j("wasted")
        return 100.0 * wasted_j / total_j if total_j and wasted_j is not None else None

    def reasons(self) -> dict[str, int]:
        """Dropped updates by reason."""
        return self._reasons

    @cached_property
    def _reasons(self) -> dict[str, int]:
        return {str(reason): int(n) for reason, n in self.attempts["reason"].value_counts().items()}


def _by_pair(
    fate: Numbers, activity: Numbers, words: pd.Index, energy_j: NDArray[np.float64]
) -> dict[tuple[str, str], float]:
    """Sums of joules of the pairs of fate and activity that took any, sorted."""
    sums_j = _sums_j(fate * len(words) + activity, energy_j, len(_FATES) * len(words))
    pairs = product(_FATES, words.tolist())
    return dict(
        sorted((pair, joules) for pair, joules in zip(pairs, sums_j.tolist(), strict=True) if joules > 0.0)
    )


def _sums_j(group: Numbers, energy_j: NDArray[np.float64], num_groups: int) -> NDArray[np.float64]:
    """Joules by group, each sum compensated."""
    sums_j = np.zeros(num_groups)
    found = pd.Series(energy_j).groupby(group).sum()
    sums_j[found.index.to_numpy()] = found.to_numpy()
    return sums_j


def _why_dropped(jobs: pd.DataFrame, spans: pd.DataFrame, own: Numbers, of: Numbers) -> NDArray[Any]:
    """Why each job was dropped: what cut the last of its activities that was cut, or else its own outcome.

    Args:
        own: Rows of the clients' spans, each client's in the order of time.
        of: Row of the job of each span; -1 where it has none.
    """
    reasons = jobs["outcome"].to_numpy(dtype=object).copy()
    outcome = spans["outcome"].iloc[own].to_numpy(dtype=object)
    (cut,) = np.nonzero((outcome != DONE) & (of >= 0))
    last = dict(zip(of[cut].tolist(), cut.tolist(), strict=True))
    doing = spans["activity"].iloc[own[list(last.values())]].map(in_words)
    reasons[list(last)] = outcome[list(last.values())] + ", while " + doing.to_numpy(dtype=object)
    reasons[(jobs["outcome"] == DONE).to_numpy()] = None
    return reasons
