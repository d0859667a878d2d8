"""Doors: the names of a room (a folder of cosim), each imported when it is first asked for.

So nothing waits for what it does not use. The names and their modules stand in `__init__.pyi` beside a room's
`__init__.py`, where type checkers read them too.

Usage, in `cosim/waiting/__init__.py`::

    from cosim.doors import door as _door

    __getattr__, __dir__, __all__ = _door(__name__)
"""

import ast
import importlib
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
STUB = "__init__.pyi"


def door(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Function that finds a name of a package, function that lists its names, and these names."""
    found = homes(package)
    rooms = [name for name, home in found.items() if home == f"{package}.{name}"]

    def get(name: str) -> Any:
        if name.startswith("_"):  # asked for by tools, of every module, and never misspelt
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if name not in found:
            from cosim.configuration.rules import did_you_mean

            hint = _elsewhere(name) or did_you_mean(name, everywhere())
            raise AttributeError(f"module {package!r} has no attribute {name!r}.{hint}")
        module = importlib.import_module(found[name])
        value = module if name in rooms else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*(name for name in vars(sys.modules[package]) if name.startswith("__")), *found})

    return get, names, [name for name in found if name not in rooms]


@cache
def homes(package: str) -> Mapping[str, str]:
    """Name -> its module, of the names of a package."""
    stub = FOLDER.joinpath(*package.split(".")[1:], STUB)
    found = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            of_rooms = node.module == package
            for alias in node.names:
                found[alias.name] = f"{package}.{alias.name}" if of_rooms else str(node.module)
    return found


@cache
def everywhere() -> Mapping[str, str]:
    """Name -> its module, of the names of all rooms."""
    packages = [f"cosim.{stub.parent.name}" for stub in sorted(FOLDER.glob(f"*/{STUB}"))]
    top = {name: home for name, home in homes("cosim").items() if home != f"cosim.{name}"}
    return top | {name: home for package in packages for name, home in homes(package).items()}


def _elsewhere(name: str) -> str:
    """Sentence that names the room of a name, after a space; empty if it is in no room."""
    if name in homes("cosim"):
        return f" Use cosim.{name}."
    home = everywhere().get(name)
    return "" if home is None else f" Use cosim.{home.split('.')[1]}.{name}."
