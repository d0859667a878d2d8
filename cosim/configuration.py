"""Configurations: frozen classes whose fields check themselves, and their strict JSON form.

A configuration *is* the object it configures. Every value passes its type and its rules when the
object is made, by Python, command line or JSON alike, so nothing invalid reaches the clock. Types are
strict: a bool is no number, 1.5 is no count, and no float is NaN or infinite.

Usage::

    @configuration
    class Band:
        \"\"\"The uplink band of one cell.

        Attributes:
            bandwidth_hz: Width of the band. [HIST journal, Section VI-C]
        \"\"\"

        bandwidth_hz: float = field(positive, default=20e6)

The text in brackets at the end of an attribute's description names its source; `cosim show` prints it.
"""

import difflib
import math
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, TypeVar, dataclass_transform

import attrs
import cattrs

from cosim.units import unit_of

C = TypeVar("C")
Rule = Callable[[Any], str | None]
"""Looks at a value; returns the rule it breaks as a sentence, or None."""


class ConfigurationError(ValueError):
    """Bad input. One message: what is wrong, where, which rule, the usual fix."""


def positive(value: Any) -> str | None:
    """Above zero, for a number or for each of a tuple."""
    return None if all(v > 0 for v in _each(value)) else "must be above 0"


def not_negative(value: Any) -> str | None:
    """Zero or above, for a number or for each of a tuple."""
    return None if all(v >= 0 for v in _each(value)) else "must be 0 or above"


def not_empty(value: Any) -> str | None:
    """At least one item."""
    return None if len(value) else "must have at least one item"


def at_least(least: float) -> Rule:
    """No smaller than `least`."""
    return lambda value: None if all(v >= least for v in _each(value)) else f"must be at least {least:g}"


def between(least: float, most: float) -> Rule:
    """In the closed interval from `least` to `most`."""
    return lambda value: (
        None if all(least <= v <= most for v in _each(value)) else f"must lie from {least:g} to {most:g}"
    )


def one_or_range(value: Any) -> str | None:
    """One value, or two: the lowest and the highest of a range."""
    fits = len(value) in (1, 2) and value[0] <= value[-1]
    return None if fits else "must be one value, or the lowest and then the highest of a range"


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def field(*rules: Rule, default: Any = attrs.NOTHING) -> Any:
    """A field with rules; None skips them, because None means "off"."""

    def check(instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        for rule in rules if value is not None else ():
            broken = rule(value)
            if broken is not None:
                raise refuse(type(instance), attribute.name, value, broken, attribute.default)

    return attrs.field(default=default, validator=check)


def refuse(
    owner: type | str, name: str, value: Any, rule: str, fix: Any = attrs.NOTHING
) -> ConfigurationError:
    """The error for one bad field: class, field, value, rule and the usual fix."""
    where = owner if isinstance(owner, str) else owner.__name__
    unit = unit_of(name)
    if isinstance(fix, attrs.Factory) or fix is attrs.NOTHING:  # type: ignore[arg-type]
        advice = f"give {name} in {unit}" if unit else f"give another {name}"
    elif isinstance(fix, str) and " " in fix:
        advice = fix
    elif fix is None:
        advice = "none switches it off"
    else:
        advice = f"the default is {_shown(fix)}" + (f" {unit}" if unit else "")
    return ConfigurationError(f"{where}.{name} = {_shown(value)}: {rule}. Usual fix: {advice}.")


def _shown(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _typed(owner: type, fields: list["attrs.Attribute[Any]"]) -> list["attrs.Attribute[Any]"]:
    def conform(value: Any, _instance: Any, attribute: "attrs.Attribute[Any]") -> Any:
        try:
            return _converter.structure(value, attribute.type)  # type: ignore[arg-type]
        except ConfigurationError:
            raise
        except (ValueError, TypeError) as error:
            expected = _type_name(attribute.type)
            message = f"must be {expected}" + (f" ({error})" if isinstance(error, _Mismatch) else "")
            raise refuse(owner, attribute.name, value, message, attribute.default) from None

    converter = attrs.Converter(conform, takes_self=True, takes_field=True)  # type: ignore[call-overload]
    return [a.evolve(converter=converter) for a in fields]


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field, attrs.field))
def configuration(cls: type[C]) -> type[C]:
    """Make a frozen, keyword-only attrs class whose fields check their types and rules."""
    made = attrs.frozen(cls, kw_only=True, field_transformer=_typed)
    made.__configuration__ = True  # type: ignore[attr-defined]
    return made


def is_configuration(cls: Any) -> bool:
    """Whether a class was made by `configuration`."""
    return isinstance(cls, type) and getattr(cls, "__configuration__", False)


def to_dict(config: Any) -> dict[str, Any]:
    """The configuration as plain JSON values; a field with alternatives carries its "kind"."""
    values: dict[str, Any] = {}
    for attribute in attrs.fields(type(config)):
        value = getattr(config, attribute.name)
        if is_configuration(type(value)):
            kind = {"kind": type(value).__name__} if _alternatives(attribute.type) else {}
            value = kind | to_dict(value)
        values[attribute.name] = list(value) if isinstance(value, tuple) else value
    return values


def from_dict(cls: type[C], values: Any) -> C:
    """The configuration that `to_dict` wrote.

    Raises:
        ConfigurationError: unknown or missing field, wrong type, broken rule.
    """
    return _structure_configuration(values, cls)


def _structure_configuration(values: Any, cls: type[C]) -> C:
    if isinstance(values, cls):
        return values
    if not isinstance(values, dict):
        raise ConfigurationError(f"{cls.__name__} = {_shown(values)}: must be an object with named fields.")
    known = {a.name: a for a in attrs.fields(cls)}  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            close = difflib.get_close_matches(str(name), known, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise ConfigurationError(
                f"{cls.__name__} has no field {name!r}.{hint} Known fields: {', '.join(known)}."
            )
    missing = [n for n, a in known.items() if a.default is attrs.NOTHING and n not in values]
    if missing:
        raise ConfigurationError(
            f"{cls.__name__} lacks {', '.join(missing)}: no default. Usual fix: give it."
        )
    return cls(**values)


def _alternatives(annotation: Any) -> tuple[type, ...]:
    """The configuration classes among which a union chooses; empty where there is no choice."""
    options = tuple(o for o in typing.get_args(annotation) if is_configuration(o))
    return options if len(options) > 1 else ()


def _structure_alternative(values: Any, annotation: Any) -> Any:
    options = {o.__name__: o for o in _alternatives(annotation)}
    if type(values) in options.values() or (values is None and types.NoneType in typing.get_args(annotation)):
        return values
    if not isinstance(values, dict) or values.get("kind") not in options:
        raise _Mismatch(f"its 'kind' must be one of {', '.join(options)}")
    rest = {name: value for name, value in values.items() if name != "kind"}
    return _structure_configuration(rest, options[values["kind"]])


class _Mismatch(ValueError):
    """A value that is not of the wanted type, with a word on why."""


def _structure_number(value: Any, cls: type) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float) if cls is float else cls):
        raise _Mismatch(f"got {type(value).__name__}")
    if cls is not float:
        return value
    try:
        number = float(value)
    except OverflowError:
        raise _Mismatch("too large") from None
    if not math.isfinite(number):
        raise _Mismatch("must be finite")
    return number


def _structure_exactly(value: Any, cls: type) -> Any:
    if type(value) is not cls:
        raise _Mismatch(f"got {type(value).__name__}")
    return value


def _structure_optional(value: Any, annotation: Any) -> Any:
    if value is None:
        return None
    (rest,) = (o for o in typing.get_args(annotation) if o is not types.NoneType)
    return _converter.structure(value, rest)


def _structure_tuple(value: Any, annotation: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        raise _Mismatch(f"got {type(value).__name__}")
    items = typing.get_args(annotation)
    if items[-1] is Ellipsis:
        items = (items[0],) * len(value)
    if len(items) != len(value):
        raise _Mismatch(f"got {len(value)} items")
    return tuple(_converter.structure(v, t) for v, t in zip(value, items, strict=True))


def _structure_literal(value: Any, annotation: Any) -> Any:
    if not isinstance(value, str) or value not in typing.get_args(annotation):
        raise _Mismatch("no such choice")
    return value


def _is_optional(annotation: Any) -> bool:
    return types.NoneType in typing.get_args(annotation) and not _alternatives(annotation)


def _type_name(annotation: Any) -> str:
    names = {int: "a whole number", float: "a finite number", str: "a text", bool: "true or false"}
    if annotation in names:
        return names[annotation]
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is Literal:
        return "one of " + ", ".join(map(repr, arguments))
    if typing.get_origin(annotation) is tuple:
        if arguments[-1] is Ellipsis:
            return f"a list, each {_type_name(arguments[0])}"
        return f"a list of {len(arguments)}, each {_type_name(arguments[0])}"
    if arguments:
        return " or ".join("none (off)" if o is types.NoneType else _type_name(o) for o in arguments)
    return f"a {annotation.__name__}"


def _converter_with_strict_types() -> cattrs.Converter:
    converter = cattrs.Converter(detailed_validation=False)
    for number in (int, float):
        converter.register_structure_hook(number, _structure_number)
    for exact in (bool, str):
        converter.register_structure_hook(exact, _structure_exactly)
    converter.register_structure_hook_func(lambda t: typing.get_origin(t) is tuple, _structure_tuple)
    converter.register_structure_hook_func(lambda t: typing.get_origin(t) is Literal, _structure_literal)
    converter.register_structure_hook_func(_is_optional, _structure_optional)
    converter.register_structure_hook_func(lambda t: bool(_alternatives(t)), _structure_alternative)
    converter.register_structure_hook_func(is_configuration, _structure_configuration)
    return converter


_converter = _converter_with_strict_types()
