"""Units: the suffixes of our names, the density of thermal noise, decibels and whole numbers.

Inside the engine every number is SI and linear; decibels live in configurations and reports, and are
converted here alone. Users write decimals, which binary numbers round: 0.3 / 0.1 is 2.9999999999999996. Where
a ratio says how many of one thing another holds, `most_whole` or `least_whole` makes it a whole number.
"""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

THERMAL_NOISE_DBM_PER_HZ = -174.0
"""Thermal noise density at 290 K, rounded."""

SUFFIXES = {
    "_w_per_hz": "W/Hz",
    "_dbm_per_hz": "dBm/Hz",
    "_m_per_s": "m/s",
    "_j_per_hz2": "J/Hz²",
    "_per_s": "1/s",
    "_s2": "s²",
    "cycles_per_bit": "cycles/bit",
    "cycles_per_flop": "cycles/operation",
    "cycles_per_value": "cycles/value",
    "_cycles": "cycles",
    "_bits": "bit",
    "_gib": "GiB",
    "_bps": "bit/s",
    "_dbm": "dBm",
    "_db": "dB",
    "_hz": "Hz",
    "_nats": "nats",
    "_s": "s",
    "_w": "W",
    "_j": "J",
    "_m": "m",
}
"""Name suffix to printed unit; longer suffixes first, because the first match wins."""

_PREFIXED = ("Hz", "bit", "bit/s", "s", "W", "J")
_PREFIXES = (
    *((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")),
    *((1e-3, "m"), (1e-6, "µ"), (1e-9, "n")),
)


ROUNDING = 2.0**-49
"""Relative error that a ratio of products of a few decimals may have; 1.8 ns in 1e6 s."""


def most_whole(ratio: "float | NDArray[np.float64]") -> "NDArray[np.int64]":
    """The most whole ones in a ratio of decimals, 0 or above: 3 for 0.3 / 0.1, as for 3.9.

    A ratio that lacks no more than `ROUNDING` of a whole number is that number. Of an array, each.
    """
    import numpy as np  # not before it is asked for

    return np.floor(ratio * (1.0 + ROUNDING)).astype(np.int64)


def least_whole(ratio: float) -> int:
    """The least whole number that covers a ratio of decimals, 0 or above: 7 for 0.07 * 100, as for 6.1."""
    return math.ceil(ratio * (1.0 - ROUNDING))


ENERGY_ROUNDING = 2.0**-50
"""Error of an energy after a few roundings, as a share of it."""


def unit_of(name: str) -> str:
    """The unit that a name carries in its suffix, or "" for a number without one."""
    return next((unit for suffix, unit in SUFFIXES.items() if name.endswith(suffix)), "")


def quantity(value: float, unit: str) -> str:
    """A number and its unit with a prefix where it takes one, such as "500 kHz"; exact but for rounding."""
    scale, unit = prefixed(value, unit)
    return f"{value / scale:,.15g} {unit}".rstrip()


def prefixed(value: float, unit: str) -> tuple[float, str]:
    """The unit with the prefix that suits a number, and how many of the plain unit it is."""
    if unit not in _PREFIXED or not value or not math.isfinite(value):
        return 1.0, unit
    scale, prefix = next((known for known in _PREFIXES if abs(value) >= known[0]), _PREFIXES[-1])
    return scale, prefix + unit


def db_to_linear(ratio_db: float) -> float:
    """Power ratio of a level in dB."""
    return 10.0 ** (ratio_db / 10.0)


def linear_to_db(ratio: float) -> float:
    """Level in dB of a power ratio above zero."""
    return 10.0 * math.log10(ratio)


def dbm_to_w(power_dbm: float) -> float:
    """Power in watt of a level in dBm."""
    return 1e-3 * db_to_linear(power_dbm)


def w_to_dbm(power_w: float) -> float:
    """Level in dBm of a power in watt above zero."""
    return linear_to_db(power_w / 1e-3)
