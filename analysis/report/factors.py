"""Factors: metrics of the designs over the field with most values, as a part of a page.

Scope: where the field is a number in every design; six metrics at most, the first ones being times, energies
and bits to targets. What else differs makes the lines.

Usage::

    values = factors(DrawnStudy(designs, targets=(0.7,)))
"""

from typing import Any

from analysis.plots import DrawnStudy, factor, lines_of, numeric_fields
from analysis.plots.factor import DIVERGED, MOST_LINES
from analysis.report.page import Figure
from analysis.report.pictures import panel, picture

_MOST_PICTURES = 6


def factors(study: DrawnStudy) -> dict[str, Any] | None:
    """Metrics over the field with most values; None if no number differs."""
    designs, fields = study.designs, numeric_fields(study.designs)
    columns = _columns(study)
    if len(designs) < 2 or not fields or not columns:
        return None
    field, lines = fields[0], lines_of(designs, fields[0])
    names = [name for name in lines if name][:MOST_LINES]
    made = [
        picture(
            lambda axes, column=column: factor(axes, designs, study.amounts[column], field, study.encoding),
            said=f"{study.amounts[column].words} over {field}. {_told(study, column)}",
            prefix=f"factor{place}-",
            size=panel(names),
        )
        for place, column in enumerate(columns)
    ]
    said = {study.amounts[column].in_words(): None for column in columns}
    caption = [max(said, key=len), "A line for each of what else differs." if len(lines) > 1 else ""]
    if len(lines) > MOST_LINES:
        caption.append(f"The first {MOST_LINES} of {len(lines)} lines are drawn.")
    if any(run.summary.is_diverged for design in designs for run in design.counted):
        caption.append(f"Crosses: {DIVERGED} in a run there.")
    return {"figure": Figure(made, " ".join(filter(None, caption)))}


def _columns(study: DrawnStudy) -> list[str]:
    """Metrics that differ between runs: of targets first, then the headline and what runs took."""
    amounts = study.amounts
    told = [
        column
        for column, own in amounts.items()
        if len({value for sample in own.by_design.values() for value in sample.taken}) > 1
        and not own.metric.is_of_versions
        and any(map(own.has_mean, own.by_design))
    ]
    order = sorted(told, key=lambda column: (amounts[column].metric.in_all is None, column != study.main))
    return order[:_MOST_PICTURES]


def _told(study: DrawnStudy, column: str) -> str:
    """Text alternative: the numbers of the picture."""
    amounts = study.amounts[column]
    return "; ".join(
        f"{name}: {amounts.mean(name):.4g}" + (f" ({note})" if (note := amounts.note(name)) else "")
        for name in amounts.by_design
        if amounts.has_mean(name)
    )
