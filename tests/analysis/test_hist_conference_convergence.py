"""Theorem 1 and Corollary 1 of the HIST conference paper: by hand, their slips, the steps of the proof."""

import math
from bisect import bisect_left
from itertools import product

import attrs
import numpy as np
import pytest
from fixtures.hist_on_quadratics import SETTING, run_at_largest_rate

from analysis.closed_forms.hist_conference_convergence import ConferenceHistBound

EXACTLY = {"rel": 1e-12, "abs": 0.0}
UNKNOWN = ("G", "S", "V", "W", "U", "A")
"""The means of the proof, with L = 1."""
KNOWN = ("start", "sigma", "delta_2", "delta_1", "models")


def setting(**values: object) -> ConferenceHistBound:
    return ConferenceHistBound(**(SETTING | {"num_clients": (2, 5, 10)} | values))


def test_theorem_1_by_hand():
    """Printed without 1 / T, where T = 50 * 4 * 6 local steps; with it otherwise the same."""
    gamma, smooth, bound = 1e-5, 3.0, setting()
    expected = {
        "start": 4 * 2.0 / gamma,
        "mini-batches": 50 * gamma * 0.8 * smooth * 0.5,
        "clients": 24 * gamma * smooth * 0.4,
        "cells": 12 * 0.7,
        "models": 24 * 2 * smooth**2 * 1.3,
    }
    assert bound.terms == pytest.approx(expected, **EXACTLY)
    assert bound.bound == pytest.approx(sum(expected.values()), **EXACTLY)
    mended = expected | {"start": 4 * 2.0 / (gamma * 1200)}
    assert bound.proved_terms == pytest.approx(mended, **EXACTLY)
    assert bound.proved == pytest.approx(sum(mended.values()), **EXACTLY)


@pytest.mark.parametrize(
    ("values", "largest"),
    [
        ({"num_clients": (9, 9), "num_edge_rounds": 8, "num_steps": 1}, 1 / (32 * 8)),
        ({"num_clients": (99, 99), "num_edge_rounds": 1, "num_steps": 1}, 1 / 99),
        ({"num_clients": (1, 1), "num_edge_rounds": 1, "num_steps": 40}, 1 / (2 * 1600)),
        ({"num_clients": (1,) * 1100, "num_edge_rounds": 9, "num_steps": 1}, 1 / (1101 * 9)),
    ],
)
def test_the_step_condition(values, largest):
    """Eq. 12: each of its four conditions is the least somewhere."""
    bound = setting(**values, learning_rate=largest / 3.0)
    assert bound.max_learning_rate == pytest.approx(largest / 3.0, **EXACTLY)
    assert math.isfinite(bound.bound)
    with pytest.raises(ValueError, match=r"ConferenceHistBound.* \(eq\. 12\)"):
        _ = attrs.evolve(bound, learning_rate=largest / 2.9).proved


def test_one_cell_is_refused():
    with pytest.raises(ValueError, match=r"in each of 2 or more cells.*Use more cells"):
        setting(num_clients=(7,))


def of_corollary(**values: object) -> ConferenceHistBound:
    """With its learning rate."""
    bound = setting(num_global_rounds=10**9, **values)
    return attrs.evolve(bound, learning_rate=bound.corollary_learning_rate)


def test_corollary_1_needs_the_missing_1_over_t():
    """In a run four times as long all terms that should fall are half; the printed first one is twice."""
    short = of_corollary()
    long = attrs.evolve(short, num_global_rounds=4 * 10**9)
    long = attrs.evolve(long, learning_rate=long.corollary_learning_rate)
    for name in ("start", "mini-batches", "clients"):
        assert long.proved_terms[name] / short.proved_terms[name] == pytest.approx(0.5, **EXACTLY)
    assert long.terms["start"] / short.terms["start"] == pytest.approx(2.0, **EXACTLY)
    by_hand = 4 * 2.0 * math.sqrt(0.8 / short.num_steps_in_all)
    assert short.proved_terms["start"] == pytest.approx(by_hand, **EXACTLY)


def test_corollary_1_loses_the_clients_of_a_cell():
    """With four times as many in each N~ is a quarter: the first terms are half, that of delta_2 is twice."""
    few, many = of_corollary(num_clients=(2, 5)), of_corollary(num_clients=(8, 20))
    ratios = {name: many.proved_terms[name] / few.proved_terms[name] for name in few.terms}
    expected = {"start": 0.5, "mini-batches": 0.5, "clients": 2.0, "cells": 1.0, "models": 1.0}
    assert ratios == pytest.approx(expected, **EXACTLY)


def test_the_orders_of_e_and_h_are_right():
    """Section IV-C: with the corollary's rate the largest E and H fulfil (12), twice as many do not."""
    of_long = {"num_clients": (5, 5, 5), "smoothness": 1.0, "num_global_rounds": 1}
    for name, exponent in (("num_steps", 1 / 4), ("num_edge_rounds", 1 / 2)):

        def most(total: float, name: str = name) -> float:
            rate = 1.0 / math.sqrt(total * 0.6)
            fits = lambda n: rate <= of_one(name, n).max_learning_rate  # noqa: E731
            return float(bisect_left(range(1, 100_000), True, key=lambda n: not fits(n)))

        def of_one(name: str, n: int) -> ConferenceHistBound:
            return setting(**(of_long | {"num_edge_rounds": 1, "num_steps": 1, name: n}))

        grown = most(1.6e9) / most(1e8)
        assert grown == pytest.approx(16**exponent, rel=0.05)


# --- The proof ----------------------------------------------------------------------------------------------


def constants(rate: float, cells: int, edge: int, steps: int, num_clients: int) -> dict[str, float]:
    """Factor of each known number in the bound of G, by the five steps; infinite if they do not close.

    Args:
        rate: gamma L.
    """
    inverse, square, of_round = cells / num_clients, rate**2, edge * steps
    rows = {
        "G": {"start": 2.0, "sigma": rate * inverse, "S": 1.0},
        "S": {"A": 3.0, "V": 3.0 * (cells - 1), "U": 3.0},
        "V": {"models": 2.0, "W": 2.0},
        "W": {"sigma": square * of_round * inverse} | dict.fromkeys("GS", 2.0 * square * of_round**2),
        "U": {
            "sigma": square * cells * steps,
            "U": 2.0 * square * steps**2,
            "delta_2": 4.0 / 3.0 * square * cells * steps**2,
        },
        "A": {"delta_1": 2.0, "W": 4.0 * (cells + 1)},
    }
    of_unknown = np.array([[rows[row].get(column, 0.0) for column in UNKNOWN] for row in UNKNOWN])
    if np.abs(np.linalg.eigvals(of_unknown)).max() >= 1.0:
        return dict.fromkeys(KNOWN, math.inf)
    inverted = np.linalg.inv(np.eye(len(UNKNOWN)) - of_unknown)[0]
    return {known: float(inverted @ [rows[row].get(known, 0.0) for row in UNKNOWN]) for known in KNOWN}


def largest(times: float, without: int | None = None) -> dict[str, float]:
    """The constants of the theorem that the five steps give, the largest over many shapes.

    Args:
        times: Times the largest learning rate.
        without: Number of a condition of (12) that is left out.
    """
    found = dict.fromkeys(KNOWN, 0.0)
    for cells, edge, steps, num_clients in product(
        (2, 3, 8, 60, 20_000), (1, 2, 1000), (1, 3, 40), (1, 5, 1000)
    ):
        conditions = [
            1.0 / (32.0 * edge * steps * math.sqrt(cells - 1)),
            1.0 / (num_clients * steps),
            1.0 / (cells * steps**2),
            1.0 / ((cells + 1) * edge * steps),
        ]
        rate = times * min(own for number, own in enumerate(conditions) if number != without)
        own = constants(rate, cells, edge, steps, num_clients)
        own["sigma"] /= rate * cells / num_clients
        own["delta_2"] /= rate
        own["models"] /= cells - 1
        found = {name: max(found[name], own[name]) for name in KNOWN}
    return found


PRINTED = {"start": 4.0, "sigma": 50.0, "delta_2": 24.0, "delta_1": 12.0, "models": 24.0}


def test_the_five_steps_give_no_more_than_the_docstring_says():
    found = largest(1.0)
    assert all(found[name] <= most for name, most in zip(KNOWN, (3.0, 30.0, 5.0, 8.0, 8.0), strict=True))


@pytest.mark.parametrize(("without", "missed"), [(0, "start"), (1, "sigma"), (2, "delta_2"), (3, "sigma")])
def test_the_five_steps_need_each_condition(without, missed):
    """Without one of the four of (12) a constant is larger than the printed one."""
    found = largest(1.0, without)
    assert found[missed] > PRINTED[missed]


def test_run_steps_stay_below_the_bound():
    """H = 1, so that every local step is seen; uniform masks, unlike clients and cells, noisy gradients."""
    seen, bound = run_at_largest_rate(ConferenceHistBound, (3, 3, 3), (60, 6, 1), 12)
    assert seen <= bound.proved < bound.bound
    assert seen > 0.01 * bound.proved
