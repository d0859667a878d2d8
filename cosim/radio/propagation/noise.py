"""Noise: what the noise of a receiver can be.

A density above 0 dBm/Hz is one in W/Hz, as 4e-21 is, or one whose sign was lost: that of thermal noise is
-174 dBm/Hz.
"""

import math
from typing import Any

from cosim.configuration.rules import Broken, Rule, between
from cosim.units import THERMAL_NOISE_DBM_PER_HZ

noise_figure: Rule = between(0.0, 300.0)
"""A receiver adds noise, so its noise figure in dB is 0 or above."""


def noise_density(value: Any) -> str | Broken | None:
    """A density in dBm/Hz, at most 0; the fix for one that looks like W/Hz is in dBm/Hz."""
    broken = between(-300.0, 0.0)(value)
    if broken is None or value < 0.0:
        return broken
    rule = f"{broken}: a density in dBm/Hz is negative"
    meant = 10.0 * math.log10(1e3 * value) if value < 1e-3 else THERMAL_NOISE_DBM_PER_HZ
    how = ", 10 * log10(1000 * W/Hz)" if value < 1e-3 else ", that of thermal noise"
    return Broken(rule, f"Use {meant:.4g} dBm/Hz{how}.")
