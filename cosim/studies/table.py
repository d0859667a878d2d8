"""Table of runs: one row for each run of a study, what it was and what became of it.

It says nothing that the run folders do not say, so a damaged one is made anew from those that are whole.
"""

import json
import re
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from cosim.configuration import ConfigurationError
from cosim.files import read_json, shown
from cosim.results import Result
from cosim.studies.designs import Design

COLUMNS = {
    "design": "int64",
    "name": "str",
    "seed": "int64",
    "status": "str",
    "error": "str",
    "folder": "str",
    "time_s": "float64",
    "energy_j": "float64",
    "num_updates": "float64",
    "num_dropped": "float64",
    "bits_per_client": "float64",
    "time_to_target_s": "float64",
    "energy_to_target_j": "float64",
}
"""Columns of the table of runs; what a run does not have is not a number.

Before those of the target stand the scores of the last evaluation, as the tasks call them.
"""

FILE, ASKED = "runs.parquet", "study.json"
RUN = re.compile(r"design-(\d+)-seed-(\d+)")
"""What the folder of a run is called."""


def table_in(folder: Path) -> pd.DataFrame:
    """The table in a study folder.

    Raises:
        ConfigurationError: It has to be made anew, and nobody knows of what.

    Warns:
        UserWarning: It is made anew.
    """
    try:
        table = pd.read_parquet(folder / FILE)
        if any(str(table[column].dtype) != dtype for column, dtype in COLUMNS.items()):
            raise ValueError("its columns are of other types")
        if table[[column for column, dtype in COLUMNS.items() if dtype == "str"]].isna().any(axis=None):
            raise ValueError("it has rows without a value")
        for column in table.columns[table.columns.str.startswith("field.")]:
            table[column].map(json.loads)
    except Exception as error:  # there is hardly one that damaged bytes cannot raise
        where, why = shown(folder / FILE), " ".join(str(error).split())[:200]
        warnings.warn(f"{where}: damaged ({why}), so it is made anew from the runs.", stacklevel=2)
        return _made_anew(folder)
    return table


def _made_anew(folder: Path) -> pd.DataFrame:
    try:
        asked = read_json(folder / ASKED)
        grid, target = asked["grid"], asked["target"]
        ways = [dict(zip(grid, way, strict=True)) for way in product(*grid.values())]
        rows = []
        for run in folder.glob("runs/*"):
            if match := RUN.fullmatch(run.name):
                number, seed = map(int, match.groups())
                row = row_of(number, Design(values=ways[number], system=None), seed, f"runs/{run.name}")
                rows.append(row | _outcome_in(run, target))
        return table_of(rows)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise ConfigurationError(
            f"{shown(folder / ASKED)}: damaged ({error}). Usual fix: remove it and give the command of the "
            "study again, which keeps the runs that are whole."
        ) from None


def _outcome_in(folder: Path, target: float | None) -> dict[str, Any]:
    try:
        return outcome_of(Result.load(folder), target)
    except ConfigurationError as error:
        return {"error": str(error)}


def outcome_of(result: Result, target: float | None) -> dict[str, Any]:
    """What the table says of a run that is complete."""
    summary = result.summary._asdict()
    found = {name: summary[name] for name in summary if name in COLUMNS} | summary["scores"]
    if target is not None and len(reached := result.reaching(target)):
        found["time_to_target_s"] = float(reached["time_s"].iloc[0])
        found["energy_to_target_j"] = float(reached["energy_j"].iloc[0])
    return found


def row_of(number: int, design: Design, seed: int, folder: str) -> dict[str, Any]:
    """The row of a run that waits."""
    fields = {f"field.{field}": json.dumps(value) for field, value in design.values.items()}
    own = {"design": number, "name": design.name, "seed": seed, "status": "waiting", "error": ""}
    return own | {"folder": folder} | fields


def table_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The rows by design and seed."""
    table = pd.DataFrame(rows)
    fields = [column for column in table if str(column).startswith("field.")]
    scores = [column for column in table if column not in {*COLUMNS, *fields}]
    own, before = list(COLUMNS), list(COLUMNS).index("time_to_target_s")
    table = table.reindex(columns=[*own[:before], *scores, *own[before:], *fields])
    table = table.astype(COLUMNS | dict.fromkeys(scores, "float64"))
    return table.sort_values(["design", "seed"], ignore_index=True)
