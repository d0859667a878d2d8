"""Theorem 1 of RawHFL in its limits, where it fails, and the bound that can be proved."""

import math

import attrs
import numpy as np
import pytest

from analysis.closed_forms.rawhfl_convergence import Convergence

EXACTLY = {"rel": 1e-12, "abs": 0.0}


def alike(num_cells: int, num_clients: int, **values: object) -> Convergence:
    """Equal weights, the most steps for all, nothing lost."""
    shape = (num_cells, num_clients)
    usual: dict[str, object] = {
        "initial_gap": 2.0,
        "smoothness": 3.0,
        "gradient_variance": 0.5,
        "local_divergence": 0.7,
        "edge_divergence": 0.4,
        "client_divergence": 1.1,
        "square_gradient": 5.0,
        "learning_rate": 1e-3,
        "num_global_rounds": 50,
        "num_edge_rounds": 4,
        "max_steps": 6,
        "cell_weights": np.full(num_cells, 1.0 / num_cells),
        "client_weights": np.full(shape, 1.0 / num_clients),
        "num_steps": np.full(shape, 6.0),
        "success_rates": np.ones(shape),
    }
    return Convergence(**(usual | values))


# --- The printed bound --------------------------------------------------------------------------------------


def test_equal_steps_and_no_losses_are_corollary_1_by_hand():
    c, eta, beta, e, steps = alike(2, 3), 1e-3, 3.0, 4, 6
    n_1 = 60 * beta**3 * eta**3 * e**3 * steps**3 + 3 * beta * eta * e * steps
    n_1 += e * (0.5 + 4 * e * steps * beta * eta) / 3
    n_2 = 1 + 20 * beta**2 * eta**2 * e**2 * steps**2
    assert c.total_steps == pytest.approx(e * steps, **EXACTLY)
    expected = {
        "descent": 2 * 2.0 / (eta * e * 50 * steps),
        "mini-batches": 2 * beta * eta * 0.5 / e * n_1,
        "clients": 18 * beta**2 * 0.7 * eta**2 * steps**2 * n_2,
        "cells": 20 * beta**2 * 0.4 * eta**2 * e**2,
        "losses": 0.0,
    }
    assert c.terms == pytest.approx(expected, **EXACTLY)
    assert c.bound == pytest.approx(sum(expected.values()), **EXACTLY)


def test_losses_by_hand():
    """Corollary 1's last term, 1 / p - 1 = 1 for everybody: 2 beta eta N_u L G^2 for a client's L steps."""
    lossy = alike(2, 3, success_rates=np.full((2, 3), 0.5))
    eta, beta, e, steps = 1e-3, 3.0, 4, 6
    n_u = e + 3 * beta * eta * steps + 4 * beta * eta * e * (1 / 3 + 15 * e * beta**2 * eta**2 * steps**3)
    assert lossy.terms["losses"] == pytest.approx(2 * beta * eta * n_u * steps * 5.0, **EXACTLY)
    rarer = attrs.evolve(lossy, success_rates=np.full((2, 3), 1.0 / 3.0))
    assert rarer.terms["losses"] == pytest.approx(2.0 * lossy.terms["losses"], **EXACTLY)


def test_one_client_and_one_step_leave_plain_sgd():
    """With E = L = 1 the gap and the noise lead, as for SGD: 2 F / (eta K) + 2 beta eta sigma^2 (1 + ...)."""
    c = alike(1, 1, num_edge_rounds=1, max_steps=1, num_steps=np.ones((1, 1)), learning_rate=1e-6)
    assert c.terms["descent"] == pytest.approx(2 * 2.0 / (1e-6 * 50), **EXACTLY)
    assert c.terms["mini-batches"] == pytest.approx(2 * 3.0 * 1e-6 * 0.5, rel=1e-4)


def test_more_clients_never_mean_more_noise():
    noise = [alike(2, n).terms["mini-batches"] for n in (1, 2, 4, 8)]
    assert noise == sorted(noise, reverse=True)
    proved = [alike(2, n, learning_rate=1e-3).proved for n in (1, 2, 4, 8)]
    assert proved == sorted(proved, reverse=True)


def test_the_best_learning_rate_is_where_eq_27_is_least():
    c = alike(4, 12)
    best = c.best_learning_rate
    assert best == pytest.approx(math.sqrt(4 * 12 * 2.0 / (4 * 50 * 6 * 3.0 * 0.5)), **EXACTLY)
    at = [attrs.evolve(c, learning_rate=best * factor).dominating for factor in (0.999, 1.0, 1.001)]
    assert at[1] < min(at[0], at[2])
    assert at[1] == pytest.approx(4 * math.sqrt(2.0 * 3.0 * 0.5 / (4 * 50 * 6 * 48)), **EXACTLY)
    fourfold = alike(4, 48)
    halved = attrs.evolve(fourfold, learning_rate=fourfold.best_learning_rate).dominating
    assert halved == pytest.approx(at[1] / 2.0, **EXACTLY)  # linear speed-up


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        ({"learning_rate": 0.0}, "above 0"),
        ({"cell_weights": np.array([0.5, 0.6])}, "cell_weights must sum to 1"),
        ({"client_weights": np.full((2, 3), 0.3)}, "client_weights must sum to 1"),
        ({"num_steps": np.full((2, 3), 7.0)}, "from 1 to max_steps"),
        ({"success_rates": np.zeros((2, 3))}, "at 0 no bound is finite"),
    ],
)
def test_what_cannot_be_is_refused(broken, rule):
    with pytest.raises(ValueError, match=rule):
        alike(2, 3, **broken)


@pytest.mark.parametrize(("eta", "holds"), [(0.999 / 72, True), (1.001 / 72, False)])
def test_the_theorem_has_a_largest_learning_rate(eta, holds):
    """`beta E L = 72` beats 2 sqrt(5) beta L = 80.5 only where E is above 4.5."""
    c = alike(2, 3, learning_rate=eta, num_edge_rounds=4)
    limit = 1.0 / max(72.0, 2.0 * math.sqrt(5.0) * 18.0)
    assert c.is_within_theorem == (eta < limit)
    long = alike(2, 3, learning_rate=1.001 / (3.0 * 6 * 8), num_edge_rounds=8)
    with pytest.raises(ValueError, match="Theorem 1"):
        _ = long.terms
    with pytest.raises(ValueError, match="to be proved"):
        _ = long.proved


# --- Where it fails, and what holds -----------------------------------------------------------------------


def test_the_printed_bound_fails_for_plain_gradient_descent():
    """One client, f = w^2 / 2, E = 20: nothing is random, and Lemmas 1 and 2 say that nothing moves."""
    eta, num_edge = 0.999 / 20, 20
    start, end = 1.0, (1.0 - eta) ** num_edge
    c = alike(
        1,
        1,
        initial_gap=0.5 * (start**2 - end**2),
        smoothness=1.0,
        gradient_variance=0.0,
        local_divergence=0.0,
        edge_divergence=0.0,
        client_divergence=0.0,
        learning_rate=eta,
        num_global_rounds=1,
        num_edge_rounds=num_edge,
        max_steps=1,
        num_steps=np.ones((1, 1)),
    )
    assert c.is_within_theorem
    assert start**2 == pytest.approx(1.147 * c.bound, rel=1e-3)
    assert start**2 <= attrs.evolve(c, learning_rate=1.0 / (math.sqrt(48.0) * num_edge)).proved


def test_the_printed_bound_fails_for_unequal_steps():
    """Two clients at +1 and -1, one of which takes three steps: it wins, however small the rate."""
    eta, steps, rounds = 1e-4, np.array([[1.0, 3.0]]), 200_000
    targets = np.array([1.0, -1.0])
    keep = (1.0 - eta) ** steps[0]
    w, squares, start = 0.0, 0.0, 0.0
    slope, pull = float(keep.mean()), float(((1.0 - keep) * targets).mean())
    for _ in range(rounds):
        squares += w**2  # the gradient of the mean of (w - target)^2 / 2 is w
        w = slope * w + pull
    gap = 0.5 * (start**2 - w**2)
    c = alike(
        1,
        2,
        initial_gap=gap,
        smoothness=1.0,
        gradient_variance=0.0,
        local_divergence=1.0,
        edge_divergence=0.0,
        client_divergence=1.0,
        learning_rate=eta,
        num_global_rounds=rounds,
        num_edge_rounds=1,
        max_steps=3,
        num_steps=steps,
    )
    assert c.is_within_theorem
    assert squares / rounds > 0.2
    assert c.bound < 0.01
    assert squares / rounds <= c.proved


@pytest.mark.parametrize("seed", range(6))
def test_the_proved_bound_on_random_quadratics(seed):
    """Noisy, lossy runs of Algorithm 1 in 5 dimensions, unequal steps; mean over runs, bound with room."""
    rng = np.random.default_rng(seed)
    num_cells, num_clients, dimension, num_edge, most = 2, 3, 5, 3, 4
    curvature = rng.uniform(0.2, 1.0, (num_cells, num_clients, dimension))
    if seed % 2:
        curvature[:] = curvature[0, 0]  # then gradients of clients differ by the same everywhere
    targets = rng.standard_normal((num_cells, num_clients, dimension))
    steps = rng.integers(1, most + 1, (num_cells, num_clients))
    p = rng.uniform(0.4, 1.0, (num_cells, num_clients))
    beta, sigma = float(curvature.max()), 0.3
    eta = 1.0 / (math.sqrt(48.0) * beta * num_edge * most)

    def gradients(w):
        return curvature * (w - targets)

    def loss(w):
        return float((0.5 * curvature * (w - targets) ** 2).sum(-1).mean())

    squares, divergence, largest, gaps = [], 0.0, 0.0, []
    for _ in range(40):
        w = 2.0 * rng.standard_normal(dimension)
        first = loss(w)
        for _ in range(10):
            whole = gradients(w).mean((0, 1))
            squares.append(whole @ whole)
            divergence = max(divergence, float(((gradients(w) - whole) ** 2).sum(-1).max()))
            edges = np.tile(w, (num_cells, 1))
            for _ in range(num_edge):
                local = np.repeat(edges[:, None], num_clients, axis=1)
                sums = np.zeros_like(local)
                for step in range(most):
                    active = (steps > step)[..., None]
                    noise = rng.choice([-1.0, 1.0], local.shape) * sigma / math.sqrt(dimension)
                    g = (gradients(local) + noise) * active
                    largest = max(largest, float((g**2).sum(-1).max()))
                    sums += g
                    local -= eta * g
                arrives = (rng.random(p.shape) < p) / p
                edges -= eta * (arrives[..., None] * sums).mean(1)
            w = edges.mean(0)
        gaps.append(first - loss(w))
    c = alike(
        num_cells,
        num_clients,
        initial_gap=float(np.mean(gaps)),
        smoothness=beta,
        gradient_variance=sigma**2,
        client_divergence=divergence,
        square_gradient=largest,
        learning_rate=eta,
        num_global_rounds=10,
        num_edge_rounds=num_edge,
        max_steps=most,
        num_steps=steps.astype(float),
        success_rates=p,
    )
    assert np.mean(squares) <= c.proved
    without = attrs.evolve(c, success_rates=np.ones_like(p))
    assert without.proved < c.proved
