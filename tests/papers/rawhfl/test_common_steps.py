"""The baselines with common steps by hand, and against the exact optimum."""

import math
from typing import Any

import attrs
import numpy as np
import pytest

from scenarios.papers.rawhfl.plans import common_steps, exact
from scenarios.papers.rawhfl.plans.problem import Problem


def a_problem(**changes: Any) -> Problem:
    """Four clients in two cells, with one place each; all at 1 GHz and 1 W.

    A processor draws 0.9 W and static power is 0.1 W. Clients 0 and 1 take 1 s and 1 J per step, and 2 s and
    2.2 J per upload, 2 and 3 take 2 s and 2 J per step, and 1 s and 1.1 J per upload. So by the deadline of
    10.5 s they can do 8, 8, 4 and 4 steps, and within their budgets 7, 20, 10 and 3.
    """
    values: dict[str, Any] = {
        "cell": np.array([0, 0, 1, 1]),
        "step_cycles": np.array([1e9, 1e9, 2e9, 2e9]),
        "min_frequency_hz": np.full(4, 0.0),
        "max_frequency_hz": np.full(4, 1e9),
        "min_power_w": np.full(4, 0.0),
        "max_power_w": np.full(4, 1.0),
        "snr_per_w": np.array([1.0, 1.0, 3.0, 3.0]),
        "energy_budget_j": np.array([9.5, 22.5, 21.5, 7.5]),
        "is_repeated": np.full(4, True),
        "capacitance_j_per_hz2": 1.8e-27,
        "static_power_w": 0.1,
        "payload_bits": 2_000_000,
        "bandwidth_hz": 1e6,
        "deadline_s": 10.5,
        "max_steps": 50,
        "num_selected": 1,
        "num_repeated": 0,
        "theta": 0.4,
    }
    return Problem(**(values | changes))


BASELINES = (common_steps.all_or_nothing, common_steps.without_stragglers)
ALL = [True, True, True, True]


def everything(found: Any) -> tuple[list[bool], list[int], list[float], list[float]]:
    """Plan in numbers: selected clients, steps, frequencies in GHz, powers."""
    return (
        found.is_selected.tolist(),
        found.num_steps.tolist(),
        (found.frequency_hz / 1e9).tolist(),
        found.power_w.tolist(),
    )


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize(
    ("changes", "num_steps"),
    [
        ({}, 3),
        ({"max_steps": 2}, 2),
        ({"energy_budget_j": np.full(4, 99.0)}, 4),
        ({"energy_budget_j": np.full(4, 99.0), "deadline_s": 7.5}, 3),
        ({"energy_budget_j": np.array([4.5, 99.0, 99.0, 99.0])}, 2),
        ({"energy_budget_j": np.full(4, 99.0), "snr_per_w": np.array([2.0**0.25 - 1.0, 1.0, 3.0, 3.0])}, 2),
    ],
)
def test_where_everyone_is_able_both_take_the_most_that_all_can(baseline, changes, num_steps):
    """Whatever the places: all four take part, at full frequency and power."""
    found = baseline(a_problem(**changes))
    assert everything(found) == (ALL, [num_steps] * 4, [1.0] * 4, [1.0] * 4)


@pytest.mark.parametrize(
    "changes",
    [
        {"energy_budget_j": np.array([9.5, 22.5, 21.5, 3.0])},
        {"step_cycles": np.array([1e9, 1e9, 2e9, 1e10])},
        {"snr_per_w": np.array([1.0, 1.0, 3.0, 0.0])},
    ],
)
def test_one_straggler_stops_all_or_is_dropped(changes):
    """Client 3 has too little energy, too slow a processor or no link; without it the others do 4."""
    problem = a_problem(**changes)
    nobody = common_steps.all_or_nothing(problem)
    assert everything(nobody) == ([False] * 4, [0] * 4, [0.0] * 4, [0.0] * 4)
    three = common_steps.without_stragglers(problem)
    assert everything(three) == (
        [True, True, True, False],
        [4, 4, 4, 0],
        [1.0, 1.0, 1.0, 0.0],
        [1.0, 1.0, 1.0, 0.0],
    )


def test_without_constraints_all_with_a_link_do_everything():
    problem = a_problem(snr_per_w=np.array([1.0, 1e-9, 3.0, 0.0]), deadline_s=1e-3)
    found = common_steps.unconstrained(problem)
    assert everything(found) == (
        [True, True, True, False],
        [50, 50, 50, 0],
        [1.0, 1.0, 1.0, 0.0],
        [1.0, 1.0, 1.0, 0.0],
    )
    assert found.energy_j(problem)[[0, 2]] == pytest.approx([52.2, 101.1], rel=1e-12)


@pytest.mark.parametrize("baseline", [*BASELINES, common_steps.unconstrained])
@pytest.mark.parametrize("num_clients", [0, 4])
def test_nobody_is_able(baseline, num_clients):
    problem = a_problem(snr_per_w=np.zeros(4))
    arrays = {k: v[:num_clients] for k, v in attrs.asdict(problem).items() if isinstance(v, np.ndarray)}
    found = baseline(attrs.evolve(problem, **arrays))
    assert everything(found) == (
        [False] * num_clients,
        [0] * num_clients,
        [0.0] * num_clients,
        [0.0] * num_clients,
    )


def random_problem(seed: int) -> Problem:
    """48 clients, able or not, of which M1 leaves none in most draws and all in some."""
    rng = np.random.default_rng(seed)
    n = 48
    return a_problem(
        cell=np.arange(n) % 4,
        step_cycles=10.0 ** rng.uniform(7.0, 8.0, n),
        min_frequency_hz=np.zeros(n),
        max_frequency_hz=rng.uniform(0.5e9, 2e9, n),
        min_power_w=np.zeros(n),
        max_power_w=rng.uniform(0.1, 1.0, n),
        snr_per_w=10.0 ** rng.uniform(rng.uniform(-1.0, 2.0), 4.0, n),
        energy_budget_j=rng.uniform(0.8, 1.5, n) * 10.0 ** rng.uniform(-1.5, 1.5),
        is_repeated=np.zeros(n, dtype=np.bool_),
        capacitance_j_per_hz2=2e-28,
        static_power_w=float(rng.choice([0.0, 0.01])),
        deadline_s=float(rng.uniform(2.0, 20.0)),
        num_selected=12,
    )


def test_constraints_hold_and_one_step_more_would_break_them():
    kinds = set()
    for seed in range(200):
        problem = random_problem(seed)
        for baseline in BASELINES:
            found = baseline(problem)
            assert found.violations(problem, tolerance=0.0) == []
            more = attrs.evolve(found, num_steps=found.num_steps + found.is_selected)
            on = found.is_selected
            is_stuck = more.violations(problem, tolerance=0.0) != []
            assert is_stuck == on.any()
            kinds.add((baseline.__name__, bool(on.all()), bool(on.any())))
    assert kinds >= {
        ("all_or_nothing", True, True),
        ("all_or_nothing", False, False),
        ("without_stragglers", True, True),
        ("without_stragglers", False, True),
    }


def test_who_is_dropped_cannot_do_a_step():
    """At the highest frequency and power, by the equations; at others it may."""
    num_slow_able = 0
    for seed in range(50):
        problem = random_problem(seed)
        found = common_steps.without_stragglers(problem)
        for u in range(problem.num_clients):
            hz, w = problem.max_frequency_hz[u], problem.max_power_w[u]
            train_s = problem.step_cycles[u] / hz
            send_s = 2e6 / (1e6 * math.log2(1.0 + problem.snr_per_w[u] * w))
            energy_j = train_s * (1e-28 * hz**3 + problem.static_power_w) + send_s * (
                w + problem.static_power_w
            )
            can = train_s + send_s <= problem.deadline_s and energy_j <= problem.energy_budget_j[u]
            assert found.is_selected[u] == can
        able = exact.able(problem)
        assert np.all(able[found.is_selected])
        num_slow_able += int((able & ~found.is_selected).sum())
    assert num_slow_able > 100


def test_nobody_does_fewer_steps_in_the_exact_optimum_if_steps_count():
    for seed in range(50):
        problem = attrs.evolve(random_problem(seed), theta=1.0)
        best = exact.plan(problem)
        for baseline in BASELINES:
            found = baseline(problem)
            assert np.all(best.num_steps >= found.num_steps)
            assert best.objective(problem) <= found.objective(problem)


def test_the_guard_is_that_of_the_exact_optimum():
    """A deadline for exactly 4 steps and one that is longer by a little more than the guard."""
    budget_j = np.full(4, 99.0)
    for deadline_s, num_steps in ((9.0, 3), (9.0 * (1.0 + 2e-9), 4)):
        problem = a_problem(deadline_s=deadline_s, energy_budget_j=budget_j)
        assert common_steps.all_or_nothing(problem).num_steps.tolist() == [num_steps] * 4
    for energy_j, num_steps in ((5.2, 2), (5.2 * (1.0 + 2e-9), 3)):
        problem = a_problem(energy_budget_j=np.array([energy_j, 99.0, 99.0, 99.0]))
        assert common_steps.without_stragglers(problem).num_steps.tolist() == [num_steps] * 4


def test_each_does_the_most_that_it_can_itself():
    """By hand: 7 within the budget, 8 and 4 by the deadline, 3 within the budget."""
    for baseline in BASELINES:
        found = baseline(a_problem(), own_steps=True)
        assert everything(found) == (ALL, [7, 8, 4, 3], [1.0] * 4, [1.0] * 4)
    problem = a_problem(energy_budget_j=np.array([9.5, 22.5, 21.5, 3.0]))
    assert common_steps.all_or_nothing(problem, own_steps=True).num_steps.tolist() == [0] * 4
    assert common_steps.without_stragglers(problem, own_steps=True).num_steps.tolist() == [7, 8, 4, 0]
