"""Small arrays: each function is what numpy's own says."""

import math

import numpy as np
import pytest

from cosim.clock.small_arrays import are_all, filled, least_of, most_of

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("values", [[2.0, 1.0, 3.0], [0.0, math.inf], [-0.0], [1.0, math.nan, 0.0]])
def test_extremes_are_what_numpy_says(values):
    several, flags = np.array(values), np.array(values) > 0.0
    assert np.array_equal(least_of(several), several.min(), equal_nan=True)
    assert np.array_equal(most_of(several), several.max(), equal_nan=True)
    assert are_all(flags) is bool(flags.all())


def test_extremes_of_nothing_change_nothing():
    none = np.zeros(0)
    assert (least_of(none), most_of(none), are_all(none > 0.0)) == (math.inf, -math.inf, True)


@pytest.mark.parametrize("num", [0, 1, 5])
def test_elements_have_one_value(num):
    assert np.array_equal(filled(num, 0.1), np.full(num, 0.1))
