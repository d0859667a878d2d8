"""Items: numbers of figures, equations, theorems of a paper, as text such as `equation 2-4 7; figure 4a`."""

import re
from collections.abc import Iterator, Mapping
from functools import cache

Numbers = Mapping[str, frozenset[str]]
"""Kind, such as equation -> the numbers that it has."""

SHORT = {"equation": "eq.", "figure": "Fig.", "footnote": "footnote"}
"""Kinds as a reader has them; others begin with a capital."""


@cache
def numbers_of(items: str) -> Numbers:
    """Numbers by kind, from text such as `equation 2-4 7; figure 4a`."""
    return {kind: numbers(text) for kind, text in _kinds(items)}


def numbers(text: str) -> frozenset[str]:
    """Numbers of text such as `2-4 7 28a-28c I`."""
    return frozenset(number for part in text.split() for number in _range(part))


def named(items: str) -> str:
    """Numbers as a reader has them, such as "eq. 2 to 4, 7; Fig. 4a"."""
    return "; ".join(
        f"{SHORT.get(kind, kind.capitalize())} {text.replace(' ', ', ').replace('-', ' to ')}"
        for kind, text in _kinds(items)
    )


def _kinds(items: str) -> Iterator[tuple[str, str]]:
    for text in filter(None, map(str.strip, items.split(";"))):
        kind, _, own = text.partition(" ")
        yield kind, own


def _range(part: str) -> Iterator[str]:
    first, _, last = part.partition("-")
    ends = re.fullmatch(r"(\d+)([a-z]?)-(\d+)([a-z]?)", part)
    if ends is None:
        yield first
    elif ends[2]:
        yield from (f"{ends[1]}{chr(letter)}" for letter in range(ord(ends[2]), ord(ends[4]) + 1))
    else:
        yield from map(str, range(int(first), int(last) + 1))
