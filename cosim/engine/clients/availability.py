"""Availability: whether a client is present, from instant to instant.

It is present while each of its causes allows it: its presence, and others such as a battery. A cause says if
it allows the client to be present now, and gives an event at which to ask again. So it need not know the
future, which the client's own activities may change.

A client that leaves at the very instant in which its job ends has finished it: the cut comes after all else
of an instant, as a deadline does, and before the deadlines around the job. A client that comes back at an
instant is present at it.

Usage, in a process::

    outcome = yield from client.availability.within(job)
    while not client.availability.is_present:
        yield client.availability.change()
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from typing_extensions import override

from cosim.clock.instants import LATEST_S, deadline_after
from cosim.clock.simulation import Dropped, Event, Process, Simulation
from cosim.configuration import ConfigurationError
from cosim.devices.presence import Window
from cosim.engine.clients.cause import Cause
from cosim.records.rows import LEFT

_NEVER = math.inf, math.inf
_MOST_PASSED = 1_000_000
"""Windows that may pass between two looks. [no source]"""


class Windows(Cause):
    """A presence, as the windows of time in which a client is present.

    Args:
        windows: One after the other; each is asked for when the one before is over.
        whose: Part and client, for errors.
    """

    reason = LEFT
    returns_by = "devices that come back"

    def __init__(self, sim: Simulation, windows: Iterable[Window], whose: str) -> None:
        self._sim, self._whose = sim, whose
        self._windows: Iterator[Window] = iter(windows)
        self._from_s, self._to_s, self._last_s = 0.0, 0.0, 0.0
        self._event: Event | None = None
        self._event_s = -math.inf

    @property
    @override
    def is_present(self) -> bool:
        """True inside a window."""
        now_s = self._sim.now_s
        num_passed = 0
        while self._to_s <= now_s:
            self._from_s, self._to_s = self._next()
            num_passed += 1
            if num_passed > _MOST_PASSED:
                raise ConfigurationError(
                    f"{self._whose}: more than {_MOST_PASSED:,} windows pass by {now_s:.6g} s while "
                    "nothing else happens. Use longer windows, with longer times between them."
                )
        return self._from_s <= now_s

    @property
    @override
    def is_over(self) -> bool:
        return self._from_s == math.inf

    @override
    def change(self) -> Event:
        """An event at the end of this window, or the beginning of the next."""
        next_s = self._to_s if self.is_present else self._from_s
        if self._event is None or self._event_s != next_s:
            self._event_s = next_s
            self._event = self._sim.at(next_s) if next_s < math.inf else self._sim.event()
        return self._event

    def _next(self) -> Window:
        """The next window.

        Raises:
            ConfigurationError: It begins before the last has ended, or has no length.
        """
        from_s, to_s = next(self._windows, _NEVER)
        if not (self._last_s <= from_s < to_s or from_s == math.inf):
            raise ConfigurationError(
                f"{self._whose}: a window from {from_s} s to {to_s} s after one that ends at {self._last_s} "
                "s. Each must begin at or after the end of the one before, and end after it begins. "
                "Sort and join them."
            )
        self._last_s = to_s
        return (deadline_after(0.0, from_s), deadline_after(0.0, to_s)) if from_s < LATEST_S else _NEVER


class Availability:
    """True if a client is present.

    Args:
        causes: Each must let it be; nothing: it always is.
    """

    def __init__(self, sim: Simulation, causes: Sequence[Cause] = ()) -> None:
        self._sim, self._causes = sim, tuple(causes)

    @property
    def is_always(self) -> bool:
        """True if nothing can take it away."""
        return not self._causes

    @property
    def is_present(self) -> bool:
        """True if it is present at this instant."""
        if len(self._causes) == 1:
            return self._causes[0].is_present  # in half the time
        return all(cause.is_present for cause in self._causes)

    @property
    def is_over(self) -> bool:
        """True if it is never there again."""
        return any(cause.is_over for cause in self._causes)

    def change(self) -> Event:
        """An event at or before the next change, after which `is_present` is asked again.

        It never comes where the client is never there again, though other causes go on changing.
        """
        if self.is_over:
            return self._sim.event()
        return self._sim.any_of([cause.change() for cause in self._causes])

    def within(self, job: Process) -> Process:
        """Run a job as long as the client is present; returns its value, or `Dropped`."""
        if not self._causes:
            return (yield from job)
        if not self.is_present:
            job.close()
            return Dropped(self._reason())
        return (yield from self._sim.watched(job, lambda: self.is_present, self.change, self._reason))

    @property
    def missing(self) -> Cause | None:
        """The first cause of its absence, one that is over before others; None if it is present."""
        over = (cause for cause in self._causes if cause.is_over)
        return next(over, None) or next((cause for cause in self._causes if not cause.is_present), None)

    def _reason(self) -> str:
        """Reason for its absence."""
        cause = self.missing
        return LEFT if cause is None else cause.reason
