"""Words: what fields of a configuration and their values are called in names, tables and pictures.

A field is called by the last of its path, without its unit, which stands at the number: "deadline 60 ms";
counts come first: "2 cells". The kind of a part says all by its name, such as "HFedAvg", and so does a
bandwidth, such as "5 MHz". Where the field's own name says no thing ("after", "per client"), the class of its
part does: the 60 ms above belong to a `Deadline(deadline_s=0.06)`.

Usage::

    in_words("uplink.sharing.bandwidth_hz", 5e6)  # "5 MHz"
    in_words("waiting.deadline_s", 0.06, parts={"waiting": "Deadline"})  # "deadline 60 ms"
    field_in_words("num_cells")  # "cells"

Validation: tests/display/test_words.py.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from cosim.units import SUFFIXES, prefixed, quantity, unit_of

_ENDING = ".kind"
_SAY_ALL = ("bandwidth_hz",)
"""Fields whose number with its unit needs no word."""
_COUNT = "num_"
_LEANING = ("after", "every", "lasting", "until", "within")
"""Words that say no thing, and nothing beside the class of the part either."""
_LED = (*_LEANING, "per", "largest", "smallest", "least", "most", "path", "rule")
"""Words that say of what they are only behind the class of the part."""
_LONGEST = 32
_LEAST_IN_UNIT = 1e-3
"""Of the unit of a column; where there are smaller values, each has a unit of its own."""


def in_words(
    field: str, value: Any, fields: Collection[str] = (), parts: Mapping[str, str] | None = None
) -> str:
    """A field and its value, a long one without its middle.

    Args:
        field: Its path.
        fields: Others, from which the words must tell it.
        parts: Path -> class of parts (`parts_of`), as far as known.
    """
    if field.endswith(_ENDING) and value is not None:
        return _class_alone(str(value))
    words, last = _shortened(value_in_words(field, value)), _last(field)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if last in _SAY_ALL and is_number and len(_alike(field, fields)) < 2:
        return words
    called = field_in_words(field, fields, parts)
    if not last.startswith(_COUNT) or not is_number:
        return f"{called} {words}"
    noun = _part_in_words(last)
    before = called.removesuffix(noun).strip()
    noun = re.sub(r"(?<=ss|ch)es$|s$", "", noun) if value == 1 else noun
    return " ".join(filter(None, (before, words, noun)))


def field_in_words(field: str, fields: Collection[str] = (), parts: Mapping[str, str] | None = None) -> str:
    """Name of a field without its unit, with as much of its path as tells it from others."""
    path, alike = _bare(field).split("."), _alike(field, fields)
    number = 1
    while number < len(path) and sum(_ends(other, path[-number:]) for other in alike) > 1:
        number += 1
    words = [_part_in_words(part) for part in path[-number:]]
    if words[-1].partition(" ")[0] in _LED and len(path) > 1:
        known = (parts or {}).get(".".join(path[:-1]))
        leading = _spaced(known or path[-2])
        words[-1 if known else -2 :] = [leading if words[-1] in _LEANING else f"{leading} {words[-1]}"]
    return " ".join(words)


def value_in_words(field: str, value: Any) -> str:
    """The value of a field, with its unit."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    unit = unit_of(_last(field))
    if isinstance(value, int | float):
        return quantity(value, unit)
    if isinstance(value, list | tuple):
        return f"[{', '.join(value_in_words(field, each) for each in value)}]"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class NumbersInWords(NamedTuple):
    """A column of numbers in words.

    Attributes:
        head: Its head, such as "bandwidth (MHz)"; without a unit where each number has its own.
        scale: Number of plain units in the unit that suits the largest.
        unit: Plain unit where each number has a prefix of its own, else none.
    """

    head: str
    scale: float
    unit: str = ""

    def shown(self, value: float) -> str:
        """A number as its cell shows it."""
        return quantity(value, self.unit) if self.unit else quantity(value / self.scale, "")


def numbers_in_words(
    field: str, values: Sequence[float], fields: Collection[str] = (), parts: Mapping[str, str] | None = None
) -> NumbersInWords:
    """A column of numbers of a field, in one unit, or each in its own where they span too much for one.

    So 1 Hz to 1 THz are read one by one.
    """
    words, unit = field_in_words(field, fields, parts), unit_of(_last(field))
    sizes = [abs(value) for value in values if value]
    scale, of_largest = prefixed(max(sizes, default=0.0), unit)
    if unit and sizes and min(sizes) < _LEAST_IN_UNIT * scale:
        return NumbersInWords(words, scale, unit)
    return NumbersInWords(f"{words} ({of_largest})" if unit else words, scale)


def parts_of(config: Mapping[str, Any], path: str = "") -> dict[str, str]:
    """Path -> class of each part of a configuration that says its class, as files do or path by path."""
    found: dict[str, str] = {}
    for name, value in config.items():
        inner = f"{path}.{name}" if path else name
        if isinstance(value, Mapping):
            found |= parts_of(value, inner)
        elif inner.endswith(_ENDING) and isinstance(value, str):
            found[inner.removesuffix(_ENDING)] = value
    return found


def _class_alone(kind: str) -> str:
    return kind.rpartition(":")[2]


def _spaced(name: str) -> str:
    """A class or a name of a part as words: "upload deadline" of UploadDeadline."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", _class_alone(name)).replace("_", " ").lower()


def _bare(field: str) -> str:
    """The path without an end that says nothing."""
    return field.removesuffix(_ENDING).removesuffix(".values")


def _last(field: str) -> str:
    return _bare(field).rpartition(".")[2]


def _part_in_words(part: str) -> str:
    suffix = next((suffix for suffix in SUFFIXES if part.endswith(suffix) and part != suffix), "")
    return (part.removesuffix(suffix).removeprefix(_COUNT).strip("_") or part).replace("_", " ")


def _shortened(words: str) -> str:
    """Words without their middle, where they are long."""
    half = _LONGEST // 2 - 1
    return words if len(words) <= _LONGEST else f"{words[:half]}…{words[-half:]}"


def _alike(field: str, fields: Collection[str]) -> list[str]:
    """The fields that would be called alike by their last words, that one among them."""
    words = _part_in_words(_last(field))
    return [other for other in fields if _part_in_words(_last(other)) == words]


def _ends(field: str, parts: Sequence[str]) -> bool:
    return [_part_in_words(part) for part in _bare(field).split(".")[-len(parts) :]] == [
        _part_in_words(part) for part in parts
    ]
