"""Fit: each part of a system becomes an object of its own; parts that do not go together are refused.

A part says what it lacks and what it asks for (`cosim.configuration.asks`), and may look at the whole system
itself (`Port.fit`).
"""

from copy import copy
from typing import Any

from cosim.configuration import Ask, ConfigurationError, parts_of
from cosim.configuration.asks import placed
from cosim.configuration.field_types import open_fields
from cosim.configuration.kinds import is_configuration


def apart(config: Any) -> dict[str, Any]:
    """Field -> its value, of the fields that hold an object which stands elsewhere in the configuration too.

    In these values it is a copy, so that each place has a part of its own and two equal ones can be told
    apart, whether they come from a file or are one object in a program.
    """
    seen: set[int] = set()
    found = {}
    for name in open_fields(type(config)):
        value = getattr(config, name)
        if (own := _own(value, seen)) is not value:
            found[name] = own
    return found


def _own(value: Any, seen: set[int]) -> Any:
    if not is_configuration(type(value)):
        return value
    own = copy(value) if id(value) in seen else value
    seen.add(id(own))
    for name in open_fields(type(own)):
        part = getattr(own, name)
        if (other := _own(part, seen)) is not part:
            if own is value:
                own = copy(value)
                seen.add(id(own))
            object.__setattr__(own, name, other)
    return own


def check_asks(system: Any) -> None:
    """Refuse a system in which a part asks for what another lacks.

    Raises:
        ConfigurationError: Both parts, why they do not go together, and what to do instead.
    """
    places = [*placed(system), ("", system)]
    lacking = [
        (path, part, lack.word)
        for path, part in places
        for lack in part.lacks
        if lack.at in (None, path) and lack.applies(part)
    ]
    if not lacking:
        return
    for asked_at, asking in places:
        for ask in asking.asks:
            if ask.at in (None, _field(asked_at)) and ask.applies(asking):
                for path, part, word in lacking:
                    if word is ask.word and _field(path) in ("", word.of or _field(asked_at)):
                        raise _refused(system, path, part, asked_at, asking, ask)


def _refused(system: Any, path: str, part: Any, asked_at: str, asking: Any, ask: Ask) -> ConfigurationError:
    name, word = type(system).__name__, ask.word
    if part is system and word.of:
        path, part = word.of, getattr(system, word.of)
    asks = f"{name}.{asked_at} = {type(asking).__name__}" if asked_at else f"{name} with {ask.where}"
    instead = ", or ".join(filter(None, (word.instead, ask.instead)))
    return ConfigurationError(
        f"{name}.{path} = {type(part).__name__}: {word.lacking}, and {asks} {ask.why}. Use {instead}.",
        f"{name}.{path}",
    )


def _field(path: str) -> str:
    """The field of the system in which a part stands; empty: it is the system itself."""
    return path.partition(".")[0]


def check_fit(system: Any) -> None:
    """Ask every part whether the system fits it, outer ones first.

    Raises:
        ConfigurationError: One that it does not fit.
    """
    for one in parts_of(system):
        one.fit(system)
