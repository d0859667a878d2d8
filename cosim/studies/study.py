"""Studies: what if? Several systems, and every design of a grid, with the same seeds, in one folder.

All designs have the same users, places, channels, data and mini-batches, seed by seed, since randomness has
names; so differences between designs are paired. Runs go to any `concurrent.futures.Executor`; the table does
not depend on the choice, nor on the number of workers. A study that was stopped, for any reason, resumes with
the missing runs, even within a run (`cosim.engine.store.checkpoint`). A run that fails is a row with its
error; a damaged run is run again.

The folder holds `study.json` (what was asked, and the sources of a user's own parts), `runs/` (one run folder
each), `runs.parquet` (one row for each run, with its folder; rewritten from time to time, and at the end) and
`index.jsonl` (`cosim.studies.index`).

Scope and limitations: worker processes execute the program that asks again, so a script that runs a study
needs `if __name__ == "__main__":` (`cosim.studies.main_module`). Each run learns on one thread.

Usage::

    study = Study(system, {"uplink.sharing.bandwidth_hz": (5e6, 10e6)}, seeds=10)
    runs = study.run("studies/bandwidth", progress=True)
    Study({"HIST": hist, "FedAvg": averaging}, seeds=10, targets=(0.8,)).run("studies/protocols")

Validation: tests/studies/test_study.py.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from operator import index
from pathlib import Path
from typing import Any

import attrs
import pandas as pd
from typing_extensions import override

from cosim.configuration import ConfigurationError, to_dict
from cosim.configuration.calls import checked_call
from cosim.configuration.json_form import check_reloads
from cosim.configuration.rules import shown
from cosim.display.progress import say
from cosim.display.short_tables import in_a_line, table
from cosim.engine.learning.workers import num_cores
from cosim.engine.run.ground import ground_of
from cosim.engine.store.kept_model import LAST
from cosim.files.folders import alone_in
from cosim.files.interrupts import interrupts_kept
from cosim.files.on_disk import place
from cosim.own_code.sources import sources_of
from cosim.records.tables import SEEDS
from cosim.results.provenance import check_version
from cosim.studies.asker import Asker
from cosim.studies.designs import (
    Design,
    Grid,
    Systems,
    check_typed,
    designs,
    grid_of,
    systems_by_name,
)
from cosim.studies.executors import outcomes, pool
from cosim.studies.main_module import check_program
from cosim.studies.order import run_order
from cosim.studies.runs import Enough, Runs
from cosim.studies.study_folder import begin, check_one_version, keep_seeds
from cosim.studies.targets import check_targets
from cosim.studies.watch import watch
from cosim.system.changes import with_full_paths
from cosim.system.needs import RecordsKind
from cosim.system.remarks import remarks_on, say_once


def _by_full_paths(grid: Any, study: Any) -> Grid:
    return with_full_paths(study.systems.values(), grid_of(grid))


def _targets(given: Any) -> tuple[float, ...]:
    each = given if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    try:
        return tuple(dict.fromkeys(float(target) for target in each))
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"Study.targets = {shown(given)}: must be values of the headline. Use targets=(0.8,).",
            "Study.targets",
        ) from None


def _whole(given: Any) -> Any:
    """Python's number for a whole number of NumPy's; anything else unchanged, to be refused."""
    return index(given) if hasattr(given, "__index__") and not isinstance(given, bool) else given


@attrs.frozen
class Study:
    """Named systems, a grid of designs of each, and seeds.

    Attributes:
        systems: The systems that are compared or changed: one, or several of any kinds by their names.
        grid: Field -> its values, every combination of which is a design of every system. The end of a
            field's path is enough if it identifies the field.
        seeds: Number of seeds of each design, from the systems' seed on.
        targets: Targets of the headline (such as accuracy), for the cost of reaching each.
        held: Consecutive evaluations at which a target must be reached to count.
    """

    systems: Systems = attrs.field(converter=systems_by_name)
    grid: Grid = attrs.field(factory=dict, converter=attrs.Converter(_by_full_paths, takes_self=True))
    seeds: int = attrs.field(default=5, converter=_whole)
    targets: tuple[float, ...] = attrs.field(default=(), converter=_targets)
    held: int = attrs.field(default=1, converter=_whole)

    def __attrs_post_init__(self) -> None:
        for name, what in (("seeds", "how many, from that of the systems on"), ("held", "how many")):
            value = getattr(self, name)
            if type(value) is int and value >= 1:
                continue
            usual, rule = attrs.fields_dict(Study)[name].default, f"must be a whole number, {what}"
            fix = f"Use the default, {usual}."
            if name == "seeds" and isinstance(value, Sequence) and value and not isinstance(value, str):
                fix = f"Use seeds={len(value)} of System(seed={value[0]!r:.80})."
            rule = "must be at least 1" if type(value) is int else rule
            raise ConfigurationError(f"Study.{name} = {shown(value)}: {rule}. {fix}", f"Study.{name}")
        if self.first_seed + self.seeds > SEEDS:
            raise ConfigurationError(
                f"Study.seeds = {self.seeds}: from {self.first_seed} on, the last is not below 2**63. Use "
                "System(seed=1).",
                "Study.seeds",
            )
        if self.held > 1 and not self.targets:
            raise ConfigurationError(
                f"Study.held = {self.held}: there is no target. Give targets.", "Study.held"
            )

    @override
    def __repr__(self) -> str:
        return in_a_line("Study", self._shown())

    def _repr_html_(self) -> str:
        designs = {f"design {number}": design.name for number, design in enumerate(self.designs[:12], 1)}
        rest = {"further designs": len(self.designs) - 12} if len(self.designs) > 12 else {}
        return table("Study", {**self._shown(), **designs, **rest})

    def _shown(self) -> dict[str, object]:
        """Facts that a reader wants first."""
        kinds = dict.fromkeys(type(system.protocol).__name__ for system in self.systems.values())
        return {"designs": len(self.designs), "seeds": self.seeds, "of": ", ".join(kinds)}

    @property
    def designs(self) -> tuple[Design, ...]:
        """Every combination."""
        return designs(self.systems, self.grid)

    @property
    def first_seed(self) -> int:
        """First seed of the systems."""
        return next(iter(self.systems.values())).seed

    @checked_call
    def run(
        self,
        out: str | Path,
        *,
        scenario: str | None = None,
        data_dir: str | Path | None = None,
        executor: Executor | None = None,
        num_workers: int | None = None,
        enough: Enough = lambda runs: True,
        most_seeds: int | None = None,
        progress: bool | str = False,
        listener: Callable[[pd.DataFrame, int], None] | None = None,
        records: RecordsKind = "auto",
        keep: str = LAST,
    ) -> pd.DataFrame:
        """Run what has not been run yet.

        Args:
            out: Study folder, new or of this study.
            scenario: Name of the scenario, or module:function, for config.json.
            data_dir: Folder of the data set's files; None means the usual places.
            executor: Executor of the runs; None means processes of this machine.
            num_workers: Number of runs at a time; None means one for each core.
            enough: True if the runs of a design, with all its seeds so far, suffice; asked when they have
                ended. If not, it gets another seed.
            most_seeds: Most seeds of a design; None means `seeds`.
            progress: True to print the estimated cost and to show the progress; a text is its title.
            listener: Called with the table and the number of all runs whenever a run has ended.
            records: Detail of the tables of runs (`cosim.run`).
            keep: Model that each run keeps (`cosim.run`).

        Returns:
            Table of runs, by design and seed.

        Raises:
            ConfigurationError: The folder holds another study, one of other sources, or, where runs are
                missing, one of another version of cosim; the grid is impossible; a system has a class that
                another process would not find; a target does not suit a headline.
        """
        folder, found = place(out), self.designs
        check_typed(self.systems, found)
        for path in sorted(folder.glob("runs/*/provenance.json")):
            check_version(path.parent)
        for system in self.systems.values():
            check_reloads(system)
        data_dir = None if data_dir is None else place(data_dir)
        self._check_targets(found, data_dir)
        sources = sources_of(*(design.system for design in found if design.system is not None))
        if executor is None:
            check_program(sources)
        begin(folder, self._asked(scenario, keep), self.seeds, sources, found)
        say_once(_remarks(found))
        title = progress if isinstance(progress, str) else scenario or folder.name
        with (
            alone_in(folder, "study"),
            interrupts_kept(),
            watch(folder, title if progress else None) as watching,
        ):
            notes = watching.folder
            asker = Asker.of(folder, sources)
            how = scenario, data_dir, enough, most_seeds, notes, records, keep
            runs = Runs(self, found, folder, asker, *how)
            if runs.wanted:
                check_one_version(folder)
            keep_seeds(folder, self.seeds)

            def ended() -> None:
                runs.write(now=False)
                watching.tell(*runs.counts)
                if listener is not None:
                    listener(runs.table, len(runs.rows))

            try:
                if progress and runs.wanted:
                    say(f"{title}: {runs.cost(num_workers or num_cores())}")
                ended()
                with pool(executor, num_workers) as processes:
                    for key, outcome in outcomes(processes, run_order, runs.wanted):
                        for words in outcome.pop("warnings", ()):
                            warnings.warn(words, stacklevel=2)
                        runs.ended(key, outcome)
                        ended()
            finally:
                runs.write(now=True)
        return runs.table

    def _check_targets(self, found: Sequence[Design], data_dir: Path | None) -> None:
        """Refuse targets that do not suit; designs with one task and data share their headline."""
        seen: list[object] = []
        for system in (design.system for design in found if design.system is not None):
            key = (system.task, system.data, system.evaluation, system.end)
            if key not in seen:
                check_targets(system, self.targets, self.held, data_dir)
                seen.append(key)

    def _asked(self, scenario: str | None, keep: str) -> dict[str, Any]:
        kept = {} if keep == LAST else {"keep": keep}
        return kept | {
            "scenario": scenario,
            "systems": {name: to_dict(system) for name, system in self.systems.items()},
            "grid": {field: list(values) for field, values in self.grid.items()},
            "targets": list(self.targets),
            "held": self.held,
        }


def _remarks(found: Sequence[Design]) -> Iterator[str]:
    """Remarks on designs; none on one that cannot be run, which its row says."""
    for system in (design.system for design in found if design.system is not None):
        with suppress(ConfigurationError):
            yield from remarks_on(system, ground_of(system).devices)


Study.__init__ = checked_call(Study.__init__, types=False)  # type: ignore[method-assign]
