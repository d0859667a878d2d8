"""Kinds: options such as `--protocol.policy.kind Unconstrained`, which put another class into a field.

What both classes have, such as the number of rounds, is kept.

Options are made from a configuration's own classes, so a field that takes one of several classes must have
the wanted one before they are made.
"""

from typing import TypeVar

from cosim import ConfigurationError
from cosim.configuration import with_kind

C = TypeVar("C")
ENDING = ".kind"


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
        path = option[2 : -len(ENDING)].replace("-", "_").split(".")
        try:
            config = with_kind(config, path, kind if equals else next(words, None))
        except ConfigurationError as error:
            raise ConfigurationError(f"{option}: {error}") from None
    return config, rest
