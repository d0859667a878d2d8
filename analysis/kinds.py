"""Kinds: the clients of runs by the names of their kinds, and what is said of each: jobs, energy, evenness.

Usage::

    for kind, own in by_kind(result).items():
        print(kind, late_in_words(own))  # sensor 300 of 300 late
    for group in groups_of(designs):
        print(group.design.name, group.kind, group.values("late"))

Validation: tests/analysis/test_client_kinds.py.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from analysis.designs import Design
from cosim.records.measures import Measure
from cosim.results.result import Result
from cosim.tasks.evenness import jain_index

ALL = "all clients"
"""Name of the clients of a run whose devices have no kinds."""

_MOST_SAID = 8

Column = Callable[[pd.DataFrame], float | None]
"""A number of the rows of some clients; None where they have none."""


class Group(NamedTuple):
    """Clients of one kind in the runs of a design.

    Attributes:
        runs: Their rows of the table of clients, by counted runs that have such clients.
    """

    design: Design
    kind: str
    runs: Sequence[pd.DataFrame]

    def values(self, column: str) -> list[float | None]:
        """A number of `COLUMNS`, by runs."""
        reading, _ = COLUMNS[column]
        return [reading(own) for own in self.runs]

    @property
    def late(self) -> str:
        """How many of its jobs were late over all runs, such as 300 of 300 late."""
        return late_in_words(pd.concat(self.runs))

    @property
    def has_late(self) -> bool:
        """True if any of its jobs was late."""
        return any(own["num_late"].any() for own in self.runs)


def by_kind(result: Result) -> Mapping[str, pd.DataFrame]:
    """Rows of the table of clients, by kind, by name; all together where there are no kinds."""
    clients = result.clients
    if "kind" not in clients:
        return {ALL: clients}
    return {str(kind): own for kind, own in clients.groupby("kind")}


def groups_of(designs: Sequence[Design]) -> list[Group]:
    """Each kind of each design, in their order; kinds that no job was asked of are left out."""
    found = []
    for design in designs:
        runs = [by_kind(run) for run in design.counted]
        for kind in dict.fromkeys(kind for run in runs for kind in run):
            own = [run[kind] for run in runs if kind in run]
            if any(each["num_jobs"].any() for each in own):
                found.append(Group(design, kind, own))
    return found


def late_groups(groups: Mapping[str, Group]) -> str:
    """How many jobs of each group were late over all runs, by name; of the first eight that had any."""
    said = [f"{name}: {group.late}" for name, group in groups.items() if group.has_late]
    rest = [f"and {len(said) - _MOST_SAID} more"] if len(said) > _MOST_SAID else []
    return "; ".join([*said[:_MOST_SAID], *rest])


def late_in_words(clients: pd.DataFrame) -> str:
    """How many jobs of some clients were late, such as 300 of 300 late."""
    return f"{int(clients['num_late'].sum()):,} of {int(clients['num_jobs'].sum()):,} late"


def _share(column: str) -> Column:
    def reading(own: pd.DataFrame) -> float | None:
        num_jobs = own["num_jobs"].sum()
        return float(own[column].sum() / num_jobs) if num_jobs else None

    return reading


def _evenness(own: pd.DataFrame) -> float | None:
    return jain_index(own["num_arrived"]) if own["num_arrived"].any() else None


def _accuracy(take: Callable[[pd.Series], float]) -> Column:
    """A number of the accuracies of the clients that have a test share; None where none is known."""

    def reading(own: pd.DataFrame) -> float | None:
        known = own["accuracy"].dropna() if "accuracy" in own else pd.Series(dtype=float)
        return take(known) if len(known) else None

    return reading


def _worst_tenth(accuracies: pd.Series) -> float:
    return float(accuracies.nsmallest(-(-len(accuracies) // 10)).mean())


COLUMNS: Mapping[str, tuple[Column, Measure]] = {
    "num_clients": (len, Measure("number", higher_is_better=True)),
    "num_jobs": (
        lambda own: float(own["num_jobs"].mean()),
        Measure("jobs of a client", higher_is_better=True),
    ),
    "arrived": (_share("num_arrived"), Measure("arrived", higher_is_better=True, is_share=True)),
    "late": (_share("num_late"), Measure("late", higher_is_better=False, is_share=True)),
    "left": (_share("num_left"), Measure("left", higher_is_better=False, is_share=True)),
    "energy_j": (
        lambda own: float(own["energy_j"].mean()),
        Measure("energy of a client (J)", higher_is_better=False),
    ),
    "wait_s": (
        lambda own: float(own["wait_s"].mean()),
        Measure("waiting of a client (s)", higher_is_better=False),
    ),
    "evenness": (_evenness, Measure("Jain's index of arrived updates", higher_is_better=True)),
    "accuracy": (
        _accuracy(lambda of: float(of.mean())),
        Measure("accuracy", higher_is_better=True, is_share=True),
    ),
    "worst_tenth": (
        _accuracy(_worst_tenth),
        Measure("worst tenth", higher_is_better=True, is_share=True),
    ),
    "evenness_of_accuracy": (
        _accuracy(jain_index),
        Measure("Jain's index of accuracy", higher_is_better=True),
    ),
}
"""Name -> a number of the clients of a kind in a run, with its meaning."""
OUTCOMES = ("arrived", "late", "left")
"""Columns of what became of jobs; their shares add up to 1."""
