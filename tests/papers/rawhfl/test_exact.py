"""The exact optimum against an independent minimiser, brute force, random plans and laws."""

import itertools
import math
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from scenarios.papers.rawhfl.plans import exact
from scenarios.papers.rawhfl.plans.problem import Plan, Problem

REAL_ZETA = 2e-28


def a_drop(
    seed: int, num_cells: int = 4, num_clients: int = 12, with_floors: bool = False, **changes: Any
) -> Problem:
    """The paper's setting with links from hopeless to excellent."""
    rng = np.random.default_rng(seed)
    n = num_cells * num_clients
    max_frequency_hz, max_power_w = rng.uniform(1.2e9, 2e9, n), 10.0 ** rng.uniform(-1.0, 0.0, n)
    floors = rng.uniform(0.0, 0.8, (2, n)) if with_floors else np.zeros((2, n))
    values: dict[str, Any] = {
        "cell": rng.permutation(np.repeat(np.arange(num_cells), num_clients)),
        "step_cycles": 320.0 * 1408.0 * rng.uniform(25.0, 40.0, n),
        "min_frequency_hz": floors[0] * max_frequency_hz,
        "max_frequency_hz": max_frequency_hz,
        "min_power_w": floors[1] * max_power_w,
        "max_power_w": max_power_w,
        "snr_per_w": 10.0 ** rng.uniform(-2.0, 5.0, n),
        "energy_budget_j": rng.uniform(0.8, 1.5, n),
        "is_repeated": rng.random(n) < 0.5,
        "capacitance_j_per_hz2": REAL_ZETA,
        "static_power_w": 0.0,
        "payload_bits": 7_248_384,
        "bandwidth_hz": 540e3,
        "deadline_s": 150.0,
        "max_steps": 50,
        "num_selected": 4,
        "num_repeated": 2,
        "theta": 0.4,
    }
    return Problem(**(values | changes))


def a_harsh_drop(seed: int) -> Problem:
    """Any parameters, so that time, energy, floors and static power bind, or hardly anybody is able."""
    rng = np.random.default_rng([seed, 1])
    problem = a_drop(
        seed,
        num_cells=int(rng.integers(1, 5)),
        num_clients=int(rng.integers(1, 13)),
        with_floors=bool(rng.integers(2)),
        static_power_w=float(rng.choice([0.0, 1e-3, 0.02])),
        deadline_s=float(10.0 ** rng.uniform(0.7, 3.0)),
        max_steps=int(rng.integers(1, 60)),
        num_selected=int(rng.integers(1, 7)),
        num_repeated=int(rng.integers(0, 4)),
        theta=float(rng.choice([0.0, 1e-4, 1e-3, 0.01, 0.1, 0.4, 1.0])),
    )
    n = problem.num_clients
    no_link = rng.random(n) < 0.1
    return attrs.evolve(
        problem,
        step_cycles=problem.step_cycles * 10.0 ** rng.uniform(0.0, 2.5),
        snr_per_w=np.where(no_link, 0.0, problem.snr_per_w),
        energy_budget_j=problem.energy_budget_j * 10.0 ** rng.uniform(-2.0, 0.5, n),
    )


def every_step(problem: Problem, num_steps: int) -> Problem:
    """All clients that can do `num` steps in time do them, at the energy that it takes."""
    n = problem.num_clients
    return attrs.evolve(
        problem,
        max_steps=num_steps,
        theta=1.0,
        energy_budget_j=np.full(n, 1e300),
        num_selected=n,
        num_repeated=n,
    )


# --- An independent minimiser -----------------------------------------------------------------------------


def least_of(function: Any, low: float, high: float) -> float:
    """Least value of a function with one valley between two bounds, ends included."""
    found = minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": 1e-11})
    return min(float(found.fun), function(low), function(high))


def least_energy_j(problem: Problem, client: int, num_steps: int) -> float:
    """Over the frequency and, in the time that is left, over the power; infinite if not in time."""
    cycles = num_steps * problem.step_cycles[client]
    snr_per_w, static_w = problem.snr_per_w[client], problem.static_power_w
    slowest_hz, fastest_hz = problem.min_frequency_hz[client], problem.max_frequency_hz[client]
    weakest_w, strongest_w = problem.min_power_w[client], problem.max_power_w[client]
    deadline_s = problem.deadline_s * (1.0 - exact.GUARD)

    def send_s(power_w: float) -> float:
        return problem.payload_bits / (problem.bandwidth_hz * math.log1p(snr_per_w * power_w) / math.log(2.0))

    def energy_j(log_hz: float) -> float:
        frequency_hz = math.exp(log_hz)
        train_s = cycles / frequency_hz
        train_j = 0.5 * problem.capacitance_j_per_hz2 * cycles * frequency_hz**2 + static_w * train_s
        left_s = max(deadline_s - train_s, send_s(strongest_w))
        needed_w = math.expm1(problem.payload_bits * math.log(2.0) / (problem.bandwidth_hz * left_s))
        low_w = min(max(weakest_w, needed_w / snr_per_w), strongest_w)
        return train_j + least_of(
            lambda log_w: send_s(math.exp(log_w)) * (math.exp(log_w) + static_w),
            math.log(low_w),
            math.log(strongest_w),
        )

    if snr_per_w == 0.0 or cycles / fastest_hz + send_s(strongest_w) > deadline_s:
        return math.inf
    low_hz = max(slowest_hz, cycles / (deadline_s - send_s(strongest_w)))
    return least_of(energy_j, math.log(low_hz), math.log(fastest_hz))


EXTREMES: dict[str, dict[str, Any]] = {
    "paper": {},
    "floors": {"with_floors": True},
    "static power": {"static_power_w": 0.01},
    "both": {"static_power_w": 0.003, "with_floors": True},
    "long": {"deadline_s": 3e4, "static_power_w": 1e-5},
    "short": {"deadline_s": 2.0, "payload_bits": 300_000},
    "one bit": {"payload_bits": 1, "static_power_w": 1e-9},
    "one bit at once": {"payload_bits": 1, "bandwidth_hz": 1e16},
    "excellent links": {"snr_per_w": 10.0 ** np.linspace(8.0, 40.0, 48), "deadline_s": 5.0},
    "free computing": {"capacitance_j_per_hz2": 0.0, "static_power_w": 0.01},
}


@pytest.mark.parametrize("num_steps", [1, 7, 50])
@pytest.mark.parametrize("case", EXTREMES)
def test_the_least_energy_of_each_number_of_steps(case, num_steps):
    problem = every_step(a_drop(seed=3, **EXTREMES[case]), num_steps)
    found = exact.plan(problem)
    for client in range(0, problem.num_clients, 3):
        expected_j = least_energy_j(problem, client, num_steps)
        if expected_j == math.inf:
            assert found.num_steps[client] < num_steps
        else:
            assert found.num_steps[client] == num_steps
            assert found.energy_j(problem)[client] == pytest.approx(expected_j, rel=1e-9)


def one_client(**changes: Any) -> Problem:
    """1e9 cycles, and an upload of 1 s at 1 nat/s/Hz; zeta f^3 is 0.2 W at 1 GHz."""
    ones = np.ones(1)
    values: dict[str, Any] = {
        "cell": np.zeros(1, dtype=np.int64),
        "step_cycles": 1e9 * ones,
        "min_frequency_hz": 0.0 * ones,
        "max_frequency_hz": 4e9 * ones,
        "min_power_w": 0.0 * ones,
        "max_power_w": 9.0 * ones,
        "snr_per_w": 5.0 * ones,
        "energy_budget_j": 99.0 * ones,
        "is_repeated": np.zeros(1, dtype=np.bool_),
        "capacitance_j_per_hz2": REAL_ZETA,
        "static_power_w": 0.0,
        "payload_bits": 1_000_000,
        "bandwidth_hz": 1e6 * math.log(2.0),
        "deadline_s": 2.0,
        "max_steps": 1,
        "num_selected": 1,
        "num_repeated": 0,
        "theta": 0.4,
    }
    return Problem(**(values | changes))


MUCH_TIME = {"deadline_s": 1e3}
NO_TIME = {"deadline_s": 1.25 + 1.0 / math.log(46.0) + 1e-8}


@pytest.mark.parametrize(
    ("changes", "frequency_hz", "power_w"),
    [
        # m(1) = 1: at 5 per watt a second more of sending spares 1 / 5 W, as one more of computing does.
        ({}, 1e9, (math.e - 1.0) / 5.0),
        ({"static_power_w": 0.19}, 1e9, (math.e - 1.0) / 5.0),
        # With much time either spares as much as the static power costs.
        (MUCH_TIME | {"static_power_w": 0.2}, 1e9, (math.e - 1.0) / 5.0),
        (MUCH_TIME | {"static_power_w": 1.6, "snr_per_w": np.array([0.625])}, 2e9, (math.e - 1.0) / 0.625),
        (MUCH_TIME | {"static_power_w": 0.2, "min_frequency_hz": np.array([3e9])}, 3e9, (math.e - 1.0) / 5.0),
        (MUCH_TIME | {"static_power_w": 0.2, "max_power_w": np.array([0.1])}, 1e9, 0.1),
        (MUCH_TIME | {"min_frequency_hz": np.array([3e9]), "min_power_w": np.array([2.0])}, 3e9, 2.0),
        # One limit holds, and the other activity takes the rest of the time.
        ({"max_frequency_hz": np.array([0.8e9])}, 0.8e9, math.expm1(1.0 / 0.75) / 5.0),
        ({"min_frequency_hz": np.array([2e9])}, 2e9, math.expm1(1.0 / 1.5) / 5.0),
        ({"max_power_w": np.array([0.2])}, 1e9 / (2.0 - 1.0 / math.log(2.0)), 0.2),
        ({"min_power_w": np.array([3.0])}, 1e9 / (2.0 - 1.0 / math.log(16.0)), 3.0),
        # Both limits and the deadline hold.
        (NO_TIME | {"max_frequency_hz": np.array([0.8e9])}, 0.8e9, 9.0),
    ],
)  # fmt: skip
def test_optima_by_hand(changes, frequency_hz, power_w):
    problem = one_client(**changes)
    found = exact.plan(problem)
    assert found.num_steps.tolist() == [1]
    assert found.frequency_hz == pytest.approx([frequency_hz], rel=1e-5)
    assert found.power_w == pytest.approx([power_w], rel=1e-5)


# --- Brute force ------------------------------------------------------------------------------------------

SMALL: dict[str, dict[str, Any]] = {
    "energy and steps": {"theta": 0.02, "snr_per_w": 10.0 ** np.linspace(0.5, 5.0, 8)},
    "steps": {"theta": 0.4, "snr_per_w": 10.0 ** np.linspace(0.5, 5.0, 8)},
    "energy": {"theta": 0.0},
    "static power": {
        "theta": 0.1,
        "static_power_w": 0.01,
        "with_floors": True,
        "snr_per_w": 10.0 ** np.linspace(0.5, 5.0, 8),
        "energy_budget_j": np.linspace(0.3, 1.2, 8),
        "deadline_s": 30.0,
    },
    "no repeats": {"num_repeated": 0, "theta": 0.01},
    "one place": {"num_selected": 1, "num_repeated": 1, "theta": 0.02},
    "small budgets": {"energy_budget_j": np.linspace(0.01, 0.3, 8)},
    "little time": {"deadline_s": 12.0, "snr_per_w": 10.0 ** np.linspace(0.5, 6.0, 8)},
}
"""Steps of 1 to 4 Gcycles, which cost about as much energy as uploads do."""


def a_small_problem(case: str, seed: int) -> Problem:
    size: dict[str, Any] = {"num_cells": 2, "num_clients": 4, "num_selected": 2, "num_repeated": 1}
    heavy: dict[str, Any] = {"max_steps": 12, "step_cycles": np.linspace(1e9, 4e9, 8)[::-1]}
    return a_drop(seed, **(size | heavy | SMALL[case]))


def values_of_all(problem: Problem) -> Any:
    """Least value of each client over every number of steps; infinite if none is possible."""
    values = np.full((problem.num_clients, problem.max_steps), math.inf)
    for client, place in np.ndindex(*values.shape):
        energy_j = least_energy_j(problem, client, place + 1)
        if energy_j <= problem.energy_budget_j[client]:
            values[client, place] = -problem.theta * (place + 1) + (1.0 - problem.theta) * energy_j
    return values.min(axis=1)


def best_of_all_selections(problem: Problem, values: Any) -> tuple[int, float]:
    """How many can be selected at most, and the least objective of a selection of that many."""
    num_all, sum_all = 0, 0.0
    for cell in range(problem.num_cells):
        clients = [c for c in np.flatnonzero(problem.cell == cell) if values[c] < math.inf]
        found = [
            (-size, sum(values[c] for c in some))
            for size in range(problem.num_selected + 1)
            for some in itertools.combinations(clients, size)
            if sum(problem.is_repeated[c] for c in some) <= problem.num_repeated
        ]
        num_all, sum_all = num_all - min(found)[0], sum_all + min(found)[1]
    return num_all, sum_all / (problem.num_cells * problem.num_selected)


@pytest.mark.parametrize("case", SMALL)
def test_against_every_selection_and_every_number_of_steps(case):
    problem = a_small_problem(case, 1)
    found = exact.plan(problem)
    num_selected, objective = best_of_all_selections(problem, values_of_all(problem))
    assert found.is_selected.sum() == num_selected > 0
    assert found.objective(problem) == pytest.approx(objective, rel=1e-9)
    assert found.violations(problem, tolerance=0.0) == []


def test_the_small_problems_are_not_all_alike():
    """One step, all steps, and a number between that the objective, the budget or the time sets."""
    plans = {case: exact.plan(a_small_problem(case, 1)) for case in SMALL}
    steps = {case: set(found.num_steps[found.is_selected].tolist()) for case, found in plans.items()}
    assert steps["energy"] == {1}
    assert steps["steps"] == {12}
    for case in ("energy and steps", "static power", "small budgets", "little time"):
        assert any(1 < number < 12 for number in steps[case]), case


@pytest.mark.parametrize("case", SMALL)
def test_against_a_grid_of_frequencies_and_powers(case):
    """Theory-free: nothing on a grid of 300 by 300 is better, and the best on it is nearly as good."""
    problem = a_small_problem(case, 1)
    values = np.full(problem.num_clients, math.inf)
    for client in range(problem.num_clients):
        low_hz = max(problem.min_frequency_hz[client], 1e-3 * problem.max_frequency_hz[client])
        low_w = max(problem.min_power_w[client], 1e-4 * problem.max_power_w[client])
        f = np.geomspace(low_hz, problem.max_frequency_hz[client], 300)[:, None]
        p = np.geomspace(low_w, problem.max_power_w[client], 300)[None, :]
        rate_bps = problem.bandwidth_hz * np.log2(1.0 + np.maximum(problem.snr_per_w[client], 1e-9) * p)
        send_s = problem.payload_bits / rate_bps
        for num_steps in range(1, problem.max_steps + 1):
            train_s = num_steps * problem.step_cycles[client] / f
            energy_j = train_s * (0.5 * problem.capacitance_j_per_hz2 * f**3 + problem.static_power_w)
            energy_j = energy_j + send_s * (p + problem.static_power_w)
            possible = (train_s + send_s <= problem.deadline_s) & (
                energy_j <= problem.energy_budget_j[client]
            )
            value = -problem.theta * num_steps + (1.0 - problem.theta) * energy_j
            values[client] = min(values[client], value.min(where=possible, initial=math.inf))
    found = exact.plan(problem)
    num_selected, objective = best_of_all_selections(problem, values)
    assert found.is_selected.sum() == num_selected
    assert found.objective(problem) <= objective + 1e-9 * abs(objective)
    assert found.objective(problem) == pytest.approx(objective, rel=0.03)


# --- Random plans -----------------------------------------------------------------------------------------


def a_rival(problem: Problem, found: Plan, rng: np.random.Generator) -> Plan:
    """A plan that tries to do better: near the optimum or anywhere, as many clients of each cell."""
    n = problem.num_clients
    spread = 10.0 ** rng.uniform(-6.0, 1.0, n)
    near = [np.where(found.is_selected, x, 1.0) * np.exp(spread * rng.normal(size=n)) for x in (
        found.frequency_hz, found.power_w
    )]  # fmt: skip
    anywhere = 10.0 ** rng.uniform(-3.0, 0.0, (2, n))
    is_near = found.is_selected & (rng.random(n) < 0.7)
    selected = np.zeros(n, dtype=np.bool_)
    for cell in range(problem.num_cells):
        here = np.flatnonzero(problem.cell == cell)
        size = int(found.is_selected[here].sum())
        keeps = rng.random() < 0.5
        some = here[found.is_selected[here]] if keeps else rng.choice(here, size=size, replace=False)
        selected[some] = True
    steps = np.where(is_near, found.num_steps + rng.integers(-1, 2, n), rng.integers(1, 51, n))
    frequency_hz = np.where(is_near, near[0], anywhere[0] * problem.max_frequency_hz)
    power_w = np.where(is_near, near[1], anywhere[1] * problem.max_power_w)
    return Plan(
        is_selected=selected,
        num_steps=np.clip(steps, 1, problem.max_steps),
        frequency_hz=np.clip(frequency_hz, problem.min_frequency_hz, problem.max_frequency_hz),
        power_w=np.clip(power_w, problem.min_power_w, problem.max_power_w),
    )


@pytest.mark.parametrize("theta", [0.0, 0.02, 0.4])
@pytest.mark.parametrize("with_floors", [False, True])
def test_no_random_plan_is_better(theta, with_floors):
    """In one cell with good links, so that many rivals are feasible; some come close."""
    rng = np.random.default_rng(7)
    snr_per_w = 10.0 ** np.linspace(2.0, 5.0, 4)
    problem = a_drop(
        5,
        num_cells=1,
        num_clients=4,
        theta=theta,
        with_floors=with_floors,
        snr_per_w=snr_per_w,
        step_cycles=np.linspace(5e8, 1e9, 4),
        static_power_w=0.002,
        num_selected=2,
        num_repeated=2,
    )
    found = exact.plan(problem)
    best = found.objective(problem)
    excesses = [
        rival.objective(problem) - best
        for rival in (a_rival(problem, found, rng) for _ in range(3000))
        if not rival.violations(problem, tolerance=0.0)
    ]
    assert len(excesses) > 300
    assert min(excesses) >= -1e-8 * abs(best)
    assert min(excesses) <= 1e-3 * abs(best)


# --- Constraints ------------------------------------------------------------------------------------------


def most_selected(problem: Problem) -> list[int]:
    """By cell, how many can be selected: C2, and C3 among able clients."""
    is_able = exact.able(problem)
    new = np.bincount(problem.cell[is_able & ~problem.is_repeated], minlength=problem.num_cells)
    repeated = np.bincount(problem.cell[is_able & problem.is_repeated], minlength=problem.num_cells)
    return np.minimum(problem.num_selected, new + np.minimum(repeated, problem.num_repeated)).tolist()


def test_harsh_drops_break_no_constraint():
    """Not by a rounding error either, and every place that can be taken is."""
    num_able, num_full, num_tight, num_clients = 0, 0, 0, 0
    for seed in range(500):
        problem = a_harsh_drop(seed)
        found = exact.plan(problem)
        assert found.violations(problem, tolerance=0.0) == []
        taken = np.bincount(problem.cell[found.is_selected], minlength=problem.num_cells)
        assert taken.tolist() == most_selected(problem)
        for values in (found.num_steps, found.frequency_hz, found.power_w):
            assert np.all((values > 0) == found.is_selected)
        used_s = found.duration_s(problem)[found.is_selected] / problem.deadline_s
        num_able += int(exact.able(problem).sum())
        num_full += int((taken == problem.num_selected).sum())
        num_tight += int((used_s > 1.0 - 1e-8).sum())
        num_clients += problem.num_clients
    assert 0.2 < num_able / num_clients < 0.8
    assert num_full > 200
    assert num_tight > 500


def test_a_plan_survives_the_rounding_of_the_clock():
    """The clock adds times and energies up one by one, late in a long run too."""
    for seed in range(20):
        problem = a_drop(seed, max_steps=20, theta=1e-6 if seed % 2 else 1.0)
        found = exact.plan(problem)
        on = found.is_selected
        hz, w = found.frequency_hz[on], found.power_w[on]
        train_s = found.num_steps[on] * problem.step_cycles[on] / hz
        send_s = problem.payload_bits / (problem.bandwidth_hz * np.log2(1.0 + problem.snr_per_w[on] * w))
        for start_s in (0.0, 150.0, 60_000.0, 1e6):
            assert np.all((start_s + train_s) + send_s <= start_s + problem.deadline_s)
        energy_j = train_s * (0.5 * REAL_ZETA * hz**3) + send_s * w
        assert np.all(energy_j <= problem.energy_budget_j[on])


def test_able_is_who_has_one_step_within_deadline_and_budget():
    seen = set()
    for seed in range(6):
        problem = a_harsh_drop(seed)
        guarded_j = problem.energy_budget_j * (1.0 - exact.GUARD)
        expected = [least_energy_j(problem, c, 1) <= guarded_j[c] for c in range(problem.num_clients)]
        assert exact.able(problem).tolist() == expected
        seen |= set(expected)
    assert seen == {True, False}


def test_the_overlap_is_limited_even_where_the_repeated_are_better():
    """Clients 0 to 3 are repeated and have the best links; at most Psi of them are kept, the best ones."""
    problem = a_drop(
        1,
        num_cells=1,
        num_clients=8,
        cell=np.zeros(8, dtype=np.int64),
        step_cycles=np.full(8, 1e7),
        max_frequency_hz=np.full(8, 1.5e9),
        max_power_w=np.ones(8),
        snr_per_w=10.0 ** np.array([4.0, 5.0, 3.9, 4.5, 3.0, 3.2, 3.1, 3.3]),
        energy_budget_j=np.ones(8),
        is_repeated=np.arange(8) < 4,
    )
    kept = [[4, 5, 6, 7], [1, 5, 6, 7], [1, 3, 5, 7], [0, 1, 3, 7], [0, 1, 2, 3], [0, 1, 2, 3]]
    for num_repeated, expected in enumerate(kept):
        found = exact.plan(attrs.evolve(problem, num_repeated=num_repeated))
        assert np.flatnonzero(found.is_selected).tolist() == expected


@pytest.mark.parametrize(
    ("repeated", "num_repeated", "expected"),
    [
        (range(4), 2, range(16)),
        (range(4), 0, range(4, 20)),
        (range(4, 48), 2, range(12)),
        (range(16, 48), 2, range(16)),
    ],
)
def test_clients_alike_go_by_number(repeated, num_repeated, expected):
    """Client u is in cell u mod 4, and four of each cell are selected, a limited number of repeated ones."""
    problem = a_drop(
        1,
        cell=np.arange(48) % 4,
        snr_per_w=np.full(48, 1e3),
        is_repeated=np.isin(np.arange(48), repeated),
        num_repeated=num_repeated,
        energy_budget_j=np.full(48, 9.0),
        theta=1.0,
    )
    assert np.flatnonzero(exact.plan(problem).is_selected).tolist() == list(expected)


def test_a_budget_met_to_the_last_bit_is_not_enough():
    """An amount that is too little by less than the guard is refused, for the clock may round it up."""
    problem = one_client()
    energy_j = exact.plan(problem).energy_j(problem)
    for factor, is_able in ((1.0, False), (1.0 + 0.9e-9, False), (1.0 + 1.1e-9, True)):
        at_limit = attrs.evolve(problem, energy_budget_j=energy_j * factor)
        assert exact.able(at_limit).tolist() == exact.plan(at_limit).is_selected.tolist() == [is_able]


@pytest.mark.parametrize("num_clients", [0, 6])
def test_nobody_is_able(num_clients):
    """Without a link, and without clients."""
    problem = a_drop(1, num_cells=1, num_clients=num_clients, snr_per_w=np.zeros(num_clients))
    found = exact.plan(problem)
    assert exact.able(problem).tolist() == [False] * num_clients
    assert found.is_selected.tolist() == [False] * num_clients
    assert found.num_steps.tolist() == [0] * num_clients


def test_an_infeasible_cell_leaves_the_others_as_they_are():
    problem = a_drop(2)
    dead = attrs.evolve(problem, snr_per_w=np.where(problem.cell == 1, 0.0, problem.snr_per_w))
    before, after = exact.plan(problem).is_selected, exact.plan(dead).is_selected
    assert not np.any(after[problem.cell == 1])
    assert np.array_equal(before[problem.cell != 1], after[problem.cell != 1])


# --- Weights ----------------------------------------------------------------------------------------------


def test_if_only_energy_counts_all_do_one_step():
    for seed in range(20):
        problem = attrs.evolve(a_harsh_drop(seed), theta=0.0)
        found = exact.plan(problem)
        assert np.all(found.num_steps[found.is_selected] == 1)


def test_if_only_steps_count_all_do_the_most_that_they_can():
    problem = a_drop(
        4, num_cells=1, num_clients=8, theta=1.0, num_selected=8, num_repeated=8, deadline_s=20.0
    )
    heavy = np.linspace(1e8, 2e9, 8)
    problem = attrs.evolve(problem, step_cycles=heavy, snr_per_w=np.geomspace(1.0, 1e5, 8))
    found = exact.plan(problem)
    guarded_j = problem.energy_budget_j * (1.0 - exact.GUARD)
    expected = [
        max([n for n in range(1, 51) if least_energy_j(problem, c, n) <= guarded_j[c]], default=0)
        for c in range(8)
    ]
    assert found.num_steps.tolist() == expected
    assert any(1 < number < 50 for number in expected)


# --- Laws -------------------------------------------------------------------------------------------------


def outcome(problem: Problem) -> tuple[Any, float]:
    found = exact.plan(problem)
    counts = np.bincount(problem.cell[found.is_selected], minlength=problem.num_cells)
    return counts, found.objective(problem)


EASIER = {
    "longer deadline": lambda p, by: attrs.evolve(p, deadline_s=p.deadline_s * by),
    "larger budgets": lambda p, by: attrs.evolve(p, energy_budget_j=p.energy_budget_j * by),
    "faster processors": lambda p, by: attrs.evolve(p, max_frequency_hz=p.max_frequency_hz * by),
    "lower floors": lambda p, by: attrs.evolve(
        p, min_frequency_hz=p.min_frequency_hz / by, min_power_w=p.min_power_w / by
    ),
    "more power": lambda p, by: attrs.evolve(p, max_power_w=p.max_power_w * by),
    "better links": lambda p, by: attrs.evolve(p, snr_per_w=p.snr_per_w * by),
    "more bandwidth": lambda p, by: attrs.evolve(p, bandwidth_hz=p.bandwidth_hz * by),
    "more steps": lambda p, by: attrs.evolve(p, max_steps=math.ceil(p.max_steps * by)),
    "more repeats": lambda p, by: attrs.evolve(p, num_repeated=p.num_repeated + 1),
    "less static power": lambda p, by: attrs.evolve(p, static_power_w=p.static_power_w / by),
}


@pytest.mark.parametrize("change", EASIER)
@given(seed=st.integers(0, 10**6), factor=st.floats(1.0, 4.0))
@settings(max_examples=40)
def test_what_eases_a_problem_never_worsens_its_optimum(change, seed, factor):
    """No cell selects fewer; and as many of each cell, at no higher objective."""
    problem = a_harsh_drop(seed)
    counts, objective = outcome(problem)
    easier_counts, easier_objective = outcome(EASIER[change](problem, factor))
    assert np.all(easier_counts >= counts)
    if np.array_equal(easier_counts, counts):
        assert easier_objective <= objective + 1e-9 * abs(objective)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=60)
def test_with_more_places_the_selected_stay_and_do_the_same(seed):
    problem = a_harsh_drop(seed)
    fewer, more = (
        exact.plan(attrs.evolve(problem, num_selected=problem.num_selected + added)) for added in (0, 1)
    )
    on = fewer.is_selected
    assert np.all(more.is_selected[on])
    assert np.array_equal(more.num_steps[on], fewer.num_steps[on])
    assert np.array_equal(more.power_w[on], fewer.power_w[on])


@given(seed=st.integers(0, 10**6))
@settings(max_examples=40)
def test_the_order_of_the_clients_does_not_matter(seed):
    problem = a_harsh_drop(seed)
    problem = attrs.evolve(problem, theta=min(problem.theta, 0.4))  # At 1 many clients are alike.
    order = np.random.default_rng(seed).permutation(problem.num_clients)
    arrays = {k: v[order] for k, v in attrs.asdict(problem).items() if isinstance(v, np.ndarray)}
    shuffled = exact.plan(attrs.evolve(problem, **arrays))
    found = exact.plan(problem)
    assert np.array_equal(shuffled.is_selected, found.is_selected[order])
    assert np.array_equal(shuffled.num_steps, found.num_steps[order])
