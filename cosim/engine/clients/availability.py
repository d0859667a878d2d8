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
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from typing_extensions import override

from cosim.clock.event_clock import STUCK, Deadlock
from cosim.clock.instants import LATEST_S, deadline_after
from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Event, Process, Simulation
from cosim.configuration import ConfigurationError
from cosim.devices.presence import Window
from cosim.names import client_name
from cosim.records.rows import LEFT

_NEVER = math.inf, math.inf
_MOST_PASSED = 1_000_000
"""Windows that may pass between two looks. [no source]"""


class Cause(ABC):
    """Condition for the presence of a client, such as its battery.

    Attributes:
        reason: Outcome of what it cuts.
        returns_by: What makes the client come back, as a noun.
    """

    reason: str
    returns_by: str

    @property
    @abstractmethod
    def is_present(self) -> bool:
        """True if it allows the client to be present at this instant."""

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """True if it never allows the client to be present again."""

    @abstractmethod
    def change(self) -> Event:
        """An event at the next change of `is_present`, or before; it may never come."""


class Windows(Cause):
    """A presence, as the windows of time in which a client is present.

    Args:
        windows: One after the other; each is asked for when the one before is over.
        whose: Part and client, for errors.
    """

    reason = LEFT
    returns_by = "devices that come back"
    _change: Event

    def __init__(self, sim: Simulation, windows: Iterable[Window], whose: str) -> None:
        self._sim, self._whose, self._windows = sim, whose, iter(windows)
        self._from_s, self._to_s, self._last_s = 0.0, 0.0, 0.0
        self._change_s = -math.inf

    @property
    @override
    def is_present(self) -> bool:
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
        if self._change_s != next_s:
            self._change_s = next_s
            self._change = self._sim.at(next_s) if next_s < math.inf else self._sim.event()
        return self._change

    def _next(self) -> Window:
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
    """Presence of a client, by all of its causes.

    Args:
        causes: Each must let it be; at least one.
    """

    def __init__(self, sim: Simulation, causes: Sequence[Cause]) -> None:
        self._sim, self._causes = sim, causes

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
        cause = self.missing
        return LEFT if cause is None else cause.reason


Availabilities = Sequence[Availability | None] | None
"""Availability of each client, None for one that is always present; None if all are."""


def with_the_absent(stuck: Deadlock, availabilities: Availabilities) -> Deadlock:
    """A deadlock's error with the absent clients, by the first cause of each; as it is if all are present."""
    absent: dict[str, list[int]] = {}
    fixes: dict[str, str] = {}
    for number, availability in enumerate(availabilities or ()):
        if availability is not None and (cause := availability.missing) is not None:
            absent.setdefault(cause.reason, []).append(number)
            fixes[cause.reason] = cause.returns_by
    if availabilities is None or not absent:
        return stuck
    found = [
        f"{len(numbers)} of {len(availabilities)} clients ({reason}), such as {client_name(numbers[0])}"
        for reason, numbers in absent.items()
    ]
    return Deadlock(
        f"{STUCK} Absent are {'; '.join(found)}. Use end = AfterSeconds, or {' and '.join(fixes.values())}."
    )
