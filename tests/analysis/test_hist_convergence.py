"""Theorems 1 and 3 of HIST in their limits, where they fail, and against HIST run on quadratics."""

import math

import attrs
import numpy as np
import pytest
from fixtures.hist_on_quadratics import (
    SETTING,
    Quadratics,
    coupled,
    run_algorithm_1,
    run_at_largest_rate,
)

from analysis.closed_forms.hist_convergence import HistBound, mean_largest_fraction

EXACTLY = {"rel": 1e-12, "abs": 0.0}


def setting(**values: object) -> HistBound:
    return HistBound(**(SETTING | {"largest_fraction": 0.6} | values))


# --- The printed bounds -------------------------------------------------------------------------------------


def test_theorem_3_by_hand():
    gamma, smooth, bound = 1e-5, 3.0, setting(mse=0.9)
    expected = {
        "start": 4 * 2.0 / (gamma * 50 * 4 * 6),
        "mini-batches": 100 * gamma * (1 / 2 + 1 / 5) * smooth * 0.5,
        "cells": 1356 * gamma * smooth * 0.7,
        "clients": 60 * gamma * smooth * 0.4,
        "masks": 6 * 2 * 0.6 * 0.7,
        "models": 48 * smooth**2 * 1.3,
        "air": gamma * 0.9,
    }
    assert bound.terms == pytest.approx(expected, **EXACTLY)
    assert bound.bound == pytest.approx(sum(expected.values()), **EXACTLY)
    assert bound.proved_terms["masks"] == pytest.approx(6 * 2 * 0.7, **EXACTLY)
    mended = 2 * gamma * smooth / 6 + 144 * gamma**2 * smooth**2 * 3 * 4
    assert bound.proved_terms["air"] == pytest.approx(mended * 0.9, **EXACTLY)
    same = ("start", "mini-batches", "cells", "clients", "models")
    assert {name: bound.proved_terms[name] for name in same} == {name: bound.terms[name] for name in same}
    assert bound.proved == pytest.approx(sum(bound.proved_terms.values()), **EXACTLY)


def test_a_perfect_channel_leaves_theorem_1():
    """Eq. 29 without its sixth term is eq. 13; eq. 29 prints the terms of models and masks the other way."""
    wired = setting()
    assert setting(mse=0.0).bound == wired.bound
    assert wired.terms["air"] == wired.proved_terms["air"] == 0.0


def test_bounds_grow_linearly_in_the_mse():
    for grown in (lambda b: b.bound, lambda b: b.proved):
        none, one, three = (grown(setting(mse=mse)) for mse in (0.0, 1e4, 3e4))
        assert three - none == pytest.approx(3.0 * (one - none), rel=1e-9)
        assert one > none


def test_one_cell_leaves_fedavg():
    """Section III-B2: with N = 1 and so delta_1 = 0, the third, fifth and sixth terms of eq. 13 vanish."""
    one = setting(num_clients=(7,), cell_dissimilarity=0.0, largest_fraction=1.0)
    left = {name for name, term in one.terms.items() if term > 0.0}
    assert left == {"start", "mini-batches", "clients"}
    assert one.proved == one.bound


def test_more_clients_per_cell_are_never_worse():
    tilde = [setting(num_clients=(n, 5), learning_rate=1e-5).inverse_clients for n in range(1, 9)]
    noise = [setting(num_clients=(n, 5), learning_rate=1e-5).bound for n in range(1, 9)]
    assert tilde == sorted(tilde, reverse=True)
    assert noise == sorted(noise, reverse=True)
    assert tilde[0] == pytest.approx(1.2, **EXACTLY)


def test_equal_parts_make_the_fifth_term_least():
    rng = np.random.default_rng(5)
    equal = setting(num_clients=(3, 3, 3, 3), largest_fraction=mean_largest_fraction([[25, 25, 25, 25]]))
    assert equal.terms["masks"] == pytest.approx(6 * 0.7, **EXACTLY)
    for sizes in rng.multinomial(100, np.full(4, 0.25), size=(20, 3)):
        other = attrs.evolve(equal, largest_fraction=mean_largest_fraction(sizes))
        assert other.terms["masks"] >= equal.terms["masks"]
        assert other.proved == equal.proved


def test_mean_of_the_largest_parts_by_hand():
    assert mean_largest_fraction([[30, 70], [50, 50]]) == pytest.approx(0.6, **EXACTLY)


@pytest.mark.parametrize(
    ("values", "largest"),
    [
        ({"num_clients": (9, 9), "num_edge_rounds": 2, "num_steps": 1}, 1 / (45 * math.sqrt(2) * 2)),
        ({"num_clients": (9999, 9999), "num_edge_rounds": 1, "num_steps": 1}, 1 / 9999),
        ({"num_clients": (1,), "largest_fraction": 1.0, "num_edge_rounds": 1, "num_steps": 50}, 1 / 5000),
        ({"num_clients": (1, 1, 1), "num_edge_rounds": 4, "num_steps": 6}, 1 / (12 * 16 * 36)),
    ],
)
def test_the_step_condition(values, largest):
    bound = setting(**values, learning_rate=largest / 3.0)
    assert bound.max_learning_rate == pytest.approx(largest / 3.0, **EXACTLY)
    assert math.isfinite(bound.bound)
    with pytest.raises(ValueError, match=r"\(eq\. 12\)"):
        _ = attrs.evolve(bound, learning_rate=largest / 2.9).proved


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        ({"smoothness": math.nan}, "smoothness = nan must be above 0, and finite"),
        ({"cell_dissimilarity": -0.1}, "cell_dissimilarity = -0.1 must be at least 0"),
        ({"num_steps": 0}, "num_steps = 0 must be at least 1"),
        ({"num_clients": (2, 0)}, "num_clients = .* must be at least 1"),
        ({"largest_fraction": 0.4}, "largest_fraction = 0.4 must be from 1 / N = 0.5 to 1"),
    ],
)
def test_what_cannot_be_is_refused(broken, rule):
    with pytest.raises(ValueError, match=rule):
        setting(**broken)


# --- HIST run on quadratics ------------------------------------------------------------------------------


def test_one_client_runs_gradient_descent():
    """The loop itself: grad f(x_k) = (I - gamma A)^k (A x_0 - b), seen after every H = 3 steps."""
    rng = np.random.default_rng(1)
    problem = coupled((4,), (1,), rng)._replace(noise=0.0)
    start, gamma = rng.normal(size=4), 0.05
    seen, square_model = run_algorithm_1(
        problem, start, lambda t: np.ones((1, 1, 4)), rounds=(2, 2, 3), learning_rate=gamma, rng=rng
    )
    step, first = np.eye(4) - gamma * problem.hessian, problem.hessian @ start - problem.pull
    expected = [np.sum((np.linalg.matrix_power(step, 3 * k) @ first) ** 2) for k in range(4)]
    assert seen == pytest.approx(np.mean(expected), **EXACTLY)
    second = np.linalg.solve(problem.hessian, np.linalg.matrix_power(step, 6) @ first + problem.pull)
    assert square_model == pytest.approx((start @ start + second @ second) / 2.0, rel=1e-10)


@pytest.mark.parametrize("mse", [0.0, 4000.0])
@pytest.mark.parametrize("sizes", [(3, 3, 3), (6, 2, 1)])
def test_run_rounds_stay_below_the_bound(sizes, mse):
    """Random masks, unlike clients and cells, noise in gradients and on the air; at the largest gamma.

    Started at 0, where the term of the models is least; it hides the others even so, so this test is weak.
    """
    numbers = {"largest_fraction": max(sizes) / 9, "mse": 9 * mse}
    seen, bound = run_at_largest_rate(HistBound, sizes, (200, 2, 2), 11, mse, **numbers)
    assert seen <= bound.bound
    assert seen <= bound.proved


def test_the_term_of_the_models_is_needed():
    """Two like cells, all deltas and sigma 0: masked models miss what parameters do to each other.

    A = [[1, a], [a, 1]], b = (1, 1): every cell settles at x_k = 1, where grad f = (a, a). Of eq. 13 only
    48 L^2 ||x||^2 is left; without it the bound would fail.
    """
    a = 0.5
    problem = Quadratics(np.array([[1.0, a], [a, 1.0]]), [np.ones((1, 2))] * 2)
    held = np.eye(2)[:, None, :]
    rng, gamma, start = np.random.default_rng(0), 1e-3, np.ones(2)
    seen, square_model = run_algorithm_1(
        problem, start, lambda t: held, rounds=(5, 1, 1), learning_rate=gamma, rng=rng
    )
    assert seen == pytest.approx(2.0 * a**2, **EXACTLY)
    bound = HistBound(
        **problem.constants(),
        initial_gap=problem.gap(start),
        square_model=square_model,
        largest_fraction=0.5,
        learning_rate=gamma,
        num_global_rounds=10**9,  # the model does not move, so any number of rounds looks the same
        num_edge_rounds=1,
        num_steps=1,
    )
    assert bound.bound - bound.terms["models"] < seen <= bound.bound


# --- Where the print fails ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("num_cells", "fails"), [(7, False), (8, True), (16, True)])
def test_masks_that_are_not_random_break_theorem_1(num_cells, fails):
    """The counterexample of the docstring: each cell trains the one parameter of which it knows least."""
    smooth, gamma = 2.0, 1e-6
    problem = Quadratics(
        smooth * np.eye(num_cells), [smooth * (1.0 - np.eye(num_cells)[[j]]) for j in range(num_cells)]
    )
    held = np.eye(num_cells)[:, None, :]
    rng, start = np.random.default_rng(0), np.zeros(num_cells)
    seen, square_model = run_algorithm_1(
        problem, start, lambda t: held, rounds=(5, 1, 1), learning_rate=gamma, rng=rng
    )
    assert square_model == 0.0  # it does not move
    assert seen == pytest.approx(smooth**2 * (num_cells - 1) ** 2 / num_cells, **EXACTLY)
    bound = HistBound(
        **problem.constants(),
        initial_gap=problem.gap(start),
        square_model=square_model,
        largest_fraction=1.0 / num_cells,
        learning_rate=gamma,
        num_global_rounds=10**11,
        num_edge_rounds=1,
        num_steps=1,
    )
    assert seen / bound.terms["masks"] == pytest.approx((num_cells - 1) / 6.0, **EXACTLY)
    assert (seen > bound.bound) is fails
    assert seen <= bound.proved


def test_noise_on_the_air_breaks_theorem_3():
    """The counterexample of the docstring, also with the sums to T that eq. 29 prints (twice the MSE)."""
    smooth, mse = 1000.0, 3.0
    problem = Quadratics(smooth * np.eye(2), [np.zeros((1, 2))] * 2)
    held = np.eye(2)[:, None, :]
    known = problem.constants() | {"initial_gap": 0.0, "square_model": 0.0, "largest_fraction": 0.5}
    known |= {"num_global_rounds": 1, "num_edge_rounds": 2, "num_steps": 1, "mse": 2.0 * mse}
    gamma = HistBound(**known, learning_rate=1e-9).max_learning_rate
    bound = HistBound(**known, learning_rate=gamma)
    seen, _ = run_algorithm_1(
        problem,
        np.zeros(2),
        lambda t: held,
        rounds=(1, 2, 1),
        learning_rate=gamma,
        rng=np.random.default_rng(3),
        num_runs=20_000,
        mse=mse,
    )
    assert seen == pytest.approx((gamma * smooth) ** 2 * 2.0 * mse / 2.0, rel=0.05)
    assert seen > 2.0 * bound.bound
    assert seen <= bound.proved
