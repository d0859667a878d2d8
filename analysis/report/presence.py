"""Who was there when edge rounds began, as a part of a page; nothing of runs whose clients always were.

Scope: runs with edge rounds; numbers of designs are means over their counted runs, pictures, of six designs,
those of the first.

Usage::

    html = presence(designs)
"""

from collections.abc import Sequence

from analysis.designs import Design, Reading, seed_of
from analysis.plots.presence import counts_of, presence_picture
from analysis.report.numbers import cell, is_share
from analysis.report.page import table
from analysis.report.pictures import PANEL, panels, picture
from cosim.records import LEFT
from cosim.results import Result

_MOST_DESIGNS = 6


def presence(designs: Sequence[Design]) -> str:
    """How many were there, wanted, taking part and in time, over time and on average."""
    told = [design for design in designs if any(map(_somebody_was_away, design.counted))]
    if not told:
        return ""
    columns: dict[str, Reading] = {
        "clients there (%)": lambda run: 100.0 * _mean(run, "num_present") / _num_clients(run),
        "wanted in an edge round": lambda run: _per_round(run, "num_wanted"),
        "took part": lambda run: _per_round(run, "num_participants"),
        "arrived": lambda run: _per_round(run, "num_arrived"),
        "left in the middle of a job (%)": _left_percent,
        "edge servers waited for somebody (s)": _gathered_s,
    }
    rows = [
        [d.name, *(cell(d.values(reading), is_share(words)) for words, reading in columns.items())]
        for d in told
    ]
    drawn = [
        picture(
            lambda axes, run=design.counted[0]: presence_picture(axes, run),
            said="Clients that were there, wanted, taking part and in time, by edge round.",
            prefix=f"presence{place}-",
            size=(PANEL[0], PANEL[1] + 0.3),
        )
        for place, design in enumerate(told[:_MOST_DESIGNS])
    ]
    names = ", ".join(f"{design.name}, seed {seed_of(design.counted[0])}" for design in told[:_MOST_DESIGNS])
    caption = "Edge rounds of a run; those there when they began, of all clients, others on average"
    return panels(drawn, f"{names}.") + table(caption, ["design", *columns], rows)


def _num_clients(run: Result) -> int:
    return int(run.config["system"]["num_clients"])


def _somebody_was_away(run: Result) -> bool:
    return "num_clients" in run.config["system"] and _mean(run, "num_present") < _num_clients(run)


def _mean(run: Result, column: str) -> float:
    """Of edge rounds, all cells together; infinite where there are none."""
    counts = counts_of(run)
    return float(counts[column].mean()) if len(counts) else float("inf")


def _per_round(run: Result, column: str) -> float | None:
    rows = run.rounds[run.rounds["level"] == "edge"]
    return float(rows[column].mean()) if len(rows) else None


def _left_percent(run: Result) -> float | None:
    return 100.0 * float((run.fates["outcome"] == LEFT).mean()) if len(run.fates) else None


def _gathered_s(run: Result) -> float:
    own = run.spans[run.spans["activity"] == "gather"]
    return float((own["end_s"] - own["start_s"]).sum())
