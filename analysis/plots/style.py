"""Looks of lines, activities and legends: told apart in grey and in print, by dash, marker and hatch."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from analysis.activities import BACKHAUL, IDLE
from analysis.designs import wrapped
from analysis.plots.encoding import COLOURS, look_of
from cosim.records.measures import Measure

FEWEST_RUNS = 3
"""Of fewer runs a picture shows each one: with one degree of freedom an interval says too little."""
MOST_BANDS = 3
"""Lines whose bands can be told apart where they overlap."""

Looks = dict[str, Any]

_KNOWN: dict[str, Looks] = {
    "training": {"facecolor": "#0b3c5d", "edgecolor": "#0b3c5d"},
    "sending": {"facecolor": "#9cc5e3", "edgecolor": "#0b3c5d", "hatch": "////"},
    "receiving": {"facecolor": "#ffffff", "edgecolor": "#0b3c5d"},
    "waiting to send": {"facecolor": "#ffffff", "edgecolor": "#4a4a4a", "hatch": "...."},
    "collecting": {"facecolor": "#ffffff", "edgecolor": "#4a4a4a", "hatch": "||||"},
    BACKHAUL: {"facecolor": "#e08e0b", "edgecolor": "#4a4a4a", "hatch": "xxxx"},
    "idle": {"facecolor": "#ffffff", "edgecolor": "#b0b0b0", "hatch": "...."},
    "asleep": {"facecolor": "#eeeeee", "edgecolor": "#b0b0b0", "hatch": "----"},
    "battery empty": {"facecolor": "#4a4a4a", "edgecolor": "#ffffff", "hatch": "xx"},
    IDLE: {"facecolor": "#dddddd", "edgecolor": "none"},
}
_HATCHES = ("\\\\\\\\", "++", "oo", "--", "**", "\\\\", "xx")
_WASTED, _WASTED_GROUND = "#9b2226", "#e3b5b5"


def style(index: int, num_points: int) -> dict[str, Any]:
    """How the line of an index looks, where no designs are drawn; about twelve of its points are marked."""
    return look_of(index).line(num_points)


def looks_of(activities: Iterable[str]) -> dict[str, Looks]:
    """How the bars of activities look, by their words: ours always the same, ours first, others by name."""
    given = dict.fromkeys(activities)
    others = sorted(name for name in given if name not in _KNOWN)
    looks = {name: own for name, own in _KNOWN.items() if name in given and name != IDLE}
    for index, name in enumerate(others):
        colour, hatch = COLOURS[(2 + index) % len(COLOURS)], _HATCHES[index % len(_HATCHES)]
        looks[name] = {"facecolor": "#ffffff", "edgecolor": colour, "hatch": hatch}
    return looks | ({IDLE: _KNOWN[IDLE]} if IDLE in given else {})


def wasted(looks: Looks) -> Looks:
    """The same in the colour of what was wasted, on another ground, which is seen in grey too."""
    ground = _WASTED_GROUND if looks["facecolor"] == "#ffffff" else "#ffffff"
    is_filled = looks["facecolor"] == looks["edgecolor"]
    return looks | {"facecolor": ground, "edgecolor": _WASTED} | ({"hatch": "xxxx"} if is_filled else {})


def plain(name: str) -> str:
    """A name as Matplotlib shows it word for word, dollars and all."""
    return name.replace("$", r"\$")


def in_legend(name: str, width: int = 30) -> str:
    """A name as a legend shows it, in at most two lines of `width` characters."""
    return plain(wrapped(name, width))


def legend_above(axes: Axes, names: Iterable[str], **entries: Any) -> None:
    """A legend above the axes, in as many columns as its names and the figure's width leave room for.

    Args:
        names: Names in the legend, before they are wrapped.
        entries: Handles of the legend, where the axes' own are not meant.
    """
    names = list(names)
    figure = axes.get_figure(root=True)
    assert figure is not None
    columns = _columns(names, axes.get_position().width * figure.get_figwidth())
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": columns}
    axes.legend(**place, frameon=False, columnspacing=1.0, handlelength=2.2, **entries)


def legend_height_in(names: Iterable[str], width_in: float) -> float:
    """Height in inch that a legend above axes of a width takes, of names of a point size of eight."""
    names = list(names)
    lines = [1 + wrapped(name).count("\n") for name in names]
    columns = _columns(names, width_in)
    return 0.15 * sum(max(lines[place : place + columns]) for place in range(0, len(lines), columns))


def _columns(names: Sequence[str], width_in: float) -> int:
    """Columns of a legend that its names and the width of its axes leave room for."""
    size = matplotlib.rcParams["legend.fontsize"]
    points = 10.0 if isinstance(size, str) else float(size)
    longest = max((len(line) for name in names for line in wrapped(name).split("\n")), default=0)
    column_in = (4.5 + 0.58 * longest) * points / 72.0
    return max(1, min(len(names), int(1.15 * width_in / column_in)))


def logarithmic(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with plain numbers such as 0.2 and 50 at it."""
    if which == "x":
        axes.set_xscale("log")
    else:
        axes.set_yscale("log")
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:,.6g}")
    axis.set_minor_formatter(NullFormatter())


def is_logarithmic(measure: Measure, values: Any) -> bool:
    """True if values of a measure are drawn on a logarithmic axis: errors are, unless one is 0 or less."""
    finite = np.asarray(values)[np.isfinite(values)]
    return not measure.higher_is_better and not measure.is_share and bool((finite > 0.0).all())
