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
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import attrs
import pandas as pd

from cosim.configuration import ConfigurationError, check_reloads, to_dict
from cosim.files import write_json, write_table
from cosim.learning.network.named import Builder, builder
from cosim.results import check_version
from cosim.running import network_of, run
from cosim.shown import in_a_line, table
from cosim.sources import Sources, check_sources, sources_of
from cosim.studies.designs import Design, Grid, designs, with_full_paths
from cosim.studies.executors import played, pool
from cosim.studies.table import outcome_of, row_of, table_of
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

    def __repr__(self) -> str:
        return in_a_line("Study", self._shown())

    def _repr_html_(self) -> str:
        designs = {f"design {number}": design.name for number, design in enumerate(self.designs[:12], 1)}
        rest = {"further designs": len(self.designs) - 12} if len(self.designs) > 12 else {}
        return table("Study", {**self._shown(), **designs, **rest})

    def _shown(self) -> dict[str, object]:
        """What a reader wants to know first."""
        return {"designs": len(self.designs), "seeds": self.seeds, "of": type(self.base.protocol).__name__}

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
        folder, found = Path(out).resolve(), self.designs
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
            write_table(folder / "runs.parquet", table)
            listener(table, len(rows))

        for design in range(len(found)):
            for number in range(self.seeds):
                want(design, number)
        ended()
        with pool(executor, num_workers) as processes:
            for key, outcome in played(processes, play, wanted):
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
    """Play one run in this process, or go on with it, or read it; what the table says of it."""
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
        return {"status": "failed", "error": f"{type(error).__name__}: {error}"}
    return outcome_of(result, job.target)


def _begin(folder: Path, asked: dict[str, Any], sources: Sources) -> None:
    path = folder / "study.json"
    if path.exists():
        known = json.loads(path.read_text())
        known_sources = known.pop("sources", {})
        if known != json.loads(json.dumps(asked)):
            differ = ", ".join(key for key in asked if known.get(key) != json.loads(json.dumps(asked[key])))
            raise ConfigurationError(
                f"{folder}: holds another study (its {differ} differs). Usual fix: another --out."
            )
        check_sources(known_sources, sources, str(folder))
        return
    if folder.exists() and any(folder.iterdir()):
        raise ConfigurationError(f"{folder}: is there already, and no study. Usual fix: another --out.")
    try:
        (folder / "runs").mkdir(parents=True, exist_ok=True)
        write_json(path, asked | {"sources": sources})
    except OSError as error:
        raise ConfigurationError(
            f"out = {folder}: cannot be written ({error.strerror}). Usual fix: --out with a folder of yours."
        ) from None
