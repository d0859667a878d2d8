"""Changes: a configuration with other values of some of its fields.

Fields are named by their path, such as uplink.sharing.bandwidth_hz, or by as much of its end as tells it from
the others, such as bandwidth_hz. The kind of a part is a field too, such as protocol.kind: another kind keeps
the fields that both have, and kinds are changed before other fields.

Usage::

    changed(system, {"bandwidth_hz": 2e6, "selection.kind": "Oort"})
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, TypeVar

import attrs

from cosim.configuration.json_form import from_dict, to_dict
from cosim.configuration.kinds import is_configuration, kind_of
from cosim.configuration.rules import ConfigurationError, did_you_mean, short, shown
from cosim.system.drafts import with_kind
from cosim.system.other_kinds import elsewhere
from cosim.system.paths import KIND, check_closed, ends_of, full_path, paths_of

C = TypeVar("C")


def changed(config: C, changes: Mapping[str, Any], /, **values: Any) -> C:
    """A configuration with other values of some fields.

    Args:
        changes: Path of a field, or its end -> value, as in config.json or as the class takes it.
        values: More of them, by names without a dot.

    Raises:
        ConfigurationError: There is no such field, one is given twice, or a value breaks a rule.
    """
    if not (isinstance(changes, Mapping) and all(isinstance(name, str) for name in changes)):
        raise ConfigurationError(
            f"{type(config).__name__}: changes = {shown(changes)}: must be names of fields with their values."
            ' Use {"protocol.kind": "HFedAvg"}, or bandwidth_hz=2e6.'
        )
    if twice := changes.keys() & values:
        raise ConfigurationError(f"{min(twice)}: is given twice. Give it once.")
    values = {**changes, **values}
    found = with_full_paths([config], {field: (value,) for field, value in values.items()})
    by_path = {path: value for path, (value,) in found.items()}
    for path in by_path:
        check_somewhere([config], path, [by_path])
    return with_values(config, by_path)


def with_full_paths(configs: Collection[Any], grid: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Values of fields by full paths, of fields that a configuration has, or any of the kinds asked for.

    Raises:
        ConfigurationError: A name of several fields, or two names of one.
    """
    paths = list(dict.fromkeys(path for config in configs for path in paths_of(config)))
    kinds, found = {}, {}
    for name in sorted(grid, key=lambda name: name.rpartition(".")[2] != KIND):
        path = full_path(name, paths)
        if path in found.values():
            raise ConfigurationError(f"{name}: {path} is given twice. Give all its values at once.")
        found[name] = path
        if path.rpartition(".")[2] == KIND:
            kinds[path] = grid[name]
            for base, way in product(configs, product(*kinds.values())):
                with suppress(ConfigurationError):  # designs that cannot be say so themselves
                    paths += paths_of(with_kinds(base, dict(zip(kinds, way, strict=True))))
    return {found[name]: values for name, values in grid.items()}


def with_kinds(config: C, values: Mapping[str, Any]) -> C:
    """A draft with the kinds among some values, outer ones first."""
    for field in sorted(values, key=lambda field: field.count(".")):
        *outer, name = field.split(".")
        if name == KIND and outer:
            config = with_kind(config, outer, values[field])
    return config


def with_values(config: C, values: Mapping[str, Any]) -> C:
    """A configuration with other values of some fields, by full paths.

    Raises:
        ConfigurationError: A field that there is not, or a value that breaks a rule.
    """
    config = with_kinds(config, values)
    check_closed(config, values, str)
    found = to_dict(config)
    for field, value in values.items():
        *outer, last = field.split(".")
        if last == KIND and outer:
            continue
        value_at(config, field)
        place = found
        for part in outer:
            place = place[part]
        place[last] = value
    return from_dict(type(config), found)


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


def check_somewhere(configs: Collection[Any], field: str, ways: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a path that leads to no field, in any configuration with any of some values.

    Raises:
        ConfigurationError: Known names, and one that may have been meant.
    """
    errors = []
    for base in configs:
        try:
            value_at(base, field)
        except ConfigurationError as error:
            errors.append(error)
        else:
            return
    for base, way in product(configs, ways):
        try:
            value_at(with_kinds(base, way), field)
        except ConfigurationError:
            continue
        return
    hint = elsewhere(field, configs, lambda place, kind: f"{place} = {kind}")
    if not hint and "." not in field:
        hint = did_you_mean(field, ends_of([path for base in configs for path in paths_of(base)]))
    if hint:
        raise ConfigurationError(f"{short(field)}: there is no such field.{hint}")
    raise errors[0]


def _known(config: Any, name: str, field: str) -> str:
    """The name of a field that a configuration has."""
    known = list(attrs.fields_dict(type(config))) if is_configuration(type(config)) else []
    if name not in known:
        hint = did_you_mean(name, known) or f" Known here: {', '.join(known) or 'none'}."
        raise ConfigurationError(f"{short(field)}: there is no field {shown(name)}.{hint}")
    return name
