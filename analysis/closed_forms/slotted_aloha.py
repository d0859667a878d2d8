"""Slotted ALOHA over m channels: successes in a slot, and slots until all of n have got through.

Each of n sends in a slot with probability p, in a channel drawn uniformly, and gets through if alone in it.
The n - 1 others each stay out of that channel with probability 1 - p / m, so the mean number of successes is

    n p (1 - p / m)^(n - 1),

largest in p at min(1, m / n), where its derivative in p, in proportion to 1 - p / m - (n - 1) p / m, is 0.

A client that has got through is silent from then on. With k left, j get through with probability

    P(k, j) = sum over t of C(k, t) p^t (1 - p)^(k - t) q(t, j),

and of t senders, j are alone with probability q(t, j) = C(m, j) t! / (t - j)! a(t - j, m - j) / m^t, where
a(t, m) is the number of ways to put t into m channels such that none is alone, by inclusion and exclusion

    a(t, m) = sum over i of (-1)^i C(m, i) t! / (t - i)! (m - i)^(t - i).

The mean number of slots until all have got through follows from E(0) = 0 and E(k) (1 - P(k, 0)) = 1 + sum
over j >= 1 of P(k, j) E(k - j); for one channel it is the sum over k of 1 / (k p (1 - p)^(k - 1)).

Conditions: all begin together, each with one packet; slots and draws independent.

Source: Roberts, "ALOHA packet system with and without slots and capture" (1975), for m = 1; derived above.
"""

from functools import cache
from math import comb, factorial, perm

import attrs


@attrs.frozen(kw_only=True)
class SlottedAlohaLaw:
    """Law of a slot, and of the slots that it takes to collect all.

    Attributes:
        num_clients: n.
        num_channels: m.
        transmit_probability: p.

    Raises:
        ValueError: If counts are below 1, or the probability is not above 0 and at most 1.
    """

    num_clients: int
    num_channels: int
    transmit_probability: float

    def __attrs_post_init__(self) -> None:
        fits = self.num_clients >= 1 and self.num_channels >= 1 and 0.0 < self.transmit_probability <= 1.0
        if not fits:
            raise ValueError(
                f"{self}: counts must be at least 1, and the probability above 0 and at most 1. Use "
                "min(1, num_channels / num_clients)."
            )

    @property
    def mean_successes(self) -> float:
        """Mean number of successes in a slot in which all have something to send."""
        n, m, p = self.num_clients, self.num_channels, self.transmit_probability
        return n * p * (1.0 - p / m) ** (n - 1)

    @property
    def best_probability(self) -> float:
        """The probability with which most get through."""
        return min(1.0, self.num_channels / self.num_clients)

    def success_probability(self, num_left: int, num_successes: int) -> float:
        """P(k, j): probability that j of the k clients left get through in a slot."""
        p, m = self.transmit_probability, self.num_channels
        return sum(
            comb(num_left, t) * p**t * (1.0 - p) ** (num_left - t) * _alone(t, num_successes, m)
            for t in range(num_successes, num_left + 1)
        )

    @property
    def mean_slots(self) -> float:
        """Mean number of slots until all have got through; infinite where they never do."""
        slots = [0.0]
        for left in range(1, self.num_clients + 1):
            through = [self.success_probability(left, j) for j in range(left + 1)]
            some = sum(through[1:])
            later = sum(through[j] * slots[left - j] for j in range(1, left + 1))
            slots.append((1.0 + later) / some if some > 0.0 else float("inf"))
        return slots[-1]


@cache
def _alone(num_senders: int, num_alone: int, num_channels: int) -> float:
    """q(t, j): probability that exactly j of t senders are alone in their channel."""
    if num_alone > num_channels:
        return 0.0
    rest, others = num_senders - num_alone, num_channels - num_alone
    ways = comb(num_channels, num_alone) * perm(num_senders, num_alone) * _none_alone(rest, others)
    return ways / num_channels**num_senders


def _none_alone(num: int, num_channels: int) -> int:
    """a(t, m)."""
    return sum(
        (-1) ** i
        * comb(num_channels, i)
        * (factorial(num) // factorial(num - i))
        * (num_channels - i) ** (num - i)
        for i in range(min(num, num_channels) + 1)
    )
