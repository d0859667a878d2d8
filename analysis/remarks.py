"""Remarks: what a reader must know of runs before their numbers.

Runs that are not complete, that repeat a seed of their design, or whose training diverged; runs of different
versions of cosim; values that users rarely mean (`cosim.system.remarks`), which provenance.json keeps.

Usage::

    for words in remarks_on(designs_of(results)):
        print(words)
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.designs import Design, said, seed_of
from cosim.files.on_disk import read_json
from cosim.results.result import Result
from cosim.results.versions import listed, versions_of


def remarks_on(designs: Sequence[Design]) -> list[str]:
    """On the runs that count together, then on all runs of designs, in turn."""
    folders = [run.folder for design in designs for run in design.counted if run.folder]
    return [
        *remarks_on_versions(folders),
        *(words for design in designs for words in remarks_on_design(design)),
    ]


def remarks_on_versions(folders: Iterable[Path]) -> list[str]:
    """On runs that are of several versions of cosim, whose numbers may differ for that alone."""
    versions = versions_of(folders)
    if len(versions) < 2:
        return []
    return [f"The runs are of different code of cosim: {listed(versions)}. Use runs of one."]


def remarks_on_study(runs: pd.DataFrame) -> list[str]:
    """Of the runs of a study that are not complete, by its table."""
    missing = runs[runs["status"] != "complete"]
    return [
        f"{row.name}, seed {row.seed}: {row.status}{row.error and f' ({row.error})'}"
        for row in missing.itertuples()
    ]


def end_of(design: Design) -> str:
    """When its runs are over, such as AfterRounds (40 global rounds)."""
    kind = design.fields.get("end.kind", "unknown")
    knobs = [
        said(name, design.fields) for name in design.fields if name.startswith("end.") and name != "end.kind"
    ]
    return f"{kind} ({', '.join(knobs)})" if knobs else kind


def _of_run(design: Design, run: Result) -> list[str]:
    remarks = []
    counted = any(run is each for each in design.counted)
    name = f"The run {run.folder.name if run.folder else 'without a folder'} (seed {seed_of(run)})"
    if run.summary.status != "complete":
        num_made, what = run.progress
        use = "its numbers stand for what it did until then" if counted else "not counted"
        remarks.append(
            f"{name} is not complete: {run.summary.status} after {num_made:,} {what}, and asked for "
            f"{end_of(design)}; {use}."
        )
    elif not counted:
        remarks.append(f"{name} repeats a seed of its design; not counted.")
    return remarks


def _differing_sources(design: Design) -> list[str]:
    """Files and modules that were not the same for all its runs, which a configuration does not tell."""
    hashes: dict[str, set[str]] = {}
    for run in design.runs:
        found = origin_of(run).get("sources")
        for source, of in found.items() if isinstance(found, dict) else ():
            if isinstance(of, dict) and isinstance(of.get("sha256"), str):
                hashes.setdefault(source, set()).add(of["sha256"][:12])
    return [
        f"its runs had different contents of {source} (sha256 {', '.join(sorted(own))}). Use runs of one."
        for source, own in hashes.items()
        if len(own) > 1
    ]


def noted(design: Design, name: str) -> Any:
    """An entry of provenance.json, of the first of its runs that has one; None where there is none."""
    return next((found for run in design.runs if (found := origin_of(run).get(name))), None)


def origin_of(run: Result) -> dict[str, Any]:
    """Content of its provenance.json; empty where it is missing or damaged."""
    with suppress(ValueError):
        return read_json(run.folder / "provenance.json") if run.folder else {}
    return {}


def remarks_on_design(design: Design) -> list[str]:
    """On its runs, and on those together whose training has diverged."""
    remarks = [words for run in design.runs for words in _of_run(design, run)]
    remarks += [f"{design.name}: {words}" for words in _differing_sources(design)]
    kept = noted(design, "remarks")
    remarks += [f"{design.name}: {words}" for words in (kept if isinstance(kept, list) else ())]
    if seeds := [str(seed_of(run)) for run in design.counted if run.summary.is_diverged]:
        runs = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}"
        remarks.append(f"{design.name}: a score of {runs} is no finite number.")
    return remarks
