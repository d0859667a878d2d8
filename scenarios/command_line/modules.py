"""Modules that a user names: `--import rules`, `mine.py:system`, `package.module:function`.

A module in this folder is found, and so is a file elsewhere, in whose folder modules are then found too.
"""

import importlib
import os
import re
import sys
import sysconfig
import traceback
from pathlib import Path
from types import ModuleType

import cosim
from cosim.configuration import ConfigurationError
from cosim.configuration.rules import did_you_mean
from cosim.own_code.packages import hiding_in, in_words
from scenarios.command_line.arguments import values_of

IMPORT = "--import"
_NOT_OWN = tuple(
    f"{folder}{os.sep}"
    for folder in (
        *(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")),
        Path(cosim.__file__).parent,
        Path(__file__).parent,
    )
)
"""Folders of Python, of packages, of the engine and of the command line, as a name of a file begins."""


def imported(arguments: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Words of `--import`, the names of its modules, which are loaded, and the other arguments.

    Raises:
        ConfigurationError: A module that is not there, or fails.
    """
    said, rest = values_of(IMPORT, arguments, "rules")
    return said, [module_of(word, f"{IMPORT} {word}").__name__ for word in said], rest


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
        raise ConfigurationError(f"{said}: there is no file {path}.{hint} Use its path from this folder.")
    if path is not None and not re.fullmatch(r"[\w-]+", path.stem):
        raise ConfigurationError(
            f"{said}: {path.name} is not the name of a module. Use letters, digits and _ in it, "
            "such as mine.py."
        )
    folder, name = (os.getcwd(), name) if path is None else (str(path.resolve().parent), path.stem)
    for hiding in hiding_in(Path(folder)):
        raise ConfigurationError(f"{said}: {in_words(hiding)}")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        fix, hint = "Mend it.", ""
        if isinstance(error, ModuleNotFoundError) and error.name == name:
            fix = "Use the name of a module, such as rules for rules.py in this folder."
            hint = did_you_mean(name, [file.removesuffix(".py") for file in files_in(Path())])
        raise ConfigurationError(f"{said}: {what_failed(error, f'{hint} {fix}')}") from None
    if path is not None and Path(module.__file__ or "").resolve() != path.resolve():
        raise ConfigurationError(
            f"{said}: another module is called {name} ({module.__file__ or 'built in'}). Use another "
            "name for the file."
        )
    return module


def files_in(folder: Path) -> list[str]:
    """The Python files of a folder, of which one may have been meant."""
    return sorted(path.name for path in folder.glob("*.py"))


def what_failed(error: BaseException, rest: str = " Mend it.") -> str:
    """An error in one line, with the last place in a file of the user's that it comes from.

    Args:
        rest: Is said after an error that does not say itself how it is mended.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(("<", *_NOT_OWN))]
    place = f" (line {own[-1].lineno} of {own[-1].filename})" if own else ""
    if isinstance(error, ConfigurationError):
        return f"{error}{place}"
    return f"{type(error).__name__}: {error}{place}.{rest}"
