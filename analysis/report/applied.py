"""Applied updates of asynchronous servers, as a part of a page: versions, staleness, and whose they were.

Scope: numbers of designs are means over their counted runs; pictures, of six designs, and clients, the 20
with most applied updates, are from the first counted run. Where cells train as clients do, they stand
among them.

Usage::

    values = applied(designs)
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.designs import Design, Reading, seed_of
from analysis.plots.asynchronous import by_client, speed_picture, staleness_picture, versions_picture
from analysis.report.cells import cell, in_small_units, is_share, number
from analysis.report.page import Figure, Table
from analysis.report.pictures import panels_of
from cosim.results.result import Result

_MOST_CLIENTS = 20
_MOST_DESIGNS = 6


def applied(designs: Sequence[Design]) -> dict[str, Any] | None:
    """Updates that asynchronous servers have applied; nothing for other runs."""
    told = [design for design in designs if all(len(run.updates) for run in design.counted)]
    if not told:
        return None
    columns: dict[str, Reading] = {
        "applied updates": lambda run: len(run.updates),
        "versions": lambda run: len(_made_s(run)),
        "mean time between them (s)": _between_s,
        "mean staleness": lambda run: float(run.updates["staleness"].mean()),
        "largest": lambda run: int(run.updates["staleness"].max()),
        "mean wait for a version (s)": _waited_s,
        "updates of the busiest quarter of clients (%)": _busiest_percent,
        "energy (J per update)": lambda run: float(run.updates["energy_j"].mean()),
    }
    columns = in_small_units(columns, told)
    rows = [
        [d.name, *(cell(d.values(reading), is_share(words)) for words, reading in columns.items())]
        for d in told
    ]
    caption = "Applied updates of a run; staleness in versions made since the update started"
    drawn = told[:_MOST_DESIGNS]
    return {
        "figures": [_pictures(design, place) for place, design in enumerate(drawn)],
        "table": Table(caption, ["design", *columns], rows),
        "rest": f", of the first {_MOST_DESIGNS} designs" if len(told) > _MOST_DESIGNS else "",
        "clients": list(map(_clients, drawn)),
    }


def _pictures(design: Design, place: int) -> Figure:
    run = design.counted[0]
    drawings = {
        "versions": (versions_picture, "Versions over simulated time."),
        "staleness": (staleness_picture, "Shares of applied updates by their staleness."),
        "speed": (speed_picture, "Applied updates of each client over the mean time of its jobs."),
    }
    return panels_of(
        run, drawings, place, f"{design.name}, seed {seed_of(run)}: {len(run.updates):,} updates."
    )


def _clients(design: Design) -> Table:
    """Clients that contribute most to the first counted run."""
    run = design.counted[0]
    found = by_client(run)
    shown: list[Any] = list(found.head(_MOST_CLIENTS).itertuples())
    num_updates, weight = found["num_updates"].sum(), found["weight"].sum()
    rows = [
        [
            own.Index,
            own.edge,
            int(own.num_updates),
            number(100.0 * own.num_updates / num_updates),
            number(100.0 * own.weight / weight) if weight else "–",
            *map(number, (own.mean_job_s, own.mean_staleness, own.energy_j, own.sent_bits / 1e6)),
        ]
        for own in shown
    ]
    header = ["client", "cell", "updates", "of all (%)", "of all weight (%)"]
    header += ["mean time of a job (s)", "mean staleness", "energy (J)", "sent (Mbit)"]
    which = "all" if len(rows) == len(found) else f"the first {len(rows)} of {len(found):,}"
    return Table(f"Clients that contribute most; {which}; {design.name}, seed {seed_of(run)}", header, rows)


def _made_s(run: Result) -> pd.Series:
    """When versions were made of updates, by server."""
    return run.versions[run.versions["num_updates"] > 0].set_index("server")["time_s"]


def _between_s(run: Result) -> float:
    """Mean over servers and their versions; the first from the start of the run."""
    made_s = _made_s(run)
    return float(made_s.groupby(level=0).max().sum()) / len(made_s)


def _waited_s(run: Result) -> float:
    return float((run.updates["applied_s"] - run.updates["arrival_s"]).mean())


def _busiest_percent(run: Result) -> float:
    """Share of applied updates that came from the busiest quarter of clients."""
    counts = by_client(run)["num_updates"].to_numpy()
    return 100.0 * float(counts[: -(-len(counts) // 4)].sum() / counts.sum())
