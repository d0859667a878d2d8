"""Initial selections of Algorithm 2, and plans at the highest power, against enumeration."""

from itertools import combinations

import attrs
import numpy as np
import pytest
from test_successive_approximation import CELL, NUM_CLIENTS, a_drop

import cosim
from cosim.configuration import ConfigurationError
from scenarios.papers.rawhfl import Algorithm2, EqualShares, RandomSelection, ResourceAware
from scenarios.papers.rawhfl.plans import exact
from scenarios.papers.rawhfl.plans.successive_approximation import initial_point

NONE_REPEATED, ALL_ABLE = np.zeros(NUM_CLIENTS, dtype=np.bool_), np.ones(NUM_CLIENTS, dtype=np.bool_)


def test_a_random_selection_is_feasible_and_uniform():
    """Of four able clients two, of which one may be repeated; one more is alone in its cell."""
    able = np.isin(np.arange(NUM_CLIENTS), [1, 4, 6, 9, 14])
    problem = a_drop(1, num_selected=2, num_repeated=1, is_repeated=np.isin(np.arange(NUM_CLIENTS), [1, 4]))
    drawn = RandomSelection().selection_for(cosim.Simulation(1))
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(5000):
        x = drawn(problem, able)
        assert x[14] == 1.0  # alone in its cell
        chosen = tuple(np.flatnonzero(x[:12]).tolist())
        counts[chosen] = counts.get(chosen, 0) + 1
    allowed = [pair for pair in combinations([1, 4, 6, 9], 2) if pair != (1, 4)]
    assert sorted(counts) == sorted(allowed)
    # 1 then 4 is passed over, so a pair of one repeated and one new client has more orders: of the 24 orders
    # of four, 4 begin with 6 and 9, and 20 are left for the other four pairs.
    expected = [4 / 24 if pair == (6, 9) else 5 / 24 for pair in allowed]
    found = np.array([counts[pair] for pair in allowed]) / 5000
    np.testing.assert_allclose(found, expected, atol=4.0 * np.sqrt(0.25 / 5000))


def test_draws_are_named_by_the_seed_and_go_on_from_round_to_round():
    problem, able = a_drop(1, is_repeated=NONE_REPEATED), ALL_ABLE
    one, same = (RandomSelection().selection_for(cosim.Simulation(1)) for _ in range(2))
    other = RandomSelection().selection_for(cosim.Simulation(2))
    first, second = one(problem, able), one(problem, able)
    assert np.array_equal(same(problem, able), first)
    assert not np.array_equal(first, second)
    assert not np.array_equal(other(problem, able), first)


@pytest.mark.parametrize("plans_power", [True, False])
def test_whole_initial_clients_stay(plans_power):
    """An exchange costs 2 rho and gains at most (0.4 * 50 + 0.6 * 1.5) / 16 = 1.3, so the drawn ones stay."""
    policy = ResourceAware(solver=Algorithm2(initial_selection=RandomSelection()), plans_power=plans_power)
    solve = policy.solver_for(cosim.Simulation(3), CELL)
    again = RandomSelection().selection_for(cosim.Simulation(3))
    kept = []
    for seed in range(8):
        drop = a_drop(seed, is_repeated=NONE_REPEATED, snr_per_w=np.full(NUM_CLIENTS, 3e3), num_selected=8)
        problem = policy.posed(drop)
        wanted = initial_point(problem, again).selection
        kept.append(np.array_equal(solve(problem).is_selected, wanted == 1.0))
    assert all(kept)
    cheapest = exact.plan(problem).is_selected
    assert not np.array_equal(cheapest, wanted == 1.0)


def test_equal_shares_leave_the_choice_to_the_program():
    problem = a_drop(1, is_repeated=NONE_REPEATED)
    x = EqualShares().selection_for(cosim.Simulation(1))(problem, ALL_ABLE)
    assert x.tolist() == [4 / 12] * NUM_CLIENTS


@pytest.mark.parametrize("solver", ["exact", "Algorithm 2"])
def test_at_the_highest_power_only_the_frequency_is_free(solver):
    """The least energy is at the frequency that meets the deadline, by hand; Algorithm 2 ends above it."""
    policy = ResourceAware(plans_power=False) if solver == "exact" else ResourceAware(solver=Algorithm2())
    policy = attrs.evolve(policy, plans_power=False)
    problem = policy.posed(a_drop(2, is_repeated=NONE_REPEATED, snr_per_w=np.full(NUM_CLIENTS, 1e4)))
    plan = policy.solver_for(cosim.Simulation(1), CELL)(problem)
    on = plan.is_selected
    assert on.sum() == 8
    assert np.array_equal(plan.power_w[on], problem.max_power_w[on])
    send_s = 7_248_384 / (540e3 * np.log2(1.0 + 1e4 * problem.max_power_w))
    hertz = plan.num_steps * problem.step_cycles / (150.0 - send_s)
    energy_j = problem.max_power_w * send_s + 1e-28 * plan.num_steps * problem.step_cycles * hertz**2
    over = (plan.energy_j(problem) / energy_j)[on]
    assert (over > 1.0 - 1e-9).all()
    assert (over < (1.0 + 1e-6 if solver == "exact" else 1.05)).all()


def test_a_lowest_power_that_nothing_plans_is_refused():
    with pytest.raises(ConfigurationError, match="plans_power is false") as refused:
        ResourceAware(plans_power=False, lowest_power_dbm=0.0)
    assert refused.value.field == "ResourceAware.lowest_power_dbm"
