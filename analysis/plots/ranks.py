"""Picture of ranks: how designs change places when a target is priced in another way.

A line joins the ranks of a design by their means; a bar spans the ranks that the data do not rule out.
"""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from analysis.plots.style import plain, style
from analysis.rankings import Ranked


def rank_changes(axes: Axes, by_cost: Mapping[str, Sequence[Ranked]]) -> None:
    """Draw the ranks of designs by several costs.

    Args:
        by_cost: What is counted -> the designs, in one order; designs without ranks are left out.
    """
    numbers = {entry.name: number for entries in by_cost.values() for number, entry in enumerate(entries)}
    lines: dict[str, list[tuple[float, int, Ranked]]] = {}
    for place, entries in enumerate(by_cost.values()):
        own = sorted((entry for entry in entries if entry.ranks is not None), key=lambda e: e.taken)
        for rank, entry in enumerate(own, 1):
            lines.setdefault(entry.name, []).append((place, rank, entry))
    width = 0.6 / max(1, len(lines))
    for name, points in lines.items():
        number = numbers[name]
        looks = style(number, 1) | {"markevery": 1, "markersize": 5.0}
        shift = (number - (len(numbers) - 1) / 2) * width
        at = [place + shift for place, _, _ in points]
        axes.plot(at, [rank for _, rank, _ in points], zorder=3, **looks)
        for x, (_, _, entry) in zip(at, points, strict=True):
            assert entry.ranks is not None
            ends = (entry.ranks.best - 0.25, entry.ranks.worst + 0.25)
            axes.plot([x, x], ends, color=looks["color"], linewidth=2.2, alpha=0.35, zorder=2)
        for (place, rank, _), side, align in ((points[0], -0.4, "right"), (points[-1], 0.4, "left")):
            words = {"ha": align, "va": "center", "fontsize": 7, "color": looks["color"]}
            axes.text(place + side, rank, plain(name), **words)
    axes.set_xticks(range(len(by_cost)), list(by_cost))
    axes.set_xlim(-1.5, len(by_cost) + 0.5)
    axes.set_ylim(len(lines) + 0.6, 0.4)
    axes.set_yticks(range(1, len(lines) + 1))
    axes.set_ylabel("rank, 1 takes least")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
