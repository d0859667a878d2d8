"""Redrawn: when what is random about a channel changes.

A channel stays the same within a block and is drawn anew for every block.
"""

import math
from abc import ABC, abstractmethod

from cosim.configuration import Port, at_least, configuration, field, stand_for
from cosim.instants import num_periods
from cosim.links.link import Job
from cosim.records import NO_ROUND

Block = tuple[int, ...]


@configuration
class Redrawn(Port, ABC):
    """When a channel is drawn anew."""

    shortcuts = stand_for(is_by_job=("block", "end_s", "after"))

    @property
    def within_uploads(self) -> bool:
        """Whether a block may end while somebody sends: where a class says when it ends."""
        return type(self).end_s is not Redrawn.end_s

    @property
    def is_by_job(self) -> bool:
        """Whether the job alone says which block it meets, whenever it sends."""
        return False

    @abstractmethod
    def block(self, job: Job, now_s: float) -> Block:
        """The block that a job meets at an instant: one number or several, which name the draw."""

    def end_s(self, block: Block) -> float:
        """When a block ends by itself; infinity where it changes with the jobs."""
        return math.inf

    def after(self, block: Block) -> Block:
        """The block that follows one that has ended by itself."""
        return block


@configuration
class EveryGlobalRound(Redrawn):
    """In every global round; for jobs that belong to none, in every job."""

    @property
    def is_by_job(self) -> bool:
        """It does."""
        return True

    def block(self, job: Job, now_s: float) -> Block:
        """The global round, or the number of the job."""
        return (job.number if job.global_round == NO_ROUND else job.global_round,)


@configuration
class EveryEdgeRound(Redrawn):
    """In every edge round; for jobs that belong to none, in every job."""

    @property
    def is_by_job(self) -> bool:
        """It does."""
        return True

    def block(self, job: Job, now_s: float) -> Block:
        """The number of the job, which counts edge rounds."""
        return (job.number,)


@configuration
class CoherenceTime(Redrawn):
    """After every coherence time, counted from the start, also while somebody sends.

    Attributes:
        coherence_time_s: Length of a block. [no source]
    """

    coherence_time_s: float = field(at_least(1e-6), default=0.1)

    def block(self, job: Job, now_s: float) -> Block:
        """The number of coherence times that have passed."""
        return (num_periods(now_s, self.coherence_time_s),)

    def end_s(self, block: Block) -> float:
        """When the coherence time is over."""
        return (block[0] + 1) * self.coherence_time_s

    def after(self, block: Block) -> Block:
        """The next one."""
        return (block[0] + 1,)
