"""Functions: what a text such as `mine:network` means, and which functions a file may name.

A program's own words, and words typed on the command line, name any function of a loaded module. A file may
be a stranger's, so a text in it names only what is *defined* in a module that its reader has named: by
`--import`, by the scenario of the command, by `modules` of `cosim.system.loading.load_system`. `__main__`
counts as named, and a package stands for its submodules. What a module merely imports (`from os import
abort`) does not count, nor a functools.partial of it.

Scope and limitations: classes of configurations are no functions; a file names any that is loaded (`kinds`).

Usage::

    source: str = knob(own_function, default="")  # a text that names a function

    with names_of_a_file(["mine"]):
        Arrays(source="shutil:rmtree")  # refused, and nothing is called
"""

import functools
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any

from cosim.configuration.rules import Broken, ConfigurationError, short

_named: ContextVar[frozenset[str] | None] = ContextVar("named", default=None)
"""Modules whose functions the file that is being read may name. None means that no file is being read."""


@contextmanager
def names_of_a_file(modules: Iterable[str | ModuleType]) -> Iterator[None]:
    """Let what is made meanwhile name only functions of these modules, because its texts are a file's."""
    names = (module if isinstance(module, str) else module.__name__ for module in modules)
    token = _named.set(frozenset({*names, "__main__"}))
    try:
        yield
    finally:
        _named.reset(token)


def reads_a_file() -> bool:
    """True while texts are a file's."""
    return _named.get() is not None


def own_function(text: str) -> Broken | None:
    """A rule for fields with module:function: a file may name only functions of named modules."""
    named, (module_name, colon, path) = _named.get(), text.partition(":")
    if named is None or not colon:
        return None
    module = module_called(module_name)
    if module is None:
        return _not_loaded(module_name)
    rule, trusted = "a file runs only functions of modules that you name", short(text)
    if not (_is_within(module_name, named) or _is_within(module.__name__, named)):
        rule = f"{rule}, and {module_name} is none of them"
        return Broken(rule, f"Use --import {module_name}, if you trust {trusted}.")
    found: Any = module
    for part in path.split("."):
        found = None if part.startswith("__") else getattr(found, part, None)
        home = _home(found)
        if home is None:
            return Broken("no such function", f"Use a function that is defined in {module_name}.")
        if not _is_within(home, named):
            fix = (
                f"Use a function that is defined in {module_name}; or --import {home}, if you trust "
                f"{trusted}."
            )
            return Broken(f"{rule}, and this one is defined in {home}", fix)
    return None


def _home(found: Any) -> str | None:
    """The module in which a function or a class is defined, or the class of an object."""
    if isinstance(found, ModuleType):
        return found.__name__
    if isinstance(found, functools.partial):
        return _home(found.func)
    home = getattr(found, "__module__", None)
    return home if isinstance(home, str) else None


def _is_within(module: str, named: frozenset[str]) -> bool:
    """True if a module is a named one, or below it."""
    parts = module.split(".")
    return any(".".join(parts[:number]) in named for number in range(1, len(parts) + 1))


def loaded(name: str, where: str) -> object:
    """Object with a name such as `rules:Fastest`; None if the module has no such name.

    Args:
        where: The field that holds the name, for the message.

    Raises:
        ConfigurationError: Its module is not loaded.
    """
    module, path = module_and_path(name, where)
    found: object = module
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def module_and_path(name: str, where: str) -> tuple[ModuleType, str]:
    """The loaded module of a name such as `rules:Fastest`, and what comes behind the colon.

    Raises:
        ConfigurationError: It is not loaded.
    """
    module_name, _, path = name.partition(":")
    module = module_called(module_name)
    if module is None:
        broken = _not_loaded(module_name)
        raise ConfigurationError(f"{where}: {broken.rule}. {broken.fix}")
    return module, path


def _not_loaded(module: str) -> Broken:
    if not module:
        return Broken("names no module", "Use module:function, such as mine:network.")
    return Broken(
        f"the module {short(module)} is not loaded, and reading a configuration imports nothing",
        f"Use --import {short(module)}, or import it where the configuration is read.",
    )


def module_called(name: str) -> ModuleType | None:
    """The loaded module with a name; the running script goes by the name of its file."""
    return sys.modules["__main__"] if name == script_name() else sys.modules.get(name)


def script_name() -> str | None:
    """The module name of the running script; None if there is none, as in a notebook."""
    main: ModuleType | None = sys.modules.get("__main__")
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None:
        return spec.name
    return None if file is None else _stem(file)


@functools.lru_cache(maxsize=16)
def _stem(file: str) -> str:
    return Path(file).stem
