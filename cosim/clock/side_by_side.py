"""Side by side: processes that run together, that somebody waits for step by step, and that he may cut.

`cosim.clock.simulation` says when what arrives has arrived; its `together`, `with_deadline` and `first` are
made of this.

Usage, in a process::

    jobs = sim.side_by_side({"a": client("a"), "b": client("b")})
    yield from jobs.wait(num_arrived=1)
    yield from jobs.wait(within_s=0.1)
    outcomes = yield from jobs.cut("late")
"""

import math
import sys
from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple

import simpy

from cosim.clock.event_clock import Clock
from cosim.clock.event_loop import stop_at_once
from cosim.clock.instants import deadline_after
from cosim.names import by_number

Process = Generator[simpy.Event, Any, Any]
Event = simpy.Event


class Dropped(NamedTuple):
    """What a process returns that was cut short, and why."""

    reason: str


def outcome_of(process: Process) -> Process:
    """Play a process to its end; where it is cut, `Dropped` comes out of it as its value."""
    try:
        return (yield from process)
    except simpy.Interrupt as cut:
        return reason_of(cut)


def reason_of(cut: simpy.Interrupt) -> Dropped:
    """Why a process was cut."""
    reason = cut.cause
    assert isinstance(reason, Dropped)
    return reason


class SideBySide:
    """Named processes that run side by side, until all have ended or they are cut.

    A process *arrives* where it ends with another value than `Dropped`. Who is cut while it waits for them
    cuts them as well.
    """

    def __init__(self, environment: Clock, processes: Mapping[Any, Process]) -> None:
        self._environment = environment
        self._depth = _depth(environment)
        depth = self._depth + 1
        self._branches = {name: Branch(environment, process, depth) for name, process in processes.items()}

    def __len__(self) -> int:
        return len(self._branches)

    @property
    def num_arrived(self) -> int:
        """Those that have arrived by now."""
        return sum(branch.has_arrived for branch in self._branches.values())

    @property
    def ends_s(self) -> list[float]:
        """When each has ended, in the given order; infinite where it has not."""
        return [branch.ended_s for branch in self._branches.values()]

    def wait(self, num_arrived: int | None = None, within_s: float | None = None) -> Process:
        """Wait until so many have arrived or all have ended, at most so long from now (None: without end).

        Those who arrive at the instant of the last that it waits for have arrived, too.

        Raises:
            ValueError: A time below 0, or not finite.
        """
        if within_s is not None and not 0.0 <= within_s < math.inf:
            raise ValueError(f"to wait within {within_s} s: must be 0 or above and finite, or None")
        over: Event = self._environment.all_of(self._branches.values())
        if num_arrived is not None:
            over |= self._arrival(num_arrived)
        if within_s is not None:
            over |= _Alarm(self._environment, within_s, self._depth)
        yield from self._until(over)
        if num_arrived is not None:
            yield from self._end_of_instant()

    def under(self, process: Process) -> Process:
        """Play a process that waits for them and cuts them; where it is cut itself, so are they."""
        try:
            return (yield from process)
        except simpy.Interrupt as cut:
            yield from self._cut(reason_of(cut))
            raise

    def first_to_end(self) -> Process:
        """Wait until one has ended; returns its name, of several that end at once the first."""
        yield from self._until(self._environment.any_of(self._branches.values()))
        yield from self._end_of_instant()
        return min((name for name, branch in self._branches.items() if branch.triggered), key=by_number)

    def cut(self, reason: str, most: int | None = None) -> Process:
        """Cut those that have not ended.

        Args:
            most: Arrivals that count: the earliest, of several at one instant the first by number; None: all.

        Returns:
            Their values in the given order, with `Dropped(reason)` for each that was cut or does not count.
        """
        yield from self._cut(Dropped(reason))
        late: set[Any] = set()
        if most is not None:
            arrived = [name for name, branch in self._branches.items() if branch.has_arrived]
            late.update(sorted(arrived, key=self._place_of)[most:])
        values = {name: branch.taken() for name, branch in self._branches.items()}
        return [Dropped(reason) if name in late else value for name, value in values.items()]

    def _place_of(self, name: Any) -> tuple[float, Any]:
        return self._branches[name].ended_s, by_number(name)

    def _arrival(self, num: int) -> Event:
        """An event that comes when so many have arrived."""
        event, left = self._environment.event(), num - self.num_arrived

        def count(branch: simpy.Event) -> None:
            nonlocal left
            left -= isinstance(branch, Branch) and branch.has_arrived
            if left == 0 and not event.triggered:
                event.succeed()

        if left <= 0:
            event.succeed()
        for branch in self._branches.values():
            if branch.is_alive:
                branch.callbacks.append(count)
        return event

    def _end_of_instant(self) -> Process:
        """Wait until all else of this instant is over, but for the alarms around."""
        yield from self._until(_Alarm(self._environment, 0.0, self._depth))

    def _until(self, event: Event) -> Process:
        try:
            yield event
        except simpy.Interrupt as cut:
            yield from self._cut(reason_of(cut))
            raise

    def _cut(self, reason: Dropped) -> Process:
        cut = [branch for branch in self._branches.values() if branch.is_alive]
        for branch in cut:
            branch.interrupt(reason)
        if cut:
            yield from self._until(self._environment.all_of(cut))


class Loose:
    """Processes that start one by one, that nobody waits for, and that are cut together."""

    def __init__(self, environment: Clock) -> None:
        self._environment = environment
        self._branches: dict[Branch, None] = {}

    def start(self, process: Process) -> None:
        """Start a process beside the one that is running."""
        branch = Branch(self._environment, process, _depth(self._environment) + 1)
        self._branches[branch] = None
        branch.callbacks.append(lambda _: self._branches.pop(branch))  # type: ignore[union-attr]

    def cut(self, reason: str) -> Process:
        """Cut those that have not ended."""
        cut = [branch for branch in self._branches if branch.is_alive]
        for branch in cut:
            branch.interrupt(Dropped(reason))
        if cut:
            yield self._environment.all_of(cut)


class Barrier:
    """A place where processes wait for each other.

    Attributes:
        opens: Comes when all have come, or been cut on their way (`leave` tells).
    """

    def __init__(self, environment: Clock, num_processes: int) -> None:
        self.opens, self._num_processes = environment.event(), num_processes
        self._left: set[str] = set()
        if not num_processes:
            self.opens.succeed()

    def leave(self, name: str) -> None:
        """Do not wait for this one any more, said once or again."""
        if name not in self._left:
            self._left.add(name)
            if len(self._left) == self._num_processes:
                self.opens.succeed()


class Watched:
    """A process that is played in the one that is running, as long as something lets it.

    Args:
        may_go_on: Asked at the end of each instant of `change`, before the alarms around.
        change: Gives the next event at which to ask.
        reason: Why it is cut.
    """

    def __init__(
        self,
        environment: Clock,
        may_go_on: Callable[[], bool],
        change: Callable[[], Event],
        reason: Callable[[], str],
    ) -> None:
        self._environment, self._may_go_on, self._change, self._reason = (
            environment,
            may_go_on,
            change,
            reason,
        )
        self._process = environment.active_process
        self._cut: Dropped | None = None
        self._event: Event | None = None

    def played(self, process: Process) -> Process:
        """Play it; returns its value, or `Dropped` where it was cut here."""
        self._watch()
        try:
            return (yield from process)
        except simpy.Interrupt as cut:
            if cut.cause is self._cut:
                return self._cut
            raise
        finally:
            self._process = None
            if self._event is not None and self._event.callbacks is not None:
                self._event.callbacks.remove(self._changed)

    def _watch(self) -> None:
        self._event = self._change()
        self._event.callbacks.append(self._changed)  # type: ignore[union-attr]

    def _changed(self, event: Event) -> None:
        self._event = None
        if isinstance(self._process, Branch):
            alarm = _Alarm(self._environment, 0.0, self._process.depth, comes_last=True)
            alarm.callbacks.append(self._ask)  # type: ignore[union-attr]

    def _ask(self, alarm: Event) -> None:
        if self._process is None:
            return
        if self._may_go_on():
            self._watch()
        else:
            self._cut = Dropped(self._reason())
            self._process.interrupt(self._cut)


def end_of_own_instant(environment: Clock) -> Event:
    """An event that comes when all else of this instant is over, but for the alarms around who asks."""
    return _Alarm(environment, 0.0, _depth(environment))


class Branch(simpy.Process):
    """A process that runs beside others.

    Attributes:
        depth: How many processes are around it.
        ended_s: When it has ended.
    """

    def __init__(self, environment: Clock, process: Process, depth: int = 0) -> None:
        self.depth = depth
        self.ended_s = math.inf
        super().__init__(environment, self._played(process))

    def _played(self, process: Process) -> Process:
        """The process; where it is cut, `Dropped` comes out of it as its value."""
        try:
            outcome = yield from process
        except simpy.Interrupt as cut:
            outcome = reason_of(cut)
        except KeyboardInterrupt as stop:
            stop_at_once(self.env, stop)
            raise
        self.ended_s = self.env.now
        return outcome

    @property
    def has_arrived(self) -> bool:
        """Whether it has ended with another value than `Dropped`."""
        return not self.is_alive and self.ok and not isinstance(self._value, Dropped)

    def taken(self) -> Any:
        """The value of a process that has ended; events that outlive the process let go of it."""
        value, self._value = self.value, None
        return value


def _depth(environment: Clock) -> int:
    """How many processes are around the one that is running; -1 before any has started."""
    around = environment.active_process
    return around.depth if isinstance(around, Branch) else -1


class _Alarm(simpy.Event):
    """A timeout that comes after all other events of its instant, the alarms of inner processes included.

    Args:
        comes_last: Whether other alarms of this depth come before it, too.
    """

    def __init__(self, environment: Clock, delay_s: float, depth: int, *, comes_last: bool = False) -> None:
        super().__init__(environment)
        self._ok = True
        self._value = None
        time_s = deadline_after(environment.now, delay_s) if delay_s else environment.now
        environment.schedule_at(self, sys.maxsize - 2 * depth + comes_last, time_s)
