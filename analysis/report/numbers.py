"""The numbers: one table of designs, each measure with its interval, and the differences between them.

A design's number is the mean over its counted runs, with its 95 % interval, and differences to the reference,
the first design by default, are taken seed by seed: all as in every table (`analysis.samples`). Of one run
the number alone stands there.

Scope: a column that would be empty is left out; one that says the same of all runs of several designs is said
once, in the caption.

Usage::

    values = numbers(designs_of(results), {id(run): Fates.of(run) for run in results})
"""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.designs import Design
from analysis.remarks import noted
from analysis.report.cells import number
from analysis.report.columns import AllFates, Column, columns_of
from analysis.report.page import Table


def numbers(designs: Sequence[Design], fates: AllFates, reference: Design | None = None) -> dict[str, Any]:
    """The table of designs, and that of their differences where seeds are shared.

    Args:
        reference: Design that differences are to. None means the first.
    """
    reference = reference or designs[0]
    found = columns_of(designs, fates)
    shown = {words: column for words, column in found.items() if not column.is_same}
    rows = [
        [design.name, *(column.cell(place) for column in shown.values()), len(design.counted)]
        for place, design in enumerate(designs)
    ]
    caption = "Means over runs"
    if any(len(design.counted) > 1 for design in designs):
        caption += (
            ", with 95 % intervals (Student's t, within what is possible; of shares on the logit); where all "
            "runs are equal there is none"
        )
    if same := [f"{words} {number(found[words].first(0))}" for words in found if words not in shown]:
        caption += f". The same in all runs: {', '.join(same)}"
    remarks = {design.name: noted(design, "remark_on_times") for design in designs}
    differences = _differences(reference, designs, shown)
    about = f"Differences to {reference.name} on the same seeds, with 95 % intervals"
    about = f"{about} (paired; each on its own, not jointly)"
    return {
        "warnings": [f"{name}: {said}" for name, said in remarks.items() if said],
        "table": Table(caption, ["design", *shown, "runs"], rows),
        "differences": Table(about, ["design", *shown, "shared seeds"], differences) if differences else None,
    }


def _differences(
    reference: Design, designs: Sequence[Design], columns: Mapping[str, Column]
) -> list[list[object]]:
    rows, first = [], next(place for place, design in enumerate(designs) if design is reference)
    for place, other in enumerate(designs):
        shared = reference.by_seed().keys() & other.by_seed().keys()
        if other is not reference and len(shared) > 1:
            cells = [column.difference(place, first) for column in columns.values()]
            rows.append([other.name, *cells, len(shared)])
    return rows
