"""Kinds: options such as `--protocol.policy.kind Unconstrained`, which put another class into a field.

Options are made from a configuration's own classes, so a field that takes one of several classes must have
the wanted one before they are made.
"""

from typing import TypeVar

from cosim import ConfigurationError
from cosim.configuration import from_dict, to_dict

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
        *outer, name = option[2 : -len(ENDING)].replace("-", "_").split(".")
        place = values = to_dict(config)
        for part in outer:
            place = place.get(part, {}) if isinstance(place, dict) else {}
        field = place.get(name) if isinstance(place, dict) else None
        if not isinstance(field, dict) or "kind" not in field:
            raise ConfigurationError(f"{option}: no such field has several kinds. Usual fix: see --help.")
        place[name] = {"kind": kind if equals else next(words, None)}
        config = from_dict(type(config), values)
    return config, rest
