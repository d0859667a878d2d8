"""Drafts: configurations that no rule has seen, because more of their fields may be about to change."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import attrs

from cosim.configuration.field_types import (
    Mismatch,
    chosen,
    made_of_number,
    options_of,
    takes_number,
    type_name,
)
from cosim.configuration.forms import is_base
from cosim.configuration.json_form import from_dict, to_dict
from cosim.configuration.kinds import is_configuration
from cosim.configuration.rules import ConfigurationError, did_you_mean, refuse, shown

C = TypeVar("C")


def with_kind(config: C, path: Sequence[str], kind: Any) -> C:
    """A draft with another class at a path, which keeps the fields that both classes have.

    A part that is a default gives way to that of the other class. Where the other class has parts of another
    kind under the same name, what both kinds have is kept.

    Args:
        kind: Name of the class; or a plain number, where the field takes one in place of its kinds.

    Returns:
        What no rule has seen, because more of its fields may be about to change. A field without a default
        that is not kept is open: `attrs.NOTHING`. `finished` makes a configuration of a draft.

    Raises:
        ConfigurationError: There is no such field, or no such class.
    """
    name, *inner = path
    attribute = attrs.fields_dict(type(config)).get(name)  # type: ignore[arg-type]
    options = options_of(attribute.type) if attribute is not None else ()
    if not options:
        parts = [a.name for a in attrs.fields(type(config)) if options_of(a.type)]  # type: ignore[arg-type]
        raise ConfigurationError(
            f"{type(config).__name__} has no part {shown(name)} that has "
            f"kinds.{did_you_mean(name, parts)} Known parts: {', '.join(parts) or 'none'}."
        )
    before = getattr(config, name)
    if inner:
        if not is_configuration(type(before)):
            why = "is off" if before is None else "has no default"
            raise ConfigurationError(
                f"{type(config).__name__}.{name}: {why}, so it has no parts. Give {name}.kind first.",
                f"{type(config).__name__}.{name}",
            )
        return draft(type(config), _values_of(config) | {name: with_kind(before, inner, kind)})
    if isinstance(kind, int | float) and not isinstance(kind, bool):
        made = float if takes_number(attribute.type) else made_of_number(attribute.type)  # type: ignore[union-attr]
        if made is not None:
            return draft(type(config), _values_of(config) | {name: made(kind)})
    try:
        cls = chosen(kind, options)
    except Mismatch as error:
        rule = f"must be {type_name(attribute.type)} ({error.of_field(name)})"  # type: ignore[union-attr]
        raise refuse(type(config), name, {"kind": kind}, rule, default=attribute.default) from None  # type: ignore[union-attr]
    return draft(type(config), _values_of(config) | {name: draft(cls, _kept(before, cls))})


def draft(cls: type[C], values: Mapping[str, Any]) -> C:
    """An object of a configuration class that no rule has seen, with defaults for what is not given.

    Where there is no default either: a draft of the one class that the field takes, else `attrs.NOTHING`.
    """
    made = object.__new__(cls)
    for attribute in attrs.fields(cls):  # type: ignore[arg-type]
        value = values.get(attribute.name, attribute.default)
        if isinstance(value, attrs.Factory):  # type: ignore[arg-type]
            value = value.factory(made) if value.takes_self else value.factory()
        if value is attrs.NOTHING:
            options = options_of(attribute.type)
            if len(options) == 1 and not is_base(options[0]):
                value = draft(options[0], {})
        object.__setattr__(made, attribute.name, value)  # frozen
    return made


def finished(config: C) -> C:
    """The configuration of a draft.

    Raises:
        ConfigurationError: A field is open, or a rule is broken.
    """
    return from_dict(type(config), to_dict(config))


def _values_of(config: Any) -> dict[str, Any]:
    return {attribute.name: getattr(config, attribute.name) for attribute in attrs.fields(type(config))}


def _kept(before: Any, cls: type) -> dict[str, Any]:
    """The values of a configuration that one of another class takes over."""
    had = attrs.fields_dict(type(before)) if is_configuration(type(before)) else {}
    kept = {}
    for attribute in attrs.fields(cls):  # type: ignore[arg-type]
        if attribute.name not in had:
            continue
        value, options = getattr(before, attribute.name), options_of(attribute.type)
        if value is attrs.NOTHING or not _was_chosen(value, had[attribute.name]):
            continue
        if had[attribute.name].type == attribute.type or (options and isinstance(value, options)):
            kept[attribute.name] = value
        elif is_configuration(type(value)) and is_configuration(type(attribute.default)):
            part = attribute.default
            kept[attribute.name] = draft(type(part), _values_of(part) | _kept(value, type(part)))
    return kept


def _was_chosen(value: Any, attribute: "attrs.Attribute[Any]") -> bool:
    """True to keep a value: a part that is its class's default gives way to another class's own."""
    return not is_configuration(type(value)) or value != attribute.default
