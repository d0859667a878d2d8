"""Branch: a process that runs beside others, and the events by which others wait for it.

A branch is SimPy's process with a value if it is cut, and an instant of its end. It runs its steps itself, so
that they pass through no other generator.
"""

import math
from collections.abc import Generator, Iterable
from typing import Any, NamedTuple

import simpy
from typing_extensions import override

from cosim.clock.event_clock import Clock
from cosim.clock.event_loop import failure_of, name_of
from cosim.configuration import ConfigurationError

Process = Generator[simpy.Event, Any, Any]
Event = simpy.Event


class Dropped(NamedTuple):
    """Result of a process that was cut short, with the reason."""

    reason: str


def reason_of(cut: simpy.Interrupt) -> Dropped:
    """Reason why a process was cut."""
    reason = cut.cause
    assert isinstance(reason, Dropped)
    return reason


class Branch(simpy.Process):
    """Process that runs beside others; if it is cut, its value is `Dropped`.

    It takes its first step when the clock begins it (`Clock.begin`), with others by one event. What waits for
    its end is told at once, by a call that must let no process go on: it counts, or schedules an event.

    Attributes:
        depth: Number of enclosing processes.
        ended_s: Instant at which it has ended.
        has_arrived: True if it has ended with a value other than `Dropped`.
    """

    ended_s: float = math.inf
    has_arrived: bool = False

    def __init__(self, environment: Clock, process: Process, depth: int = 0) -> None:
        if not hasattr(process, "throw"):
            raise ValueError(f"{process} is not a generator.")
        self.env, self.callbacks, self.depth = environment, [], depth
        self._generator = process

    @override
    def _resume(self, event: Event) -> None:
        """Let it go on with the value or the failure of an event, up to the next that has not come yet."""
        process, self.env._active_proc = self._generator, self
        try:
            while True:
                event = process.send(event._value) if event._ok else process.throw(failure_of(event))
                if event.callbacks is not None:
                    break
        except StopIteration as ended:
            self._end(ended.value)
        except simpy.Interrupt as cut:
            self._end(reason_of(cut))
        except BaseException as failure:
            if not isinstance(event, Event):
                raise _no_event(event, process) from None
            if isinstance(failure, KeyboardInterrupt):
                raise  # no other process of the instant takes a step
            self._end(failure, ok=False)
        else:
            self._target = event
            event.callbacks.append(self._resume)
        self.env._active_proc = None

    def _end(self, value: Any, *, ok: bool = True) -> None:
        self._ok, self._value, self.ended_s = ok, value, self.env._now
        self._target = None  # type: ignore[assignment]
        if not ok:
            self.env.schedule(self)
            return
        self.has_arrived = not isinstance(value, Dropped)
        told, self.callbacks = self.callbacks, None  # type: ignore[assignment]
        for tell in told:
            tell(self)

    def taken(self) -> Any:
        """Value of a process that has ended; events that outlive the process let go of it."""
        value, self._value = self._value, None
        return value


def _no_event(found: Any, process: Process) -> ConfigurationError:
    return ConfigurationError(
        f"{name_of(process) or 'a process'} yielded {found!r:.80}: must be an event of the "
        "clock. Use yield from to wait, as in yield from sim.spend(...), and return to give a result."
    )


class AllOver(simpy.Event):
    """Event when all of some branches have ended; it fails with the first that fails."""

    def __init__(self, environment: Clock, branches: Iterable[Branch]) -> None:
        super().__init__(environment)
        self._num_left = 0
        for branch in branches:
            if branch.callbacks is not None:
                self._num_left += 1
                branch.callbacks.append(self._count)
        if not self._num_left:
            self.succeed()

    def _count(self, branch: Event) -> None:
        self._num_left -= 1
        if (branch._ok and self._num_left) or self.triggered:
            return
        if branch._ok:
            self.succeed()
        else:
            branch.defused = True
            self.fail(branch._value)
