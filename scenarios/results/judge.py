"""Judge kept figures again, by the tables that are kept: where claims have changed and runs have not.

    python -m scenarios.results.judge hist-fig9b hist-table1

A module whose claims follow from its table has `claims_in`, of the table and the options of the command that
is kept. Nothing is played; seeds, cost and commits of the runs stay.
"""

import shlex
import sys
from collections.abc import Sequence
from typing import Any

import pandas as pd

import cosim
from cosim.files.on_disk import read_json, write_json
from scenarios.command_line.arguments import parse
from scenarios.command_line.catalogue import find
from scenarios.reproduce.shown import claims_as_json
from scenarios.results import FOLDER, __main__
from scenarios.results.reproductions import reproduction_of


def names() -> list[str]:
    """Kept figures that can be judged again."""
    kept = (path.stem for path in sorted(FOLDER.glob("*.json")))
    return [name for name in kept if hasattr(module_of(name), "claims_in")]


def module_of(name: str) -> Any:
    """Module that makes a kept figure."""
    return find("reproduce", reproduction_of(name))


def judged(name: str) -> dict[str, Any]:
    """A kept figure with the claims of today.

    Raises:
        ConfigurationError: Its claims need its runs.
    """
    path, module = FOLDER / f"{name}.json", module_of(name)
    if not hasattr(module, "claims_in"):
        known = ", ".join(names())
        raise cosim.ConfigurationError(f"{name}: its claims need its runs. Use one of {known}.")
    told = read_json(path)
    _, command, figure, *words = shlex.split(told["command"])
    options = parse(module.Options, f"cosim {command} {figure}", words, module.Options(), module.__doc__)
    table = pd.read_csv(path.with_suffix(".csv"))
    return told | {"claims": claims_as_json(module.claims_in(table, options))}


def main(figures: Sequence[str]) -> None:
    """Judge figures again, and write the pages."""
    try:
        found = {name: judged(name) for name in figures}
    except cosim.ConfigurationError as error:
        sys.exit(str(error))
    for name, told in found.items():
        write_json(FOLDER / f"{name}.json", told)
    __main__.main([])


if __name__ == "__main__":
    main(sys.argv[1:])
