"""Waiting: the port of how long a server waits for the participants of an edge round.

| kind | an edge round ends when |
|---|---|
| `WaitForAll` | all have ended |
| `Deadline` | all have ended, or its time is up |
| `UploadDeadline` | all have ended, and each upload is given up after a time of its own |
| `FirstK` | so many updates have arrived, or all have ended |
| `AtLeast` | another rule says so, and not before its least time is up |

Who is still at work then is cut, and what it has spent is spent. A rule is given the participants' jobs as
they run side by side (`cosim.side_by_side.SideBySide`); it waits for them, and cuts.

Scope and limitations: a rule knows how many have arrived and when, not what they have learned. Over the air
an update cannot be taken out of a sum, so a rule that leaves out what has arrived is refused there.

Usage::

    @configuration
    class Grace(Waiting):
        \"\"\"So many, and who comes shortly after them.

        Attributes:
            num_updates: Updates that are waited for. [no source]
            grace_s: How long the others have from then on. [no source]
        \"\"\"

        num_updates: int = field(at_least(1), default=10)
        grace_s: float = field(positive, default=0.1)

        def wait(self, sim, edge, jobs):
            yield from jobs.wait(num_arrived=self.num_updates)
            yield from jobs.wait(within_s=self.grace_s)
            return (yield from jobs.cut("late"))
"""

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import (
    HELPERS,
    Port,
    at_least,
    configuration,
    field,
    lasting,
    refuse,
    stand_for,
)
from cosim.instants import deadline_after
from cosim.simulation import Process, SideBySide, Simulation

if TYPE_CHECKING:
    from cosim.servers.edge import EdgeServer


@configuration
class Waiting(Port, ABC):
    """How long a server waits for the participants of an edge round."""

    shortcuts = stand_for(ending=("wait", "upload_s", HELPERS))

    @property
    def gives_up(self) -> bool:
        """Whether it gives up an update that never comes; else a link that loses updates is refused."""
        return False

    @property
    def leaves_out(self) -> bool:
        """Whether it leaves out updates that have arrived; then a link that adds them up is refused."""
        return False

    @property
    def least_s(self) -> float:
        """How long an edge round lasts at least."""
        return 0.0

    @property
    def most_s(self) -> float:
        """How long an edge round lasts at most, as the link is told; infinite where nobody knows."""
        return math.inf

    @property
    def upload_s(self) -> float | None:
        """How long after its own start an upload is given up; None: never."""
        return None

    def fit(self, system: Any) -> None:
        """Refuse to leave an update out of a sum."""
        if self.leaves_out and system.uplink.adds_up:
            kind = type(self).__name__
            rule = f"{kind} leaves out updates that have arrived, and over the air only their mean arrives"
            raise refuse("System", "uplink", type(system.uplink).__name__, rule, "sharing = FixedShares")

    def fit_round(self, num_participants: int) -> None:
        """Refuse edge rounds of so many participants.

        Raises:
            ConfigurationError: What does not fit, and the usual fix.
        """

    def ending(self, start_s: float, ends_s: NDArray[np.float64]) -> "Ending | None":
        """When an edge round ends and who counts, from when everyone would end; None: it is played by events.

        A rule that has one can be played on arrays, bit for bit as `wait` would have it.

        Args:
            ends_s: When each would have ended, in the order of their numbers, shape (participants,).
        """
        return None

    @abstractmethod
    def wait(self, sim: Simulation, edge: "EdgeServer", jobs: SideBySide) -> Process:
        """Let an edge round last until it is over, and cut who is still at work.

        Args:
            jobs: One for each participant, by name, begun at this instant.

        Returns:
            What `jobs.cut` returns: for each participant its update, or `Dropped`.
        """


class Ending(NamedTuple):
    """How an edge round ends.

    Attributes:
        end_s: When; who has not ended by then is cut.
        counts: Whose update counts, shape (participants,).
        reason: Why the others' do not.
    """

    end_s: float
    counts: NDArray[np.bool_]
    reason: str


@configuration
class WaitForAll(Waiting):
    """Everyone, however long it takes."""

    def ending(self, start_s: float, ends_s: NDArray[np.float64]) -> "Ending":
        """At the last."""
        return Ending(ends_s.max(initial=start_s), np.ones(len(ends_s), dtype=bool), "late")

    def wait(self, sim: Simulation, edge: "EdgeServer", jobs: SideBySide) -> Process:
        """Until all have ended."""
        yield from jobs.wait()
        return (yield from jobs.cut("late"))


@configuration
class Deadline(Waiting):
    """A time after which late updates are dropped; a round in which all arrive ends earlier.

    Attributes:
        after_s: Length of an edge round. [no source]
    """

    after_s: float = field(lasting, default=1.0)

    @property
    def gives_up(self) -> bool:
        """Late is late."""
        return True

    @property
    def most_s(self) -> float:
        """Its length."""
        return self.after_s

    def ending(self, start_s: float, ends_s: NDArray[np.float64]) -> "Ending":
        """At the last, or when the time is up."""
        late_s = deadline_after(start_s, self.after_s)
        end_s = min(ends_s.max(initial=start_s), late_s)
        return Ending(end_s, ends_s <= late_s, "deadline")

    def wait(self, sim: Simulation, edge: "EdgeServer", jobs: SideBySide) -> Process:
        """Until all have ended, or the time is up."""
        yield from jobs.wait(within_s=self.after_s)
        return (yield from jobs.cut("deadline"))


@configuration
class UploadDeadline(Waiting):
    """A time for each upload, from its own start; computing takes as long as it takes.

    Attributes:
        after_s: T_p, after which an upload is late. [VHFL, Section IV: from K / K_0]
    """

    after_s: float = field(lasting, default=1.0)

    @property
    def gives_up(self) -> bool:
        """Late is late."""
        return True

    @property
    def upload_s(self) -> float:
        """Its time."""
        return self.after_s

    def wait(self, sim: Simulation, edge: "EdgeServer", jobs: SideBySide) -> Process:
        """Until all have ended."""
        yield from jobs.wait()
        return (yield from jobs.cut("late"))


@configuration
class FirstK(Waiting):
    """The first so many updates that arrive; the others are dropped.

    Of those that arrive at the instant of the last, the first by number count. Where fewer take part, or some
    stop by themselves, a round ends when all have ended.

    Attributes:
        num_updates: Updates K that an edge round waits for. [no source]
    """

    num_updates: int = field(at_least(1), default=10)

    @property
    def leaves_out(self) -> bool:
        """Of several at one instant."""
        return True

    def fit_round(self, num_participants: int) -> None:
        """Refuse more updates than participants, which would be all of them."""
        if self.num_updates > num_participants:
            rule = f"an edge round of the smallest cell has {num_participants} participants"
            fix = f"at most {num_participants}, or WaitForAll"
            raise refuse("FirstK", "num_updates", self.num_updates, rule, fix)

    def ending(self, start_s: float, ends_s: NDArray[np.float64]) -> "Ending":
        """At the last of the first so many."""
        first = np.argsort(ends_s, kind="stable")[: self.num_updates]
        counts = np.zeros(len(ends_s), dtype=bool)
        counts[first] = True
        return Ending(ends_s[first].max(initial=start_s), counts, f"after the first {self.num_updates}")

    def wait(self, sim: Simulation, edge: "EdgeServer", jobs: SideBySide) -> Process:
        """Until so many have arrived."""
        yield from jobs.wait(num_arrived=self.num_updates)
        return (yield from jobs.cut(f"after the first {self.num_updates}", most=self.num_updates))


@configuration
class AtLeast(Waiting):
    """Another rule, and a least time that a round lasts though all have arrived.

    Attributes:
        lasting_s: Least time of an edge round. [no source]
        rule: How long it waits for the participants.
    """

    lasting_s: float = field(lasting, default=1.0)
    rule: Waiting = WaitForAll()

    @property
    def gives_up(self) -> bool:
        """As the rule."""
        return self.rule.gives_up

    @property
    def leaves_out(self) -> bool:
        """As the rule."""
        return self.rule.leaves_out

    @property
    def least_s(self) -> float:
        """The longer of both."""
        return max(self.lasting_s, self.rule.least_s)

    @property
    def most_s(self) -> float:
        """When the rule has ended, nobody sends any more."""
        return self.rule.most_s

    @property
    def upload_s(self) -> float | None:
        """As the rule."""
        return self.rule.upload_s

    def fit_round(self, num_participants: int) -> None:
        """Refuse what the rule refuses."""
        self.rule.fit_round(num_participants)

    def wait(self, sim: Simulation, edge: "EdgeServer", jobs: SideBySide) -> Process:
        """As the rule, and until the time is up."""
        outcomes, _ = yield from sim.together(
            [self.rule.wait(sim, edge, jobs), sim.spend(edge.name, "collect", self.lasting_s)]
        )
        return outcomes
