"""Table of runs: one row for each run of a study, what it was and what became of it."""

import json
from typing import Any

import pandas as pd

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


def outcome_of(result: Result, target: float | None) -> dict[str, Any]:
    """What the table says of a run that is complete."""
    summary = result.summary._asdict()
    found = {name: summary[name] for name in summary if name in COLUMNS} | summary["scores"]
    if target is not None and (reached := result.at_target(target)):
        found |= {"time_to_target_s": reached.time_s, "energy_to_target_j": reached.energy_j}
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
