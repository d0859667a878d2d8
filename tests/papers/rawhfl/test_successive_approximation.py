"""Algorithm 2: expansions against differences, programs against (40) in full, plans against the optimum."""

import math
from typing import Any

import attrs
import cvxpy as cp
import numpy as np
import pytest

from cosim.configuration import ConfigurationError
from scenarios.papers.rawhfl.plans import exact
from scenarios.papers.rawhfl.plans.linear_program import MARGIN, LinearProgram, Point, first_order
from scenarios.papers.rawhfl.plans.problem import Plan, Problem
from scenarios.papers.rawhfl.plans.successive_approximation import (
    SuccessiveApproximation,
    initial_point,
    mended,
    rounded,
)

NUM_CLIENTS = 24
CELL = np.repeat([0, 1], 12)


def a_drop(seed: int, **changes: Any) -> Problem:
    """Two cells of the paper's setting, links from poor to excellent."""
    rng = np.random.default_rng(seed)
    n = NUM_CLIENTS
    values: dict[str, Any] = {
        "cell": CELL,
        "step_cycles": 320.0 * 1408.0 * rng.uniform(25.0, 40.0, n),
        "min_frequency_hz": np.zeros(n),
        "max_frequency_hz": rng.uniform(1.2e9, 2e9, n),
        "min_power_w": np.zeros(n),
        "max_power_w": 10.0 ** rng.uniform(-1.0, 0.0, n),
        "snr_per_w": 10.0 ** rng.uniform(0.0, 6.0, n),
        "energy_budget_j": rng.uniform(0.8, 1.5, n),
        "is_repeated": rng.random(n) < 0.4,
        "capacitance_j_per_hz2": 2e-28,
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
    """Little time, little energy, floors, static power, hopeless links, any Z, Psi and theta."""
    rng = np.random.default_rng([seed, 7])
    n = NUM_CLIENTS
    drop = a_drop(
        seed,
        deadline_s=float(np.exp(rng.uniform(0.0, math.log(150.0)))),
        static_power_w=float(rng.choice([0.0, 0.01, 0.3])),
        num_selected=int(rng.integers(1, 9)),
        num_repeated=int(rng.integers(0, 4)),
        theta=float(rng.choice([0.0, 0.01, 0.4, 1.0])),
    )
    return attrs.evolve(
        drop,
        energy_budget_j=drop.energy_budget_j * np.exp(rng.uniform(-6.0, 0.5, n)),
        min_frequency_hz=drop.max_frequency_hz * rng.uniform(0.0, 1.0, n) * (rng.random(n) < 0.5),
        min_power_w=drop.max_power_w * rng.uniform(0.0, 1.0, n) ** 3 * (rng.random(n) < 0.5),
        snr_per_w=drop.snr_per_w * np.where(rng.random(n) < 0.1, 0.0, 1.0),
    )


def a_point(problem: Problem, seed: int) -> Point:
    """Anywhere."""
    rng = np.random.default_rng(seed)
    return Point(
        selection=rng.uniform(0.1, 1.0, NUM_CLIENTS),
        num_steps=rng.uniform(1.0, 50.0, NUM_CLIENTS),
        frequency_hz=problem.max_frequency_hz * rng.uniform(0.1, 1.0, NUM_CLIENTS),
        power_w=problem.max_power_w * rng.uniform(0.01, 1.0, NUM_CLIENTS),
    )


@pytest.fixture(scope="module")
def planner() -> SuccessiveApproximation:
    """One for all tests: plans must not depend on what it has planned before."""
    return SuccessiveApproximation(CELL)


def same(plan: Plan, other: Plan) -> bool:
    return all(
        np.array_equal(getattr(plan, name), getattr(other, name))
        for name in ("is_selected", "num_steps", "frequency_hz", "power_w")
    )


# --- Expansions and the program ---------------------------------------------------------------------------


@pytest.mark.parametrize("static_power_w", [0.0, 0.3])
@pytest.mark.parametrize("what", ["time_s", "energy_j"])
def test_first_order_against_differences(what, static_power_w):
    """Central differences in x, Lbar and the relative changes of f and P."""
    problem = a_drop(1, static_power_w=static_power_w)
    point = a_point(problem, 2)

    def value(variables):
        x, total_steps, by_frequency, by_power = variables
        f, p = point.frequency_hz * (1.0 + by_frequency), point.power_w * (1.0 + by_power)
        if what == "time_s":
            return problem.train_s(total_steps, f) + x * problem.send_s(p)
        return problem.train_j(total_steps, f) + x * problem.send_j(p)

    none = np.zeros(NUM_CLIENTS)
    at = np.array([point.selection, point.selection * point.num_steps, none, none])
    coefficients = getattr(first_order(problem, point), what)
    step = 1e-5
    for row in range(4):
        offset = np.zeros((4, 1))
        offset[row] = step
        slope = (value(at + offset) - value(at - offset)) / (2.0 * step)
        np.testing.assert_allclose(coefficients[row], slope, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose((coefficients * at).sum(axis=0), value(at), rtol=1e-12)


def full_program(q: Problem, at: Point, factor: float, rho: float) -> float:
    """The least objective of (40) as it stands in the paper, with L, (31) and (32)."""
    n, num_cells = NUM_CLIENTS, 2
    x0, f0, p0 = at.selection, at.frequency_hz, at.power_w
    x, total, steps = (cp.Variable(n) for _ in range(3))
    f, p = cp.multiply(f0, cp.Variable(n)), cp.multiply(p0, cp.Variable(n))
    total0, g = x0 * at.num_steps, q.snr_per_w
    ratio = q.payload_bits * math.log(2.0) / q.bandwidth_hz
    log = np.log(1.0 + g * p0)
    mul, half = cp.multiply, 0.5 * q.capacitance_j_per_hz2 * q.step_cycles
    train_j = mul(half * f0**2, total) + mul(2.0 * half * f0 * total0, f - f0)
    train_s = mul(q.step_cycles / f0, total) - mul(q.step_cycles * total0 / f0**2, f - f0)
    slope = (log - g * p0 / (1.0 + g * p0)) / log**2
    send_j = ratio * (mul(p0 / log, x) + mul(x0 * slope, p - p0))
    send_s = ratio * (x / log - mul(x0 * g / ((1.0 + g * p0) * log**2), p - p0))
    weighed = cp.sum(-q.theta * total + (1.0 - q.theta) * (train_j + send_j)) / (num_cells * q.num_selected)
    penalty = cp.sum(mul(1.0 - 2.0 * x0, x))
    big = q.max_steps
    rules = [x >= 0, x <= 1, steps >= 1, steps <= big, total >= x, total <= big * x, total >= 0, total <= big]
    rules += [steps - total >= 1 - x, steps - total <= big * (1 - x), total <= steps + big * (1 - x)]
    rules += [f <= q.max_frequency_hz, f >= f0 / factor, f <= f0 * factor]
    rules += [p <= q.max_power_w, p >= p0 / factor, p <= p0 * factor]
    rules += [train_s + send_s <= q.deadline_s * x, train_j + send_j <= mul(q.energy_budget_j, x)]
    for cell in range(num_cells):
        rules.append(cp.sum(x[q.cell == cell]) == q.num_selected)
        rules.append(cp.sum(x[(q.cell == cell) & q.is_repeated]) <= q.num_repeated)
    program = cp.Problem(cp.Minimize(weighed + rho * penalty), rules)
    return float(program.solve(solver=cp.HIGHS))  # type: ignore[arg-type]


@pytest.mark.parametrize(("rho", "theta"), [(0.0, 0.4), (0.01, 0.4), (1.0, 0.4), (0.01, 0.0)])
def test_the_program_is_the_papers(rho, theta):
    """The one that is built once and has no L, solved for three problems, against (40) written out."""
    program = LinearProgram(CELL)
    for seed in (1, 2, 3):
        snr_per_w = 10.0 ** np.random.default_rng(seed).uniform(2.0, 5.0, NUM_CLIENTS)
        problem = a_drop(seed, deadline_s=40.0, snr_per_w=snr_per_w, theta=theta)
        point = attrs.evolve(
            initial_point(problem), selection=np.random.default_rng(seed).uniform(0.05, 1.0, 24)
        )
        assert (point.num_steps >= 1.0).all()
        found = program.solution(problem, point, np.full(NUM_CLIENTS, 2.0), rho)
        assert found is not None
        energy_j = (first_order(problem, point).energy_j * found).sum(axis=0)
        cost = (-theta * found[1] + (1.0 - theta) * energy_j).sum() / 8.0
        cost += rho * ((1.0 - 2.0 * point.selection) * found[0]).sum()
        assert cost == pytest.approx(full_program(problem, point, 2.0, rho), rel=1e-6)


def test_solved_again_is_as_if_built_anew(planner):
    """Bit for bit, whatever was planned in between."""
    problems = [a_drop(1), a_harsh_drop(2), a_drop(3), a_drop(1)]
    again = [planner.plan(problem) for problem in problems]
    anew = [SuccessiveApproximation(CELL).plan(problem) for problem in problems]
    assert all(same(*pair) for pair in zip(again, anew, strict=True))
    assert same(again[0], again[3])
    assert not same(again[0], again[2])


# --- Plans ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_plans_keep_every_constraint_and_are_not_better_than_the_best(planner, seed):
    """It selects as many clients as the exact solution, too."""
    problem = a_harsh_drop(seed)
    plan, best = planner.plan(problem), exact.plan(problem)
    assert plan.violations(problem) == []
    counts = [np.bincount(CELL[p.is_selected], minlength=2).tolist() for p in (plan, best)]
    assert counts[0] == counts[1]
    assert plan.objective(problem) >= best.objective(problem) - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_it_finds_the_best_where_there_is_nothing_to_select(seed):
    """With precision 0 it ends at the exact solution, though it starts at 50 times its frequencies."""
    problem = a_drop(seed, num_selected=12, num_repeated=12, static_power_w=0.0)
    plan = SuccessiveApproximation(CELL, precision=0.0).plan(problem)
    best = exact.plan(problem)
    on = best.is_selected
    assert np.array_equal(plan.is_selected, on)
    assert np.array_equal(plan.num_steps, best.num_steps)
    np.testing.assert_allclose(plan.energy_j(problem)[on], best.energy_j(problem)[on], rtol=1e-3)
    np.testing.assert_allclose(plan.frequency_hz[on], best.frequency_hz[on], rtol=0.1)
    assert np.median(initial_point(problem).frequency_hz[on] / plan.frequency_hz[on]) > 50.0


def test_floors_are_reached_where_time_is_plenty(planner):
    """Slowest and softest is least energy, and the deadline allows it."""
    problem = a_drop(5, deadline_s=1e4)
    floors = {"min_frequency_hz": problem.max_frequency_hz / 4.0, "min_power_w": problem.max_power_w / 8.0}
    problem = attrs.evolve(problem, **floors)
    plan = planner.plan(problem)
    on = plan.is_selected
    np.testing.assert_allclose(plan.frequency_hz[on], problem.min_frequency_hz[on], rtol=1e-6)
    np.testing.assert_allclose(plan.power_w[on], problem.min_power_w[on], rtol=1e-6)
    assert plan.violations(problem) == []


def test_cells_select_as_many_as_are_able(planner):
    """Cell 0 has three links; cell 1 has repeated clients only, of which two may go on."""
    snr_per_w = np.where(CELL == 0, 0.0, 1e4)
    snr_per_w[[2, 5, 7]] = 1e4
    plan = planner.plan(a_drop(1, snr_per_w=snr_per_w, is_repeated=CELL == 1))
    assert np.flatnonzero(plan.is_selected[:12]).tolist() == [2, 5, 7]
    assert plan.is_selected[12:].sum() == 2


def test_nobody_is_able(planner):
    plan = planner.plan(a_drop(1, snr_per_w=np.zeros(NUM_CLIENTS)))
    assert not plan.is_selected.any()
    assert not plan.num_steps.any()


@pytest.mark.parametrize("num_repeated", [0, 1, 2])
def test_overlap(planner, num_repeated):
    """Repeated clients have far better links, so as many as may be are selected."""
    is_repeated = np.arange(NUM_CLIENTS) % 3 == 0
    snr_per_w = np.where(is_repeated, 1e6, 1e2)
    plan = planner.plan(
        a_drop(1, is_repeated=is_repeated, snr_per_w=snr_per_w, num_repeated=num_repeated, deadline_s=20.0)
    )
    repeated = np.bincount(CELL[plan.is_selected & is_repeated], minlength=2)
    assert repeated.tolist() == [num_repeated] * 2
    assert np.bincount(CELL[plan.is_selected]).tolist() == [4, 4]


def test_a_solver_that_fails_leaves_the_last_point(monkeypatch):
    """Here the start: a plan that keeps all constraints, at the highest f and P."""
    planner, problem = SuccessiveApproximation(CELL), a_drop(1)

    def fail(*_: Any, **__: Any) -> None:
        raise cp.SolverError("no")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    plan = planner.plan(problem)
    assert plan.violations(problem) == []
    assert same(plan, rounded(problem, initial_point(problem)))


def test_other_cells_are_refused(planner):
    with pytest.raises(ConfigurationError, match="a planner for each topology"):
        planner.plan(a_drop(1, cell=CELL[::-1]))


# --- Points -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_start_is_feasible(seed):
    """The fastest and loudest where that fits one step; x equal."""
    problem = a_harsh_drop(seed)
    point = initial_point(problem)
    able = point.num_steps > 0.0
    assert np.array_equal(able, exact.able(problem))
    duration_s = problem.train_s(point.num_steps, point.frequency_hz) + problem.send_s(point.power_w)
    energy_j = problem.train_j(point.num_steps, point.frequency_hz) + problem.send_j(point.power_w)
    assert (point.num_steps[able] >= 1.0).all()
    assert (duration_s[able] <= problem.deadline_s).all()
    assert (energy_j[able] <= problem.energy_budget_j[able]).all()
    one = np.ones(NUM_CLIENTS)
    f, p = problem.max_frequency_hz, problem.max_power_w
    fits = (problem.train_s(one, f) + problem.send_s(p) < problem.deadline_s) & (
        problem.train_j(one, f) + problem.send_j(p) < problem.energy_budget_j
    )
    np.testing.assert_allclose(point.frequency_hz[fits], f[fits], rtol=1e-12)
    np.testing.assert_allclose(point.power_w[fits], p[fits], rtol=1e-12)
    x = point.selection
    assert (x[~able] == 0.0).all()
    for cell in (0, 1):
        here = problem.cell == cell
        assert len(set(x[here & able])) <= 1
        assert x[here].sum() == pytest.approx(exact.plan(problem).is_selected[here].sum(), rel=1e-12)


def test_a_late_point_gets_faster_in_both():
    """Both times shrink by the same factor (clients 0 to 7).

    At the highest f sending alone makes up for it (8 to 15), at the highest P training alone (the others).
    """
    client = np.arange(NUM_CLIENTS)
    both, sending, training = client < 8, (client >= 8) & (client < 16), client >= 16
    problem = a_drop(1, snr_per_w=np.full(NUM_CLIENTS, 1e4), energy_budget_j=np.full(NUM_CLIENTS, 1e9))
    f, steps = np.where(sending, 1.0, 1.0 / 400.0) * problem.max_frequency_hz, np.full(NUM_CLIENTS, 50.0)
    power_w = np.where(sending, 5e-6, 1e-5)
    problem = attrs.evolve(problem, max_power_w=np.where(training, power_w, 1e3), deadline_s=120.0)
    late_s = problem.train_s(steps, f) + problem.send_s(power_w)
    assert (late_s > 130.0).all()
    point = mended(problem, Point(selection=steps, num_steps=steps, frequency_hz=f, power_w=power_w))
    assert np.array_equal(point.num_steps, steps)
    send_s = problem.send_s(point.power_w)
    np.testing.assert_allclose(point.frequency_hz[both], (f * late_s / 120.0)[both], rtol=1e-8)
    np.testing.assert_allclose(send_s[both], (problem.send_s(power_w) * 120.0 / late_s)[both], rtol=1e-8)
    assert np.array_equal(point.frequency_hz[sending], f[sending])
    assert np.array_equal(point.power_w[training], power_w[training])
    duration_s = problem.train_s(steps, point.frequency_hz) + send_s
    np.testing.assert_allclose(duration_s, 120.0 * (1.0 - 2.0 * MARGIN), rtol=1e-12)


def test_rounding_takes_the_largest_indicators_that_the_overlap_allows():
    """Of cell 0 the repeated clients 0 and 1 have the largest; 2 comes third and may not; then 3 and 4."""
    problem = a_drop(1, is_repeated=np.arange(NUM_CLIENTS) < 3, snr_per_w=np.full(NUM_CLIENTS, 1e4))
    point = attrs.evolve(initial_point(problem), selection=np.linspace(0.9, 0.1, NUM_CLIENTS))
    assert np.flatnonzero(rounded(problem, point).is_selected).tolist() == [0, 1, 3, 4, 12, 13, 14, 15]


def test_rounding_down():
    """7.99 steps are 7; what is nearly 8 is 8, unless the budget has no room for the rest of a step."""
    problem = a_drop(
        1, snr_per_w=np.full(NUM_CLIENTS, 1e4), is_repeated=np.zeros(NUM_CLIENTS, dtype=np.bool_)
    )
    num_steps = np.full(NUM_CLIENTS, 8.0 - 1e-4)
    num_steps[1] = 7.99
    x = np.where(np.arange(NUM_CLIENTS) % 12 < 4, 1.0, 0.0)
    point = attrs.evolve(initial_point(problem), selection=x, num_steps=num_steps)
    energy_j = problem.train_j(num_steps, point.frequency_hz) + problem.send_j(point.power_w)
    budget_j = np.where(np.arange(NUM_CLIENTS) == 2, energy_j * (1.0 + 2.0 * MARGIN), 10.0)
    problem = attrs.evolve(problem, energy_budget_j=budget_j)
    plan = rounded(problem, point)
    assert plan.num_steps[:4].tolist() == [8, 7, 7, 8]
    assert plan.violations(problem) == []
