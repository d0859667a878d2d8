"""Runs: those that a study asks for, what has become of each, and the table of them.

With 1,000 runs, nothing here reads or writes all of them whenever one has ended: the table is written now and
then, the index grows by a line, and more seeds are asked for in the design of that run only.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pandas as pd

from cosim.configuration import ConfigurationError, to_dict
from cosim.files import write_table
from cosim.learning.network.named import builder
from cosim.progress import duration
from cosim.studies.cost import costs_s
from cosim.studies.designs import Design
from cosim.studies.index import Index
from cosim.studies.job import Job
from cosim.studies.names import shared_parts
from cosim.studies.table import row_of, table_of, target_label

if TYPE_CHECKING:
    from cosim.studies.study import Study

Enough = Callable[[pd.DataFrame], bool]
Key = tuple[int, int]
"""Design and seed."""

_WRITE_EVERY_WALL_S = 2.0
_MOST_WRITING = 0.05
"""Share of a study's time that may go into its table on the way."""


class Runs:
    """What has become of each run, and which are still wanted.

    Attributes:
        rows: Row of the table by design and seed.
        wanted: Those that are to be played.
    """

    def __init__(
        self,
        study: "Study",
        found: tuple[Design, ...],
        folder: Path,
        scenario: str | None,
        data_dir: Path | None,
        enough: Enough,
        most_seeds: int | None,
        notes: Path | None,
    ) -> None:
        self._study, self._designs, self._folder = study, found, folder
        self._scenario, self._data_dir, self._notes = scenario, data_dir, notes
        self._enough, self._most_seeds = enough, most_seeds or study.seeds
        self._index = Index(folder)
        self._labels = [target_label(target, study.held) for target in study.targets]
        self._parts = shared_parts({name: to_dict(system) for name, system in study.systems.items()})
        self._written, self._writing_s = 0.0, 0.0
        self._seeds: list[list[int]] = [[] for _ in found]
        self.rows: dict[Key, dict[str, Any]] = {}
        self.wanted: dict[Key, Job] = {}
        for design in range(len(found)):
            for _ in range(study.seeds):
                self._want(design)
            self._ask_for_more(design)

    @property
    def table(self) -> pd.DataFrame:
        """All rows."""
        return table_of(list(self.rows.values()), self._labels, self._parts)

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many runs have ended, are asked for, and have failed."""
        states = [row["status"] for row in self.rows.values()]
        return len(states) - states.count("waiting"), len(states), states.count("failed")

    def ended(self, key: Key, outcome: dict[str, Any]) -> None:
        """Take note of what became of a run, and ask for more seeds where its design has not enough."""
        self.rows[key] |= outcome
        if outcome["status"] == "complete":
            self._index.add(self.rows[key]["folder"], outcome)
        self._ask_for_more(key[0])

    def write(self, *, now: bool) -> None:
        """Write the table, unless that took place just now or takes too much of the study's time."""
        began = time.monotonic()
        wait_s = max(_WRITE_EVERY_WALL_S, self._writing_s / _MOST_WRITING)
        if now or not self._written or began - self._written >= wait_s:
            write_table(self._folder / "runs.parquet", self.table)
            self._written = time.monotonic()
            self._writing_s = self._written - began

    def cost(self, num_at_once: int) -> str:
        """How many runs there are, and how long they will take."""
        playable = {design: self._designs[design].system for design, _ in self.wanted}
        found = costs_s([system for system in playable.values() if system is not None], self._data_dir)
        num_done, runs = len(self.rows) - len(self.wanted), f"{len(self.wanted)} runs"
        runs += f" (and {num_done} that have ended)" if num_done else ""
        if found is None:
            return runs
        each_s = dict(zip(playable, found, strict=True))
        costs = [each_s[design] for design, _ in self.wanted]
        num_at_once = min(num_at_once, len(costs))
        wall_s = max(sum(costs) / num_at_once, *costs)
        return f"{runs}, about {duration(wall_s)} on {num_at_once} core{'s' * (num_at_once > 1)}"

    def _want(self, design: int) -> None:
        """The next seed of a design."""
        own, study = self._designs[design], self._study
        seed = study.first_seed + len(self._seeds[design])
        self._seeds[design].append(seed)
        row = row_of(design, own.name, own.base, own.values, seed, f"runs/design-{design:03d}-seed-{seed}")
        system, error, build = own.system, own.error, None
        try:
            build = None if system is None else builder(system.model)
        except ConfigurationError as refused:
            error = str(refused)
        if system is None or build is None:
            self.rows[design, seed] = row | {"status": "failed", "error": error}
            return
        known = None if ":" in system.model else self._index.outcome(row["folder"])
        self.rows[design, seed] = row | (known or {})
        if known is None:
            note = None if self._notes is None else self._notes / f"{design:03d}-{seed}"
            self.wanted[design, seed] = Job(
                system=attrs.evolve(system, seed=seed),
                scenario=self._scenario,
                folder=str(self._folder / row["folder"]),
                build=build,
                data_dir=self._data_dir,
                targets=study.targets,
                held=study.held,
                note=note,
            )

    def _ask_for_more(self, design: int) -> None:
        """Further seeds, while those of a design have all ended and are not enough."""
        while self._designs[design].system is not None and len(self._seeds[design]) < self._most_seeds:
            own = [self.rows[design, seed] for seed in self._seeds[design]]
            if any(row["status"] == "waiting" for row in own) or self._enough(table_of(own, self._labels)):
                return
            self._want(design)
