"""Rows of the reference, and what of the packages' functions and classes goes into them (`reference`)."""

import importlib
import inspect
import pkgutil
import types
from collections.abc import Iterator
from functools import cache
from typing import Any

import analysis
import cosim
import models
from cosim.configuration.kinds import is_configuration
from cosim.doors import everywhere


def functions() -> Iterator[str]:
    """The public functions and classes of each package, configurations left out."""
    yield "## Functions\n\nConfiguration classes are above; the docstrings say more."
    for package, names in by_room().items():
        own = {
            name: value for name, value in names.items() if callable(value) and not is_configuration(value)
        }
        if own:
            yield f"### {package}\n\n{_members(package, own)}"
    yield f"### models\n\n{_members('models', {'build': models.build})}"
    yield f"### analysis\n\n{_members('analysis', {'load': analysis.load})}"
    for info in pkgutil.walk_packages(analysis.__path__, "analysis."):
        module = importlib.import_module(info.name)
        own = {
            name: value
            for name, value in vars(module).items()
            if not name.startswith("_") and _is_defined_in(info.name, value)
        }
        if own and not info.ispkg:
            yield f"### {info.name}\n\n{first_line(module)}\n\n{_members(info.name, own)}"


@cache
def public() -> dict[str, Any]:
    """Every name of cosim and of its rooms, and what it is."""
    homes = sorted(everywhere().items())
    return {name: getattr(importlib.import_module(home), name) for name, home in homes}


def by_room() -> dict[str, dict[str, Any]]:
    """The same by where a user finds them: cosim, then its rooms."""
    top, found = {*cosim.__all__}, {"cosim": dict[str, Any]()}
    for name, value in public().items():
        room = "cosim" if name in top else f"cosim.{everywhere()[name].split('.')[1]}"
        found.setdefault(room, {})[name] = value
    return dict(sorted(found.items()))


def _is_defined_in(module: str, value: Any) -> bool:
    is_kind = inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, str))
    return is_kind and value.__module__ == module


def _members(module: str, members: dict[str, Any]) -> str:
    """One row per function or class, and one per public method."""
    rows = []
    for name, value in members.items():
        is_error = inspect.isclass(value) and issubclass(value, Exception)
        rows.append((f"`{module}.{name}{'' if is_error else _signature(value)}`", first_line(value)))
        if not inspect.isclass(value) or is_error:
            continue
        for method, raw in _methods(value):
            call = "" if isinstance(raw, property) else _signature(getattr(value, method))
            rows.append((f"`{name}.{method}{call}`", first_line(raw)))
    return table(("what to write", "what it is"), rows)


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Public methods of a class, with the ones that it has from bases without rows of their own."""
    listed, found = {*public().values()}, set[str]()
    for base in kind.__mro__:
        if base is not kind and (base in listed or not base.__module__.startswith("cosim.")):
            continue
        for method, raw in vars(base).items():
            is_method = isinstance(raw, types.FunctionType | classmethod | property)
            if is_method and not method.startswith("_") and method not in found:
                found.add(method)
                yield method, raw


def _signature(function: Any) -> str:
    """Names and defaults of the arguments, without their types."""
    shown, starred = [], False
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown, starred = [*shown, "*"], True
        if parameter.kind is parameter.VAR_POSITIONAL:
            name, starred = f"*{name}", True
        elif parameter.kind is parameter.VAR_KEYWORD:
            name = f"**{name}"
        has_default = parameter.default is not parameter.empty
        is_plain = isinstance(parameter.default, str | int | float | tuple | types.NoneType)
        shown.append(name + (f"={parameter.default!r}" if is_plain else "=...") if has_default else name)
    return f"({', '.join(shown)})"


def first_line(value: Any) -> str:
    """First line of a docstring."""
    text = inspect.getdoc(value) or ""
    return " ".join(text.partition("\n\n")[0].split())


def table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [headings, ("---",) * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
