"""Designs: systems with some fields changed, every combination of them.

Systems have names (one alone is called base) and may be of different kinds. A design is called by what tells
it from the others, in words, such as "HIST, 5 MHz, deadline 60 ms" (`cosim.studies.names`).

Scope and limitations: fields are named by their path, such as uplink.sharing.bandwidth_hz, or by as much of
its end as tells it from the others, such as bandwidth_hz; values are those of config.json. The kind of a part
is a field too, such as protocol.kind: another kind keeps the fields that both have, and kinds are changed
before other fields. A combination that breaks a rule is a design too, one that cannot be run, and says why.

Usage::

    designs({"base": system}, {"num_cells": (2, 4), "protocol.kind": ("Hist", "HFedAvg")})  # 4 of them
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from itertools import product
from typing import Any

import attrs

from cosim.configuration import (
    KIND,
    ConfigurationError,
    check_closed,
    did_you_mean,
    ends_of,
    from_dict,
    full_path,
    is_configuration,
    kind_of,
    paths_of,
    takes,
    to_dict,
    with_kind,
)
from cosim.configuration.json_form import plain
from cosim.configuration.rules import short, shown
from cosim.named_files.sources import check_files
from cosim.studies.names import exactly, names_of
from cosim.system import System

Grid = Mapping[str, Sequence[Any]]
Systems = Mapping[str, System]
BASE = "base"
"""The name of a system that has none."""


@attrs.frozen(kw_only=True)
class Design:
    """One combination.

    Attributes:
        name: What tells it from the others, in words.
        base: Name of the system that is changed.
        values: Field -> its value, as in config.json.
        system: The configuration, or None where it breaks a rule.
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
        ConfigurationError: There is none, one is no system or has no name, or their seeds differ.
    """
    systems = {BASE: given} if isinstance(given, System) else given
    if not isinstance(systems, Mapping):
        raise ConfigurationError(
            f"Study.systems = {shown(given)}: must be a System, or several by their names. Usual fix: "
            '{"HIST": cosim.System(...), "FedAvg": cosim.System(...)}.'
        )
    systems = dict(systems)
    for name, system in systems.items():
        if not (isinstance(name, str) and name.strip() and isinstance(system, System)):
            raise ConfigurationError(
                f"Study.systems: {name!r:.80} is a {type(system).__name__}; must be names, each with a "
                'System. Usual fix: {"HIST": cosim.System(...)}.'
            )
    if not systems:
        raise ConfigurationError("Study.systems: none. Usual fix: a System, or several by their names.")
    if len(seeds := {system.seed for system in systems.values()}) > 1:
        raise ConfigurationError(
            f"Study.systems: their seeds are {', '.join(map(str, sorted(seeds)))}, but designs are compared "
            "on the same ones. Usual fix: one seed for all."
        )
    return systems


def grid_of(given: Any) -> Grid:
    """Fields and tuples of values, of which one alone may be given.

    Raises:
        ConfigurationError: What is given is no mapping of fields.
    """
    if not (isinstance(given, Mapping) and all(isinstance(field, str) for field in given)):
        raise ConfigurationError(
            f"Study.grid = {shown(given)}: must be fields, each with its values. Usual fix: "
            '{"num_cells": (2, 4), "protocol.kind": ("Hist", "HFedAvg")}.'
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
        ConfigurationError: A field that there is not, one that is no single value, or one without values.
    """
    for field, given in grid.items():
        if not len(given):
            raise ConfigurationError(f"{field}: no values. Usual fix: {field}=1,2 or leave it out.")
        for value in given:
            try:
                json.dumps(value)
            except TypeError:
                raise ConfigurationError(
                    f"{field} = {value!r:.80}: values are those of config.json. Usual fix: numbers, texts; "
                    f"for a class {field.removesuffix(f'.{KIND}')}.kind and its name, such as HFedAvg or "
                    "rules:Fastest."
                ) from None
        if len({exactly(value) for value in given}) < len(given):
            raise ConfigurationError(f"{field}: a value is given twice. Usual fix: each value once.")
    ways = [dict(zip(grid, way, strict=True)) for way in product(*grid.values())]
    for field in grid:
        _check_somewhere(systems, field, ways)
    names = iter(names_of({name: to_dict(system) for name, system in systems.items()}, grid))
    return tuple(_design(next(names), base, systems[base], way) for base in systems for way in ways)


def changed(base: System, values: Mapping[str, Any]) -> System:
    """A system with other values of some fields, which are named as in a grid.

    Raises:
        ConfigurationError: A field that there is not, or a value that breaks a rule.
    """
    grid = with_full_paths({BASE: base}, {field: (value,) for field, value in values.items()})
    (found,) = designs({BASE: base}, grid)
    if found.system is None:
        raise ConfigurationError(str(found.error))
    return found.system


def with_full_paths(systems: Systems, grid: Grid) -> Grid:
    """The grid by full paths, of fields that a system has, or any of the kinds that the grid asks for.

    Raises:
        ConfigurationError: A name of several fields, or two names of one.
    """
    paths = list(dict.fromkeys(path for system in systems.values() for path in paths_of(system)))
    kinds, found = {}, {}
    for name in sorted(grid, key=lambda name: name.rpartition(".")[2] != KIND):
        path = full_path(name, paths)
        if path in found.values():
            raise ConfigurationError(f"{name}: {path} is given twice. Usual fix: all values at once.")
        found[name] = path
        if path.rpartition(".")[2] == KIND:
            kinds[path] = grid[name]
            for base, way in product(systems.values(), product(*kinds.values())):
                with suppress(ConfigurationError):  # designs that cannot be say so themselves
                    paths += paths_of(_with_kinds(base, dict(zip(kinds, way, strict=True))))
    return {found[name]: values for name, values in grid.items()}


def check_typed(systems: Systems, found: Sequence[Design]) -> None:
    """Refuse what only a mistake can be: values that a field never takes, and files that are not there.

    Raises:
        ConfigurationError: Field, value and the rule that is broken.
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
    """Whether a field is of a type that takes its value, and a kind is there; rules are another matter."""
    *outer, name = field.split(".")
    kinds = {path: kind for path, kind in values.items() if path.rpartition(".")[2] == KIND}
    try:
        part = reduce(getattr, outer, _with_kinds(base, kinds))
    except (ConfigurationError, AttributeError):
        return name != KIND
    attribute = attrs.fields_dict(type(part)).get(name) if is_configuration(type(part)) else None
    return name == KIND or attribute is None or takes(attribute.type, values[field])


def value_at(config: Any, field: str) -> Any:
    """The value of a field, as in config.json; of a path that ends in kind, the name of the class.

    Raises:
        ConfigurationError: A path that leads to no field.
    """
    *outer, name = field.split(".")
    for number, part in enumerate(outer):
        config = getattr(config, _known(config, part, ".".join(outer[: number + 1])))
    if name == KIND and outer and (config is None or is_configuration(type(config))):
        return None if config is None else kind_of(type(config))
    _known(config, name, field)
    return to_dict(config).get(name)  # nothing, where a draft leaves it open


def _known(config: Any, name: str, field: str) -> str:
    """The name of a field that a configuration has."""
    known = list(attrs.fields_dict(type(config))) if is_configuration(type(config)) else []
    if name not in known:
        hint = did_you_mean(name, known) or f" Known here: {', '.join(known) or 'none'}."
        raise ConfigurationError(f"{short(field)}: there is no field {shown(name)}.{hint}")
    return name


def _check_somewhere(systems: Systems, field: str, ways: Sequence[dict[str, Any]]) -> None:
    """Refuse a path that leads to no field in any design, and the seed, which a study changes itself."""
    if field == "seed":
        raise ConfigurationError("seed: a study gives every design the same seeds. Usual fix: --seeds.")
    errors = []
    for base in systems.values():
        try:
            value_at(base, field)
        except ConfigurationError as error:
            errors.append(error)
        else:
            return
    for base, way in product(systems.values(), ways):
        try:
            value_at(_with_kinds(base, way), field)
        except ConfigurationError:
            continue
        return
    hint = did_you_mean(field, ends_of([path for base in systems.values() for path in paths_of(base)]))
    if hint and "." not in field:
        raise ConfigurationError(f"{short(field)}: there is no such field.{hint}")
    raise errors[0]


def _with_kinds(base: System, values: dict[str, Any]) -> System:
    """A draft of the base with the kinds that a design asks for, outer ones first."""
    for field in sorted(values, key=lambda field: field.count(".")):
        *outer, name = field.split(".")
        if name == KIND and outer:
            base = with_kind(base, outer, values[field])
    return base


def _design(name: str, base: str, system: System, values: dict[str, Any]) -> Design:
    try:
        system = _with_kinds(system, values)
        check_closed(system, values, str)
        changed = to_dict(system)
        for field, value in values.items():
            *outer, last = field.split(".")
            if last == KIND and outer:
                continue
            value_at(system, field)
            place = changed
            for part in outer:
                place = place[part]
            place[last] = value
        made = from_dict(type(system), changed)
        return Design(name=name, base=base, values=values, system=made)
    except ConfigurationError as error:
        return Design(name=name, base=base, values=values, system=None, error=str(error))
