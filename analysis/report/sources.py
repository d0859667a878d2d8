"""Configuration and provenance, as parts of a page.

Scope: a field, or a piece of provenance, that is the same everywhere stands once. Others have a row for each
value, with the designs that have it, so that no table grows sideways.

Usage::

    values = configuration(designs)
"""

import shlex
from collections.abc import Sequence
from typing import Any

from analysis.designs import Design, differing, seed_of, ways
from analysis.remarks import origin_of
from analysis.report.page import Table
from cosim.results.result import Result
from cosim.results.versions import DIGITS

_MOST_RUNS = 12


def configuration(designs: Sequence[Design]) -> dict[str, Any]:
    """Every field of every design, seeds apart."""
    names = dict.fromkeys(name for design in designs for name in design.fields)
    apart = differing(designs)
    differ = [
        [name, value, ", ".join(having)] for name in apart for value, having in ways(designs, name).items()
    ]
    caption = "Fields in which the designs differ; – where a design has no such field"
    shared = [[name, *ways(designs, name)] for name in names if name not in apart]
    return {
        "apart": Table(caption, ["field", "value", "designs"], differ, words=True) if apart else None,
        "shared": Table("Seeds apart", ["field", "value"], shared, words=True),
    }


def provenance(designs: Sequence[Design]) -> dict[str, Any]:
    """Origin of each run."""
    runs = [(design, run) for design in designs for run in design.runs]
    origins = [_origin(run) for _, run in runs]
    same = {name for name in origins[0] if len({origin[name] for origin in origins}) == 1}
    shared = [(name, value) for name, value in origins[0].items() if name in same]
    caption = "The same for all runs" if len(runs) > 1 else "Where the run comes from"
    rows = [
        [_place(run), design.name, seed_of(run), run.summary.status_in_words]
        + [value for name, value in origin.items() if name not in same]
        for (design, run), origin in zip(runs, origins, strict=True)
    ]
    header = ["run", "design", "seed", "status", *(name for name in origins[0] if name not in same)]
    return {
        "shared": Table(caption, ["what", "value"], shared, words=True) if shared else None,
        "runs": Table("Run by run", header, rows, words=True),
        "num_runs": len(runs),
        "folded": len(runs) > _MOST_RUNS,
    }


def _place(run: Result) -> str:
    return run.folder.name if run.folder else "in memory"


def _origin(run: Result) -> dict[str, str]:
    """Content of provenance.json, in words; "unknown" where it is missing or damaged."""
    found = origin_of(run)
    command, versions = found.get("command", "unknown"), found.get("versions")
    resumed = found.get("resumed", [])
    return {
        "command": shlex.join(map(str, command)) if isinstance(command, list) else str(command),
        "started": str(found.get("started", "unknown")),
        "commit": str(found.get("commit") or "unknown"),
        "code of cosim": str(found.get("code") or "unknown")[:DIGITS],
        "device": str(found.get("device", "unknown")),
        "edge rounds": ": ".join(str(found.get(name, "unknown")) for name in ("clock", "clock_why")),
        "Python": str(found.get("python", "unknown")),
        "machine": str(found.get("platform", "unknown")),
        "packages": ", ".join(f"{name} {version}" for name, version in versions.items())
        if isinstance(versions, dict)
        else "unknown",
        "times resumed": str(len(resumed)) if isinstance(resumed, list) else "unknown",
    }
