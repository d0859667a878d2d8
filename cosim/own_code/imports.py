"""Imports: a user's own modules that a user's module imports, directly or through others.

They are read off the source, so that imports within functions count, and nothing is run. Own is what lies
neither in the standard library nor among installed packages, and is not ours: modules of the same package or
folder, of another folder of `sys.path`, of a package that is installed in place. A package on the way to an
imported module is one of them, as Python runs its `__init__`; what that imports in turn is not, unless a name
is taken of it.

Scope and limitations: names that are put together at run time, as for `importlib.import_module(name)`, are
not found, nor data files that functions read. A replay with other rows tells (`cosim.recording.digest`).

Validation: tests/own_code/test_sources.py.
"""

import ast
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import NamedTuple

import attrs

from cosim.configuration.functions import module_called

_ROOT = Path(__file__).resolve().parents[2]
_OURS = tuple(_ROOT / package for package in ("cosim", "models", "analysis", "scenarios"))
"""Folders of code that the commit identifies."""
_STANDARD = tuple(Path(sysconfig.get_path(of)) for of in ("stdlib", "platstdlib"))
_INSTALLED = {"site-packages", "dist-packages"}


@attrs.define
class Imported:
    """A module of the user's own.

    Attributes:
        file: Its file, or that of a package's `__init__`.
        by: Modules that import it.
    """

    file: Path
    by: set[str] = attrs.field(factory=set)


class _Import(NamedTuple):
    """`import module`, or `from module import names`, from a number of packages up."""

    level: int
    module: str
    names: tuple[str, ...] = ()


made_path = lru_cache(maxsize=4096)(Path)
"""A path, made once of the text that each run asks for again."""


@lru_cache(maxsize=4096)
def is_ours(file: Path) -> bool:
    """True if a file is one of this project's."""
    return any(file.is_relative_to(ours) for ours in _OURS)


def imported_by(modules: Mapping[str, Path]) -> dict[str, Imported]:
    """The user's own modules that modules import, directly or through others.

    Args:
        modules: Name -> file; one that is not the user's own imports nothing that counts.
    """
    found: dict[str, Imported] = {}
    followed: set[str] = set()
    left = [(name, file) for name, file in modules.items() if _is_own(file)]
    while left:
        name, file = left.pop()
        if name in followed:
            continue
        followed.add(name)
        folders = _folders(name, file)
        for other, path, is_used in _imports(name, file, folders):
            found.setdefault(other, Imported(path)).by.add(name)
            if is_used:
                left.append((other, path))
    return {name: of for name, of in found.items() if name not in modules}


def _imports(name: str, file: Path, folders: list[Path]) -> Iterator[tuple[str, Path, bool]]:
    """Name and file of what a module imports, and whether that is used, not only a package on the way."""
    yield from ((other, path, False) for other, path in _packages(name, folders))
    try:
        source = file.read_bytes() if file.suffix == ".py" else b""
    except OSError:
        return
    package = name if file.stem == "__init__" else name.rpartition(".")[0]
    for level, module, names in _written(source):
        if level:
            above = package.split(".")[: len(package.split(".")) - level + 1]
            module = ".".join(filter(None, [*above, module]))
        within = [(f"{module}.{of}", _found(f"{module}.{of}", folders)) for of in names]
        takes_names = not names or any(path is None for _, path in within)
        for other, path in ((module, _found(module, folders)), *within):
            if path is not None:
                yield other, path, takes_names or other != module
                yield from ((above, init, False) for above, init in _packages(other, folders))


def _packages(name: str, folders: list[Path]) -> Iterator[tuple[str, Path]]:
    """The packages that a module lies in, with the file of each that has one."""
    parts = name.split(".")
    for num in range(1, len(parts)):
        above = ".".join(parts[:num])
        if (path := _found(above, folders)) is not None:
            yield above, path


def _found(name: str, folders: list[Path]) -> Path | None:
    """File of a user's own module; None if it is not the user's, or has no file."""
    top = name.partition(".")[0]
    if not name or top in sys.stdlib_module_names:
        return None
    if (module := module_called(name)) is not None:
        return _own_file(module)
    if getattr(package := module_called(top), "__file__", None) and _own_file(package) is None:
        return None  # within a package of others there are none of the user's own
    above = module_called(name.rpartition(".")[0])
    if above is not None and not hasattr(above, "__path__"):
        return None  # there are no modules within a module
    for folder in folders:
        path = folder.joinpath(*name.split("."))
        for suffix in all_suffixes():
            for file in (path / f"__init__{suffix}", path.with_name(path.name + suffix)):
                if file.is_file():
                    return file if _is_own(file) else None
    return None


def _own_file(module: object) -> Path | None:
    file = getattr(module, "__file__", None)
    return path if file and _is_own(path := made_path(file).absolute()) else None


def _folders(name: str, file: Path) -> list[Path]:
    """Folders with the modules that a module may import: beside its package, and on the path."""
    parts = tuple(name.split("."))
    place = file.parent if file.stem == "__init__" else file.with_name(file.name.partition(".")[0])
    is_below = place.parts[-len(parts) :] == parts
    root = Path(*place.parts[: -len(parts)]) if is_below else file.parent
    own = (folder for folder in map(made_path, sys.path) if not _is_installed(folder))
    return list(dict.fromkeys([root, *(folder.absolute() for folder in own)]))


def _is_own(file: Path) -> bool:
    return not is_ours(file) and not _is_installed(file)


@lru_cache(maxsize=4096)
def _is_installed(path: Path) -> bool:
    """True if it is of the standard library, or of a package that was installed."""
    return not _INSTALLED.isdisjoint(path.parts) or any(path.is_relative_to(of) for of in _STANDARD)


@lru_cache(maxsize=4096)
def _written(source: bytes) -> tuple[_Import, ...]:
    """Imports that a source has, wherever they stand in it."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(found for node in ast.walk(tree) for found in _of_node(node))


def _of_node(node: ast.AST) -> Iterator[_Import]:
    match node:
        case ast.Import():
            yield from (_Import(0, alias.name) for alias in node.names)
        case ast.ImportFrom():
            yield _Import(node.level, node.module or "", tuple(alias.name for alias in node.names))
        case ast.Call(
            func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            yield _Import(len(name) - len(name.lstrip(".")), name.lstrip("."))
