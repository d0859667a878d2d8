"""Latency-optimal submodel sizes against a mixed-integer program, brute force and arithmetic."""

import itertools
import math
from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosim.configuration import ConfigurationError
from cosim.protocols.latency_optimal import largest_size, latency_optimal_sizes


def slowest_s(fixed_s, unit_s, sizes):
    return max(a + b * s for a, b, s in zip(fixed_s, unit_s, sizes, strict=True))


@cache
def program(num_cells):
    """Problem (21) with whole sizes, compiled once for a number of cells."""
    sizes, time_s = cp.Variable(num_cells, integer=True), cp.Variable()
    fixed_s, unit_s = cp.Parameter(num_cells), cp.Parameter(num_cells, pos=True)
    num_units, cap = cp.Parameter(), cp.Parameter()
    rules = [
        fixed_s + cp.multiply(unit_s, sizes) <= time_s,
        cp.sum(sizes) == num_units,
        sizes >= 1,
        sizes <= cap,
    ]
    return cp.Problem(cp.Minimize(time_s), rules), (fixed_s, unit_s, num_units, cap)


@pytest.mark.parametrize("seed", range(80))
def test_no_slower_than_the_mixed_integer_program(seed):
    rng = np.random.default_rng(seed)
    num_cells = int(rng.integers(2, 9))
    num_units = int(rng.integers(num_cells, 400))
    fixed_s = rng.uniform(0.0, 1.0, num_cells) * (seed % 2)
    unit_s = 10.0 ** rng.uniform(-2.0, 0.0, num_cells)
    largest = float(rng.uniform(1.2, 3.0))
    try:
        sizes = latency_optimal_sizes(fixed_s, unit_s, num_units=num_units, largest=largest)
    except ConfigurationError:
        assert math.floor(largest * num_units / num_cells) * num_cells < num_units
        return
    milp, parameters = program(num_cells)
    cap = math.floor(largest * num_units / num_cells)
    for parameter, value in zip(parameters, (fixed_s, unit_s, num_units, cap), strict=True):
        parameter.value = value
    optimum_s = milp.solve(solver=cp.HIGHS, mip_rel_gap=0.0)
    assert sum(sizes) == num_units
    assert min(sizes) >= 1
    assert max(sizes) <= largest * num_units / num_cells
    assert slowest_s(fixed_s, unit_s, sizes) == pytest.approx(optimum_s, rel=1e-6)


@settings(max_examples=300)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0, 3.7]), st.sampled_from([0.1, 0.3, 1.0, 2.0])),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 12),
    st.sampled_from([1.0, 1.2, 1.5, 2.0, 4.0]),
)
def test_brute_force(times_s, num_units, largest):
    """Also of equal cells, where floors and hand-outs meet ties."""
    fixed_s, unit_s = zip(*times_s, strict=True)
    num_cells = len(times_s)
    cap = math.floor(largest * num_units / num_cells + 1e-9)
    ways = [
        way
        for way in itertools.product(range(1, num_units + 1), repeat=num_cells)
        if sum(way) == num_units and max(way) <= cap
    ]
    if not ways:
        with pytest.raises(ConfigurationError):
            latency_optimal_sizes(fixed_s, unit_s, num_units=num_units, largest=largest)
        return
    sizes = latency_optimal_sizes(fixed_s, unit_s, num_units=num_units, largest=largest)
    assert sizes in ways
    optimum_s = min(slowest_s(fixed_s, unit_s, way) for way in ways)
    assert slowest_s(fixed_s, unit_s, sizes) == pytest.approx(optimum_s, rel=1e-12)


def test_arithmetic():
    """Twice as fast, twice as large, unless the cap says otherwise; equal cells differ by one at most."""
    assert latency_optimal_sizes([0.0, 0.0], [2.0, 1.0], num_units=300, largest=1.5) == (100, 200)
    assert latency_optimal_sizes([0.0, 0.0], [3.0, 1.0], num_units=300, largest=1.5) == (75, 225)
    assert latency_optimal_sizes([0.0, 0.0], [4.0, 1.0], num_units=300, largest=1.5) == (75, 225)
    assert latency_optimal_sizes([0.0, 0.0], [4.0, 1.0], num_units=300, largest=2.0) == (60, 240)
    assert latency_optimal_sizes([100.0, 0.0], [1.0, 1.0], num_units=300, largest=2.0) == (100, 200)
    assert latency_optimal_sizes([0.0] * 7, [1.0] * 7, num_units=300, largest=1.5) == (43,) * 6 + (42,)
    assert latency_optimal_sizes([5.0], [1.0], num_units=300, largest=1.0) == (300,)


def test_a_cell_of_any_slowness_trains_one_unit():
    assert latency_optimal_sizes([0.0, 0.0], [1e6, 1e-6], num_units=10, largest=2.0) == (1, 9)


@pytest.mark.parametrize(
    ("times_s", "num_units", "largest", "message"),
    [
        (([0.0], [0.0]), 10, 1.5, "above 0"),
        (([-1.0], [1.0]), 10, 1.5, "not negative"),
        (([0.0], [math.inf]), 10, 1.5, "finite"),
        (([0.0], [math.nan]), 10, 1.5, "finite"),
        (([0.0, 0.0], [1.0]), 10, 1.5, "for every cell"),
        (([0.0] * 11, [1.0] * 11), 10, 1.5, "11 cells for 10 units.*fewer cells"),
        (([0.0] * 2, [1.0] * 2), 300, 0.9, "do not add up.*largest = 1"),
        (([0.0] * 7, [1.0] * 7), 300, 1.0, "with at most 1 equal parts, 42 of 300.*largest = 1.003"),
    ],
)
def test_refused(times_s, num_units, largest, message):
    with pytest.raises(ConfigurationError, match=message):
        latency_optimal_sizes(*times_s, num_units=num_units, largest=largest)


def test_the_fix_of_the_message_helps():
    assert largest_size(300, 7, math.ceil(300 / 7) * 7 / 300) == 43
