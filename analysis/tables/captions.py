"""Captions: seeds, statistic, level and kind of the intervals of a table, in sentences."""

import re
from collections.abc import Collection

import pandas as pd

from analysis.intervals.bounded import coverage_in_words
from analysis.metrics import metrics
from analysis.samples import Sample, samples
from analysis.tables.cells import Number
from analysis.tables.contents import Table


def captioned(
    table: Table,
    runs: pd.DataFrame,
    chosen: Collection[str],
    *,
    lead: str = "",
    label: str = "",
    same: str = "",
) -> Table:
    """The table with a caption and a label.

    Args:
        chosen: Columns of its metrics.
        lead: First words of the caption. Empty means what a pivot is of.
        label: Name by which a text refers to it.
        same: A sentence about what all runs have alike.
    """
    known = metrics(runs)
    found = [sample for column in chosen for sample in samples(runs, known[column]).values()]
    sentences = [
        lead or opened(table.caption),
        means_in_words(found),
        *_marks(table),
        same,
        _coverage(found),
    ]
    return table._replace(caption=" ".join(filter(None, sentences)), label=label)


def means_in_words(found: Collection[Sample]) -> str:
    """Sentence about the numbers: means, their seeds, and the level and kind of their intervals."""
    measured = [sample for sample in found if not sample.metric.is_reached and sample.num_runs]
    counts = sorted({sample.num_runs for sample in measured or found})
    if not counts:
        return ""
    seeds = f"{counts[0]} seed{'s' if counts[0] > 1 else ''}"
    if len(counts) > 1:
        seeds = f"{counts[0]} to {counts[-1]} seeds"
    if not measured:
        return f"Seeds of {counts[-1]} that reached the target."
    if counts[-1] == 1:
        return "Values of one seed."
    (level, *_) = {sample.value.level for sample in measured}
    kind = "Student's t over seeds"
    if any(sample.metric.measure.is_share for sample in measured):
        kind += ", of shares on the logit"
    said = f"Means over {seeds} with {100 * level:g} % intervals ({kind})."
    if any(sample.missed for sample in measured):
        said += (
            " A seed that missed the target counts as the time, or the amount, that stands beside the mean."
        )
    return said


def _marks(table: Table) -> list[str]:
    """Sentence about bold numbers, if there are any."""
    if not any(isinstance(cell, Number) and cell.is_best for row in table.rows for cell in row):
        return []
    return ["Bold: better than all others beside it, on the same seeds (each difference by itself)."]


def _coverage(found: Collection[Sample]) -> str:
    """How far intervals of what a target took may be trusted."""
    counts = [sample.num_runs for sample in found if sample.metric.in_all]
    return coverage_in_words(min(counts)) if counts else ""


def opened(words: str) -> str:
    """Words as the first sentence of a caption."""
    sentence = re.sub(r"^[a-z]", lambda first: first[0].upper(), words)
    return f"{sentence}." if words and not words.endswith((".", "?", "!")) else sentence
