"""Designs: a base configuration with some fields changed, every combination of them.

Scope and limitations: fields are named by their path, such as radio.bandwidth_hz; values are those of
config.json. A combination that breaks a rule is a design too, one that cannot be run, and says why.

Usage: `designs(base, {"radio.bandwidth_hz": (5e6, 10e6), "num_cells": (2, 4)})` are four.
"""

import difflib
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any

import attrs

from cosim.configuration import ConfigurationError, from_dict, to_dict
from cosim.system import System

Grid = Mapping[str, Sequence[Any]]


@attrs.frozen(kw_only=True)
class Design:
    """One combination.

    Attributes:
        values: Field -> its value, as in config.json.
        system: The configuration, or None where it breaks a rule.
        error: The rule that it breaks, or None.
    """

    values: dict[str, Any]
    system: System | None
    error: str | None = None

    @property
    def name(self) -> str:
        """Its values in words, with as much of each field's path as tells it from the others."""
        return ", ".join(f"{_short(f, self.values)}={_words(v)}" for f, v in self.values.items()) or "base"


def designs(base: System, grid: Grid) -> tuple[Design, ...]:
    """Every combination, the last field changing fastest; the base alone where nothing is changed.

    Raises:
        ConfigurationError: A field that there is not, one that is no single value, or one without values.
    """
    values = to_dict(base)
    for field, given in grid.items():
        check_field(values, field)
        if not len(given):
            raise ConfigurationError(f"{field}: no values. Usual fix: {field}=1,2 or leave it out.")
        if len({_words(value) for value in given}) < len(given):
            raise ConfigurationError(f"{field}: a value is given twice. Usual fix: each value once.")
    return tuple(_design(base, dict(zip(grid, way, strict=True))) for way in product(*grid.values()))


def check_field(values: dict[str, Any], field: str) -> None:
    """Refuse a path that leads to no field, and the seed, which a study changes itself."""
    place: Any = values
    for part in field.split("."):
        if not isinstance(place, dict) or part not in place:
            known = [name for name in place if name != "kind"] if isinstance(place, dict) else []
            close = difflib.get_close_matches(part, known, n=1)
            hint = f" Did you mean {close[0]}?" if close else f" Known here: {', '.join(known) or 'none'}."
            raise ConfigurationError(f"{field}: there is no field {part!r}.{hint}")
        place = place[part]
    if field == "seed":
        raise ConfigurationError("seed: a study gives every design the same seeds. Usual fix: --seeds.")


def _design(base: System, values: dict[str, Any]) -> Design:
    changed = to_dict(base)
    for field, value in values.items():
        *outer, name = field.split(".")
        place = changed
        for part in outer:
            place = place[part]
        place[name] = value
    try:
        return Design(values=values, system=from_dict(System, changed))
    except ConfigurationError as error:
        return Design(values=values, system=None, error=str(error))


def _short(field: str, fields: Collection[str]) -> str:
    parts = field.split(".")
    ends = (".".join(parts[-number:]) for number in range(1, len(parts)))
    alike = [f".{other}" for other in fields]
    return next((end for end in ends if sum(other.endswith(f".{end}") for other in alike) == 1), field)


def _words(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
