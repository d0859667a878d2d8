"""Sources: by what the code of a user's own parts, and the files that parts name, are known again.

A run of a user's parts is a run of their code. So `provenance.json` and `study.json` keep a hash of the file
of each module that a configuration names and that is not ours: modules of its classes and their base classes,
modules of functions given as `module:function`, and the user's own modules that they import
(`cosim.own_code.imports`). They keep a hash too of each file that a part reads because a field names it, such
as a trace (`Port.files`). A resumed run, and a study, refuse other sources.

Scope and limitations: the files as they lie there when a run begins. Where a module has no file, as a
notebook, the hash is null, and nothing is refused.

Validation: tests/own_code/test_sources.py.
"""

import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import attrs

from cosim.configuration import ConfigurationError, parts_of
from cosim.configuration.functions import module_called
from cosim.configuration.kinds import is_configuration, kind_of, name_of
from cosim.configuration.rules import short
from cosim.files.on_disk import located
from cosim.own_code.imports import imported_by, is_ours, made_path

Sources = dict[str, dict[str, Any]]
"""Module -> names of what is used of it (`of`), and the hash of its file (`sha256`).

For a file likewise: its path as the field says it -> the kinds of parts that read it, and its hash. In place
of names, a module that is only imported has the modules that import it (`imported_by`) and its `file`.
"""

_DIGITS = 12
"""Of a hash in a message."""


def sources_of(*configs: Any) -> Sources:
    """The modules of others, and the files, that configurations name."""
    used: dict[str, set[str]] = {}
    for name in _names(configs):
        module, _, of = name.partition(":")
        if module.partition(".")[0] not in sys.stdlib_module_names:
            used.setdefault(module, set()).add(of)
    files = {module: _file(module) for module in sorted(used)}
    files = {module: file for module, file in files.items() if not is_ours(file)}
    read: dict[str, set[str]] = {}
    for part in (part for config in configs for part in parts_of(config)):
        for text in part.files():
            read.setdefault(text, set()).add(kind_of(type(part)))
    return (
        {
            text: {"of": sorted(read[text]), "sha256": _hash(located(text))}
            for text in sorted(read)
            if not is_ours(located(text))
        }
        | {module: {"of": sorted(used[module]), "sha256": _hash(file)} for module, file in files.items()}
        | {
            module: {"imported_by": sorted(of.by), "file": str(of.file), "sha256": _hash(of.file)}
            for module, of in sorted(imported_by(files).items())
        }
    )


def check_files(config: Any) -> None:
    """Refuse files that parts name and that are not there.

    Raises:
        ConfigurationError: The first one.
    """
    for part in parts_of(config):
        for text in part.files():
            if not located(text).is_file():
                name = short(repr(text))
                raise ConfigurationError(
                    f"{type(part).__name__}: there is no file {name}. Use its path from this folder."
                )


def check_sources(known: Any, found: Sources, where: str) -> None:
    """Refuse other sources than a run or study began with.

    Args:
        known: Sources that it began with, as far as it says.
        where: Its folder, for the message.

    Raises:
        ConfigurationError: One has changed.
    """
    for words in changed(known, found):
        raise ConfigurationError(
            f"{where}: was started with another {words}. Restore that file, or use another folder."
        )


def changed(known: Any, found: Sources) -> Iterator[str]:
    """Each source that is not the one with which a run or study began, in words, with both hashes.

    Args:
        known: Sources that it began with, as far as it says.
    """
    for other in others(known, found):
        hashes = f"sha256 {other.before} then, {other.now} now"
        yield f"{other.what}: {other.file} has changed since ({hashes})"


class Other(NamedTuple):
    """A source that is not the one that it was.

    Attributes:
        what: Kind and name, in words.
        file: Its file now.
        before: First digits of the hash that it had.
        now: First digits of the hash that it has.
    """

    what: str
    file: str
    before: str
    now: str


def others(known: Any, found: Sources) -> Iterator[Other]:
    """Each source that is another one than before, where both have a file.

    Args:
        known: Sources before, as far as they are known.
    """
    known = known if isinstance(known, dict) else {}
    for source in sorted(known.keys() & found.keys()):
        before = known[source].get("sha256") if isinstance(known[source], dict) else None
        now = found[source]["sha256"]
        if isinstance(before, str) and now and before != now:
            yield Other(*_told(source, found[source]), before[:_DIGITS], now[:_DIGITS])


def _names(configs: Iterable[Any]) -> set[str]:
    """Classes of configurations and their parts, and functions that fields name, as module:name."""
    classes, found, left = set[type](), set[str](), [*configs]
    while left:
        config = left.pop()
        classes.update(type(config).__mro__)
        for attribute in attrs.fields(type(config)):
            value = getattr(config, attribute.name)
            for item in value if isinstance(value, tuple) else (value,):
                if is_configuration(type(item)):
                    left.append(item)
                elif isinstance(item, str) and ":" in item and _exists(item):
                    found.add(item)
    return found.union(map(name_of, classes))


def _told(source: str, found: Mapping[str, Any]) -> tuple[str, str]:
    """Kind of a source in words, and its file."""
    if "imported_by" in found:
        return f"module {source} (which {' and '.join(found['imported_by'])} imports)", found["file"]
    of = ", ".join(found["of"])
    if module_called(source) is None:
        return f"file (which {of} reads)", source
    return f"module {source} (of which it takes {of})", str(_file(source))


def _exists(name: str) -> bool:
    """True if a text names something of a loaded module; no property on the way is asked."""
    module, _, path = name.partition(":")
    first, *inner = path.split(".")
    found = getattr(module_called(module), first, None)
    for part in inner:
        found = inspect.getattr_static(found, part, None)
    return found is not None


def _file(module: str) -> Path:
    """The file of a loaded module; a path that does not exist if it has none."""
    return made_path(getattr(module_called(module), "__file__", None) or f"<{module}>").absolute()


def _hash(file: Path) -> str | None:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return None
