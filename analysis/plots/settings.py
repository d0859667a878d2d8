"""Settings: how figures of ours are drawn and saved, whatever a reader has set for their own.

A matplotlibrc, a notebook's style or `text.usetex` is for the figures of its owner. Ours begin from the
defaults of Matplotlib, and what was set before holds again afterwards. The backend is left alone: a figure
without pyplot needs none.

Usage::

    with drawing({"font.size": 8}):
        overview(result).savefig("overview.png")
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.rcsetup import cycler

from analysis.plots.encoding import COLOURS

_OURS: dict[str, Any] = {"hatch.linewidth": 0.6, "axes.prop_cycle": cycler(color=COLOURS)}


@contextmanager
def drawing(settings: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Matplotlib's defaults with settings of ours, in place of the user's.

    Args:
        settings: Further ones. None means none.
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        ours: Any = _OURS | dict(settings or {})
        matplotlib.rcParams.update(ours)
        yield
