"""Asks: what a part lacks, and what it asks of the other parts of a system, in words that its port defines.

A port's page defines the words that its kinds may lack; a kind says as data which it lacks, and a kind of
another port which it asks for, and why::

    EVERY_UPDATE = Word("every update", of="uplink", lacking="some uploads never end", instead="no outages")

    class Radio(Link):
        lacks = (Lack(EVERY_UPDATE, "outage_probability above 0", lambda own: own.outage_probability > 0.0),)

    class WaitForAll(Waiting):
        asks = (Ask(EVERY_UPDATE, "waits for every one", instead="a deadline"),)

One place compares all parts of a system (`cosim.system.fit`), and writes the sentence. A part that holds
others repeats nothing of what these say.
"""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from cosim.configuration.field_types import open_fields
from cosim.configuration.kinds import is_configuration


@attrs.frozen(eq=False)
class Word:
    """Something by which parts go together, or do not.

    Attributes:
        name: In a few words, such as "every update".
        lacking: What is true of a part that lacks it, as a clause.
        instead: What to use in place of such a part, as a noun.
        of: The field of a system whose parts may lack it. None means parts beside the one that asks, in the
            same field of the system.
    """

    name: str
    lacking: str
    instead: str
    of: str | None = None


def _always(_part: Any) -> bool:
    return True


@attrs.frozen(eq=False)
class Lack:
    """A part lacks a word.

    Attributes:
        where: With which values of its fields, in words. Empty means always.
        applies: True if a part of the class has such values.
        at: The path in the system at which it lacks it. None means anywhere.
    """

    word: Word
    where: str = ""
    applies: Callable[[Any], bool] = _always
    at: str | None = None


@attrs.frozen(eq=False)
class Ask:
    """A part asks for a word.

    Attributes:
        why: The reason, as a clause after the part's name.
        instead: What to use in its place, as a noun. Empty means that nothing is better.
        where: With which values of its fields, in words. Empty means always.
        applies: True if a part of the class has such values.
        at: The field of the system in which it asks. None means any field.
    """

    word: Word
    why: str
    instead: str = ""
    where: str = ""
    applies: Callable[[Any], bool] = _always
    at: str | None = None


def lacks_in(config: Any, word: Word) -> bool:
    """True if a configuration, or a part of it, lacks a word."""
    return any(
        lack.word is word and (part is config or lack.at in (None, path)) and lack.applies(part)
        for path, part in (("", config), *placed(config))
        for lack in part.lacks
    )


def asks_in(config: Any, word: Word) -> bool:
    """True if a configuration, or a part of it, asks for a word."""
    return any(
        ask.word is word and ask.applies(part)
        for part in (config, *(part for _, part in placed(config)))
        for ask in part.asks
    )


def placed(config: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Path and part, of all parts of a configuration that stands at a path, outer ones first."""
    for name in open_fields(type(config)):
        part = getattr(config, name)
        if is_configuration(type(part)):
            if hasattr(part, "lacks"):
                yield f"{path}{name}", part
            if open_fields(type(part)):
                yield from placed(part, f"{path}{name}.")
