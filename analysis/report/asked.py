"""Question of a report, and what a reader must know before the numbers, as parts of a page.

Scope: what all designs share stands once; where they differ, the values stand side by side.

Usage::

    values = asked(designs, remarks=["One design of the study failed."])
"""

from collections.abc import Sequence
from typing import Any

from analysis.designs import Design, differing, seed_of, telling, ways
from analysis.remarks import end_of, remarks_on
from analysis.report.page import Table

_MOST_WARNINGS = 5
_ASKED = (
    ("scenario", "scenario"),
    ("protocol", "protocol.kind"),
    ("clients", "num_clients"),
    ("cells", "num_cells"),
    ("data", "data.kind"),
    ("model", "model"),
)


def asked(designs: Sequence[Design], remarks: Sequence[str] = ()) -> dict[str, Any]:
    """Warnings, of many the first few apart, and one table for all designs."""
    runs = [run for design in designs for run in design.runs]
    seeds = ", ".join(dict.fromkeys(str(seed_of(run)) for run in runs))
    rows = [(words, _values(designs, name)) for words, name in _ASKED]
    rows.append(("end of a run", ", ".join(dict.fromkeys(map(end_of, designs)))))
    if len(designs) > 1:
        rows.append(("designs", f"{len(designs)}, which differ in {_differences(designs)}"))
    rows.append(("runs", f"{len(runs)}, seeds {seeds}"))
    said = [*remarks, *remarks_on(designs)]
    num_shown = _MOST_WARNINGS if len(said) > _MOST_WARNINGS + 1 else len(said)
    return {
        "warnings": said[:num_shown],
        "further": said[num_shown:],
        "table": Table("Asked for", ["what", "value"], rows, words=True),
    }


def _values(designs: Sequence[Design], name: str) -> str:
    if not any(name in design.fields for design in designs):
        return "unknown"
    return ", ".join(ways(designs, name))


def _differences(designs: Sequence[Design]) -> str:
    names = differing(designs)
    told = telling(designs)
    rest = len(names) - len(told)
    words = ", ".join(f"{name} ({len(ways(designs, name))} values)" for name in told)
    return words + (f", and {rest} further fields: see Configuration" if rest else "")
