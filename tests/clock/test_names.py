"""Named draws: what a client draws hangs on its number, and on no other client, node or antenna."""

import attrs
import numpy as np
import pytest

import cosim
from cosim.clock.draws import BLOCK, normals, uniforms
from cosim.names import by_number, client_name
from cosim.testing import small_system

pytestmark = pytest.mark.quick


def test_nodes_sort_by_number():
    names = ["client-10000", "client-9999", "client-00010", "edge-2", "cloud", "edge-10"]
    assert sorted(names, key=by_number) == [
        "client-00010",
        "client-9999",
        "client-10000",
        "cloud",
        "edge-2",
        "edge-10",
    ]


def test_names_of_more_digits_draw_the_same():
    sim = cosim.Simulation(seed=1)
    assert sim.key("client-0003", "x") == sim.key("client-000003", "x") != sim.key("client-0030", "x")
    assert sim.key("load 0.5", "x") != sim.key("load 0.05", "x")
    assert sim.of_client("client-7", "x", uniforms) == sim.of_client("client-0007", "x", uniforms)


@pytest.mark.parametrize("index", [(), (5,), (5, 2)])
def test_a_client_has_its_row_of_a_block(index):
    """By arrays of all clients, one call a block."""
    sim, again = cosim.Simulation(seed=3), cosim.Simulation(seed=3)
    one_by_one = [again.of_client(client_name(n), "x", normals, *index) for n in reversed(range(600))][::-1]
    assert one_by_one == [sim.of_client(client_name(n), "x", normals, *index) for n in range(600)]
    for block in range(2):
        first = block * BLOCK
        rows = np.random.Generator(np.random.Philox(key=key_of(sim, block, index))).standard_normal(BLOCK)
        assert one_by_one[first : first + BLOCK] == rows.tolist()
    assert len(set(one_by_one)) == 600


def key_of(sim: cosim.Simulation, block: int, index: tuple[int, ...]) -> int:
    return sim.key(f"client*-{block}", "x", *index)


def test_purposes_numbers_of_draws_and_seeds_are_told_apart():
    sim, other = cosim.Simulation(seed=1), cosim.Simulation(seed=2)
    drawn = [
        sim.of_client("client-0000", "x", uniforms),
        sim.of_client("client-0000", "y", uniforms),
        sim.of_client("client-0000", "x", uniforms, 0),
        sim.of_client("client-0000", "x", uniforms, 1),
        sim.of_client("user-0000", "x", uniforms),
        other.of_client("client-0000", "x", uniforms),
    ]
    assert len(set(drawn)) == len(drawn)


def gains(num_antennas: int) -> np.ndarray:
    fading = cosim.Rayleigh(num_antennas=num_antennas)
    return fading.vectors(cosim.Simulation(seed=1), ("client-0001",), (4,))[0]


def test_more_antennas_move_none():
    assert gains(3).tolist() == gains(8)[:3].tolist()


def test_a_larger_fleet_moves_nobody():
    """Places, processors, powers, channels, times: 4 clients in a cell, 1 or 300 in the other."""
    usual = small_system()
    devices = cosim.DrawnDevices(
        min_frequency_hz=cosim.PerGroup(values=(1e9,)),
        max_frequency_hz=cosim.PerGroup(values=(2e9,)),
        tx_power=cosim.devices.PowerRange(),
        training_time=cosim.devices.ExponentialTime(),
    )
    few = attrs.evolve(
        usual,
        num_cells=2,
        num_clients=5,
        cell_sizes=(4, 1),
        devices=devices,
        data=cosim.data.Synthetic(split=cosim.data.Sampled(num_samples=20)),
        cycles=cosim.devices.CyclesPerBit(),
        evaluation=cosim.Never(),
    )
    many = attrs.evolve(few, num_clients=304, cell_sizes=(4, 300))
    spans = [cosim.run(system).spans for system in (few, many)]
    own = [table[table["node"].isin([client_name(n) for n in range(4)])] for table in spans]
    trains = [table[table["activity"] == "train"].reset_index(drop=True) for table in own]
    lasted = [(table["end_s"] - table["start_s"]).to_numpy() for table in trains]
    np.testing.assert_allclose(*lasted, rtol=1e-9)
    np.testing.assert_allclose(trains[0]["energy_j"], trains[1]["energy_j"], rtol=1e-9)
    first = [table[table["job"] == 0].reset_index(drop=True) for table in own]
    assert first[0].equals(first[1])
