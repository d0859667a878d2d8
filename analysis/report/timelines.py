"""Timelines: what each client did, as a part of a page: in one global round, or in a stretch of versions.

Scope: one design has its timeline on the page; of several, one with the largest share of dropped updates is
open, and up to five others are folded away.

Usage::

    values = timelines(designs, global_round=None)
"""

from collections.abc import Sequence
from typing import Any

from analysis.designs import Design, seed_of
from analysis.plots import round_picture, telling_round
from analysis.plots.timeline import MOST_IN_ROWS, MOST_ROWS, num_clients
from analysis.report.page import Figure
from analysis.report.pictures import picture
from cosim.results.result import Result

_MOST_FOLDED = 5


def timelines(designs: Sequence[Design], global_round: int | None) -> dict[str, Any]:
    """Timelines of clients; of several designs, the one with most dropped updates first."""
    shares = [_dropped_share(design) for design in designs]
    first = designs[shares.index(max(shares))]
    others = [design for design in designs if design is not first]
    rest = len(others) - _MOST_FOLDED
    return {
        "name": first.name,
        "lost": f"{100.0 * max(shares):.3g} %",
        "differ": max(shares) > min(shares),
        "figure": _timeline(designs, first, global_round),
        "others": [_timeline(designs, design, global_round) for design in others[:_MOST_FOLDED]],
        "folded": f"{_MOST_FOLDED} of the {len(others)} other designs" if rest > 0 else "The other designs",
    }


def _timeline(designs: Sequence[Design], design: Design, global_round: int | None) -> Figure:
    run = design.counted[0]
    number = telling_round(run) if global_round is None or not run.has_rounds else global_round
    caption = f"{design.name}, seed {seed_of(run)}: {_in_words(run, number)}."
    clients = num_clients(run)
    if clients > MOST_IN_ROWS:
        caption += " The clients at each activity are counted, as there are too many for a row each."
    elif clients > MOST_ROWS:
        caption += f" {MOST_ROWS} of {clients} clients have rows: all that ended a round, others evenly."
    height = 3.2 if clients > MOST_IN_ROWS else max(2.2, 1.2 + 0.15 * min(clients, MOST_ROWS))
    drawn = picture(
        lambda axes: round_picture(axes, run, number),
        said=f"Timeline. {caption}",
        prefix=f"timeline{designs.index(design)}-",
        size=(7.0, height),
    )
    return Figure([drawn], caption, name="Timeline")


def _in_words(run: Result, number: int | None) -> str:
    if number is None:
        return "a stretch about the middle of the run, twice as long as nine of ten jobs"
    rounds = run.rounds[run.rounds["global_round"] == number]
    cells = rounds[rounds["level"] == "edge"]
    if cells.empty:
        return f"global round {number}"
    taken, arrived = int(cells["num_participants"].sum()), int(cells["num_arrived"].sum())
    asked = f"{taken:,} updates asked for, {taken - arrived:,} dropped"
    return f"global round {number}, {len(cells):,} edge rounds, {asked}"


def _dropped_share(design: Design) -> float:
    asked = sum(run.summary.num_updates for run in design.counted)
    return sum(run.summary.num_dropped for run in design.counted) / asked if asked else 0.0
