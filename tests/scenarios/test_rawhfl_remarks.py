"""RawHFL beside its figures: the backhaul, the speed-up, the size of Algorithm 2's programs."""

from typing import Any

import attrs
import numpy as np
import pandas as pd
import pytest
from run_here import NO, YES

import cosim
from scenarios.reproduce.rawhfl import backhaul, complexity, figures, speed_up
from scenarios.reproduce.rawhfl.backhaul import (
    HIERARCHICAL,
    SINGLE,
    UPDATE_BITS,
    backhaul_bits,
    over_backhaul,
)
from scenarios.reproduce.rawhfl.complexity import powers_of
from scenarios.reproduce.rawhfl.drops import drop
from scenarios.reproduce.rawhfl.speed_up import AS_MANY_STEPS, FEWER_STEPS, MEAN, NOISE, NUM_TARGETS, Design


def judged(claims: list[Any]) -> list[str]:
    return [claim.verdict for claim in claims]


# --- Backhaul -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "num_sent"), [(SINGLE, 12), ("H-FedAvg-UB", 1), ("RawHFL, Z=4", 1)])
def test_bits_over_the_backhaul_by_hand(name: str, num_sent: int) -> None:
    system = over_backhaul(name, figures.Options(num_global_rounds=1))
    assert backhaul_bits(cosim.run(system)) == pytest.approx(num_sent * 33 * 219_648, rel=1e-9)


def test_the_claims_on_the_backhaul() -> None:
    model = np.full(2, 33.0 * 219_648)
    bits = {SINGLE: np.full(2, 12.0 * UPDATE_BITS)} | dict.fromkeys(HIERARCHICAL, model)
    assert judged(backhaul.claims(bits)) == [YES, YES, YES]
    combining = bits | {SINGLE: model}  # edge servers that do not relay
    assert judged(backhaul.claims(combining)) == [NO, YES, NO]


# --- Complexity ---------------------------------------------------------------------------------------------


def test_a_program_has_the_papers_constraints() -> None:
    """4 U variables; 2 ends of each, C2, C3, both sides of (30), (40c), (40d)."""
    planner = complexity.SuccessiveApproximation(drop(2, 1).cell)
    assert planner.size == (4 * 24, 2 * 4 * 24 + 4 * 24 + 2 * 2)
    planner.plan(drop(2, 1))
    assert 1 < planner.num_programs < 50


def timed(power: float, num_programs: int = 9) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "num_clients": 12 * cells,
            "num_cells": cells,
            "num_variables": 4 * 12 * cells,
            "num_constraints": 12 * 12 * cells + 2 * cells,
            "seed": seed,
            "num_programs": num_programs + seed,
            "plan_s": (num_programs + seed) * 1e-3 * (12.0 * cells) ** power * (1.0 + 1e-3 * seed),
        }
        for cells in (4, 8, 16)
        for seed in (1, 2, 3)
    )


def test_the_claims_on_the_complexity() -> None:
    assert powers_of(timed(1.25)) == pytest.approx(np.full(3, 1.25))
    assert judged(complexity.claims(timed(1.25))) == [YES, NO, YES, YES, YES]
    assert judged(complexity.claims(timed(2.0))) == [YES, NO, YES, YES, NO]
    assert judged(complexity.claims(timed(4.5))) == [YES, NO, NO, YES, NO]
    assert judged(complexity.claims(timed(1.25, num_programs=60)))[3] == NO
    more = timed(1.25).assign(num_constraints=lambda table: table["num_constraints"] + table["num_clients"])
    assert judged(complexity.claims(more))[0] == NO


# --- Speed-up -----------------------------------------------------------------------------------------------


def test_the_problem_meets_the_terms_of_the_theorem() -> None:
    """Gradients of all samples by hand, in the weight and bias of each prediction z."""
    y = np.asarray(speed_up.NoisyTargets().load(cosim.Simulation(1), None).train_y, dtype=float)
    z = np.linspace(-1.0, 2.0, NUM_TARGETS)
    of_samples = np.repeat(2.0 * (z - y) / NUM_TARGETS, 2, axis=1)
    whole = np.repeat(2.0 * (z - MEAN) / NUM_TARGETS, 2)
    np.testing.assert_allclose(of_samples.mean(0), whole, atol=1e-12)
    bound = Design(1, 16).bound(MEAN**2)
    np.testing.assert_allclose(((of_samples - whole) ** 2).sum(1), bound.gradient_variance)
    curvature = 2.0 / NUM_TARGETS * np.ones((2, 2))  # of a target's share of the loss, (w + b - y)^2 / D
    assert np.linalg.eigvalsh(curvature).max() == pytest.approx(bound.smoothness)
    excess = ((z - y) ** 2).mean() - NOISE**2
    assert 8.0 / NUM_TARGETS * excess == pytest.approx(whole @ whole)


def test_without_noise_rounds_are_gradient_descent_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean of (z - c)^2 shrinks by (1 - eta beta)^2 in each of the four steps of a round."""
    design = Design(2, 12)
    system, rate = design.system, design.learning_rate
    monkeypatch.setattr(speed_up, "NOISE", 0.0)
    squares = speed_up.squares(cosim.run(system, num_workers=1))
    kept = (1.0 - rate * 4.0 / NUM_TARGETS) ** 2
    assert squares == pytest.approx(squares[0] * kept ** (4.0 * np.arange(4)), rel=1e-5)
    assert squares[-1] < 0.5 * squares[0]


def made_up(square: Any) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "num_clients": design.side**2,
            "num_steps": design.num_steps,
            "seed": seed,
            "square_gradient": square(design) * (1.0 + 0.01 * seed),
            "initial_gap": MEAN**2,
        }
        for design in (*AS_MANY_STEPS, *FEWER_STEPS[1:])
        for seed in (1, 2, 3)
    )


def claims_of(table: pd.DataFrame) -> list[Any]:
    return speed_up.claims_in(table, speed_up.Options())


def test_the_claims_on_the_speed_up() -> None:
    right = made_up(lambda design: 0.5 / (design.side * design.num_steps**0.5))
    assert judged(claims_of(right)) == [YES, YES, YES]
    none = made_up(lambda design: 0.5 / design.num_steps**0.5)  # as if clients did not average
    assert judged(claims_of(none)) == [NO, NO, YES]
    above = right.assign(square_gradient=1e3 * right["square_gradient"])
    assert judged(claims_of(above)) == [YES, YES, NO]


def test_eq_27_for_another_start_keeps_the_learning_rate() -> None:
    design = FEWER_STEPS[1]
    rate = design.learning_rate
    other = attrs.evolve(design.bound(9.0), learning_rate=rate).dominating
    assert speed_up.dominating(design, 9.0) == pytest.approx(other)
    steps, spread = design.num_steps, 1.0 / design.side**2
    by_hand = (
        2.0 * 9.0 / (rate * steps)
        + 2.0 * (4.0 / NUM_TARGETS) * rate * (8.0 * NOISE**2 / NUM_TARGETS) * spread
    )
    assert other == pytest.approx(by_hand)
