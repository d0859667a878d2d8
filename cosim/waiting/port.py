"""Waiting: the port of the time that a server waits for the participants of an edge round.

Asked: numbers, `deadline_s` and `num_wanted`, from which both clocks follow; or `wait`, a process, for any
other rule, which then runs by events.

| kind | an edge round ends when |
|---|---|
| `WaitForAll` | all have ended |
| `Deadline` | all have ended, or its time is up |
| `UploadDeadline` | all have ended; each upload has a time limit of its own |
| `FirstK` | its number of updates have arrived, or all have ended |
| `AtLeast` | another rule ends it, and not before its least time is up |

Clients still working then are cut off; the energy they used stays counted. A process is given the
participants' jobs, which run side by side (`cosim.clock.side_by_side.SideBySide`); it waits for them and cuts
them off.

Scope and limitations: a rule knows how many updates have arrived and when, not their content. Over the air
an update cannot be taken out of a sum, so a rule that leaves out an arrived update is refused there.

Usage::

    @part
    class Grace(Waiting):
        \"\"\"A number of updates, and all that arrive shortly after.

        Attributes:
            num_updates: Updates that are waited for. [no source]
            grace_s: Time that the others have from then on. [no source]
        \"\"\"

        num_updates: int = knob(at_least(1), default=10)
        grace_s: float = knob(positive, default=0.1)

        def wait(self, sim, edge, jobs):
            yield from jobs.wait(num_arrived=self.num_updates)
            yield from jobs.wait(within_s=self.grace_s)
            return (yield from jobs.cut("late"))
"""

import math

from typing_extensions import override

from cosim.clock.simulation import Process, SideBySide, Simulation
from cosim.configuration import Ask, Port, one_of, part
from cosim.configuration.going_together import EVERY_UPDATE, ONE_BY_ONE
from cosim.jobs.cell import Edge


@part
class Waiting(Port):
    """Rule for how long a server waits for the participants of an edge round."""

    forms = one_of(numbers=("deadline_s", "num_wanted"), events=("wait",))
    asks = (
        Ask(
            EVERY_UPDATE,
            "waits for every one",
            "waiting = Deadline",
            "without a deadline",
            lambda own: own.deadline_s == math.inf and own.upload_deadline_s is None,
        ),
        Ask(
            ONE_BY_ONE,
            "leaves out updates that have arrived",
            "waiting = WaitForAll or Deadline",
            "num_wanted",
            lambda own: own.num_wanted is not None,
        ),
    )

    @property
    def deadline_s(self) -> float:
        """Longest time of an edge round, which the link knows as well; infinite means no limit."""
        return math.inf

    @property
    def num_wanted(self) -> int | None:
        """Updates after which a round ends, at one instant the first by number; None means all."""
        return None

    @property
    def least_s(self) -> float:
        """Least time of an edge round, even if all its clients have ended; for either form."""
        return 0.0

    @property
    def upload_deadline_s(self) -> float | None:
        """Time limit of an upload from its own start, for either form; None means no limit."""
        return None

    def fit_round(self, num_participants: int) -> None:
        """Refuse edge rounds of `num_participants`.

        Raises:
            ConfigurationError: The rule does not fit; the message says why and what to use.
        """

    def wait(self, sim: Simulation, edge: Edge, jobs: SideBySide) -> Process:
        """Wait until an edge round is over, and cut off the jobs that still run.

        Args:
            jobs: One for each participant, by name, begun at this instant.

        Returns:
            What `jobs.cut` returns: for each participant its update, or `Dropped`.
        """
        yield from jobs.wait(self.num_wanted, self.deadline_s if self.deadline_s < math.inf else None)
        return (yield from jobs.cut(self.reason(jobs.num_arrived), most=self.num_wanted))

    def reason(self, num_arrived: int) -> str:
        """Reason for dropping updates that do not count, in a round that ends with `num_arrived`."""
        if self.num_wanted is not None and num_arrived >= self.num_wanted:
            return f"after the first {self.num_wanted}"
        return "deadline" if self.deadline_s < math.inf else "late"


@part
class WaitForAll(Waiting):
    """All participants, however long they take."""

    @property
    @override
    def deadline_s(self) -> float:
        return math.inf
