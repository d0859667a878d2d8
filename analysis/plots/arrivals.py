"""Distribution of the time until updates arrive: how many of those asked for are there after how long."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from analysis.designs import Design
from analysis.fates import check_clients
from analysis.plots.encoding import Encoding
from analysis.plots.style import in_legend, legend_above
from cosim.records.rows import DONE

_MOST_POINTS = 500


def arrivals(axes: Axes, designs: Sequence[Design], encoding: Encoding) -> None:
    """Share of updates that have arrived, over the time since they were asked for, all runs together.

    What was dropped never arrives, so a line ends below 100 % by as much.

    Args:
        designs: Ones that are drawn, of one panel.

    Raises:
        ValueError: A run kept no rows of its clients.
    """
    check_clients(run for design in designs for run in design.counted)
    found = []
    for design in designs:
        fates = [run.fates for run in design.counted]
        taken_s = [own["end_s"] - own["start_s"] for own in fates]
        arrived = [np.asarray(own["outcome"] == DONE) for own in fates]
        found.append(
            (
                np.sort(np.concatenate([t[a] for t, a in zip(taken_s, arrived, strict=True)])),
                sum(map(len, fates)),
            )
        )
    longest_s = max((float(times[-1]) for times, _ in found if len(times)), default=0.0)
    scale, unit = (1e3, "ms") if longest_s < 1.0 else (1.0, "s")
    for design, (times_s, number) in zip(designs, found, strict=True):
        shares = 100.0 * np.arange(1, len(times_s) + 1) / max(number, 1)
        chosen = (
            np.unique(np.linspace(0, len(times_s) - 1, _MOST_POINTS).round().astype(int))
            if len(times_s)
            else []
        )
        x = np.concatenate([[0.0], scale * times_s[chosen], [scale * longest_s]])
        y = np.concatenate([[0.0], shares[chosen], shares[-1:] if len(shares) else [0.0]])
        looks = encoding[design.name].line(len(x))
        axes.step(x, y, where="post", label=in_legend(encoding.labels[design.name]), **looks)
    axes.set(xlabel=f"time from the start of the job ({unit})", ylabel="updates that have arrived (%)")
    axes.set_ylim(0, 103)
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    if len(designs) > 1:
        legend_above(axes, [encoding.labels[design.name] for design in designs])
