"""Kinds: the names by which files and options call classes of parts.

A class of ours, or of an installed package that offers it (`offers`), goes by its bare name, such as
`HFedAvg`, and every other one by `module:Class`. A class of a script goes by its module name, also while the
script is running. Reading `module:Class` looks among the modules that are loaded, imports none and calls
nothing; what it finds must be such a class.

Scope and limitations: a class within a function, or of a notebook, is not found again by its name.
"""

import difflib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module, metadata
from types import ModuleType
from typing import Any

from cosim.configuration.forms import is_base
from cosim.configuration.functions import module_and_path, module_called, reads_a_file, script_name
from cosim.configuration.rules import ConfigurationError, shown
from cosim.doors import everywhere

_ENGINE = __name__.partition(".")[0]
_ABOVE = f"{_ENGINE}.engine.", f"{_ENGINE}.results.", f"{_ENGINE}.studies."
"""Above the parts, where no kinds are."""
GROUP = "cosim.parts"


def is_configuration(cls: object) -> bool:
    """True if a class was made by `part`, or is a subclass of one."""
    if not isinstance(cls, type):
        return False
    for base in cls.__mro__:  # noqa: SIM110 (not by getattr, which a stranger's metaclass answers)
        if "__configuration__" in vars(base):
            return True
    return False


def _is_ours(cls: type) -> bool:
    """True of a class that a room of cosim names."""
    return everywhere().get(cls.__name__) == cls.__module__


def kind_of(cls: type) -> str:
    """The name of a configuration class in files."""
    name = cls.__name__
    return name if _is_ours(cls) or _offered_class(name) is cls else name_of(cls)


def name_of(cls: type) -> str:
    """Module and name of any class, such as `rules:Fastest`."""
    module = cls.__module__
    if module in ("__main__", "__mp_main__"):  # the second: a script in a process that it has started
        module = script_name() or module
    return f"{module}:{cls.__qualname__}"


def kinds_of(port: type | tuple[type, ...]) -> list[type]:
    """The classes with bare names that a field takes which names a port, in the order of their names."""
    ports = set(port) if isinstance(port, tuple) else {port}  # `issubclass` asks all that is below a port
    homes = {name: home for name, home in everywhere().items() if not home.startswith(_ABOVE)}
    found = {name: getattr(import_module(home), name) for name, home in homes.items()}
    found |= {name: _offered_class(name) for name in _offers()}
    kinds = [cls for _, cls in sorted(found.items()) if is_configuration(cls) and not is_base(cls)]
    return [cls for cls in kinds if not ports.isdisjoint(cls.__mro__)]


def known_kinds(options: tuple[type, ...], field: str = "") -> list[str]:
    """Names of the kinds that a field takes: ours, then users' own that are loaded.

    Args:
        field: Its name, by which a class may say that it is not for it (`Port.may_be`).
    """
    named = [option.__name__ for option in options if not is_base(option)]
    ours = [cls.__name__ for cls in kinds_of(options)]
    others = {kind_of(cls) for cls in _below(options) if cls not in options and _is_found(cls)}
    known = list(dict.fromkeys([*named, *ours, *sorted(others)]))
    return [kind for kind in known if _may_be(kind, field)] if field else known


@cache
def offers(group: str) -> tuple[metadata.EntryPoint, ...]:
    """Entry points of a group, by which installed packages offer what they have; some milliseconds.

    An entry point is a line in the pyproject.toml of a package, such as `Fastest =
    "my_package.rules:Fastest"`: in the group `GROUP` under the name of a class, as files have it; in that of
    networks (`cosim.networks.named`) it stands for a function of a network's name. An installed package is
    trusted, as every import of it is.
    """
    return tuple(metadata.entry_points(group=group))


def taken(offer: metadata.EntryPoint, where: str) -> Any:
    """The object of an entry point.

    Args:
        where: What asks for it, for the message.

    Raises:
        ConfigurationError: It cannot be loaded.
    """
    try:
        return offer.load()
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"{where}: {offer.value} cannot be loaded ({error}). Give another name to any file of "
            f"yours that is called {offer.module.partition('.')[0]}.py."
        ) from None


def _offers() -> Mapping[str, metadata.EntryPoint]:
    """Bare name -> the offer of an installed package, each with a name of its own."""
    found: dict[str, metadata.EntryPoint] = {}
    for offer in offers(GROUP):
        other = everywhere().get(offer.name) or (found[offer.name].value if offer.name in found else None)
        if other is not None:
            raise ConfigurationError(
                f"{offer.name}: offered as a part by {offer.value} and by {other}. Use another name "
                f"in one of the packages, or pip uninstall one."
            )
        found[offer.name] = offer
    return found


def _offered_class(name: str) -> Any:
    """The class of an installed package that goes by a bare name; None if none is offered."""
    if (offer := _offers().get(name)) is None:
        return None
    cls = taken(offer, name)
    if not is_configuration(cls) or cls.__name__ != name:
        raise ConfigurationError(
            f"{name}: {offer.value} is no class of this name below @part. Use the class's own name in "
            f"the entry points {shown(GROUP)} of that package."
        )
    return cls


def _may_be(kind: str, field: str) -> bool:
    may_be = getattr(class_of(kind), "may_be", None)
    return may_be is None or may_be(field)


def _below(classes: Iterable[type]) -> Iterator[type]:
    for cls in classes:
        yield from (cls, *_below(cls.__subclasses__()))


def _is_found(cls: type) -> bool:
    """True if a class that may be used is what its name means, as one within a function is not."""
    is_loaded = module_called(name_of(cls).partition(":")[0]) is not None
    return is_loaded and not is_base(cls) and class_of(kind_of(cls)) is cls


def check_whole(kind: str, cls: type, options: tuple[type, ...]) -> None:
    """Refuse a user's own class that lacks something its port asks for.

    Raises:
        ConfigurationError: Names what it lacks, and what to do instead.
    """
    lacks = sorted(getattr(cls, "__abstractmethods__", ()))
    if not lacks or _is_ours(cls):
        return
    port = next(option.__name__ for option in options if issubclass(cls, option))
    own = [name for name in vars(cls) if name[0] != "_"]
    hint = next(
        (f" It has {near}." for name in lacks for near in difflib.get_close_matches(name, own, 1)), ""
    )
    raise ConfigurationError(
        f"{kind}: lacks {' and '.join(lacks)}, which every {port} has.{hint} Add "
        f"{' and '.join(_signature(cls, name) for name in lacks)}."
    )


def _signature(cls: type, name: str) -> str:
    """A method or a property, as one of a class begins."""
    asked = inspect.getattr_static(cls, name)
    if not callable(asked):
        return f"a property {name}"
    return f"a method {name}({', '.join(inspect.signature(asked).parameters)})"


def class_of(kind: str) -> type | None:
    """The configuration class with a name; None if there is none.

    Raises:
        ConfigurationError: Its module is not loaded, or cannot be.
    """
    if ":" not in kind:
        if (home := everywhere().get(kind)) is None:
            return _offered_class(kind)
        cls = getattr(import_module(home), kind)
        return cls if is_configuration(cls) else None
    module, path = module_and_path(kind, f"kind = {shown(kind)}")
    found: object = module
    for part in path.split("."):  # classes within classes; no property is asked, and no metaclass
        inner = vars(found).get(part) if isinstance(found, ModuleType | type) else None
        is_lazy = inner is None and found is module and not reads_a_file()
        found = getattr(module, part, None) if is_lazy else inner
    return found if isinstance(found, type) and is_configuration(found) else None
