"""Side by side: processes that run together, that another process awaits step by step and may cut off.

`cosim.clock.simulation` defines when a process has arrived; its `together`, `with_deadline` and `first` are
built from this.

Usage, in a process::

    jobs = sim.side_by_side({"a": client("a"), "b": client("b")})
    yield from jobs.wait(num_arrived=1)
    yield from jobs.wait(within_s=0.1)
    outcomes = yield from jobs.cut("late")
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import simpy

from cosim.clock.branch import AllOver, Branch, Dropped, Event, Process, reason_of
from cosim.clock.event_clock import Clock
from cosim.names import by_number


def outcome_of(process: Process) -> Process:
    """Run a process to its end; if it is cut, its value is `Dropped`."""
    try:
        return (yield from process)
    except simpy.Interrupt as cut:
        return reason_of(cut)


class SideBySide:
    """Named processes that run side by side, until all have ended or are cut.

    A process *arrives* if it ends with a value other than `Dropped`. If the process that waits for them is
    cut, they are cut as well.
    """

    def __init__(self, environment: Clock, processes: Mapping[Any, Process]) -> None:
        self._environment = environment
        self._depth = environment.depth
        depth = self._depth + 1
        self._branches: dict[Any, Branch] = {
            name: Branch(environment, process, depth) for name, process in processes.items()
        }
        environment.begin(self._branches.values())

    def start(self, process: Process) -> None:
        """Start another process beside the running one, which is forgotten when it has ended."""
        branch = Branch(self._environment, process, self._environment.depth + 1)
        self._branches[branch] = branch
        branch.callbacks.append(self._branches.pop)  # type: ignore[union-attr]
        self._environment.begin((branch,))

    def __len__(self) -> int:
        return len(self._branches)

    @property
    def num_arrived(self) -> int:
        """Number of processes that have arrived by now."""
        return sum(branch.has_arrived for branch in self._branches.values())

    @property
    def ends_s(self) -> list[float]:
        """Instant at which each has ended, in the given order; infinite if it has not."""
        return [branch.ended_s for branch in self._branches.values()]

    def wait(self, num_arrived: int | None = None, within_s: float | None = None) -> Process:
        """Wait until a number have arrived or all have ended.

        Processes that arrive at the same instant as the last one awaited have arrived, too.

        Args:
            num_arrived: Arrivals to wait for; None means all.
            within_s: Longest wait from now; None means no limit.

        Raises:
            ValueError: A time below 0, or not finite.
        """
        if within_s is not None and not 0.0 <= within_s < math.inf:
            raise ValueError(f"to wait within {within_s} s: must be 0 or above and finite, or None")
        over: Event = AllOver(self._environment, self._branches.values())
        if num_arrived is not None:
            over |= self._arrival(num_arrived)
        if within_s is not None:
            over |= self._environment.alarm(within_s, self._depth)
        yield from self._until(over)
        if num_arrived is not None:
            yield from self._end_of_instant()

    def under(self, process: Process) -> Process:
        """Run a process that waits for these and cuts them; if it is cut itself, so are they."""
        try:
            return (yield from process)
        except simpy.Interrupt as cut:
            yield from self._cut(reason_of(cut))
            raise

    def first_to_end(self) -> Process:
        """Wait until one has ended; returns its name, or the first by number of several that end at once."""
        yield from self._until(self._environment.any_of(self._branches.values()))
        yield from self._end_of_instant()
        return min((name for name, branch in self._branches.items() if branch.triggered), key=by_number)

    def cut(self, reason: str, most: int | None = None) -> Process:
        """Cut the processes that have not ended.

        Args:
            most: Arrivals that count: the earliest, at one instant the first by number; None means all.

        Returns:
            Their values in the given order, with `Dropped(reason)` for each that was cut or does not count.
        """
        yield from self._cut(Dropped(reason))
        late: set[Any] = set()
        if most is not None:
            arrived = [name for name, branch in self._branches.items() if branch.has_arrived]
            late.update(sorted(arrived, key=self._place_of)[most:])
        values = [branch.taken() for branch in self._branches.values()]
        if not late:
            return values
        return [
            Dropped(reason) if name in late else value
            for name, value in zip(self._branches, values, strict=True)
        ]

    def _place_of(self, name: Any) -> tuple[float, Any]:
        return self._branches[name].ended_s, by_number(name)

    def _arrival(self, num: int) -> Event:
        """Event that comes when a given number have arrived."""
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
        """Wait until everything else of this instant is over, except the enclosing alarms."""
        yield from self._until(self._environment.alarm(0.0, self._depth))

    def _until(self, event: Event) -> Process:
        try:
            yield event
        except simpy.Interrupt as cut:
            yield from self._cut(reason_of(cut))
            raise

    def _cut(self, reason: Dropped) -> Process:
        cut = [branch for branch in self._branches.values() if branch.ended_s == math.inf]
        for branch in cut:
            branch.interrupt(reason)
        if cut:
            yield from self._until(AllOver(self._environment, cut))


class Barrier:
    """A place where processes wait for each other.

    Attributes:
        opens: Event that comes when all have arrived, or were cut on their way (see `leave`).
    """

    def __init__(self, environment: Clock, num_processes: int) -> None:
        self.opens, self._num_processes = environment.event(), num_processes
        self._left: set[str] = set()
        if not num_processes:
            self.opens.succeed()

    def leave(self, name: str) -> None:
        """Stop waiting for a process; calling this again has no effect."""
        if name not in self._left:
            self._left.add(name)
            if len(self._left) == self._num_processes:
                self.opens.succeed()


def watched(
    environment: Clock,
    process: Process,
    may_go_on: Callable[[], bool],
    change: Callable[[], Event],
    reason: Callable[[], str],
) -> Process:
    """Run a process within the current one as long as a condition holds (`Simulation.watched`)."""
    around: Any = environment.active_process
    event: Event | None = None
    dropped: Dropped | None = None

    def watch() -> None:
        nonlocal event
        event = change()
        event.callbacks.append(changed)  # type: ignore[union-attr]

    def changed(_: Event) -> None:
        nonlocal event
        event = None
        alarm = environment.alarm(0.0, around.depth, comes_last=True)
        alarm.callbacks.append(ask)  # type: ignore[union-attr]

    def ask(_: Event) -> None:
        nonlocal dropped
        if is_over:
            return
        if may_go_on():
            watch()
        else:
            dropped = Dropped(reason())
            around.interrupt(dropped)

    is_over = False
    watch()
    try:
        return (yield from process)
    except simpy.Interrupt as cut:
        if cut.cause is dropped:
            return dropped
        raise
    finally:
        is_over = True
        if event is not None and event.callbacks is not None:
            event.callbacks.remove(changed)
