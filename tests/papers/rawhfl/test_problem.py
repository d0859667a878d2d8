"""Problem and Plan: equations 10 to 14 and 29 by hand, and each constraint broken alone."""

import math
from typing import Any

import attrs
import numpy as np
import pytest

from scenarios.papers.rawhfl.plans.problem import Plan, Problem

pytestmark = pytest.mark.quick

EXACTLY = {"rel": 1e-12, "abs": 0.0}


def a_problem(**changes: Any) -> Problem:
    """Three clients in two cells.

    At 2 GHz and 1 W client 0 takes 0.5 s per step and, at 2 bit/s/Hz, 3 s for its upload; the processor draws
    0.8 W, and static power is 0.2 W: 0.5 J per step and 3.6 J per upload. Client 1 takes 1.5 s per step
    and 2 s per upload (3 bit/s/Hz): 1.5 J and 2.4 J. Client 2 has no link.
    """
    values: dict[str, Any] = {
        "cell": np.array([0, 1, 1]),
        "step_cycles": np.array([1e9, 3e9, 1e9]),
        "min_frequency_hz": np.array([1e9, 1e9, 1e9]),
        "max_frequency_hz": np.array([2e9, 2e9, 2e9]),
        "min_power_w": np.array([0.5, 0.5, 0.5]),
        "max_power_w": np.array([1.0, 1.0, 1.0]),
        "snr_per_w": np.array([3.0, 7.0, 0.0]),
        "energy_budget_j": np.array([5.6, 5.4, 1.0]),
        "is_repeated": np.array([True, True, False]),
        "capacitance_j_per_hz2": 2e-28,
        "static_power_w": 0.2,
        "payload_bits": 6_000_000,
        "bandwidth_hz": 1e6,
        "deadline_s": 5.0,
        "max_steps": 4,
        "num_selected": 1,
        "num_repeated": 1,
        "theta": 0.4,
    }
    return Problem(**(values | changes))


def a_plan(**changes: Any) -> Plan:
    """Client 0 does 4 steps in 2 s, client 1 does 2 in 3 s: both meet the deadline and the budget exactly."""
    values: dict[str, Any] = {
        "is_selected": np.array([True, True, False]),
        "num_steps": np.array([4, 2, 0]),
        "frequency_hz": np.array([2e9, 2e9, 0.0]),
        "power_w": np.array([1.0, 1.0, 0.0]),
    }
    return Plan(**(values | changes))


# --- Equations --------------------------------------------------------------------------------------------


def test_training_by_hand():
    """Half the frequency takes twice the time at an eighth of the dynamic power."""
    problem, num_steps = a_problem(), np.array([4.0, 2.0, 1.0])
    full_hz, half_hz = np.full(3, 2e9), np.full(3, 1e9)
    assert problem.train_s(num_steps, full_hz) == pytest.approx([2.0, 3.0, 0.5], **EXACTLY)
    assert problem.train_j(num_steps, full_hz) == pytest.approx([2.0, 3.0, 0.5], **EXACTLY)
    assert problem.train_s(num_steps, half_hz) == pytest.approx([4.0, 6.0, 1.0], **EXACTLY)
    assert problem.train_j(num_steps, half_hz) == pytest.approx([1.2, 1.8, 0.3], **EXACTLY)


def test_sending_by_hand():
    problem = a_problem()
    at_full_w, at_half_w = np.full(3, 1.0), np.full(3, 0.5)
    assert problem.send_s(at_full_w) == pytest.approx([3.0, 2.0, math.inf], **EXACTLY)
    assert problem.send_j(at_full_w) == pytest.approx([3.6, 2.4, math.inf], **EXACTLY)
    half_s = [6.0 / math.log2(1.0 + 1.5), 6.0 / math.log2(1.0 + 3.5), math.inf]
    assert problem.send_s(at_half_w) == pytest.approx(half_s, **EXACTLY)
    assert problem.send_j(at_half_w) == pytest.approx([0.7 * s for s in half_s], **EXACTLY)


def test_without_power_an_upload_never_ends():
    assert np.all(np.isinf(a_problem().send_s(np.zeros(3))))


def test_a_weak_signal_keeps_its_digits():
    """At an SNR of 1e-12, log2(1 + SNR) is SNR / ln 2 to 12 digits."""
    problem = a_problem(snr_per_w=np.full(3, 1e-12))
    assert problem.send_s(np.ones(3)) == pytest.approx(np.full(3, 6.0 * math.log(2.0) * 1e12), rel=1e-11)


def test_a_plan_by_hand():
    """Steps of 4 and 2, energies of 5.6 and 5.4 J, in two cells with one place each."""
    problem, plan = a_problem(), a_plan()
    assert plan.energy_j(problem) == pytest.approx([5.6, 5.4, 0.0], **EXACTLY)
    assert plan.duration_s(problem) == pytest.approx([5.0, 5.0, 0.0], **EXACTLY)
    assert plan.objective(problem) == pytest.approx((-0.4 * 6.0 + 0.6 * 11.0) / 2.0, **EXACTLY)


def test_weights_stay_where_places_are_free():
    """Client 0 alone: the sum is still divided by two cells times the places, three here."""
    plan = a_plan(is_selected=np.array([True, False, False]))
    assert plan.objective(a_problem(num_selected=3)) == pytest.approx((-1.6 + 3.36) / 6.0, **EXACTLY)


def test_whoever_is_not_selected_counts_for_nothing():
    """Whatever its values, even meaningless ones."""
    nonsense = a_plan(
        num_steps=np.array([4, 2, 99]),
        frequency_hz=np.array([2e9, 2e9, 9e9]),
        power_w=np.array([1.0, 1.0, 9.0]),
    )
    problem = a_problem()
    assert nonsense.objective(problem) == a_plan().objective(problem)
    assert nonsense.violations(problem) == []


def test_nobody_selected():
    empty = a_plan(is_selected=np.zeros(3, dtype=np.bool_))
    assert empty.objective(a_problem()) == 0.0
    assert empty.violations(a_problem()) == []


# --- Constraints ------------------------------------------------------------------------------------------


def test_a_plan_may_meet_everything_with_equality():
    assert a_plan().violations(a_problem()) == []
    assert a_plan().violations(a_problem(num_selected=2, num_repeated=2, max_steps=9)) == []


LAX = {
    "deadline_s": 1e3,
    "energy_budget_j": np.full(3, 1e3),
    "snr_per_w": np.array([3.0, 7.0, 3.0]),
    "num_selected": 2,
}
"""Changes after which only what a case breaks is broken."""


@pytest.mark.parametrize(
    ("constraint", "problem_changes", "plan_changes"),
    [
        (
            "C2",
            LAX | {"num_selected": 1},
            {
                "is_selected": np.array([False, True, True]),
                "num_steps": np.array([0, 1, 1]),
                "frequency_hz": np.full(3, 2e9),
                "power_w": np.full(3, 1.0),
            },
        ),
        ("C3", {"num_repeated": 0}, {}),
        ("C4", {"max_steps": 3}, {}),
        ("C4", {}, {"num_steps": np.array([4, 0, 0])}),
        ("C5", LAX, {"frequency_hz": np.array([2.001e9, 2e9, 0.0])}),
        ("C5", LAX, {"frequency_hz": np.array([2e9, 0.999e9, 0.0])}),
        ("C6", LAX, {"power_w": np.array([1.0, 1.001, 0.0])}),
        ("C6", LAX, {"power_w": np.array([0.499, 1.0, 0.0])}),
        ("C7", {"deadline_s": 4.999}, {}),
        ("C8", {"energy_budget_j": np.array([5.6, 5.399, 1.0])}, {}),
    ],
)
def test_each_constraint_broken_alone(constraint, problem_changes, plan_changes):
    found = a_plan(**plan_changes).violations(a_problem(**problem_changes))
    assert [words.split(":")[0] for words in found] == [constraint]


def test_repeats_count_by_cell():
    """Two repeated clients in two cells are one in each; in the same cell they are two."""
    assert a_plan().violations(a_problem(num_repeated=1)) == []
    together = a_problem(cell=np.array([1, 1, 0]), num_selected=2)
    assert [words[:2] for words in a_plan().violations(together)] == ["C3"]


@pytest.mark.parametrize(
    ("constraint", "field"),
    [
        ("C5", "max_frequency_hz"),
        ("C6", "max_power_w"),
        ("C7", "deadline_s"),
        ("C8", "energy_budget_j"),
    ],
)
def test_the_tolerance_is_relative(constraint, field):
    """The plan lies at each limit; a limit lower by 1e-10 is met to 1e-9, one lower by 1e-8 is not."""
    problem = a_problem()
    limit = getattr(problem, field)
    assert a_plan().violations(attrs.evolve(problem, **{field: limit * (1.0 - 1e-10)})) == []
    lower = attrs.evolve(problem, **{field: limit * (1.0 - 1e-8)})
    assert [words[:2] for words in a_plan().violations(lower)] == [constraint]
    assert a_plan().violations(lower, tolerance=1e-7) == []


@pytest.mark.parametrize(
    ("constraint", "field", "value"), [("C5", "min_frequency_hz", 2e9), ("C6", "min_power_w", 1.0)]
)
def test_the_tolerance_of_lower_limits_is_relative(constraint, field, value):
    for excess, broken in ((1e-10, []), (1e-8, [constraint])):
        problem = a_problem(**{field: np.full(3, value * (1.0 + excess))})
        assert [words[:2] for words in a_plan().violations(problem)] == broken
