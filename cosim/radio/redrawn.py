"""Redrawn: the blocks in which the random parts of a channel are constant.

A channel is constant within a block and is drawn once for every block. A rule has one of two forms: `of_job`,
the block of a job at any time; or `at` and `end_s`, blocks that follow the clock, even while a client sends.
"""

import math

from typing_extensions import override

from cosim.clock.instants import num_periods
from cosim.configuration import Port, at_least, knob, part
from cosim.configuration.forms import Forms, one_of
from cosim.jobs.job import Job
from cosim.records.rows import NO_ROUND

Block = tuple[int, ...]


class Blocks(Forms):
    """Blocks in which a channel is constant."""

    __slots__ = ()
    forms = one_of(numbers=("of_job",), course=("at", "end_s", "after"))

    def of_job(self, job: Job) -> Block:
        """Block of a job: one number or several, which name the draw."""
        raise NotImplementedError

    def at(self, now_s: float) -> Block:
        """Block of an instant."""
        raise NotImplementedError

    def end_s(self, block: Block) -> float:
        """Instant at which a block ends by itself."""
        return math.inf

    def after(self, block: Block) -> Block:
        """Block after one that has ended by itself."""
        return block


class Unchanging(Blocks):
    """One block for all jobs."""

    @override
    def of_job(self, job: Job) -> Block:
        return ()


class GainCourse(Blocks):
    """Power gain of one client over time, in blocks that follow the clock."""

    def gain(self, block: Block) -> float:
        """Channel power gain |h|^2 in a block."""
        raise NotImplementedError


@part
class Redrawn(Blocks, Port):
    """Rule for when a channel is drawn."""

    forms = Blocks.forms


@part
class EveryGlobalRound(Redrawn):
    """A draw in every global round; for jobs that belong to none, in every job."""

    @override
    def of_job(self, job: Job) -> Block:
        """Number of the global round, or of the job."""
        return (job.number if job.global_round == NO_ROUND else job.global_round,)


@part
class EveryEdgeRound(Redrawn):
    """A draw in every edge round; for jobs that belong to none, in every job."""

    @override
    def of_job(self, job: Job) -> Block:
        """Number of the job, which counts edge rounds."""
        return (job.number,)


@part
class CoherenceTime(Redrawn):
    """A draw after every coherence time, counted from the start, even while a client sends.

    Attributes:
        coherence_time_s: Length of a block. [no source]
    """

    coherence_time_s: float = knob(at_least(1e-6), default=0.1)

    @override
    def at(self, now_s: float) -> Block:
        """Number of coherence times that have passed."""
        return (num_periods(now_s, self.coherence_time_s),)

    @override
    def end_s(self, block: Block) -> float:
        return (block[0] + 1) * self.coherence_time_s

    @override
    def after(self, block: Block) -> Block:
        return (block[0] + 1,)


def block_of(blocks: Blocks, job: Job, now_s: float) -> Block:
    """Block of a job that sends at an instant."""
    return blocks.at(now_s) if blocks.form == "course" else blocks.of_job(job)
