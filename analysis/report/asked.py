"""What was asked, and what a reader must know before the numbers, as parts of a page.

Scope: what all designs share stands once; where they differ, the values stand side by side.

Usage::

    html = asked(designs, remarks=["One design of the study failed."])
"""

from collections.abc import Sequence

import numpy as np

from analysis.designs import Design, differing, said, seed_of, telling, ways
from analysis.report.page import details, paragraph, table
from cosim.results import Result

_MOST_WARNINGS = 5
_ASKED = (
    ("scenario", "scenario"),
    ("protocol", "protocol.kind"),
    ("clients", "num_clients"),
    ("cells", "num_cells"),
    ("data", "data.kind"),
    ("model", "model"),
)


def asked(designs: Sequence[Design], remarks: Sequence[str] = ()) -> str:
    """Warnings, and one table for all designs."""
    runs = [run for design in designs for run in design.runs]
    seeds = ", ".join(dict.fromkeys(str(seed_of(run)) for run in runs))
    rows = [(words, _values(designs, name)) for words, name in _ASKED]
    rows.append(("end of a run", ", ".join(dict.fromkeys(map(_end_of, designs)))))
    if len(designs) > 1:
        rows.append(("designs", f"{len(designs)}, which differ in {_differences(designs)}"))
    rows.append(("runs", f"{len(runs)}, seeds {seeds}"))
    return "\n".join([*_warnings(designs, remarks), table("Asked for", ["what", "value"], rows, words=True)])


def _values(designs: Sequence[Design], name: str) -> str:
    if not any(name in design.fields for design in designs):
        return "unknown"
    return ", ".join(ways(designs, name))


def _end_of(design: Design) -> str:
    """When its runs are over, such as AfterRounds (40 global rounds)."""
    kind = design.fields.get("end.kind", "unknown")
    knobs = [
        said(name, design.fields) for name in design.fields if name.startswith("end.") and name != "end.kind"
    ]
    return f"{kind} ({', '.join(knobs)})" if knobs else kind


def _differences(designs: Sequence[Design]) -> str:
    names = differing(designs)
    told = telling(designs)
    rest = len(names) - len(told)
    words = ", ".join(f"{name} ({len(ways(designs, name))} values)" for name in told)
    return words + (f", and {rest} further fields: see Configuration" if rest else "")


def _warnings(designs: Sequence[Design], remarks: Sequence[str]) -> list[str]:
    """Paragraphs; of many, all but the first few are folded away."""
    said = [*remarks, *(words for d in designs for run in d.runs for words in _of_run(d, run))]
    parts = [paragraph(words, "warning") for words in said]
    if len(parts) > _MOST_WARNINGS + 1:
        rest = parts[_MOST_WARNINGS:]
        parts = [*parts[:_MOST_WARNINGS], details(f"{len(rest)} further warnings", "\n".join(rest))]
    return parts


def _of_run(design: Design, run: Result) -> list[str]:
    said = []
    counted = any(run is each for each in design.counted)
    name = f"The run {run.folder.name if run.folder else 'without a folder'} (seed {seed_of(run)})"
    if run.summary.status != "complete":
        num_made, what = run.progress
        use = "its numbers stand for what it did until then" if counted else "not counted"
        said.append(
            f"{name} is not complete: {run.summary.status} after {num_made:,} {what}, and asked for "
            f"{_end_of(design)}; {use}."
        )
    elif not counted:
        said.append(f"{name} repeats a seed of its design; not counted.")
    if not np.isfinite(run.evaluations.to_numpy(dtype=float)).all():
        said.append(f"{name} has a loss that is not finite: its training diverged.")
    return said
