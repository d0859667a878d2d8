"""Bursts and finite buffers: closed forms against enumerated Markov chains."""

import math

import numpy as np
import pytest
from scipy.linalg import expm, null_space

from analysis.closed_forms.delays.finite_buffer import FiniteRoom
from analysis.closed_forms.delays.on_off_arrivals import OnOffStream

pytestmark = pytest.mark.quick


def generator(rates: dict[tuple[int, int], float], num: int) -> np.ndarray:
    """Generator of a Markov chain, from its rates."""
    found = np.zeros((num, num))
    for (here, there), rate in rates.items():
        found[here, there] += rate
    return found - np.diag(found.sum(axis=1))


@pytest.mark.parametrize(("arrivals", "services", "places"), [(2.0, 2.5, 4), (3.0, 1.0, 6), (1.0, 1.0, 1)])
def test_a_finite_buffer_is_a_birth_and_death_chain(arrivals, services, places):
    rates = {(k, k + 1): arrivals for k in range(places)} | {(k + 1, k): services for k in range(places)}
    (steady,) = null_space(generator(rates, places + 1).T).T
    steady = steady / steady.sum()
    theory = FiniteRoom(arrival_rate_per_s=arrivals, service_rate_per_s=services, num_places=places)
    assert theory.shares == pytest.approx(steady, rel=1e-9)
    served_per_s = services * (1.0 - steady[0])
    assert arrivals * (1.0 - theory.lost_share) == pytest.approx(served_per_s, rel=1e-9)
    by_place_s = sum(steady[k] * (k + 1) / services for k in range(places)) / (1.0 - steady[-1])
    assert theory.mean_sojourn_s == pytest.approx(by_place_s, rel=1e-9)


@pytest.mark.parametrize("window_s", [0.1, 1.0, 10.0])
@pytest.mark.parametrize(("on", "off"), [((8.0, 1.0), (0.5, 3.0)), ((4.0, 0.2), (0.0, 0.1))])
def test_bursts_are_a_chain_of_states_and_counts(on, off, window_s):
    """State and count together, by a matrix exponential, up to a count that is rarely passed."""
    theory = OnOffStream(rates_per_s=(on[0], off[0]), mean_times_s=(on[1], off[1]))
    most = math.ceil(on[0] * window_s + 12.0 * math.sqrt(on[0] * window_s) + 12.0)
    turns = np.array([[-1.0 / on[1], 1.0 / on[1]], [1.0 / off[1], -1.0 / off[1]]])
    rates = np.diag(theory.rates_per_s)
    whole = np.kron(np.eye(most + 1), turns - rates) + np.kron(np.eye(most + 1, k=1), rates)
    first = np.zeros(2 * (most + 1))
    first[:2] = theory.first_share, 1.0 - theory.first_share
    counts = (first @ expm(window_s * whole)).reshape(-1, 2).sum(axis=1)
    assert counts.sum() == pytest.approx(1.0, abs=1e-6)
    mean = counts @ np.arange(most + 1)
    variance = counts @ (np.arange(most + 1) - mean) ** 2
    assert mean == pytest.approx(theory.mean_rate_per_s * window_s, rel=1e-5)
    assert variance / mean == pytest.approx(theory.dispersion(window_s), rel=1e-4)


def test_what_is_no_queue_is_refused():
    with pytest.raises(ValueError, match=r"FiniteRoom\.num_places = 0 must be above zero"):
        FiniteRoom(arrival_rate_per_s=1.0, service_rate_per_s=1.0, num_places=0)
    with pytest.raises(ValueError, match=r"OnOffStream\.mean_times_s = \(1\.0, 0\.0\) must be above zero"):
        OnOffStream(rates_per_s=(1.0, 2.0), mean_times_s=(1.0, 0.0))
