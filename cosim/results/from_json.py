"""From JSON: rows and other records as files say them, checked field by field."""

import typing
from typing import Any, TypeVar

R = TypeVar("R")


def from_json(kind: type[R], values: Any) -> R:
    """Record from a JSON object, or from a JSON list of its values.

    Raises:
        ValueError: A field without a default is missing, is unknown, or has a value of another type.
    """
    kinds = typing.get_type_hints(kind)
    names = list(kinds)
    found = dict(zip(names, values, strict=False)) if isinstance(values, list) else values
    needed = kinds.keys() - getattr(kind, "_field_defaults", {})
    if not isinstance(found, dict) or len(values) > len(names) or not needed <= found.keys() <= kinds.keys():
        raise ValueError(f"{kind.__name__} has other fields than {', '.join(names)}")
    return kind(
        **{name: checked(kinds[name], given, f"{kind.__name__}.{name}") for name, given in found.items()}
    )


def checked(kind: Any, value: Any, where: str) -> Any:
    """Value, which must be of a type: a record, a dictionary by name, or plain.

    Raises:
        ValueError: It is of another.
    """
    if typing.get_origin(kind) is not None:
        _, inner = typing.get_args(kind)
        if isinstance(value, dict):
            return {name: checked(inner, part, f"{where}.{name}") for name, part in value.items()}
    elif hasattr(kind, "_fields"):
        return from_json(kind, value)
    elif type(value) in ((float, int) if kind is float else (kind,)):
        return value
    raise ValueError(f"{where} is {value!r:.40}")
