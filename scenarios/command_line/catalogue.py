"""Catalogue: the scenarios, reproductions and validations that the command line finds by name.

A module in scenarios/ with a function `system` is a scenario. One with a function `main` is a reproduction in
scenarios/reproduce/ and its rooms, a validation in scenarios/validate/. `cosim list` prints the first line of
its docstring. Files are read for this, and none is imported.
"""

import ast
import importlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import scenarios
from cosim.configuration import ConfigurationError
from cosim.configuration.rules import did_you_mean


class Room(NamedTuple):
    """Room of a command's modules: their package, the word for one, and the function that each must have."""

    folder: str
    noun: str
    function: str


ROOMS = {
    "run": Room(".", "scenario", "system"),
    "reproduce": Room("reproduce", "reproduction", "main"),
    "validate": Room("validate", "validation", "main"),
}
"""Command -> its room."""
_FOLDER = Path(scenarios.__file__).parent


@cache
def catalogue(command: str) -> dict[str, str]:
    """Name -> module, such as hist-fig4 -> scenarios.reproduce.hist.fig4."""
    room = ROOMS[command]
    folder = _FOLDER / room.folder
    found = {}
    for path in folder.glob("*.py" if folder == _FOLDER else "**/*.py"):
        if room.function in _functions(path):
            name = "-".join(path.relative_to(folder).with_suffix("").parts).replace("_", "-")
            found[name] = ".".join(path.relative_to(_FOLDER.parent).with_suffix("").parts)
    return {name: found[name] for name in sorted(found, key=_with_numbers)}


def question(module: str) -> str:
    """The first line of a module's docstring."""
    path = _FOLDER.parent.joinpath(*module.split(".")).with_suffix(".py")
    return (ast.get_docstring(_syntax(path)) or "").partition("\n")[0]


def find(command: str, name: str, others: Iterable[str] = ()) -> ModuleType:
    """The module of a name.

    Args:
        others: What might have been meant besides.

    Raises:
        ConfigurationError: There is none of that name; names the known ones.
    """
    known = catalogue(command)
    if name not in known:
        hint = did_you_mean(name, [*known, *others])
        raise ConfigurationError(f"no {ROOMS[command].noun} {name!r}.{hint} Known: {', '.join(known)}.")
    return importlib.import_module(known[name])


@cache
def _syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _functions(path: Path) -> set[str]:
    return {node.name for node in _syntax(path).body if isinstance(node, ast.FunctionDef)}


def _with_numbers(name: str) -> list[tuple[int, str]]:
    """Key by which fig9a comes before fig10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]
