"""Findings of a study, in sentences that hold, as a part of a page.

Usage::

    values = found(designs, (0.7,))
"""

from collections.abc import Sequence
from typing import Any

from analysis.designs import Design, runs_of
from analysis.sentences import LEVEL, remark_on_seeds, sentences


def found(designs: Sequence[Design], targets: Sequence[float] = (), held: int = 1) -> dict[str, Any] | None:
    """Sentences (`analysis.sentences`), and how far they go; None where there is nothing to compare."""
    runs = runs_of(designs, targets, held)
    told = sentences(runs)
    return {"sentences": told, "level": LEVEL, "remark": remark_on_seeds(runs)} if told else None
