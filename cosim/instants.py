"""Instants: durations are added to instants in one way, for a float and for an array, on both clocks.

In float64 0.1 + 0.2 is later than 0.3, so ties of exact arithmetic would be decided by the binary digits of
the clock. Therefore every instant has 15 significant decimal digits, a nanosecond below 1e6 s: a sum is the
nearest such instant, and a deadline the next one. So what takes a + b arrives by c wherever a + b = c, in any
round and from any start, if all are decimals, or at least c is; other ties may miss each other by an instant.

`10**k` is exact in float64 up to k = 22, and so is a whole number below 2**53; their quotient is the float64
that is nearest to the decimal. Instants before 1e-7 s are multiples of 1e-22 s.

Scope and limitations: the clock ends at 1e9 s, where it would tell microseconds apart and no less.

Validation: tests/test_instants.py, against exact decimals.
"""

from bisect import bisect_right
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]

LATEST_S: Final = 1e9
"""The end of the clock, 32 years."""

_DECADES: Final = tuple(float(f"1e{power}") for power in range(-7, 15))
_UNITS_PER_S: Final = tuple(float(f"1e{power}") for power in range(22, -1, -1))
"""First instants of the decades from 1e-7 s on, and units of 15 digits in each, the one before them first."""
_DECADES_S, _UNITS = np.array(_DECADES), np.array(_UNITS_PER_S)
_FIRST_S = np.append(0.0, _DECADES_S)
_WHOLE: Final = 2.0**52
"""Added and taken away again, it rounds to a whole number."""
_NOT_EARLIER: Final = 0.25
"""Rounds up, unless it is a rounding of a unit: a sum of decimals is off by less."""


@overload
def instant_after(start_s: float, lasts_s: float) -> float: ...
@overload
def instant_after(start_s: Times, lasts_s: float | Times) -> Times: ...
@overload
def instant_after(start_s: float, lasts_s: Times) -> Times: ...
def instant_after(start_s: Any, lasts_s: Any) -> Any:
    """When what begins at an instant and lasts so long ends; infinite times stay infinite.

    Args:
        start_s: In s, a float or an array, as `lasts_s`; shapes are broadcast.
    """
    return _sum(start_s, lasts_s)


@overload
def deadline_after(start_s: float, within_s: float) -> float: ...
@overload
def deadline_after(start_s: Times, within_s: float | Times) -> Times: ...
@overload
def deadline_after(start_s: float, within_s: Times) -> Times: ...
def deadline_after(start_s: Any, within_s: Any) -> Any:
    """The last instant for what begins at an instant and may last so long; arguments as `instant_after`."""
    return _sum(start_s, within_s, _NOT_EARLIER)


def duration_between(start_s: float, end_s: float) -> float:
    """How long it is from one instant to a later one; their floats differ by roundings more or less."""
    places = bisect_right(_DECADES, start_s), bisect_right(_DECADES, end_s)
    start, end = (round(_UNITS_PER_S[p] * s) * 10**p for p, s in zip(places, (start_s, end_s), strict=True))
    return (end - start) / 10**22


def num_periods(now_s: float, period_s: float) -> int:
    """How many periods, one after the other from 0 on, have ended by an instant."""
    num = int(now_s // period_s)
    while instant_after(0.0, (num + 1) * period_s) <= now_s:
        num += 1
    return num


def _sum(start_s: Any, lasts_s: Any, more: float = 0.0) -> Any:
    if isinstance(start_s, float | int) and isinstance(lasts_s, float | int):
        place = bisect_right(_DECADES, start_s + lasts_s)
        per_s = _UNITS_PER_S[place]
        units = start_s * per_s
        if place == 0 or start_s >= _DECADES[place - 1]:
            units = (units + _WHOLE) - _WHOLE  # it is an instant of this decade
        return ((units + lasts_s * per_s + more + _WHOLE) - _WHOLE) / per_s
    places = _DECADES_S.searchsorted(start_s + lasts_s, side="right")
    per_s = _UNITS[places]
    units = start_s * per_s
    whole = (units + _WHOLE) - _WHOLE
    is_before = start_s < _FIRST_S[places]
    units = np.where(is_before, units, whole) if is_before.any() else whole
    units += lasts_s * per_s
    units += more
    units += _WHOLE
    units -= _WHOLE
    units /= per_s
    return units
