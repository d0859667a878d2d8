"""Clients that restart at once against orders of reports, enumerated, and renewal processes on arrays."""

from itertools import product

import numpy as np
import pytest

from analysis.closed_forms.restarting_clients import ExponentialRestarts, RestartingClients
from analysis.intervals.batch_means import batch_means


def test_rates_by_hand() -> None:
    clients = RestartingClients(mean_times_s=(1.0, 2.0, 4.0), num_updates=2)
    assert clients.version_rate_per_s == pytest.approx(1.75 / 2)
    every = RestartingClients(mean_times_s=(1.0, 2.0, 4.0))
    np.testing.assert_allclose(every.mean_staleness, [0.75, 2.5, 6.0], rtol=1e-12)


def test_the_geometric_law_by_all_orders_of_reports() -> None:
    """The next report comes from client i with probability mu_i / L, whichever was last."""
    means_s = (0.5, 1.0, 2.0)
    shares = (1.0 / np.array(means_s)) / (1.0 / np.array(means_s)).sum()
    theory = ExponentialRestarts(mean_times_s=means_s)
    for client in range(3):
        found = np.zeros(7)
        for order in product(range(3), repeat=7):
            if client in order:
                found[order.index(client)] += np.prod(shares[list(order)])
        np.testing.assert_allclose(theory.probabilities(client, 6), found, rtol=1e-12)


def test_means_of_both_are_the_same() -> None:
    means_s = (0.5, 1.0, 2.0)
    staleness = np.arange(2001)
    for client, mean in enumerate(RestartingClients(mean_times_s=means_s).mean_staleness):
        law = ExponentialRestarts(mean_times_s=means_s).probabilities(client, 2000)
        assert staleness @ law == pytest.approx(mean, rel=1e-9)


def test_fresh_without_a_fixed_time_is_the_first_of_the_geometric_law() -> None:
    theory = ExponentialRestarts(mean_times_s=(0.5, 1.0, 2.0))
    for client in range(3):
        assert theory.fresh_share(client) == pytest.approx(theory.probabilities(client, 0)[0], rel=1e-9)


@pytest.mark.parametrize("fixed_s", [0.3, 2.0])
def test_fresh_with_a_fixed_time_is_that_of_renewal_processes(fixed_s: float) -> None:
    """On arrays: the share of jobs in which no other client reports, in batches."""
    means_s, rng = (0.5, 1.0, 2.0), np.random.default_rng(3)
    reports_s = [np.cumsum(fixed_s + mean_s * rng.standard_exponential(200_000)) for mean_s in means_s]
    end_s = min(times_s[-1] for times_s in reports_s)
    theory = ExponentialRestarts(mean_times_s=means_s, fixed_s=fixed_s)
    for client in range(3):
        own_s = reports_s[client][reports_s[client] < end_s]
        others_s = np.sort(np.concatenate([t for place, t in enumerate(reports_s) if place != client]))
        is_fresh = np.diff(np.searchsorted(others_s, own_s)) == 0
        interval = batch_means(is_fresh.astype(float), 0.999)
        assert interval.verdict(theory.fresh_share(client), margin=0.02) == "agrees"
        memoryless = ExponentialRestarts(mean_times_s=tuple(mean_s + fixed_s for mean_s in means_s))
        assert interval.verdict(memoryless.fresh_share(client)) == "disagrees"


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="geometric for fixed_s = 0"):
        ExponentialRestarts(mean_times_s=(1.0,), fixed_s=1.0).probabilities(0, 1)
    with pytest.raises(ValueError, match="known for num_updates = 1"):
        _ = RestartingClients(mean_times_s=(1.0,), num_updates=2).mean_staleness
    with pytest.raises(ValueError, match=r"mean_times_s = \(0.0,\) must be above zero"):
        RestartingClients(mean_times_s=(0.0,))
