"""Names of designs: what differs, in words, and never the same twice."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosim.studies.names import names_of

pytestmark = pytest.mark.quick

VALUE = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(-1e9, 1e9)
    | st.sampled_from(["1", "a:1", "none"])
)
GRID = st.dictionaries(
    st.sampled_from(["a.b_s", "c.b_s", "a.kind", "b_hz", "num_c"]),
    st.lists(
        VALUE,
        min_size=1,
        max_size=3,
        unique_by=lambda value: repr(value + 0.0 if type(value) is float else value),
    ),
    max_size=3,
)


@pytest.mark.parametrize(
    ("systems", "grid", "names"),
    [
        (["base"], {}, ["base"]),
        (["HIST"], {}, ["HIST"]),
        (["base"], {"num_cells": (2,)}, ["2 cells"]),
        (["base"], {"num_cells": (2,), "x.bandwidth_hz": (5e6, 1e7)}, ["5 MHz", "10 MHz"]),
        (["A", "B"], {"num_cells": (2,)}, ["A", "B"]),
        (
            ["A", "B"],
            {"x.deadline_s": (0.06, None)},
            [f"{n}, deadline {d}" for n in "AB" for d in ("60 ms", "none")],
        ),
        (["base"], {"p.kind": ("a:X", "b:X")}, ['p.kind="a:X"', 'p.kind="b:X"']),
    ],
)
def test_by_hand(systems, grid, names):
    assert names_of({name: {} for name in systems}, grid) == names


def test_a_field_is_called_by_the_class_that_each_system_or_design_gives_its_part():
    systems = {"A": {"waiting": {"kind": "HappyHour", "every_s": 1.0}}, "B": {}}
    assert names_of(systems, {"waiting.every_s": (0.04, 0.06)}) == [
        *("A, happy hour 40 ms", "A, happy hour 60 ms"),
        *("B, waiting 40 ms", "B, waiting 60 ms"),
    ]
    grid = {"waiting.kind": ("HourlyBus",), "waiting.every_s": (0.04, 0.06)}
    assert names_of({"base": systems["A"]}, grid) == ["hourly bus 40 ms", "hourly bus 60 ms"]


@given(st.lists(st.sampled_from(["A", "B", "C"]), min_size=1, unique=True), GRID)
def test_there_is_one_for_each_design_and_none_twice(systems, grid):
    found = names_of({name: {} for name in systems}, grid)
    assert len(found) == len(systems) * len(list(product(*grid.values())))
    assert len({*found}) == len(found)
