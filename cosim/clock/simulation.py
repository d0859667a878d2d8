"""The clock: the only place where time passes.

A *process* is a generator that yields from `spend` and from other processes; `together`, `with_deadline` and
`first` run several processes side by side. The contract:

- Time never goes back; no duration is negative.
- Instants have 15 significant decimal digits (`cosim.clock.instants`): 0.1 + 0.2 is 0.3. The clock ends at
  1e9 s.
- An arrival at exactly the deadline is in time: an alarm comes after everything else of its instant except
  `end_of_instant`, and of several alarms the innermost comes first, so that a process ending by its own alarm
  still arrives.
- Time that stands still, by events without end at one instant, ends the run (`cosim.clock.event_loop`).
- Simultaneous events come in the order (time, priority, insertion). Nothing that a run writes may depend on
  that insertion order: ties that matter (sums, first arrivals) are broken by node name. `shuffle_ties` puts
  simultaneous events into a random order, so that a test can check this.
- An activity cut short writes its span and the energy it took up to the cut; the enclosing process ends, and
  `Dropped(reason)` is what `with_deadline`, `first`, `together` or `SideBySide.cut` return in its place.

Randomness has names (`cosim.clock.draws`).

Usage::

    sim = Simulation(seed=1)

    def client(name):
        yield from sim.spend(name, "train", 2.0, power_w=0.5)
        return name

    arrived = sim.run(sim.with_deadline([client("a"), client("b")], deadline_s=3.0))

Records written: `Span`, one per activity that took time.
"""

import math
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from copy import copy
from typing import Any

import simpy

from cosim.clock.branch import AllOver
from cosim.clock.draws import Draws
from cosim.clock.event_clock import Clock, ShuffledClock, Timer
from cosim.clock.event_loop import run_events
from cosim.clock.instants import instant_after
from cosim.clock.side_by_side import (
    Barrier,
    Branch,
    Event,
    Process,
    SideBySide,
    reason_of,
    watched,
)
from cosim.configuration import ConfigurationError
from cosim.recording.recorder import NOTHING_ELSE, Recorder, Recording
from cosim.records.rows import DONE, END_OF_RUN, NO_JOB

__all__ = ["Barrier", "Event", "Interrupt", "Process", "SideBySide", "Simulation", "reason_of"]

Interrupt = simpy.Interrupt


class Simulation(Draws):
    """Clock, draws and trace of one run.

    Args:
        seed: Names the run's randomness, any whole number.
        shuffle_ties: Number that orders simultaneous events at random; None keeps their insertion order.
        recording: What is recorded beside the rows of everything that happens.

    Attributes:
        recorder: Records what happens.
    """

    def __init__(
        self, seed: int, *, shuffle_ties: int | None = None, recording: Recording = NOTHING_ELSE
    ) -> None:
        super().__init__(seed)
        self._environment = Clock() if shuffle_ties is None else ShuffledClock(shuffle_ties)
        self.recorder = Recorder(self._environment, recording)
        self._loose = SideBySide(self._environment, {})

    @property
    def now_s(self) -> float:
        """Simulated time since the start."""
        return self._environment._now

    def apart(self, purpose: str) -> "Simulation":
        """The same clock and trace with separate draws, so that a part may be used twice in a run."""
        other = copy(self)
        Draws.__init__(other, self.key(purpose, "draws"))
        return other

    def run(self, process: Process, num_nodes: int = 0) -> Any:
        """Run a process to its end and return its value; processes that it started are cut then.

        Args:
            num_nodes: Number of nodes that may be active, used to detect that time stands still.

        Raises:
            Deadlock: The process waits and no event is scheduled.
            ConfigurationError: The clock ends before, or time stands still.
        """
        whole = Branch(self._environment, self._to_its_end(process))
        self._environment.begin((whole,))
        run_events(self._environment, AllOver(self._environment, (whole,)), num_nodes)
        return whole.taken()

    def _to_its_end(self, process: Process) -> Process:
        value = yield from process
        yield from self._loose.cut(END_OF_RUN)
        self.recorder.close(self.now_s)
        return value

    def start(self, process: Process) -> None:
        """Start a process beside the running one; it continues when that one ends."""
        self._loose.start(process)

    def spend(
        self, node: str, activity: str, until: float | Event, power_w: float = 0.0, job: int = NO_JOB
    ) -> Process:
        """Let time pass for one node, for a duration in seconds or until an event comes.

        Writes one span with energy `power_w` times the time that passed; an activity that takes no time
        writes none. Returns the event's value.

        Args:
            job: Number of the node's job to which the activity belongs.

        Raises:
            ConfigurationError: The duration is negative or not finite.
        """
        if not isinstance(until, simpy.Event):
            if not 0.0 <= until < math.inf:
                raise impossible(node, activity, until)
            if until == 0.0:
                return None
            until = Timer(self._environment, until)
        environment, recorder = self._environment, self.recorder
        start_s = environment._now
        if recorder.rest is not None:
            recorder.began(node, start_s, power_w)
        try:
            value = yield until
        except simpy.Interrupt as cut:
            outcome = reason_of(cut).reason
            recorder.spent(node, activity, start_s, environment._now, power_w, outcome, job)
            raise
        recorder.spent(node, activity, start_s, environment._now, power_w, DONE, job)
        return value

    def together(self, processes: Iterable[Process]) -> Process:
        """Run processes side by side until all have ended; returns their values in the given order."""
        return (yield from self.with_deadline(processes, None))

    def with_deadline(
        self, processes: Iterable[Process], deadline_s: float | None, reason: str = "deadline"
    ) -> Process:
        """Run processes side by side for at most `deadline_s` from now; None means no limit.

        Returns their values in the given order, with `Dropped(reason)` for each that was cut.

        Raises:
            ValueError: The deadline is not above 0, or not finite.
        """
        if deadline_s is not None and not 0.0 < deadline_s < math.inf:
            raise ValueError(f"a deadline of {deadline_s} s: must be above 0 and finite, or None")
        branches = self.side_by_side(dict(enumerate(processes)))
        yield from branches.wait(within_s=deadline_s)
        return (yield from branches.cut(reason))

    def first(self, processes: Mapping[str, Process]) -> Process:
        """Run named processes side by side until one has ended, and cut the others.

        Returns the name and the value of the first; of several that end at once, the first by number.
        """
        branches = self.side_by_side(processes)
        winner = yield from branches.first_to_end()
        values = yield from branches.cut(f"{winner} was first")
        return winner, values[list(processes).index(winner)]

    def side_by_side(self, processes: Mapping[Any, Process]) -> SideBySide:
        """Start named processes that run side by side until they have ended or are cut."""
        return SideBySide(self._environment, processes)

    def barrier(self, num_processes: int) -> Barrier:
        """Place where a number of processes wait for each other."""
        return Barrier(self._environment, num_processes)

    def event(self) -> Event:
        """Event of this clock that is not triggered yet."""
        return simpy.Event(self._environment)

    def watched(
        self,
        process: Process,
        may_go_on: Callable[[], bool],
        change: Callable[[], Event],
        reason: Callable[[], str],
    ) -> Process:
        """Run a process as long as a condition holds; returns its value, or `Dropped`.

        Args:
            may_go_on: The condition, asked at the end of each instant of `change`, before the enclosing
                alarms.
            change: Gives the next event at which to ask.
            reason: Gives the reason why it is cut.
        """
        return (yield from watched(self._environment, process, may_go_on, change, reason))

    def any_of(self, events: Sequence[Event]) -> Event:
        """Event that comes with the first of several."""
        return events[0] if len(events) == 1 else self._environment.any_of(events)

    def timer(self, delay_s: float) -> Event:
        """Event after a delay, for parts that change running activities, such as a band.

        Raises:
            ConfigurationError: The delay is negative or not a number; likewise in `at`.
        """
        if not delay_s >= 0.0:
            raise _backwards(delay_s)
        return Timer(self._environment, delay_s)

    def at(self, time_s: float, event: Event | None = None) -> Event:
        """Event at a time, rounded to the nearest instant (`cosim.clock.instants`).

        Args:
            event: Event of this clock, not triggered yet; None means a new one.
        """
        time_s = instant_after(0.0, time_s)
        if not time_s >= self.now_s:
            raise _backwards(time_s - self.now_s)
        return self._environment.at(time_s, event)

    def end_of_instant(self) -> Event:
        """Event that comes when everything else of this instant is over, alarms included.

        Processes that meet at one instant can be sorted by number there.
        """
        return self._environment.at(self.now_s, priority=sys.maxsize + 4)

    def end_of_own_instant(self) -> Event:
        """Event when everything else of this instant is over, except the caller's enclosing alarms.

        So a server reacts to processes that meet at one instant before an enclosing deadline.
        """
        return self._environment.alarm(0.0, self._environment.depth)


def impossible(node: str, activity: str, lasts_s: float) -> ConfigurationError:
    """Error for an activity with a negative or infinite duration."""
    return ConfigurationError(
        f"{node} cannot {activity} for {lasts_s} s: a duration must be finite, and 0 s or above. Check "
        "the part that gives it."
    )


def too_short(node: str, activity: str, lasts_s: float, start_s: float) -> ConfigurationError:
    """Error for an activity that the clock hardly tells from nothing, so late does it begin."""
    return ConfigurationError(
        f"{node} would {activity} for {lasts_s:.3g} s at {start_s:.9g} s, which is less than a thousand "
        "steps of the clock there. Use times since the start of the run, or longer jobs."
    )


def _backwards(delay_s: float) -> ConfigurationError:
    return ConfigurationError(
        f"an event {delay_s} s from now: a delay must be 0 s or above. Check the part that gives it."
    )


def process_of(found: object, of: str) -> Process:
    """Process that a method has returned.

    Args:
        of: The method, for the message.

    Raises:
        ConfigurationError: The method returned something else.
    """
    if not isinstance(found, Generator):
        raise ConfigurationError(
            f"{of} returned {type(found).__name__}: must be a process, a generator that yields the "
            "events it waits for. Use yield from, as in yield from sim.spend(...), or return a "
            "process."
        )
    return found
