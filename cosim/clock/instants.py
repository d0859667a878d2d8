"""Instants: one way to add durations to instants, for floats and for arrays, on both clocks.

In float64 0.1 + 0.2 is later than 0.3, so the binary digits of the clock would decide ties of exact
arithmetic. Therefore every instant has 15 significant decimal digits, a nanosecond below 1e6 s: a sum is the
nearest such instant, and a deadline the next one. So an activity of a + b arrives by c wherever a + b = c, in
any round and from any start, if all three are decimals, or at least c is; other ties may be missed by one
instant.

`10**k` is exact in float64 up to k = 22, and so is a whole number below 2**53; their quotient is the float64
that is nearest to the decimal. Instants before 1e-7 s are multiples of 1e-22 s.

Scope and limitations: the clock ends at 1e9 s, where its resolution is a microsecond.

Validation: tests/clock/test_instants.py, against exact decimals.
"""

from bisect import bisect_right
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from cosim.clock.small_arrays import least_of, most_of

Times = NDArray[np.float64]

LATEST_S: Final = 1e9
"""The end of the clock, 32 years."""

DECADES: Final = tuple(float(f"1e{power}") for power in range(-7, 15))
UNITS_PER_S: Final = tuple(float(f"1e{power}") for power in range(22, -1, -1))
"""Size of the units of 15 digits: before 1e-7 s, then in each decade from 1e-7 s on."""
WHOLE: Final = 2.0**52
"""Constant that, added and subtracted again, rounds to a whole number."""
FEWEST_STEPS: Final = 1000
"""Steps of the clock that a job must last, or its duration has fewer than three digits."""
NEVER_SHORT_S: Final = 1e-3
"""A duration that has as many steps until the clock ends."""
_DECADES_S, _UNITS = np.array(DECADES), np.array(UNITS_PER_S)
_NOT_EARLIER: Final = 0.125
"""Share of a unit: rounds up only what exceeds the roundings of a sum of decimals, 3 / 8 of a unit."""


@overload
def instant_after(start_s: float, lasts_s: float) -> float: ...
@overload
def instant_after(start_s: Times, lasts_s: float | Times) -> Times: ...
@overload
def instant_after(start_s: float, lasts_s: Times) -> Times: ...
def instant_after(start_s: Any, lasts_s: Any) -> Any:
    """End of an activity with this start and duration; infinite times stay infinite.

    Args:
        start_s: In s, a float or an array, as `lasts_s`; shapes are broadcast.
    """
    time_s = start_s + lasts_s
    if type(time_s) is float:
        per_s = UNITS_PER_S[bisect_right(DECADES, time_s)]
        return ((time_s * per_s + WHOLE) - WHOLE) / per_s
    return _of_many(time_s, start_s)


@overload
def deadline_after(start_s: float, within_s: float) -> float: ...
@overload
def deadline_after(start_s: Times, within_s: float | Times) -> Times: ...
@overload
def deadline_after(start_s: float, within_s: Times) -> Times: ...
def deadline_after(start_s: Any, within_s: Any) -> Any:
    """Last instant that a time limit allows after a start; arguments as `instant_after`."""
    time_s = start_s + within_s
    if type(time_s) is float:
        per_s = UNITS_PER_S[bisect_right(DECADES, time_s)]
        return ((time_s * per_s + _NOT_EARLIER + WHOLE) - WHOLE) / per_s
    return _of_many(time_s, start_s, _NOT_EARLIER)


@overload
def is_short(start_s: float, lasts_s: float) -> bool: ...
@overload
def is_short(start_s: Times, lasts_s: Times) -> NDArray[np.bool_]: ...
def is_short(start_s: Any, lasts_s: Any) -> Any:
    """True if a job with this start and duration lasts above 0 and fewer than `FEWEST_STEPS` of the clock.

    Args:
        start_s: Finite, in s, a float or an array, as `lasts_s`, of the same shape.
    """
    if type(lasts_s) is float:
        if not 0.0 < lasts_s < NEVER_SHORT_S:
            return False
        return lasts_s * UNITS_PER_S[bisect_right(DECADES, start_s)] < FEWEST_STEPS - 0.5
    steps = lasts_s * _UNITS[_DECADES_S.searchsorted(start_s, side="right")]
    return (lasts_s > 0.0) & (steps < FEWEST_STEPS - 0.5)


def any_is_short(start_s: Times, lasts_s: Times) -> bool:
    """True if one of several jobs is short; arguments as `is_short`."""
    least_s = least_of(lasts_s)
    if not least_s < NEVER_SHORT_S:
        return False
    # the shortest would be long enough even at the last start, where the clock's steps are largest
    if least_s * UNITS_PER_S[bisect_right(DECADES, most_of(start_s))] >= FEWEST_STEPS - 0.5:
        return False
    near = lasts_s < NEVER_SHORT_S
    return bool(is_short(start_s[near], lasts_s[near]).any())


def duration_between(start_s: float, end_s: float) -> float:
    """Duration from one instant to a later one; the difference of their floats is off by roundings."""
    places = bisect_right(DECADES, start_s), bisect_right(DECADES, end_s)
    start, end = (round(UNITS_PER_S[p] * s) * 10**p for p, s in zip(places, (start_s, end_s), strict=True))
    return (end - start) / 10**22


def num_periods(now_s: float, period_s: float) -> int:
    """Number of periods, one after the other from 0 on, that have ended by an instant."""
    num = int(now_s // period_s)
    while instant_after(0.0, (num + 1) * period_s) <= now_s:
        num += 1
    return num


def _of_many(time_s: Any, start_s: Any, more: float = 0.0) -> Any:
    """Instants of a sum, none of them before its start; an array is overwritten."""
    if not isinstance(time_s, np.ndarray):
        return instant_after(float(time_s), 0.0) if more == 0.0 else deadline_after(float(time_s), 0.0)
    if not time_s.size:
        return time_s
    first_s = start_s if type(start_s) is float else least_of(time_s)
    last_s = most_of(time_s)
    place, last = bisect_right(DECADES, first_s), bisect_right(DECADES, last_s)
    per_s = UNITS_PER_S[last] if place == last else _UNITS[_DECADES_S.searchsorted(time_s, side="right")]
    time_s *= per_s
    if more:
        time_s += more
    np.rint(time_s, out=time_s)
    time_s /= per_s
    return time_s
