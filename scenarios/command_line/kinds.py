"""Kinds: options such as `--protocol.policy.kind Unconstrained`, which put another class into a field.

What both classes have, such as the number of rounds, is kept.

Options are made from a configuration's own classes, so a field that takes one of several classes must have
the wanted one before they are made.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

import attrs
from rich.table import Table

from cosim.configuration import ConfigurationError
from cosim.configuration.field_types import made_of_number, takes_number
from cosim.configuration.kinds import is_configuration, kind_of
from cosim.system.drafts import with_kind
from cosim.system.other_kinds import other_kinds_of, parts_by_path
from cosim.system.paths import KIND, full_path, paths_of

C = TypeVar("C")
ENDING = f".{KIND}"


def other_kinds(usual: Any, config: Any) -> list[str]:
    """Names of the classes in a configuration that are others than in another, outer ones first."""
    found = []
    for attribute in attrs.fields(type(config)):
        before, now = getattr(usual, attribute.name, None), getattr(config, attribute.name)
        if not is_configuration(type(now)):
            continue
        if type(now) is type(before):
            found += other_kinds(before, now)
        else:
            found.append(type(now).__name__)
    return found


def kind_shown(part: Any) -> str:
    """The kind of a part; a number where one stands in its place."""
    if part is None:
        return "none (off)"
    return kind_of(type(part)) if is_configuration(type(part)) else f"{part:g}"


def table_of_kinds(config: Any) -> Table:
    """Table of the kind of each part, and of the other kinds that it may be."""
    table = Table(
        title="Parts, and other kinds of them", title_justify="left", box=None, padding=(0, 2, 0, 1)
    )
    for heading in ("option", "is", "may be", "what it is"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "option")
    for path, part, options in parts_by_path(config):
        kind = "(required)" if part is attrs.NOTHING else kind_shown(part)
        others = other_kinds_of(path, part, options)
        if others or part is None:  # off, and no kind of ours: one of the user's own
            what = (
                (type(part).__doc__ or "").strip().partition("\n")[0] if is_configuration(type(part)) else ""
            )
            table.add_row(
                f"--{path.replace('_', '-')}.{KIND}", kind, ", ".join(others) or "module:Class", what
            )
    return table


def with_kinds(config: C, arguments: list[str]) -> tuple[C, list[str]]:
    """A draft of the configuration with the classes that options ask for, in turn, and the other options.

    Raises:
        ConfigurationError: There is no such field, or no such class.
    """
    rest, words = [], iter(arguments)
    for word in words:
        option, equals, kind = word.partition("=")
        is_kind, scheduled = option.endswith(ENDING), {*_scheduled(config)}
        if not (option.startswith("--") and (is_kind or scheduled)):
            rest.append(word)
            continue
        try:
            place = full_path(option[2:].replace("-", "_"), [*paths_of(config), *scheduled])
            if not is_kind and place not in scheduled:
                rest.append(word)
                continue
            kind = kind if equals else next(words, None)
            path = place.split(".")
            config = with_kind(config, path[:-1] if is_kind else path, kind if is_kind else _number(kind))
        except ConfigurationError as error:
            raise ConfigurationError(f"{option}: {error}", error.field) from None
    return config, rest


def _scheduled(config: Any, prefix: str = "") -> Iterator[str]:
    """Paths of kinds that stand where a plain number may stand."""
    for attribute in attrs.fields(type(config)):
        part = getattr(config, attribute.name)
        if is_configuration(type(part)):
            if takes_number(attribute.type) or made_of_number(attribute.type) is not None:
                yield prefix + attribute.name
            yield from _scheduled(part, f"{prefix}{attribute.name}.")


def _number(word: str | None) -> float:
    try:
        return int(word or "") if (word or "").isdigit() else float(word or "")
    except ValueError:
        raise ConfigurationError(
            f"{word or 'nothing'}: must be a number. Use one, or choose another kind with .{KIND}."
        ) from None
