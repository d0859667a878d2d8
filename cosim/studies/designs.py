"""Designs: systems with some fields changed, every combination of them.

Systems have names (one alone is called base) and may be of different kinds. A design is named, in words, by
its differences from the others, such as "HIST, 5 MHz, deadline 60 ms" (`cosim.studies.names`).

Scope and limitations: fields are named as in `cosim.system.changes`, and values are as in config.json.
A combination that breaks a rule is a design, too, which cannot be run and says why.

Usage::

    designs({"base": system}, {"num_cells": (2, 4), "protocol.kind": ("Hist", "HFedAvg")})  # 4 of them
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import product
from typing import Any

import attrs

from cosim.configuration import ConfigurationError, to_dict
from cosim.configuration.field_types import plain, takes
from cosim.configuration.kinds import is_configuration
from cosim.configuration.rules import shown
from cosim.own_code.sources import check_files
from cosim.studies.names import exactly, names_of
from cosim.system.changes import check_somewhere, with_kinds, with_values
from cosim.system.paths import KIND
from cosim.system.system import System

Grid = Mapping[str, Sequence[Any]]
Systems = Mapping[str, System]
BASE = "base"
"""Name of a system without a name."""


@attrs.frozen(kw_only=True)
class Design:
    """A system with one combination of values of a study's grid, run with every seed.

    Attributes:
        name: Its differences from the others, in words.
        base: Name of the system that is changed.
        values: Field -> its value, as in config.json.
        system: The configuration, or None if it breaks a rule.
        error: The rule that it breaks, or None.
    """

    name: str
    base: str
    values: dict[str, Any]
    system: System | None
    error: str | None = None


def systems_by_name(given: System | Systems) -> dict[str, System]:
    """Systems by their names; one alone is called base.

    Raises:
        ConfigurationError: There is none, one is not a system or has no name, or their seeds differ.
    """
    systems = {BASE: given} if isinstance(given, System) else given
    if not isinstance(systems, Mapping):
        raise ConfigurationError(
            f"Study.systems = {shown(given)}: must be a System, or several by their names. Use "
            '{"HIST": cosim.System(...), "FedAvg": cosim.System(...)}.',
            "Study.systems",
        )
    systems = dict(systems)
    for name, system in systems.items():
        if not (isinstance(name, str) and name.strip() and isinstance(system, System)):
            raise ConfigurationError(
                f"Study.systems: {name!r:.80} is a {type(system).__name__}; must be a System, by its "
                'name. Use {"HIST": cosim.System(...)}.',
                "Study.systems",
            )
    if not systems:
        raise ConfigurationError(
            "Study.systems: is empty. Give a System, or several by their names.", "Study.systems"
        )
    if len(seeds := {system.seed for system in systems.values()}) > 1:
        raise ConfigurationError(
            f"Study.systems: their seeds are {', '.join(map(str, sorted(seeds)))}, but designs are "
            "compared on the same seeds. Use one seed for all.",
            "Study.systems",
        )
    return systems


def grid_of(given: Any) -> Grid:
    """Fields and tuples of their values; a single value may be given alone.

    Raises:
        ConfigurationError: The argument is not a mapping of fields.
    """
    if not (isinstance(given, Mapping) and all(isinstance(field, str) for field in given)):
        raise ConfigurationError(
            f"Study.grid = {shown(given)}: must be fields, each with its values. Use "
            '{"num_cells": (2, 4), "protocol.kind": ("Hist", "HFedAvg")}.',
            "Study.grid",
        )
    found: dict[str, tuple[Any, ...]] = {}
    for field, values in given.items():
        each = plain(values)
        alone = isinstance(each, (str, Mapping)) or not isinstance(each, Iterable)
        found[field] = tuple(map(plain, (each,) if alone else each))
    return found


def designs(systems: Systems, grid: Grid) -> tuple[Design, ...]:
    """Every combination, the last field changing fastest, the system slowest.

    Raises:
        ConfigurationError: A field does not exist, is not a single value, or has no values.
    """
    for field, given in grid.items():
        if not len(given):
            raise ConfigurationError(f"{field}: has no values. Use {field}=1,2, or leave it out.")
        for value in given:
            try:
                json.dumps(value)
            except TypeError:
                raise ConfigurationError(
                    f"{field} = {value!r:.80}: must be a value as in config.json. Use a number or a "
                    f"text; for a class, {field.removesuffix(f'.{KIND}')}.kind and its name, such as "
                    "HFedAvg or rules:Fastest."
                ) from None
        if len({exactly(value) for value in given}) < len(given):
            raise ConfigurationError(f"{field}: a value is given twice. Give each value once.")
    ways = [dict(zip(grid, way, strict=True)) for way in product(*grid.values())]
    for field in grid:
        if field == "seed":
            raise ConfigurationError("seed: a study gives every design the same seeds. Use --seeds.")
        check_somewhere(systems.values(), field, ways)
    names = iter(names_of({name: to_dict(system) for name, system in systems.items()}, grid))
    return tuple(_design(next(names), base, systems[base], way) for base in systems for way in ways)


def check_typed(systems: Systems, found: Sequence[Design]) -> None:
    """Refuse probable mistakes: values that a field never takes, and files that are missing.

    Raises:
        ConfigurationError: Names the field, the value and the rule that is broken.
    """
    can_be = {
        (field, exactly(value))
        for design in found
        if design.system is not None
        for field, value in design.values.items()
    }
    for design in found:
        if design.system is not None:
            check_files(design.system)
            continue
        for field, value in design.values.items():
            if (field, exactly(value)) not in can_be and not _takes(
                systems[design.base], design.values, field
            ):
                raise ConfigurationError(f"{field} = {exactly(value)}: no design can have it. {design.error}")


def _takes(base: System, values: Mapping[str, Any], field: str) -> bool:
    """True if a field has a type that takes its value, and a kind exists; its other rules are not checked."""
    *outer, name = field.split(".")
    kinds = {path: kind for path, kind in values.items() if path.rpartition(".")[2] == KIND}
    try:
        part = reduce(getattr, outer, with_kinds(base, kinds))
    except (ConfigurationError, AttributeError):
        return name != KIND
    attribute = attrs.fields_dict(type(part)).get(name) if is_configuration(type(part)) else None
    return name == KIND or attribute is None or takes(attribute.type, values[field])


def _design(name: str, base: str, system: System, values: dict[str, Any]) -> Design:
    try:
        return Design(name=name, base=base, values=values, system=with_values(system, values))
    except ConfigurationError as error:
        return Design(name=name, base=base, values=values, system=None, error=str(error))
