"""Machine: the progress of uploads that share a resource, without a clock.

A machine is told which uploads start and stop, and when. It says which uploads end, and when its next change
comes by itself. Both clocks follow from it: by events, a timer comes at the next change; on arrays, one call
goes through all starts of an edge round.

Asked: `change`, for one instant; or `advance`, for many instants at once, where a call for each is too slow.
The result at an instant must not depend on the order in which the machine is told of its starts and stops:
anything that must wait until all of them are known happens in `end_instant`.

Usage::

    class Turns(Machine):
        \"\"\"One upload after the other, a second each.\"\"\"

        def __init__(self):
            super().__init__()
            self.line = []

        def change(self, now_s, starts, stops):
            if self.next_change_s <= now_s:
                self.ends_s[self.line.pop(0)] = now_s
            first = self.line[:1]
            self.line = [number for number in (*self.line, *starts) if number not in stops]
            self.left_bits.update({number: 1.0 for number in stops})
            if self.line[:1] != first:
                self.next_change_s = now_s + 1.0 if self.line else math.inf
"""

import math
from collections.abc import Sequence

from cosim.clock.instants import instant_after
from cosim.configuration import ConfigurationError, Forms, one_of

NO_NUMBERS: tuple[int, ...] = ()
MOST_CHANGES = 100_000
"""Most changes of a machine at one instant, after which they are taken to be endless. [no source]"""


class Machine(Forms):
    """Resource that uploads share, such as a band, without a clock; an upload has its client's number.

    Attributes:
        has_turns: True if an upload sends only when it is granted.
        next_change_s: Instant of the next change by itself; infinite if never.
        awaits_end: True if something waits for the end of the instant.
        granted_s: Number -> instant of the grant, for uploads granted since the caller last emptied it.
        due_s: Number -> instant of the end, likewise, if nothing but a stop of the upload can change it;
            optional.
        ends_s: Number -> instant of the end, likewise.
        left_bits: Number -> bits left when it was stopped, likewise.
    """

    forms = one_of(change=("change",), advance=("advance",))
    has_turns: bool = False
    _now_s = -math.inf

    def __init__(self) -> None:
        self.next_change_s, self.awaits_end = math.inf, False
        self.granted_s: dict[int, float] = {}
        self.due_s: dict[int, float] = {}
        self.ends_s: dict[int, float] = {}
        self.left_bits: dict[int, float] = {}

    def begin_round(self, num_clients: int, ends_s: float) -> None:
        """Begin an edge round of `num_clients` now, which ends by `ends_s`."""

    def change(self, now_s: float, starts: Sequence[int], stops: Sequence[int]) -> None:
        """Process an instant; it may be called several times for one.

        Args:
            starts: Numbers of uploads that start, ascending.
            stops: Numbers of uploads that are stopped; an upload is stopped once, and not after its end.
        """
        raise NotImplementedError

    def end_instant(self, now_s: float) -> None:
        """Process what waits until all of an instant is known."""

    def leave_instant(self, now_s: float) -> None:
        """End an instant, after which time advances."""
        self.awaits_end = False
        self.end_instant(now_s)
        self.next_change_s = instant_after(0.0, self.next_change_s)

    def advance(
        self,
        begins_s: Sequence[float],
        numbers: Sequence[int],
        until_s: float,
        stops: Sequence[int] = NO_NUMBERS,
    ) -> None:
        """Advance to an instant, and through it except for its end.

        Args:
            begins_s: Starts of uploads, ascending; none after that instant counts.
            numbers: Numbers of these uploads; ascending if they start together.
            stops: Numbers of uploads that are stopped at that instant.

        Raises:
            ConfigurationError: The next change lies before this one, or changes at one instant never end.
        """
        num, first, num_times = len(numbers), 0, 0
        while True:
            now_s = self.next_change_s
            if first < num and begins_s[first] < now_s:
                now_s = begins_s[first]
            if stops and until_s < now_s:
                now_s = until_s
            if self.awaits_end and self._now_s < now_s and self._now_s < until_s:
                self.leave_instant(self._now_s)
                continue
            if now_s > until_s or now_s == math.inf:
                return
            last = first
            while last < num and begins_s[last] == now_s:
                last += 1
            num_times = num_times + 1 if now_s == self._now_s else 0
            if num_times > MOST_CHANGES:
                raise self._standing_still()
            stopped, stops = (stops, NO_NUMBERS) if now_s == until_s else (NO_NUMBERS, stops)
            self.go_through(now_s, numbers[first:last], stopped)
            first = last

    def go_through(self, now_s: float, starts: Sequence[int], stops: Sequence[int] = NO_NUMBERS) -> None:
        """Advance to an instant, before which nothing changes, and through it except for its end.

        Arguments as `change`; raises as `advance`.
        """
        if self.form == "advance":
            self.advance((now_s,) * len(starts), starts, now_s, stops)
            return
        if now_s < self._now_s:
            raise self._standing_still()
        self._now_s = now_s
        for _ in range(MOST_CHANGES):
            before_s = self.next_change_s
            self.change(now_s, starts, stops)
            if self.next_change_s != before_s:
                self.next_change_s = instant_after(0.0, self.next_change_s)
            if not self.next_change_s <= now_s:
                return
            if self.next_change_s < now_s:
                break
            starts = stops = NO_NUMBERS
        raise self._standing_still()

    def _standing_still(self) -> ConfigurationError:
        return ConfigurationError(
            f"{type(self).__name__}.next_change_s = {self.next_change_s} at {self._now_s} s: must be "
            "later than now, once the changes that are due have been made. Use infinity if nothing "
            "changes by itself.",
            f"{type(self).__name__}.next_change_s",
        )
