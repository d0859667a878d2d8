"""Facets: the panels of a study in a figure, one up to twelve designs, else a grid of them.

Usage::

    figure = Figure(figsize=(width_in, height_in(encoding, width_in)), layout="constrained")
    in_facets(figure, encoding, lambda axes, designs: model_over(axes, designs, encoding))
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.designs import Design
from analysis.plots.encoding import Encoding
from analysis.plots.style import legend_height_in, plain

MOST_FACETS = 16
"""Panels in a figure; the first ones are drawn."""
_LEAST_IN = 1.6
"""Width of a panel."""
_MOST_COLUMNS = 4
_MOST_UNLIKE = 4.0
"""Ratio of the longest x of panels to the shortest, up to which they have one range."""
_SHAPE = 0.74
"""Height of one panel alone over its width."""
_LEGEND_SHARE = 0.8
"""Width of the legend over that of the figure."""

Drawing = Callable[[Axes, Sequence[Design]], Any]


def in_facets(figure: Figure, encoding: Encoding, draw: Drawing) -> list[Axes]:
    """Draw the designs of a study, each panel with its own, and one legend where all panels have the same.

    Args:
        draw: Draws designs, and their legend, into axes.

    Returns:
        The axes that were drawn into.
    """
    facets = encoding.facets[:MOST_FACETS]
    if len(facets) == 1:
        axes = figure.subplots()
        draw(axes, facets[0].designs)
        return [axes]
    num_columns = columns_of(len(facets), figure.get_figwidth())
    num_rows = -(-len(facets) // num_columns)
    grid = figure.subplots(num_rows, num_columns, sharey=True, squeeze=False)
    drawn: list[Axes] = list(grid.flat[: len(facets)])
    for axes, facet in zip(drawn, facets, strict=True):
        draw(axes, facet.designs)
        if facet.title:
            axes.set_title(plain(facet.title), fontsize=axes.xaxis.label.get_fontsize())
    _label_outer(figure, drawn, num_columns, is_shared=_share_x(drawn))
    for axes in grid.flat[len(facets) :]:
        axes.remove()
    if has_one_legend(encoding):
        _share_legend(figure, drawn, encoding)
    return drawn


def has_one_legend(encoding: Encoding) -> bool:
    """True if the panels are of the values of a field, and each has the same names."""
    return bool(encoding.facets[0].title)


def columns_of(number: int, width_in: float) -> int:
    """Columns of a grid of panels, at most four, in which as few places as can be stay empty.

    Args:
        number: Of the panels.
        width_in: Width of the grid.
    """
    most = max(1, min(number, _MOST_COLUMNS, int(width_in / _LEAST_IN)))
    fewest = max(min(2, most), -(-most // 2))
    return min(range(fewest, most + 1), key=lambda columns: (-number % columns, -columns))


def height_in(encoding: Encoding, width_in: float) -> float:
    """Height in inch of a figure of a width, with the legends."""
    facets = encoding.facets[:MOST_FACETS]
    names = [[encoding.labels[own.name] for own in facet.designs] for facet in facets]
    if len(facets) == 1:
        legend_in = legend_height_in(names[0], _LEGEND_SHARE * width_in) if len(names[0]) > 1 else 0.0
        return _SHAPE * width_in + legend_in
    num_columns = columns_of(len(facets), width_in)
    num_rows, panel_in = -(-len(facets) // num_columns), width_in / num_columns
    rows_in = num_rows * (_SHAPE * panel_in + 0.12) + 0.3
    if has_one_legend(encoding):
        return rows_in + legend_height_in({*chain(*names)}, _LEGEND_SHARE * width_in)
    return rows_in + num_rows * max(legend_height_in(own, _LEGEND_SHARE * panel_in) for own in names)


def _share_x(drawn: Sequence[Axes]) -> bool:
    """Give the panels one range of x, unless that would leave some of them nearly empty; True if it did."""
    low, high = zip(*(axes.get_xlim() for axes in drawn), strict=True)
    lengths = [axes.dataLim.x1 - axes.dataLim.x0 for axes in drawn]
    if max(lengths) > _MOST_UNLIKE * min(lengths):
        return False
    for axes in drawn:
        axes.set_xlim(min(low), max(high))
    return True


def _label_outer(figure: Figure, drawn: Sequence[Axes], num_columns: int, *, is_shared: bool) -> None:
    """Words at the axes once for all panels; numbers at the outer ones, along x at all that differ."""
    first = drawn[0]
    size = first.xaxis.label.get_fontsize()
    figure.supxlabel(first.get_xlabel(), fontsize=size)
    figure.supylabel(first.get_ylabel(), fontsize=size)
    for number, axes in enumerate(drawn):
        is_last = number + num_columns >= len(drawn)
        axes.set(xlabel="", ylabel="")
        axes.tick_params(labelleft=number % num_columns == 0, labelbottom=is_last or not is_shared)


def _share_legend(figure: Figure, drawn: Sequence[Axes], encoding: Encoding) -> None:
    """One legend of what all panels name, above them."""
    entries: dict[str, Any] = {}
    for axes in drawn:
        handles, labels = axes.get_legend_handles_labels()
        entries |= {
            label: handle for label, handle in zip(labels, handles, strict=True) if label not in entries
        }
        if (legend := axes.get_legend()) is not None:
            legend.remove()
    number = np.clip(int(figure.get_figwidth() / 1.5), 1, max(1, len(entries)))
    figure.legend(
        list(entries.values()), list(entries), loc="outside upper center", ncols=int(number), frameon=False
    )
