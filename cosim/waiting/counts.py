"""Counts: edge rounds that end with the first updates, or not before a least time."""

from typing_extensions import override

from cosim.clock.simulation import Process, SideBySide, Simulation
from cosim.configuration import at_least, knob, lasting, part, refuse
from cosim.jobs.cell import Edge
from cosim.waiting.port import WaitForAll, Waiting


@part
class FirstK(Waiting):
    """The first K updates that arrive; the others are dropped.

    Of updates that arrive at the instant of the last one, the first by number count. If fewer clients take
    part, or some stop by themselves, a round ends when all have ended.

    Attributes:
        num_updates: Updates K that an edge round waits for. [no source]
    """

    num_updates: int = knob(at_least(1), default=10)

    @property
    @override
    def num_wanted(self) -> int:
        return self.num_updates

    @override
    def fit_round(self, num_participants: int) -> None:
        """Refuse more updates than participants: that would be all of them."""
        if self.num_updates > num_participants:
            rule = f"an edge round of the smallest cell has {num_participants} participants"
            fix = f"Use at most {num_participants}, or WaitForAll."
            raise refuse("FirstK", "num_updates", self.num_updates, rule, fix)


@part
class AtLeast(Waiting):
    """Another rule, and a least time that a round lasts even if all have arrived.

    Attributes:
        lasting_s: Least time of an edge round. [no source]
        rule: Rule that waits for the participants.
    """

    wraps = "rule"
    asks = ()

    lasting_s: float = knob(lasting, default=1.0)
    rule: Waiting = WaitForAll()

    @property
    @override
    def least_s(self) -> float:
        """Longer of the two least times."""
        return max(self.lasting_s, self.rule.least_s)

    @property
    @override
    def deadline_s(self) -> float:
        """Longest time of the rule: when it has ended, no client sends any more."""
        return self.rule.deadline_s

    @property
    @override
    def num_wanted(self) -> int | None:
        return self.rule.num_wanted

    @property
    @override
    def upload_deadline_s(self) -> float | None:
        return self.rule.upload_deadline_s

    @override
    def fit_round(self, num_participants: int) -> None:
        self.rule.fit_round(num_participants)

    @override
    def wait(self, sim: Simulation, edge: Edge, jobs: SideBySide) -> Process:
        return self.rule.wait(sim, edge, jobs)

    @override
    def reason(self, num_arrived: int) -> str:
        return self.rule.reason(num_arrived)
