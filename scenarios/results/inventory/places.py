"""Places of the inventory: files of the project, names in them, reproductions and validations, as links."""

import re
from functools import cache
from pathlib import Path

from scenarios.command_line.catalogue import catalogue

ROOT = Path(__file__).resolve().parents[3]
UP = "../../"
"""Way from docs/results to the root."""
VALIDATE = "validate:"


def exists(place: str) -> bool:
    """True if a file has the name, or a validation is known."""
    if place.startswith(VALIDATE):
        return place.removeprefix(VALIDATE) in catalogue("validate")
    file, _, name = place.partition("#")[0].partition(":")
    if not (ROOT / file).exists():
        return False
    pattern = rf"^\s*(?:async )?(?:class|def) {re.escape(name)}\b|^{re.escape(name)}\b"
    return not name or re.search(pattern, _text(file), re.MULTILINE) is not None


def link(place: str) -> str:
    """A Markdown link to a place, from docs/results."""
    if place.startswith(VALIDATE):
        name = place.removeprefix(VALIDATE)
        path = catalogue("validate")[name].replace(".", "/")
        return f"[`cosim validate {name}`]({UP}{path}.py)"
    file, _, name = place.partition(":")
    shown = name or file.rpartition("/")[2]
    return f"[{shown}]({UP}{file})"


@cache
def _text(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")
