"""Runs: the runs of a study, the outcome of each, and their table.

With 1,000 runs, nothing here reads or writes all of them whenever one has ended: the table is written from
time to time, the index grows by a line, and more seeds are asked for only in the design of that run.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pandas as pd

from cosim.configuration import ConfigurationError, to_dict
from cosim.display.progress import duration
from cosim.display.words import in_words
from cosim.files.on_disk import checksum, replace
from cosim.networks.named import Builder, Named, builder
from cosim.networks.of_run import configuration_of, first_values_of
from cosim.results.summary import COMPLETE
from cosim.studies.asker import Asker
from cosim.studies.cost import costs_s
from cosim.studies.designs import Design
from cosim.studies.index import Index
from cosim.studies.names import shared_parts
from cosim.studies.order import NETWORK, Order
from cosim.studies.reference import reference_of
from cosim.studies.table import FILE, row_of, run_folder, table_of, target_label
from cosim.system.needs import RecordsKind
from cosim.system.system import System

if TYPE_CHECKING:
    from cosim.studies.study import Study

Enough = Callable[[pd.DataFrame], bool]
Key = tuple[int, int]
"""Design and seed."""

_WRITE_EVERY_WALL_S = 2.0
_MOST_WRITING = 0.05
"""Largest share of a study's time for writing its table on the way. [no source]"""


class Runs:
    """Outcome of each run, and the runs that are still wanted.

    Attributes:
        rows: Row of the table by design and seed.
        wanted: Runs that have not been made yet.
    """

    def __init__(
        self,
        study: "Study",
        found: tuple[Design, ...],
        folder: Path,
        asker: Asker,
        scenario: str | None,
        data_dir: Path | None,
        enough: Enough,
        most_seeds: int | None,
        notes: Path | None,
        records: RecordsKind,
        keep: str,
    ) -> None:
        self._study, self._designs, self._folder = study, found, folder
        self._asker = asker
        self._scenario, self._data_dir, self._notes = scenario, data_dir, notes
        self._records: RecordsKind = records
        self._keep = keep
        self._enough, self._most_seeds = enough, most_seeds or study.seeds
        self._index = Index(folder)
        self._networks: dict[tuple[str, str, bool], dict[str, str] | None] = {}
        self._labels = [target_label(target, study.held) for target in study.targets]
        systems = {name: to_dict(system) for name, system in study.systems.items()}
        self._parts, self._reference = shared_parts(systems), reference_of(systems, study.grid)
        self._written, self._writing_s = 0.0, 0.0
        self._seeds: list[list[int]] = [[] for _ in found]
        self.rows: dict[Key, dict[str, Any]] = {}
        self.wanted: dict[Key, Order] = {}
        for design in range(len(found)):
            for _ in range(study.seeds):
                self._want(design)
            self._ask_for_more(design)

    @property
    def table(self) -> pd.DataFrame:
        """Table of all rows."""
        return table_of(list(self.rows.values()), self._labels, self._parts, self._reference)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Number of runs that have ended, are asked for, and have failed."""
        states = [row["status"] for row in self.rows.values()]
        return len(states) - states.count("waiting"), len(states), states.count("failed")

    def ended(self, key: Key, outcome: dict[str, Any]) -> None:
        """Add the outcome of a run, and ask for more seeds if its design does not have enough."""
        network = outcome.pop(NETWORK, None)
        self.rows[key] |= outcome
        self._index.add(self.rows[key]["folder"], outcome, network)
        self._ask_for_more(key[0])

    def write(self, *, now: bool) -> None:
        """Write the table, unless that was done just now or takes too much of the study's time."""
        began = time.monotonic()
        wait_s = max(_WRITE_EVERY_WALL_S, self._writing_s / _MOST_WRITING)
        if now or not self._written or began - self._written >= wait_s:
            replace(self._folder / FILE, self._write_table)
            self._written = time.monotonic()
            self._writing_s = self._written - began

    def cost(self, num_at_once: int) -> str:
        """Number of runs, and their estimated duration, in words."""
        runnable = {design: self._designs[design].system for design, _ in self.wanted}
        found = costs_s([system for system in runnable.values() if system is not None], self._data_dir)
        num_done = len(self.rows) - len(self.wanted)
        runs = in_words("num_runs", len(self.wanted))
        runs += f" (and {num_done} that have ended)" if num_done else ""
        if found is None:
            return runs
        each_s = dict(zip(runnable, found, strict=True))
        costs = [each_s[design] for design, _ in self.wanted]
        num_at_once = min(num_at_once, len(costs))
        wall_s = max(sum(costs) / num_at_once, *costs)
        return f"{runs}, about {duration(wall_s)} on {in_words('num_cores', num_at_once)}"

    def _want(self, design: int) -> None:
        """Add the next seed of a design."""
        own, study = self._designs[design], self._study
        seed = study.first_seed + len(self._seeds[design])
        self._seeds[design].append(seed)
        row = row_of(design, own.name, own.base, own.values, seed, run_folder(design, seed))
        system, error, build = own.system, own.error, None
        try:
            build = None if system is None else builder(system.model)
        except ConfigurationError as refused:
            error = str(refused)
        if system is None or build is None:
            failed = {"status": "failed", "error": error}
            self.rows[design, seed] = row | failed
            self._index.add(row["folder"], failed)
            return
        known = self._known(system, build, row["folder"])
        self.rows[design, seed] = row | (known or {})
        if known is None:
            note = None if self._notes is None else self._notes / f"{design:03d}-{seed}"
            self.wanted[design, seed] = Order(
                system=attrs.evolve(system, seed=seed),
                scenario=self._scenario,
                folder=str(self._folder / row["folder"]),
                asker=self._asker,
                build=build,
                data_dir=self._data_dir,
                targets=study.targets,
                held=study.held,
                note=note,
                records=self._records,
                keep=self._keep,
            )

    def _known(self, system: System, build: Builder, run: str) -> dict[str, Any] | None:
        """Outcome of a complete run from the index; None if the run must be read, or run."""
        known = self._index.outcome(run)
        if known is None or known["status"] != COMPLETE:
            return None
        is_own = ":" in system.model  # a user's function, which may build another network today
        return None if is_own and self._index.network(run) != self._network(system, build) else known

    def _network(self, system: System, build: Builder) -> dict[str, str] | None:
        """Identity of the network of a system; None if it cannot be built."""
        key = system.model, system.initial_weights, system.evaluation.learns
        if key not in self._networks:
            self._networks[key] = None
            with suppress(Exception):  # its run will report the error
                first = first_values_of(system, Named(system.model, build))
                config = configuration_of(system, first, self._scenario)
                self._networks[key] = config["network"]
        return self._networks[key]

    def _write_table(self, partial: Path) -> None:
        with partial.open("wb") as file:
            self.table.to_parquet(file, index=False)
        self._index.add_table(checksum(partial))

    def _ask_for_more(self, design: int) -> None:
        """Add further seeds while all runs of a design have ended and are not enough."""
        while self._designs[design].system is not None and len(self._seeds[design]) < self._most_seeds:
            own = [self.rows[design, seed] for seed in self._seeds[design]]
            if any(row["status"] == "waiting" for row in own) or self._enough(table_of(own, self._labels)):
                return
            self._want(design)
