"""Modules that a user names: `--import rules`, `mine.py:system`, `package.module:function`.

A module in this folder is found, and so is a file elsewhere, in whose folder modules are then found too.
"""

import importlib
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType

from cosim.configuration import ConfigurationError, did_you_mean
from scenarios.command_line.arguments import values_of

IMPORT = "--import"


def imported(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The modules that `--import` names, which are loaded, and the other arguments.

    Raises:
        ConfigurationError: A module that is not there, or fails.
    """
    names, rest = values_of(IMPORT, arguments, "rules")
    for name in names:
        module_of(name, f"{IMPORT} {name}")
    return names, rest


def module_of(name: str, said: str) -> ModuleType:
    """The module of a name or of a file, loaded.

    Args:
        said: What the user has typed, for the message.

    Raises:
        ConfigurationError: It is not there, it fails, or another module has its name.
    """
    path = Path(name) if name.endswith(".py") else None
    if path is not None and not path.is_file():
        hint = did_you_mean(path.name, files_in(path.parent))
        raise ConfigurationError(
            f"{said}: there is no file {path}.{hint} Usual fix: its path from this folder."
        )
    folder, name = (os.getcwd(), name) if path is None else (str(path.resolve().parent), path.stem)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        fix, hint = "mend it", ""
        if isinstance(error, ModuleNotFoundError) and error.name == name:
            fix = "the name of a module, such as rules for rules.py in this folder"
            hint = did_you_mean(name, [file.removesuffix(".py") for file in files_in(Path())])
        raise ConfigurationError(f"{said}: {what_failed(error)}.{hint} Usual fix: {fix}.") from None
    if path is not None and Path(module.__file__ or "").resolve() != path.resolve():
        raise ConfigurationError(
            f"{said}: another module is called {name} ({module.__file__ or 'built in'}). Usual fix: another "
            "name for the file."
        )
    return module


def files_in(folder: Path) -> list[str]:
    """The Python files of a folder, of which one may have been meant."""
    return sorted(path.name for path in folder.glob("*.py"))


def what_failed(error: BaseException) -> str:
    """An error in one line, with the place in the user's file that it comes from."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    words = f"{type(error).__name__}: {error}"
    return words if last.filename.startswith("<") else f"{words} (line {last.lineno} of {last.filename})"
