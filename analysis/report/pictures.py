"""The pictures of a report as inline SVG: curves, energy, and the timeline of a global round.

The colours are CSS variables of `page`, so that pictures are light or dark as the page is. Lines and
bars are named by their designs. The same rows give the same bytes.

Scope: six lines, told apart by colour, dash and marker; 60 clients in a timeline.

Usage::

    html = curve_pictures(lines, lines, measure=measure, prefix="accuracy-")
"""

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import attrs
import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analysis.designs import wrapped
from analysis.plots import COLOURS, is_logarithmic, style, timeline
from analysis.report.page import text
from cosim.records import Measure
from cosim.results import Result

MOST_ROWS = 60
"""Clients in a timeline: more cannot be told apart."""

AXES = {
    "time_s": (1.0, "simulated time (s)"),
    "energy_j": (1.0, "energy of all clients (J)"),
    "bits_per_client": (1e6, "sent per client (Mbit)"),
}
"""What curves are drawn over: column -> scale and words."""

_SETTINGS = {"svg.hashsalt": "cosim", "svg.fonttype": "none", "text.parse_math": False}
_BARS: tuple[dict[str, Any], ...] = (
    {"facecolor": "#0b3c5d", "edgecolor": "#0b3c5d"},
    {"facecolor": "#9cc5e3", "edgecolor": "#0b3c5d", "hatch": "////"},
    {"facecolor": "#ffffff", "edgecolor": "#0b3c5d"},
    {"facecolor": "#9b2226", "edgecolor": "#9b2226"},
    {"facecolor": "#ffffff", "edgecolor": "#9b2226", "hatch": "////"},
    {"facecolor": "#ffffff", "edgecolor": "#9b2226"},
    {"facecolor": "#dddddd", "edgecolor": "#4a4a4a"},
    {"facecolor": "#ffffff", "edgecolor": "#4a4a4a", "hatch": "...."},
)


class Curve(NamedTuple):
    """A measured quantity of one design: the mean over its runs, and the ends of its intervals."""

    name: str
    points: pd.DataFrame
    """Columns time_s, energy_j, bits_per_client, mean, low, high; a row per evaluated global round."""


def curve_pictures(lines: Sequence[Curve], framed: Sequence[Curve], *, measure: Measure, prefix: str) -> str:
    """What a task reports over time, energy and bits, side by side in one figure.

    Args:
        framed: The curves that set the limits of the axes.
        prefix: Of the ids in the pictures.
    """
    pictures = "\n".join(_curve_picture(lines, framed, measure, column, prefix) for column in AXES)
    return f'<figure><div class="panels">{pictures}</div></figure>'


def _curve_picture(
    lines: Sequence[Curve], framed: Sequence[Curve], measure: Measure, column: str, prefix: str
) -> str:
    factor, y_label = measure.factor, measure.label
    scale, x_label = AXES[column]
    with _drawing():
        figure = Figure(figsize=(4.6, 3.4), layout="constrained")
        axes = figure.subplots()
        alpha = 0.18 if len(lines) < 4 else 0.09
        for index, line in enumerate(lines):
            x = line.points[column] / scale
            ends = factor * line.points["low"], factor * line.points["high"]
            axes.plot(x, factor * line.points["mean"], label=wrapped(line.name), **style(index, len(x)))
            axes.fill_between(x, *ends, color=COLOURS[index % len(COLOURS)], alpha=alpha, linewidth=0.0)
        axes.set(xlabel=x_label, ylabel=y_label)
        axes.grid(alpha=0.3)
        _frame(axes, framed, measure, column)
        if len(framed) > 1:
            place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 2, "fontsize": 8}
            axes.legend(**place, frameon=False, columnspacing=1.0, handlelength=2.2)
        last = "; ".join(
            f"{line.name}: {factor * line.points['mean'].iloc[-1]:.4g} at "
            f"{line.points[column].iloc[-1] / scale:.4g}"
            for line in lines
        )
        said = f"{y_label[:1].upper()}{y_label[1:]} over {x_label}. Last values: {last}."
        return _svg(figure, said, f"{prefix}{column}-")


def _frame(axes: Axes, framed: Sequence[Curve], measure: Measure, column: str) -> None:
    """Scale and limits that all pictures share: of the means along x, of the intervals too along y."""
    points = pd.concat([line.points for line in framed])
    scale = AXES[column][0]
    furthest = float(points[column].max()) / scale
    values = measure.factor * points[["mean", "low", "high"]].to_numpy()
    values = values[np.isfinite(values)]
    if furthest > 0.0:
        axes.set_xlim(-0.03 * furthest, 1.03 * furthest)
    if is_logarithmic(measure, points["mean"]):
        axes.set_yscale("log")
        if (values := values[values > 0.0]).size and values.max() > values.min():
            margin = (values.max() / values.min()) ** 0.04
            axes.set_ylim(values.min() / margin, values.max() * margin)
    elif len(values):
        low, high = float(values.min()), float(values.max())
        if measure.is_share:
            low, high = max(0.0, low), min(100.0, high)
        margin = 0.04 * (high - low) or 1.0
        axes.set_ylim(low - margin, high + margin)
    axes.xaxis.set_major_locator(MaxNLocator(5))


def energy_picture(designs: Mapping[str, Mapping[str, float]], caption: str) -> str:
    """Bars of the energy of designs, part by part.

    Args:
        designs: Name of a design -> words of a part -> joules, the same eight parts in the same order; parts
            that nobody has are not drawn.
    """
    parts = list(next(iter(designs.values())))
    names = list(designs)
    with _drawing():
        figure = Figure(figsize=(9.0, 1.5 + 0.24 * len(names)), layout="constrained")
        axes = figure.subplots()
        left_j = np.zeros(len(names))
        for part, looks in zip(parts, _BARS, strict=True):
            joules = np.array([designs[name][part] for name in names])
            (spent,) = np.nonzero(joules)
            if len(spent):
                axes.barh(spent, joules[spent], left=left_j[spent], height=0.72, label=part, **looks)
            left_j += joules
        axes.set_yticks(range(len(names)), [wrapped(name) for name in names])
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlabel("energy (J)")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, fontsize=8, frameon=False)
        told = "; ".join(
            f"{name}: " + ", ".join(f"{part} {joules:.4g} J" for part, joules in own.items() if joules)
            for name, own in designs.items()
        )
        picture = _svg(figure, f"{caption} {told}.", "energy-")
    return _wide(picture, "Energy", caption)


def timeline_picture(result: Result, global_round: int, prefix: str, caption: str) -> str:
    """Who computed, sent, waited and was cut off in one global round, as a figure that scrolls."""
    rounds = result.rounds[
        (result.rounds["global_round"] == global_round) & (result.rounds["level"] == "global")
    ]
    spans = result.spans
    if len(rounds):
        inside = spans["start_s"].lt(rounds["end_s"].iloc[0]) & spans["end_s"].gt(rounds["start_s"].iloc[0])
        spans = spans[inside & spans["node"].str.startswith("client")]
    clients = sorted(spans["node"].unique())
    if len(clients) > MOST_ROWS:
        caption += f" Drawn are the first {MOST_ROWS} of {len(clients)} clients."
        spans = spans[spans["node"].isin(clients[:MOST_ROWS])]
    with _drawing():
        height = 1.5 + 0.17 * min(len(clients), MOST_ROWS)
        figure = Figure(figsize=(9.0, max(2.4, height)), layout="constrained")
        axes = figure.subplots()
        timeline(axes, attrs.evolve(result, spans=spans), global_round)
        picture = _svg(figure, f"Timeline. {caption}", prefix)
    return _wide(picture, "Timeline", caption)


def _wide(picture: str, name: str, caption: str) -> str:
    region = f'<div class="scroll" tabindex="0" role="region" aria-label="{text(name)}">'
    return f'<figure class="wide">{region}{picture}</div><figcaption>{text(caption)}</figcaption></figure>'


@contextmanager
def _drawing() -> Iterator[None]:
    """Settings under which the same rows give the same bytes."""
    with warnings.catch_warnings(), matplotlib.rc_context(_SETTINGS):
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        yield


def _svg(figure: Figure, said: str, prefix: str) -> str:
    """The figure as an SVG element with a text alternative; its ids begin with the prefix."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    drawing = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", buffer.getvalue(), flags=re.DOTALL)
    drawing = re.sub(r"<[^>]*>", lambda tag: _tag(tag.group(), prefix), drawing[drawing.index("<svg") :])
    box = re.search(r'viewBox="[^"]*"', drawing)
    assert box
    opening = f'<svg {box.group()} role="img" aria-label="{text(said)}">'
    return re.sub(r"^<svg[^>]*>", lambda _: opening, drawing).strip()


def _tag(tag: str, prefix: str) -> str:
    """A tag without addresses, with ids that no other picture has, and with colours that follow the page."""
    tag = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", tag).replace("xlink:href=", "href=")
    tag = re.sub(r'\s(id|href)="(#?)', rf' \1="\2{prefix}', tag).replace("url(#", f"url(#{prefix}")
    return re.sub(r'(?:(?<=: )|(?<=fill="))#([0-9a-f]{6})\b', r"var(--p\1, #\1)", tag)
