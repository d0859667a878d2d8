"""Studies: what if? Every design of a grid with the same seeds, many runs at a time, in one folder.

All designs meet the same users, places, channels, data and mini-batches, seed by seed, since randomness has
names; so differences between designs are paired. Runs go to any `concurrent.futures.Executor`; the table does
not depend on which, nor on the number of workers. A study that was stopped, however it ended, goes on with
what is missing, also within a run (`cosim.checkpoint`). A run that fails is a row with its error.

The folder holds `study.json` (what was asked, and the sources of a user's own parts), `runs/` (one run folder
each) and `runs.parquet` (one row per run, with its folder), written anew whenever a run has ended.

Scope and limitations: one machine's processes know nothing of the one that asks, so a script that runs a
study needs `if __name__ == "__main__":`. Each run learns on one thread.

Usage::

    study = Study(system, {"uplink.sharing.bandwidth_hz": (5e6, 10e6)}, seeds=10)
    runs = study.run("studies/bandwidth")

Validation: tests/studies/test_study.py.
"""

import json
import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import attrs
import pandas as pd

from cosim.configuration import ConfigurationError, check_reloads, to_dict
from cosim.files import place, read_json, shown, write_json, write_table
from cosim.folders import alone_in, create_folder
from cosim.interrupts import interrupts_kept
from cosim.learning.network.named import Builder, builder
from cosim.provenance import check_version
from cosim.running import network_of, run
from cosim.sources import Sources, check_sources, sources_of
from cosim.studies.designs import Design, Grid, designs, with_full_paths
from cosim.studies.executors import played, pool
from cosim.studies.table import ASKED, FILE, RUN, outcome_of, row_of, table_of
from cosim.system import System

Enough = Callable[[pd.DataFrame], bool]


def _by_full_paths(grid: Grid, study: Any) -> Grid:
    return with_full_paths(study.base, grid)


@attrs.frozen
class Study:
    """A grid of designs.

    Attributes:
        base: What is changed.
        grid: Field -> its values, every combination of which is a design. The end of a field's path will do
            where it tells the field from the others.
        seeds: How many seeds each design has, from the base's on.
        target: Of the headline (such as accuracy), for time and energy to it; None: none.
    """

    base: System
    grid: Grid = attrs.field(converter=attrs.Converter(_by_full_paths, takes_self=True))
    seeds: int
    target: float | None = None

    def __attrs_post_init__(self) -> None:
        if self.seeds < 1:
            raise ConfigurationError(f"Study.seeds = {self.seeds}: must be at least 1.")

    @property
    def designs(self) -> tuple[Design, ...]:
        """Every combination of the grid."""
        return designs(self.base, self.grid)

    def run(
        self,
        out: str | Path,
        *,
        scenario: str | None = None,
        data_dir: Path | None = None,
        executor: Executor | None = None,
        num_workers: int | None = None,
        enough: Enough = lambda runs: True,
        most_seeds: int | None = None,
        listener: Callable[[pd.DataFrame, int], None] = lambda runs, num_wanted: None,
    ) -> pd.DataFrame:
        """Run what has not been run yet.

        Args:
            out: Study folder, new or of this very study.
            scenario: Name of the scenario, or module:function, which config.json says.
            data_dir: Folder of the data set's files; None: the usual places.
            executor: Where to run; None: processes of this machine.
            num_workers: How many of these; None: one per core.
            enough: Whether the runs of a design, those of all its seeds so far, suffice; asked when they have
                ended. If not, it gets another seed.
            most_seeds: Seeds that a design gets at most; None: `seeds`.
            listener: Hears the table whenever a run has ended, and how many runs there are to be.

        Returns:
            The table of runs, by design and seed.

        Raises:
            ConfigurationError: The folder holds another study, or one of other sources; a grid that cannot
                be; a base of a class that another process would not find.
        """
        folder, found = place(out), self.designs
        for path in sorted(folder.glob("runs/*/provenance.json")):
            check_version(path.parent)
        check_reloads(self.base)
        _begin(folder, self._asked(scenario), sources_of(*(d.system for d in found if d.system is not None)))
        rows: dict[tuple[int, int], dict[str, Any]] = {}
        wanted: dict[tuple[int, int], _Job] = {}

        def want(design: int, number: int) -> None:
            seed = self.base.seed + number
            row = row_of(design, found[design], seed, f"runs/design-{design:03d}-seed-{seed}")
            system, error = found[design].system, found[design].error
            try:
                build = None if system is None else builder(system.model)
            except ConfigurationError as refused:
                build, error = None, str(refused)
            if system is None or build is None:
                rows[design, seed] = row | {"status": "failed", "error": error}
                return
            system, place = attrs.evolve(system, seed=seed), str(folder / row["folder"])
            wanted[design, seed] = _Job(system, scenario, place, build, data_dir, self.target)
            rows[design, seed] = row

        def ended() -> None:
            """Write the table, tell, and ask for more seeds where a design has not enough."""
            for design in range(len(found)):
                own = [row for (of, _), row in rows.items() if of == design]
                has_ended = all(row["status"] != "waiting" for row in own)
                may_go_on = found[design].system is not None and len(own) < (most_seeds or self.seeds)
                if has_ended and may_go_on and not enough(table_of(own)):
                    want(design, len(own))
            table = table_of(list(rows.values()))
            write_table(folder / FILE, table)
            listener(table, len(rows))

        for design in range(len(found)):
            for number in range(self.seeds):
                want(design, number)
        with alone_in(folder, "study"), interrupts_kept(), pool(executor, num_workers) as processes:
            ended()
            for key, outcome in played(processes, play, wanted):
                for words in outcome.pop("warnings", ()):
                    warnings.warn(words, stacklevel=2)
                rows[key] |= outcome
                ended()
        return table_of(list(rows.values()))

    def _asked(self, scenario: str | None) -> dict[str, Any]:
        return {
            "scenario": scenario,
            "base": to_dict(self.base),
            "grid": {field: list(values) for field, values in self.grid.items()},
            "target": self.target,
        }


@attrs.frozen
class _Job:
    """One run, as a worker is asked for it.

    Attributes:
        system: Pickled, it brings along the modules of the classes that it is made of.
        build: Builds its network; pickled, it brings along its module.
    """

    system: System
    scenario: str | None
    folder: str
    build: Builder
    data_dir: Path | None
    target: float | None


def play(job: _Job) -> dict[str, Any]:
    """Play one run in this process, or go on with it, or read it; its row in the table, and its warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        try:
            result = run(
                job.system,
                network_of(job.system, job.build),
                out=job.folder,
                scenario=job.scenario,
                data_dir=job.data_dir,
                num_workers=1,
                resume="as found",
            )
        except Exception as error:
            outcome = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
        else:
            outcome = outcome_of(result, job.target)
    return outcome | {"warnings": [str(warning.message) for warning in said]}


def _begin(folder: Path, asked: dict[str, Any], sources: Sources) -> None:
    """Make the folder of a study, or see that it is of this very one."""
    path, asked = folder / ASKED, json.loads(json.dumps(asked))
    if _has_lost(path):
        write_json(path, asked | {"sources": sources})
    if not path.exists():
        try:
            create_folder(folder, {path.name: asked | {"sources": sources}}, parts=("runs",))
            return
        except FileExistsError:
            if not path.exists():
                raise ConfigurationError(
                    f"{shown(folder)}: is there already, and no study. Usual fix: another --out."
                ) from None
    try:
        known = read_json(path)
    except ValueError as error:
        raise ConfigurationError(
            f"{shown(path)}: damaged ({error}). Usual fix: remove it and give the same command again, which "
            "keeps the runs that are whole."
        ) from None
    known_sources = known.pop("sources", {})
    if known != asked:
        differ = ", ".join(key for key in asked if known.get(key) != asked[key])
        raise ConfigurationError(
            f"{shown(folder)}: holds another study (its {differ} differs). Usual fix: another --out."
        )
    check_sources(known_sources, sources, shown(folder))


def _has_lost(path: Path) -> bool:
    """Whether the file of a study is missing where there are runs of one; each of them says what it is of."""
    runs = [run.name for run in path.parent.glob("runs/*")]
    return not path.exists() and bool(runs) and all(map(RUN.fullmatch, runs))
