"""The matrix of docs/parts.md, out of the code: which parts lack a word, and which ask for it."""

from pathlib import Path
from typing import Any

from cosim.configuration import going_together
from cosim.configuration.asks import Word
from cosim.configuration.kinds import is_configuration
from scenarios.reference.rows import public, table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "parts.md"
BEGINS, ENDS = "<!-- written by python -m scenarios.reference -->", "<!-- to here -->"


def with_matrix(page: str) -> str:
    """A page with the matrix as it is now, between its marks."""
    before, _, rest = page.partition(BEGINS)
    _, _, after = rest.partition(ENDS)
    return f"{before}{BEGINS}\n\n{_matrix()}\n\n{ENDS}{after}"


def _matrix() -> str:
    words = {name: word for name, word in vars(going_together).items() if isinstance(word, Word)}
    names = public().items()
    kinds = {name: kind for name, kind in names if isinstance(kind, type) and is_configuration(kind)}
    rows = [
        (
            f"`{name}`: {word.name}",
            f"`{word.of}`",
            _kinds(kinds, "lacks", word),
            _kinds(kinds, "asks", word),
        )
        for name, word in words.items()
    ]
    return table(("word", "of", "lacking it", "asking for it"), rows)


def _kinds(kinds: dict[str, Any], side: str, word: Word) -> str:
    """The kinds that say a word and whose base does not, each with the values for which it counts."""
    found = []
    for name, kind in kinds.items():
        for said in vars(kind).get(side, ()):
            if said.word is word and said not in getattr(kind.__base__, side, ()):
                found.append(f"`{name}`" + (f" ({said.where})" if said.where else ""))
    return ", ".join(found)
