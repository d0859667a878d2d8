"""Course: a quantity that is constant from each stamp to the next, and the exact integral of such a rate.

Bits up to each stamp are summed once, as pairs of floats whose second holds the rounding error of the first,
so a search among millions of stamps finds the end of an upload without going through them. Only bits of the
upload itself are added to and subtracted from each other, so its error is a few roundings of its own size,
however much the trace has carried before: 1e-9 of its bits at the very most, besides one rounding of the
clock's time (1e-10 s after eleven days).

Validation: tests/links/test_course.py, against sums of fractions.
"""

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.clock.instants import instant_after

Times = NDArray[np.float64]
LONG_STEP_S, MINUTE_S = 100.0, 60.0
"""A step between stamps that looks like ms, unless it is of whole minutes. [no source]"""


class Course:
    """Times at which the rows of a trace hold.

    Args:
        time_s: Stamps, shape (rows,), from 0 and ascending.
        end_s: End of the last row; infinite if never.
        repeats: True if the trace begins again then; otherwise it is over.
        offset_s: Place in the trace at which the clock begins.
    """

    def __init__(self, time_s: Times, end_s: float, *, repeats: bool, offset_s: float = 0.0) -> None:
        self.time_s, self.end_s, self.repeats, self.offset_s = time_s, end_s, repeats, offset_s

    @property
    def over_s(self) -> float:
        """Instant on the clock at which it is over; infinite if never."""
        return math.inf if self.repeats else instant_after(0.0, self.end_s - self.offset_s)

    def turn(self, now_s: float) -> tuple[int, float]:
        """Number of repetitions by an instant, and the time within the trace."""
        within_s = now_s + self.offset_s
        if not self.repeats or within_s < self.end_s:
            return 0, within_s
        phase_s = math.fmod(within_s, self.end_s)
        return round((within_s - phase_s) / self.end_s), phase_s

    def clock_s(self, turn: int, within_s: float) -> float:
        """Instant of a time within the trace."""
        return (turn * self.end_s if turn else 0.0) + within_s - self.offset_s

    def row(self, within_s: float) -> int:
        """Row that holds at a time within the trace."""
        return int(np.searchsorted(self.time_s, within_s, side="right")) - 1

    def row_end_s(self, row: int) -> float:
        """End of a row, within the trace."""
        return float(self.time_s[row + 1]) if row + 1 < len(self.time_s) else self.end_s


def remarks_on_steps(where: str, steps_s: Times) -> tuple[str, ...]:
    """Sentence on steps between stamps that look like milliseconds.

    Measurements come several times a second to every few seconds, or every few minutes or hours.

    Args:
        where: What holds the stamps `time_s`.
        steps_s: Steps, shape (steps,).
    """
    median_s = float(np.median(steps_s)) if len(steps_s) else 0.0
    if median_s < LONG_STEP_S or median_s % MINUTE_S == 0.0:
        return ()
    return (f"{where} 'time_s': its median step is {median_s:g} s. Use time_s / 1000 if it is in ms.",)


class Rate:
    """A rate over time, and the bits that it carries.

    Args:
        course: Times at which its rows hold.
        rate_bps: Rates, shape (rows,).
    """

    def __init__(self, course: Course, rate_bps: NDArray[np.float64]) -> None:
        self.course, self._rate_bps = course, rate_bps

    @cached_property
    def _summed(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bits up to each stamp, and up to the end if there is one: the floats, and their rounding errors."""
        ends_s = self.course.time_s
        if self.course.end_s < math.inf:
            ends_s = np.append(ends_s, self.course.end_s)
        carried = np.concatenate([[0.0], self._rate_bps[: len(ends_s) - 1] * np.diff(ends_s)])
        rough = np.cumsum(carried)
        lacking = np.concatenate([[0.0], np.cumsum(_lost(rough[:-1], carried[1:], rough[1:]))])
        total = rough + lacking
        return total, _lost(rough, lacking, total)

    def _between(self, first: int, last: int) -> float:
        """Bits from one stamp to another."""
        total, rest = self._summed
        return float((total[last] - total[first]) + (rest[last] - rest[first]))

    def bits(self, start_s: float, end_s: float) -> float:
        """Bits that are carried from one instant to a later one."""
        course = self.course
        (turn, start_s), (last_turn, end_s) = course.turn(start_s), course.turn(end_s)
        if turn == last_turn:
            return self._bits_within(start_s, end_s)
        whole = (last_turn - turn - 1) * self._between(0, len(course.time_s))
        return self._bits_within(start_s, course.end_s) + whole + self._bits_within(0.0, end_s)

    def _bits_within(self, start_s: float, end_s: float) -> float:
        course, rates = self.course, self._rate_bps
        end_s = min(end_s, course.end_s)
        first, last = course.row(start_s), course.row(end_s)
        if first == last or end_s <= start_s:
            return float(rates[first]) * max(0.0, end_s - start_s)
        head = float(rates[first] * (course.time_s[first + 1] - start_s))
        tail = float(rates[last] * (end_s - course.time_s[last]))
        return head + self._between(first + 1, last) + tail

    def end_s(self, start_s: float, bits: float) -> float:
        """Instant at which a number of bits have been carried since a start; infinite if never."""
        course = self.course
        turn, within_s = course.turn(start_s)
        found_s = self._end_within_s(within_s, bits)
        if found_s == math.inf and course.repeats:
            bits -= self._bits_within(within_s, course.end_s)
            of_turn = self._between(0, len(course.time_s))
            if of_turn == 0.0:
                return math.inf
            more, left = divmod(bits, of_turn)
            if left <= 0.0:
                more, left = more - 1.0, of_turn
            turn += 1 + int(more)
            found_s = self._end_within_s(0.0, left)
            found_s = course.end_s if found_s == math.inf else found_s  # if rounding left a remainder
        return max(start_s, course.clock_s(turn, found_s))

    def _end_within_s(self, start_s: float, bits: float) -> float:
        """End within the trace; infinite if not before the trace is over."""
        time_s, end_s, rates = self.course.time_s, self.course.end_s, self._rate_bps
        if start_s >= end_s:
            return math.inf
        row = self.course.row(start_s)
        left, since_s, until_s = bits, start_s, self.course.row_end_s(row)
        head = float(rates[row]) * (until_s - start_s) if rates[row] else 0.0
        if head < bits and until_s == end_s:
            return math.inf
        if head < bits:
            left -= head
            reached = self._first_with(row + 1, left)
            if reached == len(time_s):
                return math.inf
            row, left = reached, left - self._between(row + 1, reached)
            since_s, until_s = float(time_s[row]), self.course.row_end_s(row)
        return min(until_s, since_s + left / float(rates[row])) if rates[row] else math.inf

    def _first_with(self, first: int, bits: float) -> int:
        """Row that reaches a number of bits since a stamp; the number of rows if not before the end."""
        total, rest = self._summed
        wanted = float(total[first]) + bits
        lacking = float(rest[first]) + float(_lost(float(total[first]), bits, wanted))
        stamp = int(np.searchsorted(total, wanted))
        while stamp < len(total) and (total[stamp] - wanted) + (rest[stamp] - lacking) < 0.0:
            stamp += 1
        while (total[stamp - 1] - wanted) + (rest[stamp - 1] - lacking) >= 0.0:
            stamp -= 1
        return stamp - 1


def _lost(one: Any, other: Any, both: Any) -> Any:
    """Rounding error of a sum of two floats (Knuth's TwoSum)."""
    part = both - one
    return (one - (both - part)) + (other - part)
