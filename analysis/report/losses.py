"""Losses: where the energy went, and which clients were dropped and why, as parts of a page.

Scope: what is wasted, and what a reason is, says `analysis.fates`. Of the clients of a design, the 100
with most drops are listed, their runs added up.

Usage::

    values = energy(designs, fates)
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.activities import in_words
from analysis.designs import Design, Reading
from analysis.fates import Fates
from analysis.plots.bars import MOST_BARS, energy_parts, stacked
from analysis.report.cells import cell, is_share, number
from analysis.report.columns import AllFates
from analysis.report.page import Figure, Table
from analysis.report.pictures import picture
from cosim.results.result import Result

_MOST_CLIENTS = 100


def energy(designs: Sequence[Design], fates: AllFates) -> dict[str, Any]:
    """By activity, and wasted on updates that did not arrive."""

    def of(fate: str | None = None, activity: str | None = None) -> Reading:
        return lambda run: fates[id(run)].energy_j(fate, activity)

    found = {doing for d in designs for run in d.counted for _, doing in fates[id(run)].spent_j}
    activities = ["train", "send", *sorted(found - {"train", "send"}, key=_place)]
    columns: dict[str, Reading] = {
        **{f"{in_words(activity)} (J)": of(activity=activity) for activity in activities},
        "all clients (J)": of(),
        **{f"wasted {in_words(activity)} (J)": of("wasted", activity) for activity in activities},
        "wasted (J)": of("wasted"),
        "wasted (%)": lambda run: fates[id(run)].wasted_percent(),
        "in jobs that had not ended (J)": of("not ended"),
        "outside of jobs (J)": of("no job"),
        "servers (J)": _servers_j,
    }
    always = {"training (J)", "sending (J)", "all clients (J)"}
    always |= {"wasted (J)", "wasted (%)"} if any(own.is_known for own in fates.values()) else set()
    for name in [name for name in columns if name not in always]:
        if not any(value for design in designs for value in design.values(columns[name])):
            del columns[name]
    rows = [
        [d.name, *(cell(d.values(measure), is_share(words)) for words, measure in columns.items())]
        for d in designs
    ]
    unknown = [d.name for d in designs if not all(fates[id(run)].is_known for run in d.counted)]
    return {
        "unknown": unknown,
        "figure": _bars(designs, fates),
        "table": Table("Energy of a run, all clients together", ["design", *columns], rows),
    }


def _place(activity: str) -> tuple[bool, str]:
    return activity not in ("receive", "wait"), activity


def _bars(designs: Sequence[Design], fates: AllFates) -> Figure | None:
    """The picture of the designs' energies; None where none was spent."""
    parts, looks = energy_parts(designs[:MOST_BARS], fates)
    if not any(any(own.values()) for own in parts.values()):
        return None
    caption = "All clients together, means over runs" + (
        f"; the first {len(parts)} of {len(designs)} designs." if len(designs) > len(parts) else "."
    )
    told = "; ".join(
        f"{name}: " + ", ".join(f"{part} {own[part]:.4g} J" for part in looks if own.get(part))
        for name, own in parts.items()
    )
    drawn = picture(
        lambda axes: stacked(axes, parts, looks, "energy (J)"),
        said=f"{caption} {told}.",
        prefix="energy-",
        size=(9.0, 1.4 + 0.3 * len(parts)),
    )
    return Figure([drawn], caption, name="Energy")


def _servers_j(run: Result) -> float:
    return float(run.spans.loc[~run.spans["node"].str.startswith("client"), "energy_j"].sum())


def dropped(designs: Sequence[Design], fates: AllFates) -> dict[str, Any]:
    """Dropped updates by reason, and by client."""

    def because(reason: str) -> Reading:
        return lambda run: float(fates[id(run)].reasons().get(reason, 0))

    reasons = sorted({reason for d in designs for run in d.counted for reason in fates[id(run)].reasons()})
    if not reasons:
        asked = any(run.summary.num_updates for d in designs for run in d.counted)
        return {"table": None, "asked": asked}
    columns: dict[str, Reading] = {
        "updates asked for": lambda run: run.summary.num_updates,
        "all dropped": lambda run: run.summary.num_dropped,
        **{reason: because(reason) for reason in reasons},
    }
    if any(run.stations["num_lost"].any() for d in designs for run in d.counted):
        columns["packets lost in queues"] = lambda run: float(run.stations["num_lost"].sum())
        columns["of clients"] = lambda run: float(run.stations["num_lost_client_packets"].sum())
    rows = [
        [d.name, *(cell(d.values(measure), is_share(words)) for words, measure in columns.items())]
        for d in designs
    ]
    clients = [
        _by_client(design, [fates[id(run)] for run in design.counted])
        for design in designs
        if any(fates[id(run)].reasons() for run in design.counted)
    ]
    return {
        "table": Table("Dropped updates of a run, by reason", ["design", *columns], rows),
        "clients": clients,
        "num_designs": len(designs),
    }


def _by_client(design: Design, fates: Sequence[Fates]) -> Table:
    attempts = pd.concat([each.attempts for each in fates])
    plans = pd.concat([run.plans for run in design.counted])
    unable = plans[~plans["is_able"].astype(bool)].groupby("client").size()
    lost = attempts[~attempts["arrived"]]
    grouped, lost_of = attempts.groupby("client"), lost.groupby("client")
    found = pd.DataFrame(
        {
            "cell": grouped["edge"].last().replace("", "unknown"),
            "num_jobs": grouped.size(),
            "dropped": lost_of.size(),
            "wasted": lost_of["energy_j"].sum(),
            "unable": unable,
        },
        index=grouped.size().index,
    ).fillna(0)
    found = found.sort_values("dropped", ascending=False, kind="stable").head(_MOST_CLIENTS)
    because = lost.groupby(["client", "reason"]).size().unstack(fill_value=0)
    reasons = list(because)
    counts = because.reindex(found.index, fill_value=0)
    rows = []
    for (client, own), why in zip(found.iterrows(), counts.to_numpy(), strict=True):
        row: list[object] = [client, own["cell"], own["num_jobs"], int(own["dropped"]), *map(int, why)]
        rows.append([*row, number(own["wasted"])] + ([int(own["unable"])] if len(plans) else []))
    header = ["client", "cell", "took part", "dropped", *reasons, "wasted (J)"]
    header += ["not able to take part (plan)"] if len(plans) else []
    which = (
        f"the {_MOST_CLIENTS} of {grouped.ngroups:,} with most drops"
        if grouped.ngroups > _MOST_CLIENTS
        else "all"
    )
    runs = "of one run" if len(fates) == 1 else f"of {len(fates)} runs, added up"
    caption = f"Jobs by client, {runs}, most drops first; {which}; {design.name}"
    return Table(caption, header, rows)
