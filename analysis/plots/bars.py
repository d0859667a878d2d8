"""Bars: of groups side by side, and stacked, such as the energy of designs by what it was spent on."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.activities import in_words
from analysis.designs import Design, Reading
from analysis.fates import UNKNOWN, Fates, check_clients, keeps_energy
from analysis.intervals.bounded import mean_within
from analysis.intervals.statistics import Interval
from analysis.plots.encoding import COLOURS
from analysis.plots.style import FEWEST_RUNS, Looks, in_legend, legend_above, looks_of, plain, wasted
from cosim.records.rows import REST

MOST_BARS = 60
ROW_IN = 0.24
"""Height of a lying bar with its room, in inch."""

_AT_REST = frozenset(map(in_words, REST))


def bars(axes: Axes, groups: Mapping[str, Mapping[str, Interval | None]], y_label: str) -> None:
    """Bars by group label and series label, with their intervals; what was not reached is marked so."""
    series = list(dict.fromkeys(label for values in groups.values() for label in values))
    width = 0.8 / len(series)
    for index, label in enumerate(series):
        found = [values.get(label) for values in groups.values()]
        heights = [None if own is None else own.estimate for own in found]
        places = [place + (index - (len(series) - 1) / 2) * width for place in range(len(groups))]
        axes.bar(
            places,
            [height or 0.0 for height in heights],
            width=0.9 * width,
            label=label,
            facecolor=(COLOURS[0], "white", "#9cc5e3", "white")[index % 4],
            edgecolor=COLOURS[0],
            hatch=(None, "////", None, None)[index % 4],
        )
        for place, own in zip(places, found, strict=True):
            text = "not\nreached" if own is None else f"{own.estimate:.3g}"
            top = 0.0 if own is None else max(own.high, own.estimate)
            axes.annotate(text, (place, top), ha="center", va="bottom", fontsize=7)
            if own is not None and own.high > own.low:
                ends = [[own.estimate - own.low], [own.high - own.estimate]]
                axes.errorbar([place], [own.estimate], ends, color="#4a4a4a", linewidth=0.9, capsize=2.5)
    axes.set_xticks(range(len(groups)), list(groups))
    axes.margins(y=0.22)  # numbers stand below the legend
    axes.set_ylabel(y_label)
    axes.legend(fontsize=8, loc="upper center", ncols=len(series))


def stacked(
    axes: Axes,
    rows: Mapping[str, Mapping[str, float]],
    looks: Mapping[str, Looks],
    x_label: str,
    sums: Mapping[str, Interval] | None = None,
) -> None:
    """A lying bar per row, its parts one after the other.

    Args:
        rows: Name -> part -> length; parts that no row has are not drawn.
        looks: Part -> how it looks, in the order of the parts.
        sums: Name -> the interval of the sum of its parts. None means no intervals.
    """
    left = np.zeros(len(rows))
    shown = []
    for part, own in looks.items():
        lengths = np.array([of.get(part, 0.0) for of in rows.values()])
        (places,) = np.nonzero(lengths)
        if len(places):
            shown.append(part)
            label = plain(part)
            axes.barh(
                places, lengths[places], left=left[places], height=0.72, label=label, linewidth=0.5, **own
            )
        left += lengths
    for place, name in enumerate(rows):
        own = (sums or {}).get(name)
        if own is not None and own.high > own.low:
            ends = [[max(own.estimate - own.low, 0.0)], [max(own.high - own.estimate, 0.0)]]
            axes.errorbar([own.estimate], [place], xerr=ends, color="#4a4a4a", linewidth=1.0, capsize=2.0)
    axes.set_yticks(range(len(rows)), row_names(axes, rows))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel(x_label)
    if shown:
        legend_above(axes, shown)


def row_names(axes: Axes, names: Iterable[str]) -> list[str]:
    """Names as they stand at rows: as wide as the figure leaves room for, in at most two lines."""
    figure = axes.get_figure(root=True)
    characters = max(24, int(5.0 * figure.get_figwidth())) if figure else 24
    return [in_legend(name, characters) for name in names]


def sums_of(designs: Sequence[Design], reading: Reading, scale: float = 1.0) -> dict[str, Interval]:
    """Intervals of the mean of a number over runs, from three runs on.

    Args:
        reading: A number that is not below 0.
        scale: What it is divided by.
    """
    found = {design.name: [(reading(run) or 0.0) / scale for run in design.counted] for design in designs}
    return {name: mean_within(own, 0.0, math.inf) for name, own in found.items() if len(own) >= FEWEST_RUNS}


def energy(axes: Axes, designs: Sequence[Design], fates: Mapping[int, Fates] | None = None) -> int:
    """Energy of the clients by activity, for updates that arrived and for others.

    Where a run kept rows of its edge rounds alone, by activity only, in all designs.

    Args:
        fates: Fates of each run, by `id`. None means read from the runs.

    Returns:
        How many designs were drawn, the first ones.

    Raises:
        ValueError: A run kept no rows at all of its clients.
    """
    check_clients((run for design in designs[:MOST_BARS] for run in design.counted), keeps_energy)
    parts, looks = energy_parts(designs[:MOST_BARS], fates)
    sums = sums_of(designs[:MOST_BARS], lambda run: run.summary.energy_j)
    stacked(axes, parts, looks, "energy of all clients (J)", sums)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    return len(parts)


def energy_parts(
    designs: Sequence[Design], fates: Mapping[int, Fates] | None = None
) -> tuple[dict[str, dict[str, float]], dict[str, Looks]]:
    """Mean joules over runs, design by design and part by part, and how the parts look."""
    fates = fates or {}
    known = {
        design.name: [fates.get(id(run)) or Fates.of(run) for run in design.counted] for design in designs
    }
    tables = {name: [each.spent_j for each in own] for name, own in known.items()}
    is_known = all(each.is_known for own in known.values() for each in own)
    activities = dict.fromkeys(
        in_words(activity) for own in tables.values() for each in own for _, activity in each
    )
    looks = looks_of(activities)
    outside = {"facecolor": "#ffffff", "edgecolor": "#4a4a4a", "hatch": "++"}
    looks |= (
        {f"wasted: {doing}": wasted(own) for doing, own in looks.items()}
        | {f"{doing}, no job": own | {"edgecolor": "#e08e0b"} for doing, own in looks.items()}
        | {"in jobs that had not ended": outside}
    )
    found: dict[str, dict[str, float]] = {}
    for name, own in tables.items():
        found[name] = {}
        for each in own:
            for (fate, activity), joules in each.items():
                part = _part(fate if is_known else UNKNOWN, in_words(activity))
                found[name][part] = found[name].get(part, 0.0) + joules / len(own)
    return found, looks


def _part(fate: str, doing: str) -> str:
    if fate == "not ended":
        return "in jobs that had not ended"
    if fate == "no job" and doing in _AT_REST:
        return doing  # never of a job
    return {"wasted": f"wasted: {doing}", "no job": f"{doing}, no job"}.get(fate, doing)
