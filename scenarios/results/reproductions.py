"""Reproductions: which one a kept figure is of, and which of its forms are kept."""

from collections.abc import Iterable, Mapping
from typing import Any

from scenarios.command_line.catalogue import catalogue

RAWHFL_TABLES = "rawhfl-tables"
"""Claims of Tables II to IV together, which are made from what is kept (`across`)."""

Told = Mapping[str, Any]
"""Content of a figure's NAME.json."""


def reproduction_of(figure: str) -> str:
    """Name of the command that makes a figure; that of a variant begins with it. Empty if there is none."""
    own = (name for name in names() if figure == name or figure.startswith(f"{name}-"))
    return max(own, key=len, default="")


def names() -> list[str]:
    """Names of reproductions, and of claims across them."""
    return [*catalogue("reproduce"), RAWHFL_TABLES]


def forms_of(name: str, figures: Iterable[Told]) -> list[Told]:
    """Kept forms of a reproduction: by its own name first, then its variants."""
    own = (told for told in figures if reproduction_of(told["figure"]) == name)
    return sorted(own, key=lambda told: told["figure"])


def how(claim: Told) -> str:
    """Command that runs a claim that was not run, and its cost."""
    return f"`{claim['command']}`: about {claim['core_hours']:.2g} core-hours"


def is_quick(told: Told) -> bool:
    """True if a figure was run in its quick form."""
    return "--quick" in told["command"].split()
