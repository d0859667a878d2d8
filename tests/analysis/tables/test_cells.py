"""Cells: digits by the interval, and what stands beside a number."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.intervals.statistics import Interval
from analysis.tables.cells import Number, number_of, text_of


def interval(estimate: float, low: float, high: float, remark: str = "") -> Interval:
    return Interval(estimate=estimate, low=low, high=high, level=0.95, remark=remark)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((12.3456, 11.8701, 12.8211), "12.35 [11.87, 12.82]"),
        ((12.3456, 10.1, 14.6), "12.3 [10.1, 14.6]"),
        ((1234.56, 1100.0, 1400.0), "1230 [1100, 1400]"),
        ((0.05, -0.001, 0.101), "0.050 [-0.001, 0.101]"),
        ((-0.0001, -2.0, 2.0), "0.0 [-2.0, 2.0]"),
        ((1234.5678, 1234.5677, 1234.5679), "1234.57 [1234.57, 1234.57]"),
        ((584.0, 584.0, 584.0), "584"),
        ((0.70123456, 0.70123456, 0.70123456), "0.7012"),
        ((0.0, 0.0, 0.0), "0"),
        ((12345.6, 12345.6, 12345.6), "12350"),
        ((3.0, 2.5, math.inf), "3.000 [2.500, inf]"),
    ],
)
def test_digits_follow_the_interval(values, said):
    assert text_of(number_of(interval(*values))) == said


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(1e-3, 1e6))
def test_rounding_is_less_than_a_tenth_of_the_half_width(estimate, below, above):
    found = number_of(interval(estimate, estimate - below, estimate + above))
    assert isinstance(found, Number)
    half = (below + above) / 2.0
    tenth = max(0.1 * half / 2.0, 0.5e-5 * abs(estimate) * 10.0)
    assert abs(float(found.value) - estimate) <= tenth * (1.0 + 1e-9)


def test_what_has_no_mean_says_why():
    nan = math.nan
    assert number_of(interval(nan, nan, nan, "none by 584 ms")) == "none by 584 ms"


def test_notes_stand_behind():
    assert number_of(interval(2.0, 1.0, 3.0), 10.0, "4 of 5").text == "20 [10, 30], 4 of 5"
    assert Number("3", None, "4 of 5").text == "3, 4 of 5"
