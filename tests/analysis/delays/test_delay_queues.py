"""Closed forms of queues against chains, enumeration and quadrature that use none of their formulas."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import expm_multiply, spsolve
from scipy.special import gammaincc

from analysis.closed_forms.delays.age import Age
from analysis.closed_forms.delays.equal_services import EqualServices
from analysis.closed_forms.delays.impatience import Impatience
from analysis.closed_forms.delays.many_servers import ManyServers
from analysis.closed_forms.delays.priorities import TwoPriorities
from analysis.closed_forms.delays.processor_sharing import ProcessorSharing
from analysis.closed_forms.delays.tandem import Tandem
from analysis.closed_forms.sojourn import Sojourn

CLOSELY = {"rel": 1e-9, "abs": 0.0}


def equilibrium(first: Any, moves: Callable[[Any], dict[Any, float]]) -> dict[Any, float]:
    """Shares of time of a Markov chain, by its moves and their rates from each state."""
    states, found = [first], {first: 0}
    rows, columns, rates = [], [], []
    for place, state in enumerate(states):  # grows on the way
        for after, rate in moves(state).items():
            if after not in found:
                found[after] = len(states)
                states.append(after)
            rows += [found[after], place]
            columns += [place, place]
            rates += [rate, -rate]
    size = len(states)
    balance = csc_matrix((rates, (rows, columns)), shape=(size, size)).tolil()
    balance[0, :] = 1.0
    shares = spsolve(balance.tocsc(), np.eye(1, size)[0])
    return dict(zip(states, shares.tolist(), strict=True))


# --- Several servers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("num_servers", "arrivals_per_s"), [(1, 1.2), (3, 4.1), (7, 12.6)])
def test_several_servers_by_their_chain(num_servers, arrivals_per_s):
    rate_per_s = 2.0
    queue = ManyServers(
        arrival_rate_per_s=arrivals_per_s, service_rate_per_s=rate_per_s, num_servers=num_servers
    )
    shares = equilibrium(
        0,
        lambda n: (
            ({n + 1: arrivals_per_s} if n < 500 else {})
            | ({n - 1: min(n, num_servers) * rate_per_s} if n else {})
        ),
    )
    before = {n: n - num_servers + 1 for n in shares if n >= num_servers}
    assert queue.waiting_share == pytest.approx(sum(shares[n] for n in before), **CLOSELY)
    mean_s = sum(shares[n] * num for n, num in before.items()) / (num_servers * rate_per_s)
    assert queue.mean_waiting_s == pytest.approx(mean_s, **CLOSELY)
    assert queue.mean_sojourn_s == pytest.approx(mean_s + 0.5, **CLOSELY)
    for time_s in (0.0, 0.3, 2.0):
        erlang = {n: gammaincc(num, num_servers * rate_per_s * time_s) for n, num in before.items()}
        tail = sum(shares[n] * erlang[n] for n in before)
        assert queue.waits_longer(time_s) == pytest.approx(tail, rel=1e-8)


def test_one_server_stays_longer_by_the_packets_it_meets():
    """A packet that meets n stays for n + 1 exponential services."""
    queue = ManyServers(arrival_rate_per_s=1.5, service_rate_per_s=2.0)
    for time_s in (0.5, 2.0, 7.0):
        tail = sum(0.25 * 0.75**n * gammaincc(n + 1, 2.0 * time_s) for n in range(300))
        assert queue.stays_longer(time_s) == pytest.approx(tail, **CLOSELY)


# --- Equal services ---------------------------------------------------------------------------------------


def irwin_hall(num: int, bound: Fraction) -> Fraction:
    """P(the sum of `num` uniform numbers is at most a bound), exactly."""
    terms = (
        (-1) ** k * Fraction(math.comb(num, k)) * (bound - k) ** num for k in range(math.floor(bound) + 1)
    )
    return min(Fraction(1), sum(terms) / math.factorial(num)) if bound < num else Fraction(1)


@pytest.mark.parametrize("load", [0.3, 0.8])
@pytest.mark.parametrize("bound", [Fraction(1, 4), Fraction(5, 2), Fraction(23, 4)])
def test_equal_services_by_a_geometric_number_of_residuals(load, bound):
    """Unfinished work is the sum of K residual services, uniform, P(K = k) = (1 - rho) rho^k."""
    queue = EqualServices(arrival_rate_per_s=load / 0.25, service_s=0.25)
    inside = sum((1.0 - load) * load**k * float(irwin_hall(k, bound)) for k in range(1, 160)) + 1.0 - load
    assert queue.waits_longer(0.25 * float(bound)) == pytest.approx(1.0 - inside, rel=1e-8)


def test_the_mean_of_equal_services_by_the_same_number():
    """Each residual takes half a service."""
    queue = EqualServices(arrival_rate_per_s=2.0, service_s=0.35)
    mean_s = sum(0.3 * 0.7**k * k * 0.175 for k in range(400))
    assert queue.mean_waiting_s == pytest.approx(mean_s, **CLOSELY)


def test_equal_services_refuse_times_at_which_no_digits_are_left():
    queue = EqualServices(arrival_rate_per_s=2.0, service_s=0.35)
    with pytest.raises(ValueError, match=r"lambda t must be at most 25"):
        queue.waits_longer(12.6)


# --- Priorities -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first_is_served", [True, False])
def test_two_priorities_by_their_chain(first_is_served):
    """Numbers that wait in each class, and the class in service; exponential services of two means."""
    arrivals_per_s, services_s = (1.6, 0.8), (0.125, 0.5)
    room = (40, 60) if first_is_served else (160, 40)  # more of them change 4e-12 of it
    theory = TwoPriorities(
        arrival_rates_per_s=arrivals_per_s,
        mean_services_s=services_s,
        mean_square_services_s2=tuple(2.0 * s**2 for s in services_s),
    )
    order = (0, 1) if first_is_served else (1, 0)

    def moves(state):
        waiting, served = state
        after = {}
        for who, rate in enumerate(arrivals_per_s):
            if served is None:
                after[(0, 0), who] = rate
            elif waiting[who] < room[who]:
                after[tuple(n + (k == who) for k, n in enumerate(waiting)), served] = rate
        if served is not None:
            following = next((who for who in order if waiting[who]), None)
            left = tuple(n - (k == following) for k, n in enumerate(waiting))
            after[left, following] = 1.0 / services_s[served]
        return after

    shares = equilibrium(((0, 0), None), moves)
    waits_s = [
        sum(share * state[0][who] for state, share in shares.items()) / arrivals_per_s[who] for who in (0, 1)
    ]
    if first_is_served:
        assert theory.mean_waiting_s == pytest.approx(waits_s, **CLOSELY)
    assert theory.conserved_s == pytest.approx(np.dot(theory.loads, waits_s), **CLOSELY)


# --- Impatience -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("patience_s", [0.05, 0.75, 4.0])
def test_losses_by_the_work_of_those_who_stay(patience_s):
    """The density of the work below D solves linear equations, which expm integrates; beyond, it dies off."""
    arrivals_per_s, weights, rates_per_s = 2.0, np.array([0.5, 0.5]), np.array([8.0, 2.0])
    patient = Sojourn(
        arrival_rate_per_s=arrivals_per_s, weights=tuple(weights), rates_per_s=tuple(rates_per_s)
    )
    # g_i(x) = int over work met below x of the chance that a stage i brings it beyond x; f = lambda sum g_i
    step = np.zeros((3, 3))
    step[:2, :2] = arrivals_per_s * np.outer(weights, np.ones(2)) - np.diag(rates_per_s)
    step[2, :2] = arrivals_per_s  # what lies below x
    *at_end, below = expm(step * patience_s) @ [*weights, 0.0]
    beyond = arrivals_per_s * float(np.sum(np.array(at_end) / rates_per_s))
    whole = 1.0 + below + beyond
    waits_longer = 1.0 - float(patient.success_rate_before_service(patience_s))
    theory = Impatience(load=patient.load, waits_longer=waits_longer)
    assert theory.lost_share == pytest.approx(beyond / whole, **CLOSELY)
    assert theory.idle_share == pytest.approx(1.0 / whole, **CLOSELY)


# --- Two stations -----------------------------------------------------------------------------------------


def two_stations(arrivals_per_s: float, rates_per_s: tuple[float, float], room: int) -> dict[Any, float]:
    """Shares of time of the numbers at both, from their moves."""

    def moves(state):
        first, second = state
        after = {(first + 1, second): arrivals_per_s} if first < room else {}
        if first and second < room:
            after[first - 1, second + 1] = rates_per_s[0]
        if second:
            after[first, second - 1] = rates_per_s[1]
        return after

    return equilibrium((0, 0), moves)


def test_two_stations_by_their_chain():
    arrivals_per_s, rates_per_s = 1.0, (2.5, 2.0)
    theory = Tandem(arrival_rate_per_s=arrivals_per_s, service_rates_per_s=rates_per_s)
    shares = two_stations(arrivals_per_s, rates_per_s, room=55)
    mean_s = sum(share * (first + second) for (first, second), share in shares.items()) / arrivals_per_s
    assert theory.mean_sojourn_s == pytest.approx(mean_s, **CLOSELY)


@pytest.mark.parametrize("rates_per_s", [(3.2, 4.0), (4.0, 3.2), (3.0, 3.0), (3.0, 3.0 + 1e-9)])
def test_the_way_through_two_stations_by_the_packets_ahead(rates_per_s):
    """A packet that finds them in equilibrium, followed by the numbers ahead of it until it has left both."""
    arrivals_per_s, room = 1.2, 50
    theory = Tandem(arrival_rate_per_s=arrivals_per_s, service_rates_per_s=rates_per_s)
    # At the first station with `first` ahead there and `second` at the other; first = -1: at the second.
    size = 2 * room + 2
    moves = np.zeros((room + 2, size, 2), dtype=int)
    place = np.arange((room + 2) * size).reshape(room + 2, size)  # row 0 stands for -1
    gone = place.size
    moves[1:, :-1, 0] = place[:-1, 1:]  # a packet that leaves the first station joins the second
    moves[1, :, 0] = place[0]  # the packet itself, with all at the second ahead of it
    moves[1:, 1:, 1] = place[1:, :-1]
    moves[0, 1:, 1] = place[0, :-1]
    moves[0, 0, 1] = gone
    rate_of = np.broadcast_to(np.array(rates_per_s), moves.shape).copy()
    rate_of[0, :, 0] = rate_of[1:, 0, 1] = 0.0  # none there that matters
    rate_of[2:, -1, 0] = 0.0  # beyond all that can be found ahead
    states = np.broadcast_to(place[..., None], moves.shape)
    rows, columns = np.append(moves, states), np.append(states, states)
    into = csc_matrix((np.append(rate_of, -rate_of), (rows, columns)), shape=(gone + 1, gone + 1))
    found = np.zeros(gone + 1)
    for (first, second), share in two_stations(arrivals_per_s, rates_per_s, room).items():
        found[place[first + 1, second]] += share
    for time_s in (0.1, 1.0, 6.0):
        left = expm_multiply(into * time_s, found)[gone]
        assert theory.stays_longer(time_s) == pytest.approx(1.0 - left, rel=1e-8)


# --- Sharing ----------------------------------------------------------------------------------------------


def test_sharing_by_the_chain_of_two_phases():
    """Hyper-exponential sizes: numbers of uploads in each phase, each served at its part of the server."""
    arrivals_per_s, weights, rates_per_s, room = 2.0, (0.75, 0.25), (6.0, 2.0), 60
    theory = ProcessorSharing(arrival_rate_per_s=arrivals_per_s, mean_alone_s=0.25)

    def moves(state):
        after = {}
        for who in (0, 1):
            if sum(state) < room:
                more = tuple(n + (k == who) for k, n in enumerate(state))
                after[more] = weights[who] * arrivals_per_s
            if state[who]:
                less = tuple(n - (k == who) for k, n in enumerate(state))
                after[less] = rates_per_s[who] * state[who] / sum(state)
        return after

    shares = equilibrium((0, 0), moves)
    mean_s = sum(share * sum(state) for state, share in shares.items()) / arrivals_per_s
    assert theory.mean_sojourn_s == pytest.approx(mean_s, **CLOSELY)
    for who in (0, 1):
        own_per_s = weights[who] * arrivals_per_s
        own_s = sum(share * state[who] for state, share in shares.items()) / own_per_s
        assert theory.sojourn_s(1.0 / rates_per_s[who]) == pytest.approx(own_s, **CLOSELY)


# --- Age --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arrivals_per_s", "rate_per_s"), [(1.0, 2.0), (0.3, 1.0), (4.5, 5.0)])
def test_age_by_the_next_update(arrivals_per_s, rate_per_s):
    """Its mean is that of the time until the first update from now on has arrived.

    The age is above x when the first update made in the last x seconds has not arrived yet. Ahead of it are
    the ones of the n there now that have not left when it comes.
    """
    both_per_s, room = arrivals_per_s + rate_per_s, 300
    shares = equilibrium(
        0,
        lambda n: ({n + 1: arrivals_per_s} if n < room else {}) | ({n - 1: rate_per_s} if n else {}),
    )
    mean_s, takes_s = 0.0, 1.0 / arrivals_per_s + 1.0 / rate_per_s
    for n in range(room + 1):
        if n:
            takes_s = (1.0 + arrivals_per_s * (n + 1) / rate_per_s + rate_per_s * takes_s) / both_per_s
        mean_s += shares[n] * takes_s
    theory = Age(arrival_rate_per_s=arrivals_per_s, service_rate_per_s=rate_per_s)
    assert theory.mean_s == pytest.approx(mean_s, rel=1e-8)


# --- Bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ManyServers(arrival_rate_per_s=4.0, service_rate_per_s=2.0, num_servers=2), "rho = 1,"),
        (
            lambda: ManyServers(arrival_rate_per_s=4.0, service_rate_per_s=2.0, num_servers=0),
            "num_servers = 0",
        ),
        (lambda: EqualServices(arrival_rate_per_s=2.0, service_s=math.nan), "service_s = nan"),
        (lambda: Impatience(load=0.5, waits_longer=1.5), r"waits_longer = 1\.5 must be from 0 to 1"),
        (lambda: Tandem(arrival_rate_per_s=2.0, service_rates_per_s=(3.0, 2.0)), "rho = 1,"),
        (lambda: ProcessorSharing(arrival_rate_per_s=2.0, mean_alone_s=0.5), "rho = 1,"),
        (lambda: Age(arrival_rate_per_s=0.0, service_rate_per_s=1.0), r"arrival_rate_per_s = 0\.0"),
        (
            lambda: ManyServers(arrival_rate_per_s=1.0, service_rate_per_s=1.0, num_servers=2).stays_longer(
                1.0
            ),
            "exponential for 1 server",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
