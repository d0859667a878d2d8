"""Values for every client: what a tuple means, whatever the number of clients."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosim import ConfigurationError, DrawnDevices, PerClient, PerGroup, System, evolve
from cosim.topology.port import even_cells

pytestmark = pytest.mark.quick


def per_cell(values: tuple[float, ...], num_cells: int) -> list[float]:
    """Values of each cell's clients, all of them the same."""
    found = PerGroup(values=values).of_clients(even_cells(60, num_cells))
    assert all(len(set(own)) == 1 for own in found)
    assert [len(own) for own in found] == list(even_cells(60, num_cells))
    return [own[0] for own in found]


@pytest.mark.parametrize(("num_cells", "slow", "fast"), [(2, 1, 1), (3, 1, 2), (4, 2, 2), (6, 3, 3)])
def test_two_values_are_the_two_halves_of_the_paper(num_cells, slow, fast):
    """Cells 1 to floor(N / 2) are slow, the others fast (HIST journal paper, Section VI-C)."""
    assert per_cell((1e9, 2e9), num_cells) == [1e9] * slow + [2e9] * fast


def test_one_value_is_everybodys():
    assert per_cell((7.0,), 4) == [7.0] * 4


def test_as_many_values_as_cells_are_one_for_each_cell():
    assert per_cell((1.0, 2.0, 3.0), 3) == [1.0, 2.0, 3.0]


def test_three_values_for_six_cells_are_thirds():
    assert per_cell((1.0, 2.0, 3.0), 6) == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]


def test_values_of_groups_stay_so_where_there_are_as_many_clients():
    assert PerGroup(values=(1.0, 2.0)).of_clients((2,)) == [[2.0, 2.0]]


def test_values_of_clients_are_in_the_order_of_their_numbers():
    assert PerClient(values=(3.0, 1.0, 2.0, 5.0)).of_clients((1, 3)) == [[3.0], [1.0, 2.0, 5.0]]


@given(num_values=st.integers(1, 8), num_cells=st.integers(1, 20))
def test_groups_of_cells_are_blocks_in_order_as_even_as_they_go(num_values, num_cells):
    num_values = min(num_values, num_cells)
    groups = per_cell(tuple(map(float, range(num_values))), num_cells)
    counts = [groups.count(group) for group in range(num_values)]
    assert groups == sorted(groups)
    assert max(counts) - min(counts) <= 1
    assert counts[0] == num_cells // num_values


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (PerGroup(values=(1e9, 1e9, 1e9)), r": 3 values for 2 cells.*or use PerClient"),
        (PerClient(values=(1e9, 1e9, 1e9)), r": 3 values for 4 clients.*or use PerGroup"),
    ],
)
def test_values_that_do_not_fit_a_system_are_refused(values, message):
    two_cells = System(num_cells=2, num_clients=4)
    with pytest.raises(ConfigurationError, match=r"System\.devices\.min_frequency_hz\.values = .*" + message):
        evolve(two_cells, devices=DrawnDevices(min_frequency_hz=values))


def test_rules_hold_for_every_value():
    with pytest.raises(ConfigurationError, match=r"DrawnDevices\.min_frequency_hz = .*: must be above 0"):
        DrawnDevices(min_frequency_hz=PerClient(values=(1e9, -1e9)))
