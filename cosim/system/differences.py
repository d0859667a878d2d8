"""Differences: the fields in which two configurations differ, with their values in words and units.

Usage::

    differences(system, System())  # {"uplink.sharing.bandwidth_hz": ("1 MHz", "5 MHz")}
    in_a_few_words(system, ["uplink.sharing.bandwidth_hz", "seed"], 12)  # "1 MHz and 1 more"
"""

from collections.abc import Collection, Mapping
from typing import Any

from cosim.configuration.json_form import to_dict
from cosim.display.words import in_words, parts_of, value_in_words

NOTHING = "–"
"""In place of a value where a configuration has no such field, as its part is of another kind."""
_LONGEST = 60


def differences(config: Any, other: Any) -> dict[str, tuple[str, str]]:
    """Path of each field in which they differ -> its values in words, of the first and of the other."""
    own, others = _flat(to_dict(config)), _flat(to_dict(other))
    paths = [path for path in {**own, **others} if own.get(path, NOTHING) != others.get(path, NOTHING)]
    return {path: (_said(own, path), _said(others, path)) for path in paths}


def in_a_few_words(config: Any, paths: Collection[str], most_letters: int) -> str:
    """Some fields of a configuration with their values, as many as fit, and how many more there are.

    Args:
        most_letters: Letters of the text, about; the first field stands there in any case.
    """
    values = to_dict(config)
    own, parts = _flat(values), parts_of(values)
    words, told = "", 0
    for path in paths:
        further = f"{words}, {in_words(path, own[path], paths, parts)}".removeprefix(", ")
        if told and len(further) > most_letters:
            return f"{words} and {len(paths) - told} more"
        words, told = further, told + 1
    return words


def _flat(values: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(values, Mapping):
        return {path: values}
    inner = (_flat(value, f"{path}.{name}" if path else name) for name, value in values.items())
    return {name: value for part in inner for name, value in part.items()}


def _said(values: Mapping[str, Any], path: str) -> str:
    if path not in values:
        return NOTHING
    value = values[path]
    words = value_in_words(path, value)
    is_long = isinstance(value, list | tuple) and len(words) > _LONGEST
    return f"{len(value)} values" if is_long else words
