"""Table of runs: one row for each run of a study, with its design and its outcome.

It holds only what the index and the run folders hold, so a damaged table is rebuilt from them. It needs only
results, so any reader of results may use it. The table's `attrs` have the meaning of its scores, its targets,
the classes of the parts, and the design with which others are compared; Parquet keeps them.
"""

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from cosim.configuration import ConfigurationError
from cosim.files.on_disk import as_text, checksum, read_json, shown
from cosim.files.parquet_files import parquet_file
from cosim.records.measures import Measure, are_sound
from cosim.records.tables import SEEDS
from cosim.results.result import Result
from cosim.results.tables import dtype_of
from cosim.studies.index import Index
from cosim.studies.names import names_of, shared_parts
from cosim.studies.reference import reference_of
from cosim.tables.room import check_parquet

COLUMNS = {
    "design": "int64",
    "name": "str",
    "base": "str",
    "seed": "int64",
    "status": "str",
    "error": "str",
    "folder": "str",
    "time_s": "float64",
    "energy_j": "float64",
    "num_updates": "float64",
    "num_dropped": "float64",
    "bits_per_client": "float64",
    "received_bits_per_client": "float64",
    "last_version": "float64",
    "latest_s": "float64",
    "protocol": "str",
    "is_diverged": "bool",
}
"""Columns of the table of runs; values that a run does not have are nan.

`latest_s` is the instant at which the run's end stops the clock in any case, `protocol` the kind of its
protocol. Further columns are the scores of the last evaluation, as the tasks call them, four columns for
each target, and the fields of the grid.
"""
MEASURES = "measures"
"""Key of an outcome that is no column: the meaning of its scores."""

FILE, ASKED = "runs.parquet", "study.json"
RUN = re.compile(r"design-(\d+)-seed-(\d+)")
"""Pattern of the name of a run's folder, by design and seed."""


def run_folder(design: int, seed: int) -> str:
    """Folder of a run within the folder of its study."""
    return f"runs/design-{design:03d}-seed-{seed}"


def table_in(folder: Path) -> pd.DataFrame:
    """Table in a study folder.

    Raises:
        ConfigurationError: The table is damaged, and there is nothing to rebuild it from.

    Warns:
        UserWarning: The table is rebuilt.
    """
    index = Index(folder)
    try:
        if index.tables and checksum(folder / FILE) not in index.tables:
            raise ValueError("its checksum is another")
        with parquet_file(folder / FILE) as file:
            check_parquet(folder / FILE, file)
        with (folder / FILE).open("rb") as opened:
            table = pd.read_parquet(opened)
        if "is_diverged" not in table:  # older tables have no such column
            return _rebuilt(folder, index)
        if any(dtype_of(table[column]) != dtype for column, dtype in COLUMNS.items()):
            raise ValueError("its columns are of other types")
        if table[[column for column, dtype in COLUMNS.items() if dtype == "str"]].isna().any(axis=None):
            raise ValueError("it has rows without a value")
        for column in table.columns[table.columns.str.startswith("field.")]:
            table[column].map(json.loads)
    except Exception as error:  # damaged bytes can raise almost any error
        where, why = shown(folder / FILE), " ".join(str(error).split())[:200]
        warnings.warn(f"{where}: damaged ({why}), so it is made again from the runs.", stacklevel=2)
        return _rebuilt(folder, index)
    return table


def _rebuilt(folder: Path, index: Index) -> pd.DataFrame:
    try:
        asked = read_json(folder / ASKED)
        grid, targets, held = asked["grid"], asked["targets"], asked["held"]
        names = names_of(asked["systems"], grid)
        ways = [(base, way) for base in asked["systems"].items() for way in product(*grid.values())]
        there = [tuple(map(int, match.groups())) for match in _runs_in(folder)]
        rows = []
        for number, ((base, system), way) in enumerate(ways):
            values = dict(zip(grid, way, strict=True))
            first = int(system["seed"])
            if first + int(asked["seeds"]) > SEEDS:
                raise ConfigurationError(
                    f"{shown(folder / ASKED)}: its last seed is not below 2**63, and no table holds it. Use "
                    "another folder, for a study from a smaller seed on."
                )
            seeds = {*range(first, first + int(asked["seeds"])), *(s for n, s in there if n == number)}
            for seed in seeds:
                run = run_folder(number, seed)
                row = row_of(number, names[number], str(base), values, seed, run)
                known = index.outcome(run)
                rows.append(row | (_outcome_in(folder / run, targets, held) if known is None else known))
        labels = [target_label(target, held) for target in targets]
        reference = reference_of(asked["systems"], grid)
        return table_of(rows, labels, shared_parts(asked["systems"]), reference)
    except ConfigurationError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise ConfigurationError(
            f"{shown(folder / ASKED)}: damaged ({error}). Remove it and give the command of the study "
            "again, which keeps the complete runs."
        ) from None


def _runs_in(folder: Path) -> list[re.Match[str]]:
    found = (RUN.fullmatch(run.name) for run in folder.glob("runs/*"))
    return [match for match in found if match]


def _outcome_in(folder: Path, targets: Sequence[float], held: int) -> dict[str, Any]:
    if not folder.exists():
        return {}
    try:
        return outcome_of(Result.load(folder), targets, held)
    except ConfigurationError as error:
        return {"error": str(error)}


def row_of(
    number: int, name: str, base: str, values: Mapping[str, Any], seed: int, folder: str
) -> dict[str, Any]:
    """Row of a run that waits.

    Args:
        number: Number of its design.
        base: Name of the system that the design changes.
        values: Field -> its value.
    """
    fields = {f"field.{field}": json.dumps(_as_texts(value)) for field, value in values.items()}
    own = {"design": number, "name": name, "base": base, "seed": seed, "status": "waiting", "error": ""}
    return own | {"folder": folder, "protocol": ""} | fields


def _as_texts(value: Any) -> Any:
    """A value, or every one of a list, with names of files as texts."""
    if isinstance(value, list | tuple):
        return [_as_texts(item) for item in value]
    return as_text(value) if isinstance(value, str) else value


def target_label(target: float, held: int) -> str:
    """Name of a target in its columns, such as 0.8, or 0.8_held_2."""
    return f"{target:.15g}" + (f"_held_{held}" if held > 1 else "")


def target_columns(label: str) -> dict[str, str]:
    """Cost of reaching a target -> its column."""
    return {
        "time_s": f"time_to_{label}_s",
        "energy_j": f"energy_to_{label}_j",
        "bits_per_client": f"bits_per_client_to_{label}",
        "version": f"versions_to_{label}",
    }


def taken(result: Result, targets: Sequence[float], held: int) -> dict[str, float]:
    """Cost of a run up to each target that it reached."""
    found = {}
    for target in targets:
        if (reached := result.at_target(target, held)) is not None:
            columns = target_columns(target_label(target, held))
            found |= {column: float(getattr(reached, name)) for name, column in columns.items()}
    return found


def outcome_of(result: Result, targets: Sequence[float], held: int) -> dict[str, Any]:
    """Outcome of a complete run, as in the table."""
    summary = result.summary._asdict()
    found = {name: summary[name] for name in summary if name in COLUMNS} | summary["scores"]
    if len(result.evaluations):
        found["last_version"] = float(result.evaluations["version"].iloc[-1])
    system = result.config["system"]
    found |= {"protocol": _kind(system.get("protocol"))} | _latest(system.get("end"))
    measures = {column: list(measure) for column, measure in result.summary.measures.items()}
    return found | taken(result, targets, held) | {MEASURES: measures}


def _latest(end: Any) -> dict[str, float]:
    """Instant at which an end stops the clock in any case, where it is one of ours that does."""
    while isinstance(end, Mapping) and "at_the_latest" in end:
        end = end["at_the_latest"]
    return {"latest_s": float(end["duration_s"])} if _kind(end) == "AfterSeconds" else {}


def _kind(part: Any) -> str:
    """Kind of a part of a configuration."""
    return str(part.get("kind", "")) if isinstance(part, Mapping) else ""


def _is_diverged(row: Mapping[str, Any]) -> bool:
    """True if the training of a run has diverged, by the scores of its last evaluation."""
    measures = {column: Measure(*measure) for column, measure in row.get(MEASURES, {}).items()}
    return not are_sound(measures, row)


def _in_texts(row: Mapping[str, Any]) -> dict[str, Any]:
    """The same row with names of files as texts that a table can hold."""
    texts = {column: as_text(row[column]) for column, dtype in COLUMNS.items() if dtype == "str"}
    return {**row, **texts}


def table_of(
    rows: Sequence[Mapping[str, Any]],
    targets: Sequence[str] = (),
    parts: Mapping[str, str] | None = None,
    reference: int = 0,
) -> pd.DataFrame:
    """Table of the rows, by design and seed.

    Args:
        targets: Labels of the targets, each of which has its columns.
        parts: Path -> class of parts, by which fields of the grid are named.
        reference: Number of the design with which others are compared.
    """
    table = pd.DataFrame([_in_texts(row) for row in rows])
    table["is_diverged"] = list(map(_is_diverged, rows))
    found = table.pop(MEASURES) if MEASURES in table else ()
    measures = {column: how for own in found if isinstance(own, dict) for column, how in own.items()}
    of_targets = [column for label in targets for column in target_columns(label).values()]
    fields = [column for column in table if str(column).startswith("field.")]
    scores = [column for column in table if column not in {*COLUMNS, *of_targets, *fields}]
    table = table.reindex(columns=[*COLUMNS, *scores, *of_targets, *fields])
    table = table.astype(COLUMNS | dict.fromkeys([*scores, *of_targets], "float64"))
    table = table.sort_values(["design", "seed"], ignore_index=True)
    kept = {name: measures[name] for name in scores if name in measures}
    table.attrs = {
        "measures": kept,
        "targets": list(targets),
        "parts": dict(parts or {}),
        "reference": reference,
    }
    return table
