"""Slotted ALOHA: the closed forms against all that can happen in a slot, and against each other."""

from itertools import product

import numpy as np
import pytest

from analysis.closed_forms.slotted_aloha import SlottedAlohaLaw

CASES = [(n, m, p) for n in (1, 2, 3, 5) for m in (1, 2, 4) for p in (0.15, 0.6, 1.0)]


def law(n: int, m: int, p: float) -> SlottedAlohaLaw:
    return SlottedAlohaLaw(num_clients=n, num_channels=m, transmit_probability=p)


def by_brute_force(n: int, m: int, p: float) -> np.ndarray:
    """P(n, j) over all choices of everybody: silence (-1), or a channel."""
    found = np.zeros(n + 1)
    for choices in product(range(-1, m), repeat=n):
        probability = np.prod([1.0 - p if choice < 0 else p / m for choice in choices])
        found[sum(choice >= 0 and choices.count(choice) == 1 for choice in choices)] += probability
    return found


@pytest.mark.parametrize(("n", "m", "p"), CASES)
def test_a_slot_is_what_can_happen_in_it(n, m, p):
    found = by_brute_force(n, m, p)
    assert [law(n, m, p).success_probability(n, j) for j in range(n + 1)] == pytest.approx(found, abs=1e-12)
    assert law(n, m, p).mean_successes == pytest.approx(found @ np.arange(n + 1), abs=1e-12)


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (4, 0.3), (12, 0.1)])
def test_one_channel_is_a_sum(n, p):
    expected = sum(1.0 / (k * p * (1.0 - p) ** (k - 1)) for k in range(1, n + 1))
    assert law(n, 1, p).mean_slots == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 1), (7, 3), (3, 7), (60, 8)])
def test_the_best_probability_is_the_best(n, m):
    best = law(n, m, 0.5).best_probability
    most = law(n, m, best).mean_successes
    assert all(law(n, m, p).mean_successes <= most for p in np.linspace(0.001, 1.0, 400))
    assert best == min(1.0, m / n)


def test_two_who_always_send_never_get_through():
    assert law(2, 1, 1.0).mean_slots == float("inf")
    assert law(2, 2, 1.0).mean_slots == pytest.approx(2.0, rel=1e-12)
    with pytest.raises(ValueError, match="counts must be at least 1"):
        law(0, 1, 0.5)
