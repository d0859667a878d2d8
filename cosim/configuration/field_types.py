"""Field types: what fields take, strictly, and what is said to a value that is not of a field's type.

A field of parts takes their objects, or plain values from a file: an object with a `kind` (`kinds`) wherever
a reader could not know the class.
"""

import math
import os
import types
import typing
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from typing import Any, Literal

import attrs
import cattrs
from typing_extensions import override

from cosim.configuration.forms import is_base
from cosim.configuration.kinds import check_whole, class_of, is_configuration, kinds_of, known_kinds
from cosim.configuration.rules import ConfigurationError, did_you_mean, named_here, shown


def takes_number(annotation: Any) -> bool:
    """True if a field takes a plain number where there are kinds of numbers, too."""
    return bool(options_of(annotation)) and float in typing.get_args(annotation)


def made_of_number(annotation: Any) -> Callable[[float], Any] | None:
    """Class method `of_number` of a port, which gives the kind that a number stands for; None without one."""
    return next((option.of_number for option in options_of(annotation) if hasattr(option, "of_number")), None)


def options_of(annotation: Any) -> tuple[type, ...]:
    """The configuration classes that a field's annotation names."""
    named = (annotation, *typing.get_args(annotation))
    return tuple(option for option in named if is_configuration(option))


@lru_cache(maxsize=1024)
def open_fields(cls: type) -> tuple[str, ...]:
    """Fields of a class that may hold parts; a class that is no configuration has none."""
    fields = attrs.fields(cls) if is_configuration(cls) else ()
    return tuple(a.name for a in fields if a.type is Any or options_of(a.type))


def _structure_configuration(values: Any, annotation: Any) -> Any:
    options = options_of(annotation)
    if isinstance(values, options):
        return values
    if values is None and types.NoneType in typing.get_args(annotation):
        return None
    number = plain(values)
    if takes_number(annotation) and not isinstance(values, dict | str | list | tuple):
        return strict.structure(values, float)
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if is_number and (made := made_of_number(annotation)) is not None:
        return made(number)
    only = options[0] if len(options) == 1 else None
    if not isinstance(values, dict):
        if only is None or is_base(only) or is_configuration(type(values)):
            raise NoKind(values, options)
        raise ConfigurationError(
            f"{only.__name__} = {shown(values)}: must be an object with named fields. Give the fields by "
            "their names."
        )
    if "kind" in values or only is None or is_base(only):
        only = chosen(values.get("kind"), options)
        values = {name: value for name, value in values.items() if name != "kind"}
    check_names(only, values)  # before, because a name of a file may be no name of Python's
    return only(**values)


def chosen(kind: Any, options: tuple[type, ...]) -> Any:
    """The class of a kind where a field takes these and their subclasses."""
    cls = next((option for option in options if option.__name__ == kind), None)
    if cls is None and isinstance(kind, str):
        cls = class_of(kind)
        if cls is not None and issubclass(cls, options):
            check_whole(kind, cls, options)
    if cls is None or not issubclass(cls, options) or is_base(cls):
        raise NoKind(kind, options)
    return cls


def check_names(cls: Any, names: Collection[str]) -> None:
    """Refuse names of fields that a class does not have, and missing fields without a default.

    Raises:
        ConfigurationError: Names the known fields, and a part that has the unknown one; or the missing
            fields.
    """
    known = attrs.fields_dict(cls)
    for name in names:
        if name not in known:
            part = next(_parts_with(cls, name), None)
            hint = (
                _within(cls, part, name, "it") if part else did_you_mean(name, known) or _elsewhere(cls, name)
            )
            raise ConfigurationError(
                f"{cls.__name__} has no field {shown(name)}.{hint} Known fields: {', '.join(known)}.",
                f"{cls.__name__}.{name}",
            )

    lacks = [a for a in attrs.fields(cls) if a.default is attrs.NOTHING and a.name not in names]
    if lacks:
        fix = " and ".join(f"{a.name} with {type_name(a.type)}" for a in lacks)
        raise ConfigurationError(
            f"{cls.__name__} lacks {' and '.join(a.name for a in lacks)}: no default. Give {fix}."
        )


def _elsewhere(cls: Any, name: str) -> str:
    """Which other kind or which part has a field of a name, or of what it means: a sentence after a space."""
    kinds = [] if (port := _port_of(cls)) is None else kinds_of(port)
    for kind in kinds:
        if name in attrs.fields_dict(kind):
            return f" {kind.__name__} has it."
    for other in named_here(name):
        for part in _parts_with(cls, other):
            return _within(cls, part, other, other)
    return ""


def _within(cls: Any, path: str, name: str, said: str) -> str:
    """Sentences on the part that has a field, and how a class is made with it, after a space."""
    made, kinds = f"{name}=...", [cls]
    for part in path.split("."):
        kinds.append(type(attrs.fields_dict(kinds[-1])[part].default))
    for part, kind in zip(reversed(path.split(".")), reversed(kinds), strict=False):
        made = f"{part}={kind.__name__}({made})"
    return f" Its part {path} has {said}. Use {made}."


def _port_of(cls: type) -> type | None:
    """The port of a configuration class: the base of all its kinds."""
    *_, port, _ = [None, None, *(base for base in cls.__mro__ if is_configuration(base))]
    return port


def takes(annotation: Any, value: Any) -> bool:
    """True if a value is of a field's type; one that breaks a rule is."""
    try:
        strict.structure(value, annotation)
    except ConfigurationError:
        return True
    except (ValueError, TypeError, cattrs.StructureHandlerNotFoundError):
        return False
    return True


def field_for(cls: Any, value: Any, taken: Collection[str] = ()) -> str | None:
    """The first field of a class, besides some, of whose type a value is."""
    fields = (a.name for a in attrs.fields(cls) if a.name not in taken and takes(a.type, value))
    return next(fields, None)


def example(value: Any, attribute: "attrs.Attribute[Any]") -> str:
    """The fix for a value that a field does not take: its likely meaning; empty if there is none."""
    options, usual = options_of(attribute.type), type(attribute.default)
    if isinstance(value, type) and issubclass(value, options or ()):
        return f"Use an object of the class, {value.__name__}()."
    if attribute.type is float and (wanted := getattr(value, "field_type", None)):
        return f"Use a number; or, if the class is yours, {attribute.name}: {wanted} in it."
    if not options:
        is_list = typing.get_origin(attribute.type) is tuple and isinstance(value, (int, float))
        return f"Use a list of one, ({shown(value)},)." if is_list else ""
    if value is None or isinstance(value, str) or not is_configuration(usual):
        return ""
    for one in (value, (value,)):
        if name := field_for(usual, one):
            return f"Use {usual.__name__}({name}={shown(one)}), for instance."
    return ""


def _parts_with(cls: Any, name: str) -> Iterator[str]:
    """Paths of the parts of a class, in their defaults, that have a field of a name."""
    for attribute in attrs.fields(cls):
        part = type(attribute.default)
        if is_configuration(part):
            if name in attrs.fields_dict(part):
                yield attribute.name
            yield from (f"{attribute.name}.{inner}" for inner in _parts_with(part, name))


class Mismatch(ValueError):
    """A value that is not of the wanted type, with a word on why."""

    def of_field(self, field: str) -> str:
        """Why, in a field of this name."""
        return str(self)


class NoKind(Mismatch):
    """A kind, and the options of a field that does not take it."""

    @override
    def of_field(self, field: str) -> str:
        kind, options = self.args
        known = known_kinds(options, field)
        ours = f"one of {', '.join(known)}, or " if known else ""
        rule = f"its 'kind' must be {ours}module:Class of your own"
        cls = (class_of(kind) if isinstance(kind, str) and kind.isidentifier() else None) or type(kind)
        port = _port_of(cls) if is_configuration(cls) and not issubclass(cls, options) else None
        hint = did_you_mean(kind, known) if port is None else f" {cls.__name__} is a kind of {port.__name__}."
        return f"{rule}.{hint}".removesuffix(".")

    @override
    def __str__(self) -> str:
        return self.of_field("")


def plain(value: Any) -> Any:
    """A number, a text or a list, where the value is one of NumPy's, of pandas', or a path."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if type(value).__module__.partition(".")[0] in ("numpy", "pandas") and hasattr(value, "tolist"):
        return value.tolist()
    return list(value) if isinstance(value, range) else value


def _structure_number(value: Any, cls: type) -> Any:
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float) if cls is float else cls):
        raise Mismatch(f"got {type(value).__name__}")
    if cls is not float:
        return value
    try:
        number = float(value)
    except OverflowError:
        raise Mismatch("too large") from None
    if not math.isfinite(number):
        raise ValueError(f"{value} is not finite")
    return number


def _structure_exactly(value: Any, cls: type) -> Any:
    value = plain(value)
    if type(value) is not cls:
        raise Mismatch(f"got {type(value).__name__}")
    return value


def _structure_tuple(value: Any, annotation: Any) -> Any:
    value = plain(value)
    if not isinstance(value, (list, tuple)):
        raise Mismatch(f"got {type(value).__name__}")
    items = typing.get_args(annotation)
    if items[-1] is Ellipsis:
        items = (items[0],) * len(value)
    if len(items) != len(value):
        raise Mismatch(f"got {len(value)} items")
    return tuple(strict.structure(v, t) for v, t in zip(value, items, strict=True))


def _structure_literal(value: Any, annotation: Any) -> Any:
    choices = typing.get_args(annotation)
    if not isinstance(value, str) or value not in choices:
        raise Mismatch(f"no such choice.{did_you_mean(value, choices)}".removesuffix("."))
    return value


def type_name(annotation: Any) -> str:
    """A field's type in words."""
    names = {int: "a whole number", float: "a finite number", str: "a text", bool: "true or false"}
    if annotation in names:
        return names[annotation]
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is Literal:
        return "one of " + ", ".join(map(repr, arguments))
    if typing.get_origin(annotation) is tuple:
        if arguments[-1] is Ellipsis:
            return f"a list, each {type_name(arguments[0])}"
        return f"a list of {len(arguments)}, each {type_name(arguments[0])}"
    if arguments:
        return " or ".join("none (off)" if o is types.NoneType else type_name(o) for o in arguments)
    name = str(getattr(annotation, "__name__", annotation))
    number = "" if made_of_number(annotation) is None else "a number or "
    return f"{number}{'an' if name[0] in 'AEIOU' else 'a'} {name}"


strict = cattrs.Converter(detailed_validation=False)
"""Reads values of fields; its types are strict."""
for _number in (int, float):
    strict.register_structure_hook(_number, _structure_number)
for _exact in (bool, str):
    strict.register_structure_hook(_exact, _structure_exactly)
strict.register_structure_hook_func(lambda t: typing.get_origin(t) is tuple, _structure_tuple)
strict.register_structure_hook_func(lambda t: typing.get_origin(t) is Literal, _structure_literal)
strict.register_structure_hook_func(lambda t: bool(options_of(t)), _structure_configuration)
