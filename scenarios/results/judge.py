"""Judge kept figures again, by the tables that are kept: where claims have changed and runs have not.

    python -m scenarios.results.judge hist-fig9b hist-table1 rawhfl-table2-printed

A module whose claims follow from its table has `claims_in`, of the table and the options of the command that
is kept. A module whose table has columns that need no learning has `completed`, of the same, which measures
them again. Nothing is learned; seeds and cost of the runs stay.
"""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import pandas as pd

import cosim
from cosim.files.on_disk import read_json, write_json
from cosim.results.provenance import provenance
from scenarios.command_line.arguments import parse
from scenarios.command_line.catalogue import find
from scenarios.command_line.console import save_table
from scenarios.reproduce.shown import claims_as_json
from scenarios.results import FOLDER, __main__, check
from scenarios.results.reproductions import Told, reproduction_of


def names(what: str) -> list[str]:
    """Kept figures whose module has a function of this name."""
    kept = (path.stem for path in sorted(FOLDER.glob("*.json")))
    return [name for name in kept if hasattr(module_of(name), what)]


def module_of(name: str) -> Any:
    """Module that makes a kept figure."""
    return find("reproduce", reproduction_of(name))


def judged(name: str) -> dict[str, Any]:
    """A kept figure with the claims of today.

    Raises:
        ConfigurationError: Its claims need its runs.
    """
    module = module_of(name)
    if not hasattr(module, "claims_in"):
        known = ", ".join(names("claims_in"))
        raise cosim.ConfigurationError(f"{name}: its claims need its runs. Use one of {known}.")
    told = read_json(FOLDER / f"{name}.json")
    table = pd.read_csv(FOLDER / f"{name}.csv")
    return told | {"claims": claims_as_json(module.claims_in(table, options_of(told)))}


def completed(name: str) -> tuple[dict[str, Any], pd.DataFrame]:
    """A kept figure and its table with the columns of today, the commit that made them among the others.

    Raises:
        ConfigurationError: The code is not in a commit.
    """
    path = FOLDER / f"{name}.json"
    told = read_json(path)
    options = options_of(told)
    table = pd.read_csv(path.with_suffix(".csv"))
    with TemporaryDirectory() as folder:
        table = module_of(name).completed(table, attrs.evolve(options, out=Path(folder)))
    commit = provenance(options.seed, 1, options.device)["commit"]
    told["commits"] = list(dict.fromkeys([*told["commits"], commit]))
    check(path, told)
    return told, table


def options_of(told: Told) -> Any:
    """Options of the command that a kept figure has been made with."""
    _, command, figure, *words = shlex.split(told["command"])
    module = module_of(told["figure"])
    return parse(module.Options, f"cosim {command} {figure}", words, module.Options(), module.__doc__)


def main(figures: Sequence[str]) -> None:
    """Judge figures again, and write the pages."""
    with_columns = names("completed")
    try:
        found = {name: completed(name) if name in with_columns else (judged(name), None) for name in figures}
    except cosim.ConfigurationError as error:
        sys.exit(str(error))
    for name, (told, table) in found.items():
        write_json(FOLDER / f"{name}.json", told)
        if table is not None:
            save_table(table, FOLDER / f"{name}.csv")
    __main__.main([])


if __name__ == "__main__":
    main(sys.argv[1:])
