"""Designs: a base configuration with some fields changed, every combination of them.

Scope and limitations: fields are named by their path, such as uplink.sharing.bandwidth_hz, or by as much of
its end as tells it from the others, such as bandwidth_hz; values are those of config.json. The kind of a part
is a field too, such as protocol.kind: another kind keeps the fields that both have, and kinds are changed
before other fields. A combination that breaks a rule is a design too, one that cannot be run, and says why.

Usage: `designs(base, {"num_cells": (2, 4), "protocol.kind": ("Hist", "HFedAvg")})` are four.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

import attrs

from cosim.configuration import (
    KIND,
    ConfigurationError,
    did_you_mean,
    ends_of,
    fit_later,
    from_dict,
    full_path,
    is_configuration,
    kind_of,
    paths_of,
    to_dict,
    with_kind,
)
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
    for field, given in grid.items():
        if not len(given):
            raise ConfigurationError(f"{field}: no values. Usual fix: {field}=1,2 or leave it out.")
        for value in given:
            try:
                json.dumps(value)
            except TypeError:
                raise ConfigurationError(
                    f"{field} = {value!r:.80}: values are those of config.json. Usual fix: numbers, texts; "
                    f"for a class {_part(field)}.kind and its name, such as HFedAvg or rules:Fastest."
                ) from None
        if len({_words(value) for value in given}) < len(given):
            raise ConfigurationError(f"{field}: a value is given twice. Usual fix: each value once.")
    ways = [dict(zip(grid, way, strict=True)) for way in product(*grid.values())]
    for field in grid:
        _check_somewhere(base, field, ways)
    return tuple(_design(base, way) for way in ways)


def with_full_paths(base: System, grid: Grid) -> Grid:
    """The grid by full paths, of fields that the base has, or any of the kinds that the grid asks for.

    Raises:
        ConfigurationError: A name of several fields, or two names of one.
    """
    paths, kinds, found = paths_of(base), {}, {}
    for name in sorted(grid, key=lambda name: name.rpartition(".")[2] != KIND):
        path = full_path(name, paths)
        if path in found.values():
            raise ConfigurationError(f"{name}: {path} is given twice. Usual fix: all values at once.")
        found[name] = path
        if path.rpartition(".")[2] == KIND:
            kinds[path] = grid[name]
            for way in product(*kinds.values()):
                with suppress(ConfigurationError):  # designs that cannot be say so themselves
                    paths += paths_of(_with_kinds(base, dict(zip(kinds, way, strict=True))))
    return {found[name]: values for name, values in grid.items()}


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
    return to_dict(config)[name]


def _known(config: Any, name: str, field: str) -> str:
    """The name of a field that a configuration has."""
    known = list(attrs.fields_dict(type(config))) if is_configuration(type(config)) else []
    if name not in known:
        hint = did_you_mean(name, known) or f" Known here: {', '.join(known) or 'none'}."
        raise ConfigurationError(f"{field}: there is no field {name!r}.{hint}")
    return name


def _check_somewhere(base: System, field: str, ways: Sequence[dict[str, Any]]) -> None:
    """Refuse a path that leads to no field in any design, and the seed, which a study changes itself."""
    if field == "seed":
        raise ConfigurationError("seed: a study gives every design the same seeds. Usual fix: --seeds.")
    try:
        value_at(base, field)
    except ConfigurationError as error:
        for way in ways:
            try:
                value_at(_with_kinds(base, way), field)
            except ConfigurationError:
                continue
            return
        hint = did_you_mean(field, ends_of(paths_of(base)))
        if hint and "." not in field:
            raise ConfigurationError(f"{field}: there is no such field.{hint}") from None
        raise error from None


def _with_kinds(base: System, values: dict[str, Any]) -> System:
    """The base with the kinds that a design asks for, outer ones first; they may not fit it yet."""
    for field in sorted(values, key=lambda field: field.count(".")):
        *outer, name = field.split(".")
        if name == KIND and outer:
            with fit_later():
                base = with_kind(base, outer, values[field])
    return base


def _design(base: System, values: dict[str, Any]) -> Design:
    try:
        system = _with_kinds(base, values)
        changed = to_dict(system)
        for field, value in values.items():
            *outer, name = field.split(".")
            if name == KIND and outer:
                continue
            value_at(system, field)
            place = changed
            for part in outer:
                place = place[part]
            place[name] = value
        return Design(values=values, system=from_dict(type(system), changed))
    except ConfigurationError as error:
        return Design(values=values, system=None, error=str(error))


def _short(field: str, fields: Collection[str]) -> str:
    field, fields = _part(field), [_part(other) for other in fields]
    parts = field.split(".")
    ends = (".".join(parts[-number:]) for number in range(1, len(parts)))
    alike = [f".{other}" for other in fields]
    return next((end for end in ends if sum(other.endswith(f".{end}") for other in alike) == 1), field)


def _words(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _part(field: str) -> str:
    """The part whose kind a path names; else the path."""
    return field.removesuffix(f".{KIND}")
