"""Together: the runs of several studies and single runs as one table, so that their designs are compared.

Single runs whose configurations differ in the seed only are one design, named by the folder of the first.
Where several studies are given, a column says which (`study`: the name of its folder, or its whole path where
two are called alike), and names of designs that two of them have are led by it. Seeds that designs share are
paired, wherever they come from: the same seed is the same draws. The table's `attrs` have remarks on runs
that are not complete, or repeat a seed of their design: these do not count; and on runs of different versions
of cosim: these do.

Scope and limitations: a target that a study was not asked for is read off the evaluations of its runs.

Usage::

    runs = together(["studies/a", "runs/b"], targets=(0.8,))

Validation: tests/analysis/test_together.py.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pandas as pd

from analysis.designs import Design, designs_of
from analysis.metrics import with_shares
from analysis.remarks import remarks_on_design, remarks_on_study, remarks_on_versions
from analysis.studies import load
from cosim.files.on_disk import as_text, place
from cosim.results.result import Result
from cosim.studies.table import outcome_of, table_of, taken, target_columns, target_label


def together(paths: Sequence[str | Path], targets: Sequence[float] = (), held: int = 1) -> pd.DataFrame:
    """The runs of the folders, each the folder of a study or of a run.

    Args:
        targets: Targets of the headline, besides the targets that studies were asked for.
        held: Evaluations in a row at which one of these must be reached to count.

    Raises:
        ConfigurationError: A folder is neither.
    """
    found = {str(path): load(path) for path in paths}
    studies = {folder: runs for folder, runs in found.items() if isinstance(runs, pd.DataFrame)}
    labels = {target_label(target, held): target for target in targets}
    tables = {folder: _with_targets(Path(folder), runs, labels, held) for folder, runs in studies.items()}
    single = {folder: result for folder, result in found.items() if isinstance(result, Result)}
    if single:
        tables["runs"] = _of_runs(single, labels, held)
    runs = _joined(tables)
    runs.attrs["remarks"] = _remarks(studies, _counted(list(single.values())))
    return runs


def _with_targets(folder: Path, runs: pd.DataFrame, labels: dict[str, float], held: int) -> pd.DataFrame:
    """The runs of a study with columns of targets that it was not asked for."""
    new = {label: target for label, target in labels.items() if label not in runs.attrs["targets"]}
    if not new:
        return runs
    ended = runs["status"] == "complete"
    found = [taken(Result.load(folder / run), list(new.values()), held) for run in runs["folder"][ended]]
    columns = [column for label in new for column in target_columns(label).values()]
    added = pd.DataFrame(found, index=runs.index[ended], columns=columns, dtype=float)
    told = runs.attrs | {"targets": [*runs.attrs["targets"], *new]}
    runs = runs.join(added)
    runs.attrs = told
    return runs


def _of_runs(results: Mapping[str, Result], labels: Mapping[str, float], held: int) -> pd.DataFrame:
    """Single runs as a table of runs."""
    names: dict[str, str] = {}
    rows = []
    for folder, result in results.items():
        system = dict(result.config.get("system", {}))
        seed = int(system.pop("seed", 0))
        config = json.dumps(result.config | {"system": system}, sort_keys=True)
        name = names.setdefault(config, as_text(Path(folder).name or folder))
        own = {"design": list(names).index(config), "name": name, "base": name, "seed": seed, "error": ""}
        rows.append(own | {"folder": as_text(folder)} | outcome_of(result, list(labels.values()), held))
    runs = table_of(rows, list(labels))
    complete_first = runs.sort_values("status", key=lambda status: status != "complete", kind="stable")
    runs = complete_first.drop_duplicates(["design", "seed"]).sort_index().reset_index(drop=True)
    runs.attrs["fields"] = []
    return with_shares(runs)


def _counted(results: Sequence[Result]) -> list[Design]:
    """Designs of single runs; incomplete ones do not count."""
    return [
        attrs.evolve(own, counted=tuple(run for run in own.counted if run.summary.status == "complete"))
        for own in designs_of(results)
    ]


def _remarks(studies: Mapping[str, pd.DataFrame], single: Sequence[Design]) -> list[str]:
    """Remarks on the runs that count, of studies and single ones together, then on each."""
    folders = [
        place(path) / run
        for path, runs in studies.items()
        for run in runs["folder"][runs["status"] == "complete"]
    ]
    folders += [run.folder for design in single for run in design.counted if run.folder]
    return [
        *remarks_on_versions(folders),
        *(words for runs in studies.values() for words in remarks_on_study(runs)),
        *(words for design in single for words in remarks_on_design(design)),
    ]


def _joined(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Tables one below the other, their designs numbered through."""
    if len(tables) == 1:
        return next(iter(tables.values()))
    called = {folder: as_text(Path(folder).resolve().name) for folder in tables}
    if len({*called.values()}) < len(called):
        called = {folder: as_text(folder) for folder in tables}
    names = [str(name) for runs in tables.values() for name in runs["name"].unique()]
    twice = {name for name in names if names.count(name) > 1}
    merged: dict[str, Any] = {"measures": {}, "parts": {}, "targets": [], "fields": []}
    merged["reference"] = next(iter(tables.values())).attrs.get("reference", 0)
    parts, first = [], 0
    for folder, runs in tables.items():
        own = [f"{called[folder]}: {name}" if name in twice else name for name in runs["name"]]
        parts.append(runs.assign(design=runs["design"] + first, name=own, study=called[folder]))
        first += int(runs["design"].max()) + 1
        for key in ("measures", "parts"):
            merged[key] |= runs.attrs[key]
        for key in ("targets", "fields"):
            merged[key] += [value for value in runs.attrs[key] if value not in merged[key]]
    for part in parts:
        part.attrs = {}  # which pandas would have to compare
    runs = pd.concat(parts, ignore_index=True)
    runs.attrs = merged
    return runs
