"""Kinds: options such as `--protocol.policy.kind Unconstrained`, which put another class into a field.

What both classes have, such as the number of rounds, is kept.

Options are made from a configuration's own classes, so a field that takes one of several classes must have
the wanted one before they are made.
"""

from typing import Any, TypeVar

import attrs

from cosim.configuration import (
    KIND,
    ConfigurationError,
    fit_later,
    full_path,
    is_configuration,
    paths_of,
    with_kind,
)

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


def with_kinds(config: C, arguments: list[str]) -> tuple[C, list[str]]:
    """The configuration with the classes that options ask for, in turn, and the other options.

    Raises:
        ConfigurationError: There is no such field, or no such class.
    """
    rest, words = [], iter(arguments)
    for word in words:
        option, equals, kind = word.partition("=")
        if not (option.startswith("--") and option.endswith(ENDING)):
            rest.append(word)
            continue
        kind = kind if equals else next(words, None)
        try:
            *path, _ = full_path(option[2:].replace("-", "_"), paths_of(config)).split(".")
            with fit_later():  # the options that follow may change what does not fit
                config = with_kind(config, path, kind)
        except ConfigurationError as error:
            raise ConfigurationError(f"{option}: {error}") from None
    return config, rest
