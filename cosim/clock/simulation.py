"""The clock: the only place where time passes.

A *process* is a generator that yields from `spend` and from other processes; `together`, `with_deadline` and
`first` run several processes side by side. The contract:

- Time never goes back; no duration is negative.
- Instants have 15 significant decimal digits (`cosim.clock.instants`): 0.1 + 0.2 is 0.3. The clock ends at
  1e9 s.
- What arrives at exactly the deadline has arrived: an alarm comes after everything else of its instant but
  `end_of_instant`, and of several alarms the innermost comes first, so that a process ending by its own alarm
  has still arrived.
- Time that stands still, by events without end at one instant, ends the run (`cosim.clock.event_loop`).
- Simultaneous events come in the order (time, priority, insertion). Nothing of what a run writes may hang
  on that insertion order: ties that matter (sums, who is first) go by node name. `shuffle_ties` puts
  simultaneous events into a random order, so that a test can show it.
- An activity cut short writes its span and the energy it took up to the cut; the process around it ends, and
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

from cosim.clock.draws import Draws
from cosim.clock.event_clock import Clock, ShuffledClock
from cosim.clock.event_loop import play
from cosim.clock.instants import instant_after
from cosim.clock.side_by_side import (
    Barrier,
    Branch,
    Dropped,
    Event,
    Loose,
    Process,
    SideBySide,
    Watched,
    end_of_own_instant,
    outcome_of,
    reason_of,
)
from cosim.configuration import ConfigurationError
from cosim.recording.recorder import Recorder
from cosim.recording.recording import NOTHING_ELSE, Recording
from cosim.records.rows import DONE, END_OF_RUN, NO_JOB

__all__ = [
    "Barrier",
    "Dropped",
    "Event",
    "Interrupt",
    "Process",
    "SideBySide",
    "Simulation",
    "outcome_of",
    "reason_of",
]

Interrupt = simpy.Interrupt


class Simulation(Draws):
    """One run's clock, draws and trace.

    Args:
        seed: Names the run's randomness, any whole number.
        shuffle_ties: None keeps simultaneous events in insertion order; a number orders them at random.
        recording: What is written down beside rows of all that happens.

    Attributes:
        recorder: Writes down what happens.
    """

    def __init__(
        self, seed: int, *, shuffle_ties: int | None = None, recording: Recording = NOTHING_ELSE
    ) -> None:
        super().__init__(seed)
        self._environment = Clock() if shuffle_ties is None else ShuffledClock(shuffle_ties)
        self.recorder = Recorder(self._environment, recording)
        self._loose = Loose(self._environment)

    @property
    def now_s(self) -> float:
        """Simulated time since the start."""
        return self._environment._now

    def apart(self, purpose: str) -> "Simulation":
        """The same clock and trace with draws of its own, so that a part may be used twice in a run."""
        other = copy(self)
        Draws.__init__(other, self.key(purpose, "draws"))
        return other

    def run(self, process: Process, num_nodes: int = 0) -> Any:
        """Play a process to its end and return its value; what it has started and left is cut then.

        Args:
            num_nodes: How many may be at work, by which it is told that time stands still.

        Raises:
            ConfigurationError: It waits, and nothing will ever happen any more; the clock ends before; or
                time stands still.
        """
        whole = Branch(self._environment, self._to_its_end(process))
        return play(self._environment, whole, num_nodes)

    def _to_its_end(self, process: Process) -> Process:
        value = yield from process
        yield from self._loose.cut(END_OF_RUN)
        self.recorder.close(self.now_s)
        return value

    def start(self, process: Process) -> None:
        """Start a process that goes on beside the one that is running, whatever becomes of that."""
        self._loose.start(process)

    def spend(
        self, node: str, activity: str, until: float | Event, power_w: float = 0.0, job: int = NO_JOB
    ) -> Process:
        """Let time pass for one node, for a duration in seconds or until an event has come.

        Writes one span with energy `power_w` times the time that passed; an activity that takes no time
        writes none. Returns the event's value.

        Args:
            job: Number of the node's job that it belongs to.

        Raises:
            ConfigurationError: The duration is negative or not finite.
        """
        if not isinstance(until, simpy.Event):
            if not 0.0 <= until < math.inf:
                raise impossible(node, activity, until)
            if until == 0.0:
                return None
            until = simpy.Timeout(self._environment, until)
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
        """Play processes side by side until all have ended; returns their values in the given order."""
        return (yield from self.with_deadline(processes, None))

    def with_deadline(
        self, processes: Iterable[Process], deadline_s: float | None, reason: str = "deadline"
    ) -> Process:
        """Play processes side by side for at most `deadline_s` from now (None: without end).

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
        """Play named processes side by side until one has ended, and cut the others.

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
        """A place where so many processes wait for each other."""
        return Barrier(self._environment, num_processes)

    def event(self) -> Event:
        """An event of this clock that nothing has triggered yet."""
        return simpy.Event(self._environment)

    def watched(
        self,
        process: Process,
        may_go_on: Callable[[], bool],
        change: Callable[[], Event],
        reason: Callable[[], str],
    ) -> Process:
        """Play a process as long as something lets it; returns its value, or `Dropped`.

        Args:
            may_go_on: Asked at the end of each instant of `change`, before the alarms around.
            change: Gives the next event at which to ask.
            reason: Why it is cut.
        """
        return (yield from Watched(self._environment, may_go_on, change, reason).played(process))

    def any_of(self, events: Sequence[Event]) -> Event:
        """An event that comes with the first of some."""
        return events[0] if len(events) == 1 else self._environment.any_of(events)

    def timer(self, delay_s: float) -> Event:
        """An event that comes after a delay, for parts that bend running activities, such as a band.

        Raises:
            ConfigurationError: The delay is negative or no number; so does `at`.
        """
        if not delay_s >= 0.0:
            raise _backwards(delay_s)
        return simpy.Timeout(self._environment, delay_s)

    def at(self, time_s: float, event: Event | None = None) -> Event:
        """An event that comes at a time, as the nearest instant (`cosim.clock.instants`).

        Args:
            event: Of this clock, not triggered yet; None: a new one.
        """
        time_s = instant_after(0.0, time_s)
        if not time_s >= self.now_s:
            raise _backwards(time_s - self.now_s)
        return self._environment.at(time_s, event)

    def end_of_instant(self) -> Event:
        """An event that comes when all else of this instant is over, alarms included.

        Those who meet at one instant can be sorted by number there.
        """
        event = self.event()
        event._ok, event._value = True, None
        self._environment.schedule(event, sys.maxsize + 4)  # type: ignore[arg-type]
        return event

    def end_of_own_instant(self) -> Event:
        """An event that comes when all else of this instant is over, but for the alarms around who asks.

        So what a server makes of those who meet at one instant is there before a deadline around it.
        """
        return end_of_own_instant(self._environment)


def impossible(node: str, activity: str, lasts_s: float) -> ConfigurationError:
    """What is said of an activity whose duration is negative or not finite."""
    return ConfigurationError(
        f"{node} cannot {activity} for {lasts_s} s: time passes forwards, and ends. Usual fix: "
        "a part that gives a finite duration of 0 s or above."
    )


def _backwards(delay_s: float) -> ConfigurationError:
    return ConfigurationError(
        f"an event {delay_s} s from now: time passes forwards. Usual fix: a part that gives a delay of 0 s "
        "or above."
    )


def process_of(found: object, of: str) -> Process:
    """What somebody's method has returned, which must be a process.

    Args:
        of: The method, for the message.

    Raises:
        ConfigurationError: It is none.
    """
    if not isinstance(found, Generator):
        raise ConfigurationError(
            f"{of} returned {type(found).__name__}: must be a process, which yields what it waits for. Usual "
            "fix: yield from, such as yield from sim.spend(...), or return what is a process."
        )
    return found
