"""JSON form: configurations as plain values, and back to what they were, type and value.

The form has a `kind` (`kinds`) wherever a reader could not know the class: where a field takes several, where
an object is of a subclass of the one that the field names, and for a user's own class as a whole.
"""

import json
from typing import Any, TypeVar

import attrs

from cosim.configuration.field_types import Mismatch, options_of, strict
from cosim.configuration.kinds import is_configuration, kind_of
from cosim.configuration.rules import ConfigurationError

C = TypeVar("C")


def to_dict(config: Any) -> dict[str, Any]:
    """The configuration as plain JSON values, with the "kind" of what a reader could not know without.

    What a draft (`with_kind`) leaves open is left out.
    """
    own = kind_of(type(config))
    return ({"kind": own} if ":" in own else {}) | _values(config)


def _values(config: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for attribute in attrs.fields(type(config)):
        value = getattr(config, attribute.name)
        if value is attrs.NOTHING:
            continue
        if is_configuration(type(value)):
            cls, options = type(value), options_of(attribute.type)
            kind = cls.__name__ if cls in options else kind_of(cls)
            value = ({} if options == (cls,) else {"kind": kind}) | _values(value)
        values[attribute.name] = list(value) if isinstance(value, tuple) else value
    return values


def from_dict(cls: type[C], values: Any) -> C:
    """The configuration that `to_dict` wrote.

    Raises:
        ConfigurationError: unknown or missing field, wrong type, broken rule, a class that is not there.
    """
    try:
        return strict.structure(values, cls)
    except Mismatch as error:
        raise ConfigurationError(f"{cls.__name__}: {error}.") from None


def check_reloads(config: Any) -> None:
    """Refuse a configuration whose JSON form does not give the same object back.

    Raises:
        ConfigurationError: A class that cannot be found by its name, such as one within a function.
    """
    try:
        again = from_dict(type(config), json.loads(json.dumps(to_dict(config))))
    except ConfigurationError as error:
        raise ConfigurationError(
            f"this {type(config).__name__} cannot be saved, because it could not be read again: "
            f"{error} Move a class of your own from the function or notebook into a module."
        ) from None
    if again != config or _holds_more(config):
        raise ConfigurationError(
            f"this {type(config).__name__} cannot be saved, because its JSON form reads back as "
            "something else. Either a class was defined twice (its module was loaded again), or it "
            "keeps values outside its fields. Start a new process, and use fields of numbers, texts, "
            "tuples of them, and configurations."
        )


def _holds_more(config: Any) -> bool:
    """True if an object, or a part of it, keeps values that are no fields."""
    parts = (getattr(config, attribute.name) for attribute in attrs.fields(type(config)))
    return bool(getattr(config, "__dict__", None)) or any(
        _holds_more(part) for part in parts if is_configuration(type(part))
    )
