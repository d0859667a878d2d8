"""Jobs in flight after Poisson starts against Markov chains of clients at work, by phase."""

import math
from itertools import product

import numpy as np
import pytest

from analysis.closed_forms.poisson_starts import JobsInFlight


def chain(start_rate_per_s: float, mean_times_s: tuple[float, ...], num_phases: int) -> np.ndarray:
    """Law of the number at work; a job has a number of exponential phases (Erlang's law of times)."""
    num_clients = len(mean_times_s)
    states = list(product(range(num_phases + 1), repeat=num_clients))  # phases left; 0: idle
    places = {state: place for place, state in enumerate(states)}
    generator = np.zeros((len(states), len(states)))
    for state, place in places.items():
        num_idle = state.count(0)
        for client, left in enumerate(state):
            follows = list(state)
            if left:
                follows[client], rate = left - 1, num_phases / mean_times_s[client]
            else:
                follows[client], rate = num_phases, start_rate_per_s / num_idle
            generator[place, places[tuple(follows)]] += rate
            generator[place, place] -= rate
    balance = np.vstack([generator.T, np.ones(len(states))])
    law = np.linalg.lstsq(balance, np.append(np.zeros(len(states)), 1.0))[0]
    at_work = np.array([num_clients - state.count(0) for state in states])
    return np.bincount(at_work, weights=law, minlength=num_clients + 1)


@pytest.mark.parametrize("num_phases", [1, 2, 3])
@pytest.mark.parametrize("mean_times_s", [(1.0,), (1.0, 1.0, 1.0), (0.2, 1.0, 3.0)])
def test_the_law_is_that_of_the_chain_whatever_the_phases(mean_times_s, num_phases: int) -> None:
    theory = JobsInFlight(start_rate_per_s=1.5, mean_times_s=mean_times_s)
    found = chain(1.5, mean_times_s, num_phases)
    np.testing.assert_allclose(theory.probabilities, found, rtol=1e-9)
    assert theory.mean == pytest.approx(np.arange(len(found)) @ found, rel=1e-9)


def test_equal_clients_are_erlang_s_loss_system() -> None:
    theory = JobsInFlight(start_rate_per_s=4.0, mean_times_s=(0.5,) * 5)
    weights = np.array([2.0**k / math.factorial(k) for k in range(6)])
    np.testing.assert_allclose(theory.probabilities, weights / weights.sum(), rtol=1e-12)
    np.testing.assert_allclose(theory.untruncated, weights * math.exp(-2.0), rtol=1e-12)


def test_little_s_law() -> None:
    """Jobs in flight are the jobs that are not lost, times how long they take."""
    theory = JobsInFlight(start_rate_per_s=4.0, mean_times_s=(0.5,) * 5)
    assert theory.mean == pytest.approx(4.0 * (1.0 - theory.probabilities[-1]) * 0.5, rel=1e-12)


def test_no_clients_are_refused() -> None:
    with pytest.raises(ValueError, match="must be above zero, and finite"):
        JobsInFlight(start_rate_per_s=1.0, mean_times_s=())
