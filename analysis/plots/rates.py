"""Rates: how fast each upload of a run went, over simulated time."""

import numpy as np
from matplotlib.axes import Axes

from analysis.fates import NOT_KEPT
from analysis.plots.encoding import COLOURS
from analysis.plots.style import legend_above, logarithmic
from cosim.results.result import Result
from cosim.units import prefixed

_MOST_POINTS = 2_000
_ARRIVED, _LOST = "update arrived", "update lost"


def rates_picture(axes: Axes, result: Result) -> None:
    """Bits that came through of each upload, over how long it lasted; of many uploads some, evenly.

    Raises:
        ValueError: The run kept no rows of its clients.
    """
    found = result.uploads
    found = found[(found["end_s"] > found["start_s"]) & (found["sent_bits"] > 0.0)].reset_index(drop=True)
    if found.empty:
        raise ValueError("no upload sent anything." if len(result.uploads) else f"{NOT_KEPT}.")
    rate_bps = found["sent_bits"] / (found["end_s"] - found["start_s"])
    scale, unit = prefixed(float(rate_bps.max()), "bit/s")
    chosen = np.unique(np.linspace(0, len(found) - 1, min(len(found), _MOST_POINTS)).round().astype(int))
    arrived = found["arrived"].to_numpy(dtype=bool)[chosen]
    at_s, rate = found["start_s"].to_numpy()[chosen], rate_bps.to_numpy()[chosen] / scale
    for words, own, colour, marker in (
        (_ARRIVED, arrived, COLOURS[0], "."),
        (_LOST, ~arrived, COLOURS[1], "x"),
    ):
        if own.any():
            axes.plot(at_s[own], rate[own], marker, color=colour, markersize=4, label=words, alpha=0.8)
    if rate.max() >= 10.0 * rate.min():
        logarithmic(axes, "y")
    axes.set_xlabel("start of the upload (s)")
    axes.set_ylabel(f"mean rate of the upload ({unit})")
    axes.grid(alpha=0.3)
    legend_above(axes, [_ARRIVED, _LOST])
