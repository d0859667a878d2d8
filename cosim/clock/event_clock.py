"""Event clock: events in the order of their instants, until the time ends.

SimPy's environment at the instants of `cosim.clock.instants`. `cosim.clock.simulation` says how events are
used.
"""

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from heapq import heappush
from itertools import count

import numpy as np
import simpy
from simpy.events import NORMAL, URGENT
from typing_extensions import override

from cosim.clock.instants import LATEST_S, deadline_after, instant_after
from cosim.configuration import ConfigurationError

STUCK = "deadlock: every process is waiting and no event is scheduled, but the run is not over."


class Deadlock(ConfigurationError):
    """A run that is not over and in which nothing can happen."""


class Clock(simpy.Environment):
    """Environment with events at instants (`cosim.clock.instants`) and an end of time."""

    def __init__(self) -> None:
        super().__init__(0.0)
        self._num_in_background = 0
        self.at(LATEST_S, priority=sys.maxsize + 8).callbacks.append(self._end)  # type: ignore[union-attr]

    def begin(self, processes: Iterable[simpy.Process]) -> None:
        """Let processes take their first steps, one after the other, before other events of this instant."""
        start = self.at(self._now, priority=URGENT)
        for process in processes:
            process._target = start
            start.callbacks.append(process._resume)  # type: ignore[union-attr]

    def at(self, time_s: float, event: simpy.Event | None = None, priority: int = NORMAL) -> simpy.Event:
        """Event at an instant, a given one or a new one; the lower its priority number, the earlier there."""
        if event is None:
            event = simpy.Event(self)
        event._ok, event._value = True, None
        heappush(self._queue, (time_s, priority, next(self._eid), event))  # type: ignore[misc]
        return event

    @property
    def depth(self) -> int:
        """Number of processes that enclose the running one; -1 before any has started."""
        return getattr(self._active_proc, "depth", -1)

    def alarm(self, delay_s: float, depth: int, *, comes_last: bool = False) -> simpy.Event:
        """Event after all other events of its instant, and after alarms of inner processes.

        Args:
            depth: Of the process whose alarm it is.
            comes_last: True if other alarms of this depth come before it, too.
        """
        time_s = deadline_after(self._now, delay_s) if delay_s else self._now
        return self.at(time_s, priority=sys.maxsize - 2 * depth + comes_last)

    def call_at(self, time_s: float, call: Callable[[], None], *, in_background: bool) -> None:
        """Call at an instant.

        Args:
            in_background: True if it keeps no run going: a run in which only such calls are left is stuck.

        Raises:
            Deadlock: At a call in the background, after which only others are left.
        """
        self._num_in_background += in_background

        def made(_: simpy.Event) -> None:
            self._num_in_background -= in_background
            call()
            if in_background and len(self._queue) == self._num_in_background + 1:  # the end of time
                raise self._stuck()

        made.__module__, made.__qualname__ = call.__module__, call.__qualname__  # for errors
        self.at(time_s).callbacks.append(made)  # type: ignore[union-attr]

    def _stuck(self) -> Deadlock:
        return Deadlock(
            f"{STUCK} A link whose rate stays 0, or a part that waits for an event which never comes, is "
            "the usual reason. Use end = AfterSeconds, or a rate above 0."
        )

    def _end(self, _last: simpy.Event) -> None:
        """Stop a run that has not ended.

        Raises:
            Deadlock: No further event is scheduled.
            ConfigurationError: None is scheduled before the end of the clock.
        """
        if self.peek() == math.inf:
            raise self._stuck()
        raise ConfigurationError(
            f"the run is not over at {LATEST_S:g} s (32 years), after which the clock cannot tell "
            "microseconds apart. The usual reason is a time or a rate in other units than s, Hz and "
            "bit/s. Use an earlier end, or a faster link."
        )


class Timer(simpy.Event):
    """Event after a delay, made and scheduled by one call, since every activity has one."""

    _ok, _value = True, None

    def __init__(self, clock: Clock, delay_s: float) -> None:
        self.env, self.callbacks = clock, []
        heappush(clock._queue, (instant_after(clock._now, delay_s), NORMAL, next(clock._eid), self))


class ShuffledClock(Clock):
    """An environment that orders events of the same time and priority at random."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = np.random.Generator(np.random.Philox(key=seed))
        self._eid = self._orders()  # type: ignore[assignment]

    def _orders(self) -> Iterator[tuple[float, int]]:
        return ((self._random.random(), number) for number in count())

    @override
    def begin(self, processes: Iterable[simpy.Process]) -> None:
        shuffled = list(processes)
        self._random.shuffle(shuffled)  # type: ignore[arg-type]
        super().begin(shuffled)
