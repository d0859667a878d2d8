"""Directions: what a client has sent up and received, design by design."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.designs import Design
from analysis.plots.bars import MOST_BARS, stacked, sums_of
from analysis.plots.style import Looks, looks_of
from cosim.results.result import Result
from cosim.units import prefixed

_LIKE = looks_of(["sending", "receiving"])
_LOOKS: dict[str, Looks] = {"sent up": _LIKE["sending"], "received": _LIKE["receiving"]}


def directions(axes: Axes, designs: Sequence[Design]) -> int:
    """Bits that a client has sent and received, dropped updates included.

    Returns:
        How many designs were drawn, the first ones.
    """
    parts = direction_parts(designs[:MOST_BARS])
    scale, unit = prefixed(max(sum(own.values()) for own in parts.values()), "bit")
    scaled = {name: {part: bits / scale for part, bits in own.items()} for name, own in parts.items()}
    sums = sums_of(designs[:MOST_BARS], _both_ways, scale)
    stacked(axes, scaled, _LOOKS, f"per client ({unit})", sums)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    return len(parts)


def direction_parts(designs: Sequence[Design]) -> Mapping[str, Mapping[str, float]]:
    """Bits of a client by design and direction, means over clients and runs."""
    return {
        design.name: {
            "sent up": _mean([run.summary.bits_per_client for run in design.counted]),
            "received": _mean([run.summary.received_bits_per_client for run in design.counted]),
        }
        for design in designs
    }


def _both_ways(run: Result) -> float:
    return run.summary.bits_per_client + run.summary.received_bits_per_client


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
