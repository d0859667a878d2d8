"""Presence: clients that were present, and why others were not; nothing for runs whose clients always were.

Scope: numbers of designs are means over their counted runs; pictures, of six designs with edge rounds, show
the first run.

Usage::

    values = presence(designs)
"""

from collections.abc import Sequence
from typing import Any

from analysis.designs import Design, Reading, seed_of
from analysis.plots.presence import presence_picture
from analysis.plots.states import THERE, empty_percent, shares_of, some_were_away, states_picture
from analysis.report.cells import cell, is_share
from analysis.report.page import Figure, Table
from analysis.report.pictures import panels_of
from cosim.records.rows import LEFT
from cosim.results.result import Result

_MOST_DESIGNS = 6


def presence(designs: Sequence[Design]) -> dict[str, Any] | None:
    """Number of clients there, wanted, taking part and in time, over time and on average; absent clients."""
    told = [design for design in designs if any(map(_some_were_away, design.counted))]
    if not told:
        return None
    columns: dict[str, Reading] = {
        "clients there (%)": _there_percent,
        "time with an empty battery (%)": empty_percent,
        "wanted in an edge round": lambda run: _per_round(run, "num_wanted"),
        "took part": lambda run: _per_round(run, "num_participants"),
        "arrived": lambda run: _per_round(run, "num_arrived"),
        "left in the middle of a job (%)": _left_percent,
        "edge servers waited for a client (s)": _gathered_s,
    }
    rows = [
        [d.name, *(cell(d.values(reading), is_share(words)) for words, reading in columns.items())]
        for d in told
    ]
    caption = "Edge rounds of a run; those there when they began, of all clients, others on average"
    drawn = [design for design in told if _has_edge_rounds(design.counted[0])][:_MOST_DESIGNS]
    return {
        "figures": [_pictures(design, place) for place, design in enumerate(drawn)],
        "table": Table(caption, ["design", *columns], rows),
        "rest": f", of the first {_MOST_DESIGNS} designs" if len(told) > _MOST_DESIGNS else "",
    }


def _pictures(design: Design, place: int) -> Figure:
    run = design.counted[0]
    drawings = {
        "presence": (
            presence_picture,
            "Present clients, wanted, taking part and in time, by edge round.",
        ),
        "states": (states_picture, f"Shares of clients when edge rounds began. {_states_in_words(run)}"),
    }
    return panels_of(run, drawings, place, f"{design.name}, seed {seed_of(run)}.")


def _states_in_words(run: Result) -> str:
    means = shares_of(run).drop(columns="start_s").mean()
    return "On average " + ", ".join(f"{state} {share:.4g} %" for state, share in means.items()) + "."


def _has_edge_rounds(run: Result) -> bool:
    return bool((run.rounds["level"] == "edge").any())


def _some_were_away(run: Result) -> bool:
    if "num_clients" not in run.config["system"]:
        return False
    return some_were_away(run) or bool(empty_percent(run))


def _there_percent(run: Result) -> float | None:
    """Mean over edge rounds; None if there are none."""
    return float(shares_of(run)[THERE].mean()) if _has_edge_rounds(run) else None


def _per_round(run: Result, column: str) -> float | None:
    rows = run.rounds[run.rounds["level"] == "edge"]
    return float(rows[column].mean()) if len(rows) else None


def _left_percent(run: Result) -> float | None:
    return 100.0 * float((run.fates["outcome"] == LEFT).mean()) if len(run.fates) else None


def _gathered_s(run: Result) -> float:
    own = run.spans[run.spans["activity"] == "gather"]
    return float((own["end_s"] - own["start_s"]).sum())
