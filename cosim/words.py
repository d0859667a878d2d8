"""Words: what fields of a configuration and their values are called in names and tables.

A field is called by the last of its path, without its unit, which stands at the number: "deadline 60 ms",
"cells 2". The kind of a part says all by its name, such as "HFedAvg", and so does a bandwidth, such as
"5 MHz".

Usage::

    in_words("uplink.sharing.bandwidth_hz", 5e6)  # "5 MHz"
    field_in_words("num_cells")  # "cells"

Validation: tests/test_words.py.
"""

import json
from collections.abc import Collection, Sequence
from typing import Any

from cosim.units import SUFFIXES, quantity, unit_of

_ENDING = ".kind"
_SAY_ALL = ("bandwidth_hz",)
"""Fields whose number with its unit needs no word."""


def in_words(field: str, value: Any, fields: Collection[str] = ()) -> str:
    """A field and its value.

    Args:
        field: Its path.
        fields: Others, from which the words must tell it.
    """
    if field.endswith(_ENDING) and value is not None:
        return str(value).rpartition(":")[2]
    words = value_in_words(field, value)
    if _last(field) in _SAY_ALL and isinstance(value, int | float) and len(_alike(field, fields)) < 2:
        return words
    return f"{field_in_words(field, fields)} {words}"


def field_in_words(field: str, fields: Collection[str] = ()) -> str:
    """What a field is called, without its unit, with as much of its path as tells it from others."""
    parts, alike = _bare(field).split("."), _alike(field, fields)
    number = 1
    while number < len(parts) and sum(_ends(other, parts[-number:]) for other in alike) > 1:
        number += 1
    return " ".join(map(_part_in_words, parts[-number:]))


def value_in_words(field: str, value: Any) -> str:
    """The value of a field, with its unit."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    unit = unit_of(_last(field))
    if isinstance(value, int | float):
        return quantity(value, unit)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if isinstance(value, str) or not unit else f"{text} {unit}"


def _bare(field: str) -> str:
    """The path without an end that says nothing."""
    return field.removesuffix(_ENDING).removesuffix(".values")


def _last(field: str) -> str:
    return _bare(field).rpartition(".")[2]


def _part_in_words(part: str) -> str:
    suffix = next((suffix for suffix in SUFFIXES if part.endswith(suffix) and part != suffix), "")
    return part.removesuffix(suffix).removeprefix("num_").strip("_").replace("_", " ")


def _alike(field: str, fields: Collection[str]) -> list[str]:
    """The fields that would be called alike by their last words, that one among them."""
    words = _part_in_words(_last(field))
    return [other for other in fields if _part_in_words(_last(other)) == words]


def _ends(field: str, parts: Sequence[str]) -> bool:
    return [_part_in_words(part) for part in _bare(field).split(".")[-len(parts) :]] == [
        _part_in_words(part) for part in parts
    ]
