"""Differences between configurations: each field once, in words and units, whichever kind its part is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cosim
from cosim.system.differences import differences, in_a_few_words

pytestmark = pytest.mark.quick

SYSTEM = cosim.System()


def test_values_stand_in_words_beside_the_other_ones():
    other = SYSTEM.but(bandwidth_hz=5e5, num_clients=12)
    assert other.differences() == differences(other, SYSTEM)
    assert other.differences() == {
        "num_clients": ("12", "60"),
        "uplink.sharing.bandwidth_hz": ("500 kHz", "20 MHz"),
    }
    assert SYSTEM.differences(other)["num_clients"] == ("60", "12")
    assert SYSTEM.differences() == {}


def test_a_part_of_another_kind_has_fields_that_the_other_lacks():
    other = cosim.evolve(SYSTEM, end=cosim.AfterSeconds(duration_s=0.5))
    assert SYSTEM.differences(other) == {
        "end.kind": ("AfterRounds", "AfterSeconds"),
        "end.num_global_rounds": (str(SYSTEM.end.num_global_rounds), "–"),
        "end.duration_s": ("–", "500 ms"),
    }


def test_a_system_says_its_numbers_in_a_line_and_in_a_notebook():
    other = SYSTEM.but(bandwidth_hz=5e5, learning_rate=0.1, num_clients=12)
    assert "clients: 12" in repr(other)
    assert "not as by default: 500 kHz, learning rate 0.1" in repr(other)
    assert "500 kHz (default: 20 MHz)" in other._repr_html_()
    assert "default" not in repr(SYSTEM)


@settings(max_examples=30)
@given(st.integers(1, 300))
def test_fields_that_do_not_fit_are_counted(most_letters):
    other = SYSTEM.but(bandwidth_hz=5e5, learning_rate=0.1, batch_size=7, num_edge_rounds=2)
    paths = list(other.differences())
    words = in_a_few_words(other, paths, most_letters)
    told, _, rest = words.partition(" and ")
    assert len(told) <= max(most_letters, len("2 edge rounds"), len("500 kHz"))
    assert told.count(", ") + 1 + int(rest.removesuffix(" more") or 0) == len(paths)
