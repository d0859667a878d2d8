"""Distribution of a metric over the runs of designs: how many have at most so much."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from analysis.designs import Design
from analysis.plots.amounts import Amounts
from analysis.plots.encoding import Encoding
from analysis.plots.style import in_legend, legend_above, logarithmic
from analysis.samples import Sample


def distribution(axes: Axes, designs: Sequence[Design], amounts: Amounts, encoding: Encoding) -> None:
    """Share of the runs of each design with at most so much of a metric.

    A run that missed its target never has it, so a line ends below 100 % by as much.

    Args:
        designs: Ones that are drawn, of one panel.

    Raises:
        ValueError: No run has it.
    """
    own = {d.name: amounts.by_design[d.name] for d in designs if d.name in amounts.by_design}
    known = {name: amounts.factor * _finite(sample) for name, sample in own.items()}
    everywhere = np.concatenate(
        [np.empty(0), *(amounts.factor * _finite(s) for s in amounts.by_design.values())]
    )
    if not len(everywhere):
        raise ValueError(f"{amounts.words}: no run reached the target. Use a target that some run reached.")
    if amounts.is_logarithmic:
        logarithmic(axes, "x")
    for name, values in known.items():
        shares = 100.0 * np.arange(len(values) + 1) / own[name].num_runs
        x = [everywhere.min(), *np.sort(values), everywhere.max()]
        looks = encoding[name].line(len(x))
        axes.step(x, [*shares, shares[-1]], where="post", label=in_legend(encoding.labels[name]), **looks)
    axes.set(xlabel=amounts.words, ylabel="share of runs (%)")
    axes.set_ylim(0, 103)
    axes.grid(alpha=0.3)
    if len(own) > 1:
        legend_above(axes, [encoding.labels[name] for name in own])


def _finite(sample: Sample) -> np.ndarray:
    """Values of its runs, without the ones that missed a target."""
    values = sample.taken.to_numpy(dtype=float)
    return values[np.isfinite(values)]
