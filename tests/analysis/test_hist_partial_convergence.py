"""Theorem 2 of HIST by hand, where it fails, the steps of its proof, and HIST run with some clients."""

import math
from itertools import product

import attrs
import numpy as np
import pytest
from fixtures.hist_on_quadratics import (
    SETTING,
    Quadratics,
    random_masks,
    run_algorithm_1,
    run_at_largest_rate,
)

from analysis.closed_forms.hist_convergence import HistBound
from analysis.closed_forms.hist_partial_convergence import PartialHistBound

EXACTLY = {"rel": 1e-12, "abs": 0.0}
UNKNOWN = ("G", "S", "V", "W", "Q", "F", "A")
"""The means of the proof, with L = 1."""


def setting(**values: object) -> PartialHistBound:
    return PartialHistBound(**(SETTING | {"largest_fraction": 0.6} | values))


def test_theorem_2_by_hand():
    gamma, smooth, bound = 1e-5, 3.0, setting()
    expected = {
        "start": 4 * 2.0 / (gamma * 50 * 4 * 6),
        "mini-batches": 100 * gamma * (1 / 2 + 1 / 5) * smooth * 0.5,
        "cells": 1356 * gamma * smooth * 0.7,
        "clients": 60 * gamma * smooth * 0.4,
        "taking part": 12 * gamma * 6 * (1 / 2 + 1 / 5) * smooth * 0.4,
        "masks": 6 * 2 * 0.6 * 0.7,
        "models": 96 * smooth**2 * 1.3,
    }
    assert bound.terms == pytest.approx(expected, **EXACTLY)
    assert bound.bound == pytest.approx(sum(expected.values()), **EXACTLY)
    proved = expected | {"masks": 6 * 2 * 0.7}
    assert bound.proved_terms == pytest.approx(proved, **EXACTLY)
    assert bound.proved == pytest.approx(sum(proved.values()), **EXACTLY)


@pytest.mark.parametrize(
    ("values", "largest"),
    [
        ({"num_clients": (9, 9), "num_edge_rounds": 8, "num_steps": 1}, 1 / (2 * 2 * 3 * 64)),
        ({"num_clients": (99, 99), "num_edge_rounds": 1, "num_steps": 1}, 1 / (2 * 99)),
        ({"num_clients": (9, 9), "num_edge_rounds": 1, "num_steps": 1}, 1 / (64 * math.sqrt(2))),
    ],
)
def test_the_step_condition(values, largest):
    bound = setting(**values, learning_rate=largest / 3.0)
    assert bound.max_learning_rate == pytest.approx(largest / 3.0, **EXACTLY)
    assert math.isfinite(bound.bound)
    with pytest.raises(ValueError, match=r"PartialHistBound.* \(eq\. 16\)"):
        _ = setting(**values, learning_rate=largest / 2.9).proved


def test_more_clients_that_take_part_are_never_worse():
    """The paper says so of Theorem 2."""
    found = [setting(num_clients=(n, 5)).bound for n in range(1, 9)]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == 8


# --- The proof ----------------------------------------------------------------------------------------------


def constants(
    rate: float,
    *,
    cells: int,
    edge: int,
    steps: int,
    taking_part: int,
    any_masks: bool,
    is_drawn: bool = True,
) -> dict[str, float]:
    """Factor of each known number in the bound of G, by the six steps; infinite if they do not close.

    Args:
        rate: gamma L.
        is_drawn: True if clients are drawn, which adds to the variance of an edge round.
    """
    inverse, square = cells / taking_part, rate**2
    rows = {
        "G": {"start": 2.0, "S": 1.0, "F": rate / steps},
        "S": {"A": 3.0, "V": 3.0 * (cells - 1), "Q": 3.0},
        "V": {"models": 2.0, "W": 2.0},
        "F": {
            "sigma": 2.0 * inverse * steps,
            "delta_2": 2.0 * inverse * steps**2 * is_drawn,
            "Q": 4.0 * steps**2,
        },
        "Q": {"sigma": square * cells * steps, "Q": 5.0 * square * steps**2}
        | {
            name: 10.0 / 3.0 * square * steps**2 * factor
            for name, factor in (("delta_2", cells), ("V", cells - 1), ("A", 1.0), ("G", 1.0))
        },
        "W": {"F": 2.0 * square * (edge - 1)}
        | dict.fromkeys("GS", 2.0 * square * edge * (edge - 1) * steps**2),
        "A": {"delta_1": cells} if any_masks else {"delta_1": 1.5, "W": 6.0 * (cells + 1)},
    }
    of_unknown = np.array([[rows[row].get(column, 0.0) for column in UNKNOWN] for row in UNKNOWN])
    if np.abs(np.linalg.eigvals(of_unknown)).max() >= 1.0:
        return dict.fromkeys(("start", "sigma", "delta_1", "delta_2", "models"), math.inf)
    inverted = np.linalg.inv(np.eye(len(UNKNOWN)) - of_unknown)[0]
    return {
        known: float(inverted @ [rows[row].get(known, 0.0) for row in UNKNOWN])
        for known in ("start", "sigma", "delta_1", "delta_2", "models")
    }


def printed(bound: PartialHistBound, *, any_masks: bool) -> dict[str, float]:
    """Factor of each known number in the theorem; masks are of one size."""
    terms = bound.proved_terms if any_masks else bound.terms
    return {
        "start": terms["start"] * bound.learning_rate * bound.num_steps_in_all,
        "sigma": terms["mini-batches"],
        "delta_1": terms["cells"] + terms["masks"],
        "delta_2": terms["clients"] + terms["taking part"],
        "models": terms["models"],
    }


SHAPES = list(product((2, 3, 8, 60), (1, 2, 15), (1, 3, 40), (1, 5, 1000)))


def shaped(shape: tuple[int, int, int, int], times: float = 1.0) -> PartialHistBound:
    """A theorem with all known numbers 1, at a multiple of its largest learning rate."""
    cells, edge, steps, taking_part = shape
    units = ("initial_gap", "smoothness", "gradient_variance", "cell_dissimilarity", "client_dissimilarity")
    known: dict[str, object] = dict.fromkeys((*units, "square_model"), 1.0) | {
        "largest_fraction": 1.0 / cells,
        "num_global_rounds": 1,
        "num_edge_rounds": edge,
        "num_steps": steps,
        "num_clients": (taking_part,) * cells,
    }
    largest = PartialHistBound(**known, learning_rate=1e-30).max_learning_rate
    return PartialHistBound(**known, learning_rate=times * largest)


def misses(times: float, any_masks: bool) -> set[str]:
    """Terms that the six steps do not give for some shape, at a multiple of the largest learning rate."""
    missed = set()
    for shape in SHAPES:
        cells, edge, steps, taking_part = shape
        bound = shaped(shape)
        found = constants(
            times * bound.learning_rate,
            cells=cells,
            edge=edge,
            steps=steps,
            taking_part=taking_part,
            any_masks=any_masks,
        )
        allowed = printed(bound, any_masks=any_masks)
        missed |= {name for name in found if found[name] > allowed[name]}
    return missed


@pytest.mark.parametrize("any_masks", [False, True])
def test_the_six_steps_give_no_more_than_the_print(any_masks):
    assert misses(1.0, any_masks) == set()


@pytest.mark.parametrize("any_masks", [False, True])
def test_the_six_steps_prove_theorem_1_too(any_masks):
    """Without drawn clients and with (12): as printed for random masks, with 1 for d_max / d for any."""
    for cells, edge, steps, num_clients in SHAPES:
        known = attrs.asdict(shaped((cells, edge, steps, num_clients)))
        largest = HistBound(**(known | {"learning_rate": 1e-30})).max_learning_rate
        bound = HistBound(**(known | {"learning_rate": largest}))
        terms = bound.proved_terms if any_masks else bound.terms
        found = constants(
            largest,
            cells=cells,
            edge=edge,
            steps=steps,
            taking_part=num_clients,
            any_masks=any_masks,
            is_drawn=False,
        )
        assert found["start"] <= 4.0
        assert found["sigma"] <= terms["mini-batches"]
        assert found["delta_1"] <= terms["cells"] + terms["masks"]
        assert found["delta_2"] <= terms["clients"]
        assert found["models"] <= terms["models"]


@pytest.mark.parametrize("any_masks", [False, True])
def test_the_six_steps_need_the_step_condition(any_masks):
    """With a rate 30 times as large they do not close."""
    assert misses(30.0, any_masks) == {"start", "sigma", "delta_1", "delta_2", "models"}


def test_masks_of_any_kind_need_more_than_the_print():
    """The six steps cannot give 6 N d_max / d for any masks: the counterexample below."""
    shape = (8, 2, 3, 1)
    bound = shaped(shape)
    found = constants(bound.learning_rate, cells=8, edge=2, steps=3, taking_part=1, any_masks=True)
    assert found["delta_1"] > printed(bound, any_masks=False)["delta_1"]


def test_disjoint_masks_leave_n_minus_1_models():
    """Step 2, the identity."""
    rng = np.random.default_rng(2)
    held = random_masks((4, 2, 1), 1, rng)[:, 0]
    x = rng.normal(size=7)
    apart = sum(np.sum((x - x * mask) ** 2) for mask in held)
    assert apart == pytest.approx(2.0 * np.sum(x**2), rel=1e-12)


# --- Where the print fails ----------------------------------------------------------------------------------


def test_theorem_1s_counterexample_breaks_theorem_2():
    """Cells of one client: all take part, and each trains the parameter of which it knows least."""
    num_cells, smooth, gamma = 8, 2.0, 1e-6
    pulls = [smooth * (1.0 - np.eye(num_cells)[[j]]) for j in range(num_cells)]
    problem, start = Quadratics(smooth * np.eye(num_cells), pulls), np.zeros(num_cells)
    held, rng = np.eye(num_cells)[:, None, :], np.random.default_rng(0)
    seen, square_model = run_algorithm_1(
        problem, start, lambda t: held, rounds=(5, 1, 1), learning_rate=gamma, rng=rng, taking_part=1
    )
    known = problem.constants() | {"initial_gap": problem.gap(start), "square_model": square_model}
    known |= {"num_global_rounds": 10**11, "num_edge_rounds": 1, "num_steps": 1}
    bound = PartialHistBound(**known, largest_fraction=1.0 / num_cells, learning_rate=gamma)
    assert bound.bound < seen <= bound.proved
    assert seen / bound.terms["masks"] == pytest.approx(7.0 / 6.0, **EXACTLY)


def test_lemma_3_lacks_the_selection_of_clients():
    """The docstring's counterexample: edge models do move apart.

    After one edge round D_t = ||x||^2 = gamma^2 delta_2^2, and of (44) is left 162 gamma^2 E^2 times the
    squared gradient L^2 ||x||^2, 0.02 times as much at the largest gamma.
    """
    smooth = 3.0
    pull = np.array([[1.0, 2.0], [-1.0, -2.0]])
    problem = Quadratics(smooth * np.eye(2), [pull, pull])
    known = problem.constants() | {"num_clients": (1, 1)}
    usual = {"initial_gap": 0.0, "square_model": 0.0, "largest_fraction": 0.5}
    counts = {"num_global_rounds": 1, "num_edge_rounds": 2, "num_steps": 1}
    gamma = PartialHistBound(**(known | usual | counts), learning_rate=1e-9).max_learning_rate
    held = np.eye(2)[:, None, :]
    rng = np.random.default_rng(4)
    seen, _ = run_algorithm_1(
        problem,
        np.zeros(2),
        lambda t: held,
        rounds=(1, 2, 1),
        learning_rate=gamma,
        rng=rng,
        num_runs=50,
        taking_part=1,
    )
    square_model = 2.0 * seen / smooth**2
    assert square_model == pytest.approx(gamma**2 * known["client_dissimilarity"], **EXACTLY)
    lemma = 162.0 * gamma**2 * 4.0 * smooth**2 * square_model
    assert lemma / square_model == pytest.approx(162.0 * 4.0 / (64.0 * 2.0) ** 2 / 2.0, **EXACTLY)
    bound = PartialHistBound(**(known | usual | counts), learning_rate=gamma)
    assert seen <= bound.bound
    assert seen <= bound.terms["taking part"]
    everyone = HistBound(**(problem.constants() | usual | counts), learning_rate=gamma)
    assert everyone.bound < bound.bound


@pytest.mark.parametrize("taking_part", [1, 2])
def test_run_rounds_stay_below_the_bound(taking_part):
    """Random masks, unlike clients and cells, noisy gradients; weak, as the models' term hides all."""
    numbers = {"num_clients": (taking_part,) * 3, "largest_fraction": 6 / 9}
    seen, bound = run_at_largest_rate(
        PartialHistBound, (6, 2, 1), (100, 2, 2), 11, taking_part=taking_part, **numbers
    )
    assert seen <= bound.bound <= bound.proved
