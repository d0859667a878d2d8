"""Calls: functions that say which arguments they take, and of what types, where a call is another.

Usage::

    @checked_call
    def run(system: System, *, clock: Literal["auto", "events"] = "auto") -> Result: ...

    run(system, clok="events")   # run has no argument 'clok'. Did you mean clock? ...
    run(system, clock="event")   # run: clock = 'event': must be one of 'auto', 'events'. ...
"""

import inspect
import os
import types
import typing
from collections.abc import Callable
from functools import cache, wraps
from numbers import Real
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

import attrs

from cosim.configuration.field_types import field_for, type_name
from cosim.configuration.kinds import is_configuration
from cosim.configuration.rules import ConfigurationError, did_you_mean, shown

_BOUND = ("self", "cls")
P = ParamSpec("P")
R = TypeVar("R")


def checked_call(function: Callable[P, R], *, types: bool = True) -> Callable[P, R]:
    """The function, which refuses arguments that it does not have, lacks, or that are of other types.

    A type that only a type checker can tell, such as that of a callback's arguments, is not asked for.

    Args:
        types: False where the function checks the types itself.

    Raises:
        ConfigurationError: Names the argument, what it must be, and what to do instead.
    """
    signature, where = inspect.signature(function), function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def checked(*given: P.args, **named: P.kwargs) -> R:
        try:
            bound = signature.bind(*given, **named)
        except TypeError as error:
            raise _refused(function, where, signature, named, error) from None
        for name, value in bound.arguments.items() if types else ():
            annotation, usual = _hints(function).get(name, Any), signature.parameters[name].default
            if value is not usual and not _fits(value, annotation):
                must, choices = _words(annotation), map(str, typing.get_args(annotation))
                hint = did_you_mean(value, choices) if isinstance(value, str) else ""
                fix = _fix(where, name, value, annotation, usual)
                raise ConfigurationError(f"{where}: {name} = {shown(value)}: must be {must}.{hint} {fix}")
        return function(*given, **named)

    return checked


def _fix(where: str, name: str, value: Any, annotation: Any, usual: Any) -> str:
    if usual is not inspect.Parameter.empty:
        return "Leave it out." if callable(usual) else f"Use the default, {shown(usual)}."
    if not is_configuration(annotation):
        return f"Use {where}({name}=...)."
    own = field_for(annotation, value) if is_configuration(type(value)) else None
    within = f"{own}={shown(value)}" if own else "" if value is annotation else "..."
    by_name = "; the command cosim knows scenarios by their names" if isinstance(value, str) else ""
    return f"Use {where}({annotation.__name__}({within})){by_name}."


def _refused(
    function: Callable[..., Any],
    where: str,
    signature: inspect.Signature,
    named: dict[str, Any],
    error: TypeError,
) -> ConfigurationError:
    known = [name for name in signature.parameters if name not in _BOUND]
    for name in named:
        if name not in known:
            hint = _field_of_another(function, where, name) or did_you_mean(name, known)
            all_known = ", ".join(known)
            return ConfigurationError(f"{where} has no argument {name!r}.{hint} Known: {all_known}.")
    return ConfigurationError(f"{where}: {error}. Use {where}{_without_self(signature)}.")


def _field_of_another(function: Callable[..., Any], where: str, name: str) -> str:
    """Sentences on the argument that has a field of a name, after a space; empty if none has."""
    for argument, annotation in _hints(function).items():
        if (
            is_configuration(annotation)
            and hasattr(annotation, "but")
            and name in attrs.fields_dict(annotation)
        ):
            own = f"{argument}.but({name}=...)"
            return f" {annotation.__name__} has a field of this name. Use {where}({own})."
    return ""


def _without_self(signature: inspect.Signature) -> str:
    """The arguments by their names, with ... where there is a default."""
    parameters = [p for name, p in signature.parameters.items() if name not in _BOUND]
    return f"({', '.join(p.name if p.default is p.empty else f'{p.name}=...' for p in parameters)})"


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return typing.get_type_hints(function)


def _fits(value: Any, annotation: Any) -> bool:
    """True if a value is of a type; what only a type checker can tell fits."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, argument) for argument in arguments)
    if origin is Literal:
        return value in arguments if isinstance(value, (str, int)) else False
    if annotation is Path:
        return isinstance(value, os.PathLike)
    if annotation is int:
        return hasattr(value, "__index__") and not isinstance(value, bool)
    if annotation is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    kind = origin or annotation
    if kind is Callable:
        return callable(value)
    return isinstance(value, kind) if isinstance(kind, type) else True


def _words(annotation: Any) -> str:
    """A type in words."""
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return " or ".join("None" if a is types.NoneType else _words(a) for a in arguments)
    if typing.get_origin(annotation) is Callable:
        return "a function"
    return "a path" if annotation is Path else type_name(annotation)
