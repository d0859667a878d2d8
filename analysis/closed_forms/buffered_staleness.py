"""Mean staleness with constant concurrency and a buffer, whatever the training times.

M jobs are in flight, K updates make a version, and a client that has reported is replaced by one that starts
from the newest version. The staleness of an update is the number of versions between the one from which it
started and the one that it makes. It is a sum over versions: each ages by one all jobs that have started and
are in no version yet, itself included. At a version the buffer has just been emptied, so these are the jobs
at work:

- M - 1, where the replacement leaves after the version that the report may complete: the job that completed
  it is no longer at work, and its place is empty;
- M, where the replacement leaves before that version, and so from the model that is about to be replaced.

Therefore, in whole numbers and on every path,

    sum of applied staleness + sum of ages of what is in no version at the end = (M - 1) versions,

or M versions. A version applies K updates, and at the end at most M + K - 1 are in none, so the mean tends to
(M - 1) / K, or M / K, if jobs end. Times, the draws of clients and the dependence between jobs do not matter.

Condition: no two reports at one instant. Where all jobs take equally long, all M report at once, are applied
one after the other, and are replaced at the end of the instant. Then the r-th report of an instant finds
M - r at work. Versions come with every K-th report, so r runs through the multiples of g = gcd(M, K) up to M
equally often, its mean is (M + g) / 2, and the mean staleness is (M - g) / (2 K): 0 for M = K, a barrier.

Source: derived here. The system is that of Nguyen et al., "Federated learning with buffered asynchronous
aggregation", arXiv 2106.06639.
"""

import math

import attrs


@attrs.frozen(kw_only=True)
class BufferedStaleness:
    """Staleness by concurrency and buffer.

    Attributes:
        num_in_flight: M.
        num_updates: K; may exceed M.

    Raises:
        ValueError: If one is below 1.
    """

    num_in_flight: int
    num_updates: int

    def __attrs_post_init__(self) -> None:
        for name, value in attrs.asdict(self).items():
            if value < 1:
                raise ValueError(
                    f"BufferedStaleness.{name} = {value!r} must be at least 1. Use 1, where every "
                    "update makes a version."
                )

    def total(self, num_versions: int) -> int:
        """Sum of applied staleness and of the ages of what is left, after `num_versions` versions."""
        return (self.num_in_flight - 1) * num_versions

    @property
    def mean(self) -> float:
        """Limit of the mean where the replacement leaves after the version."""
        return (self.num_in_flight - 1) / self.num_updates

    @property
    def mean_replaced_before(self) -> float:
        """Limit of the mean where the replacement leaves before the version."""
        return self.num_in_flight / self.num_updates

    @property
    def mean_of_equal_times(self) -> float:
        """Mean where all jobs begin together and take equally long."""
        in_step = math.gcd(self.num_in_flight, self.num_updates)
        return (self.num_in_flight - in_step) / (2 * self.num_updates)
