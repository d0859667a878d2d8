"""Closed network of queues against its Markov chain, states enumerated and balance solved."""

from itertools import product

import numpy as np
import pytest

from analysis.closed_forms.closed_network import ClosedNetwork

NETWORKS = [
    (1, (0.5, 0.5), (1.0, 3.0)),
    (3, (0.5, 0.5), (1.0, 1.0)),
    (3, (0.7, 0.3), (1.0, 5.0)),
    (4, (0.2, 0.3, 0.5), (2.0, 0.3, 1.0)),
]
State = tuple[int, ...]


def states(num_jobs: int, num_clients: int) -> list[State]:
    return [state for state in product(range(num_jobs + 1), repeat=num_clients) if sum(state) == num_jobs]


def moved(state: State, source: int, target: int) -> State:
    numbers = list(state)
    numbers[source] -= 1
    numbers[target] += 1
    return tuple(numbers)


def equilibrium(network: ClosedNetwork) -> dict[State, float]:
    """Of the numbers of jobs at the clients, from the generator."""
    num_clients = len(network.shares)
    places = {state: place for place, state in enumerate(states(network.num_jobs, num_clients))}
    generator = np.zeros((len(places), len(places)))
    for state, place in places.items():
        for source, target in product(range(num_clients), repeat=2):
            if state[source]:
                rate = network.shares[target] / network.mean_times_s[source]
                generator[place, places[moved(state, source, target)]] += rate
                generator[place, place] -= rate
    balance = np.vstack([generator.T, np.ones(len(places))])
    law = np.linalg.lstsq(balance, np.append(np.zeros(len(places)), 1.0))[0]
    return {state: law[place] for state, place in places.items()}


def versions_until_done(network: ClosedNetwork, client: int, others: State) -> float:
    """Mean number of versions before the last job in a client's queue is done, by first-step equations.

    The state: jobs elsewhere and behind it do not matter for when it is done, but for how many versions come.
    A job that joins its client stands behind it.
    """
    num_clients, m = len(network.shares), network.num_jobs
    rates = 1.0 / np.array(network.mean_times_s)
    places = {
        (ahead, state): number
        for number, (ahead, state) in enumerate(
            (ahead, state) for state in states(m - 1, num_clients) for ahead in range(state[client] + 1)
        )
    }
    matrix, right = np.eye(len(places)), np.zeros(len(places))
    for (ahead, state), place in places.items():
        is_busy = [bool(state[i]) or i == client for i in range(num_clients)]
        total = sum(rate for rate, busy in zip(rates, is_busy, strict=True) if busy)
        for source in range(num_clients):
            if not is_busy[source] or (source == client and ahead == 0):
                continue  # then it is done itself
            right[place] += rates[source] / total
            for target in range(num_clients):
                left = ahead - (source == client)
                share = network.shares[target] * rates[source] / total
                matrix[place, places[left, moved(state, source, target)]] -= share
    means = np.linalg.solve(matrix, right)
    return float(means[places[others[client], others]])


@pytest.mark.parametrize(("num_jobs", "shares", "mean_times_s"), NETWORKS)
def test_throughput_and_jobs_are_those_of_the_chain(num_jobs, shares, mean_times_s) -> None:
    network = ClosedNetwork(num_jobs=num_jobs, shares=shares, mean_times_s=mean_times_s)
    law = equilibrium(network)
    rate = sum(p / mean_times_s[i] for state, p in law.items() for i in range(len(shares)) if state[i])
    assert network.version_rate_per_s == pytest.approx(rate, rel=1e-9)
    jobs = sum(p * np.array(state) for state, p in law.items())
    np.testing.assert_allclose(network.mean_jobs(num_jobs), jobs, rtol=1e-9)


@pytest.mark.parametrize(("num_jobs", "shares", "mean_times_s"), NETWORKS)
def test_staleness_is_that_of_a_job_followed_through_the_chain(num_jobs, shares, mean_times_s) -> None:
    """Dispatched at a version, which leaves the other m - 1 as the chain's flow of completions has them."""
    network = ClosedNetwork(num_jobs=num_jobs, shares=shares, mean_times_s=mean_times_s)
    flows: dict[State, float] = {}
    for state, p in equilibrium(network).items():
        for source in range(len(shares)):
            if state[source]:
                others = tuple(x - (i == source) for i, x in enumerate(state))
                flows[others] = flows.get(others, 0.0) + p / mean_times_s[source]
    total = sum(flows.values())
    for client, mean in enumerate(network.mean_staleness):
        found = sum(
            flow / total * versions_until_done(network, client, others) for others, flow in flows.items()
        )
        assert mean == pytest.approx(found, rel=1e-9, abs=1e-12)
    assert np.array(shares) @ network.mean_staleness == pytest.approx(num_jobs - 1, rel=1e-12)


def test_values_by_hand() -> None:
    """Two equal clients, two jobs: both work in two of three states, so 4/3 jobs in a mean time."""
    network = ClosedNetwork(num_jobs=2, shares=(0.5, 0.5), mean_times_s=(2.0, 2.0))
    assert network.version_rate_per_s == pytest.approx(4 / 3 / 2.0)
    np.testing.assert_allclose(network.mean_staleness, [1.0, 1.0])


def test_many_jobs_do_not_overflow() -> None:
    network = ClosedNetwork(num_jobs=2000, shares=(0.9, 0.1), mean_times_s=(1e3, 1e-3))
    assert network.version_rate_per_s == pytest.approx(1.0 / 900.0)  # the bottleneck's
    assert np.isfinite(network.mean_staleness).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_jobs": 0}, "num_jobs = 0 must be at least 1"),
        ({"shares": (0.5, 0.4)}, "must sum to 1"),
        ({"shares": (1.0, 0.0)}, "must be above zero"),
        ({"mean_times_s": (1.0,)}, "must be as many as the shares"),
        ({"mean_times_s": (1.0, 0.0)}, "must be above zero, and finite"),
    ],
)
def test_bad_input(changes, message) -> None:
    usual = {"num_jobs": 2, "shares": (0.5, 0.5), "mean_times_s": (1.0, 1.0)}
    with pytest.raises(ValueError, match=message):
        ClosedNetwork(**usual | changes)
