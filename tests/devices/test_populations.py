"""Populations: devices by a table and by a mixture."""

import json
import re
from collections import Counter

import attrs
import numpy as np
import pytest
import worlds
from fixtures.fixes import FIX

import cosim
from cosim import ConfigurationError, DrawnDevices, Never
from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import from_dict, to_dict
from cosim.configuration.json_form import check_reloads
from cosim.devices import Battery, Column, DeviceTable, Mixture
from cosim.names import ClientNames, client_name, edge_name
from cosim.topology import TableTopology
from cosim.topology.graph import graph_of

HEADER = "device,frequency_hz,capacitance_j_per_hz2,tx_power_w,static_power_w,distance_m,snr_db,maker"
ROWS = (
    "2,3e9,1e-28,0.3,0.03,300,-3,a",
    "client-0000,1e9,3e-28,0.1,0.01,100,10,b",
    "1,2e9,2e-28,0.2,0.02,200,0,c",
)
PHONES = DrawnDevices(presence=cosim.devices.OnOff(), static_power_w=0.5)
SENSORS = worlds.processors(1e8, tx_power=cosim.devices.SamePower(power_w=0.01))


@pytest.fixture
def table(tmp_path):
    """Writes a table of devices."""

    def written(*rows, header=HEADER):
        path = tmp_path / "devices.csv"
        path.write_text("\n".join([header, *rows]) + "\n")
        return str(path)

    return written


def test_everybody_has_its_row(table):
    sim = Simulation(seed=1)
    devices = DeviceTable(file=table(*ROWS)).of_clients(sim, (2, 1))
    for number, device in enumerate(devices, start=1):
        assert device == cosim.devices.Device(
            frequency_hz=number * 1e9,
            capacitance_j_per_hz2=(4 - number) * 1e-28,
            tx_power_w=number / 10,
            static_power_w=number / 100,
        )
    topology = TableTopology(file=table(*ROWS))
    assert topology.distances_m(sim, Numbers.of(ClientNames(0, 3))).tolist() == [100.0, 200.0, 300.0]
    graph = graph_of(topology, (2, 1), sim)
    for client, edge in enumerate([0, 0, 1]):
        (x, y), site = (graph.nodes[name]["position_m"] for name in (client_name(client), edge_name(edge)))
        distance_m = graph.edges[edge_name(edge), client_name(client)]["distance_m"]
        assert distance_m == (client + 1) * 100.0
        assert np.hypot(x - site[0], y - site[1]) == pytest.approx(distance_m, rel=1e-12)
    assert Column(file=table(*ROWS), column="snr_db").of_clients((2, 1)) == [[10.0, 0.0], [-3.0]]


def test_batteries_come_from_columns(table):
    header = "device,frequency_hz,capacitance_j_per_hz2,tx_power_w,battery_capacity_j,battery_charge_w"
    file = table("0,1e9,2e-28,0.2,50,0.5", "1,1e9,2e-28,0.2,,0", header=header)
    devices = DeviceTable(file=file).of_clients(Simulation(seed=1), (2,))
    assert [device.battery for device in devices] == [Battery(capacity_j=50.0, charge_w=0.5), None]


def test_a_run_by_a_table_takes_the_times_and_energies_of_its_numbers(table):
    file = table(*ROWS)
    system = worlds.one_cell(
        *[1e9] * 3,
        devices=DeviceTable(file=file),
        uplink=worlds.still(1.0, link=cosim.GivenSnr(snr_db=Column(file=file, column="snr_db"))),
        evaluation=Never(),
    )
    check_reloads(system)
    spans = cosim.run(system).spans
    for number, snr in enumerate((10.0, 1.0, 10**-0.3), start=1):
        own = spans[spans["node"] == client_name(number - 1)].set_index("activity")
        train_s = worlds.STEPS * worlds.STEP_CYCLES / (number * 1e9)
        send_s = 3 * worlds.BITS / (worlds.BANDWIDTH_HZ * np.log2(1.0 + snr))
        lasts_s = own["end_s"] - own["start_s"]
        assert lasts_s["train"] == pytest.approx(train_s, rel=1e-12)
        assert lasts_s["send"] == pytest.approx(send_s, rel=1e-9)
        train_w = 0.5 * (4 - number) * 1e-28 * (number * 1e9) ** 3 + number / 100
        assert own["energy_j"]["train"] == pytest.approx(train_w * train_s, rel=1e-12)
        assert own["energy_j"]["send"] == pytest.approx((number / 10 + number / 100) * send_s, rel=1e-9)


NEEDED = "device,frequency_hz,capacitance_j_per_hz2,tx_power_w"
WRONG = {
    ("device,frequency_hz,tx_power_w", "0,1e9,0.1|1,1e9,0.1"): "has no column 'capacitance_j_per_hz2'",
    (NEEDED, "0,1e9,1e-28,0.1"): "has no row for 1 of 2 clients, such as client-0001",
    (NEEDED, "0,1e9,1e-28,0.1|0,1e9,1e-28,0.1"): "row 3, column 'device': 0 has a row already",
    (NEEDED, "0,1e9,1e-28,0.1|1,,1e-28,0.1"): "row 3, column 'frequency_hz': is empty",
    (NEEDED, "0,1e9,1e-28,0.1|1,1e9,1e-28,-1"): "row 3, column 'tx_power_w': -1 is below 0",
    (NEEDED, "0,1e9,1e-28,0.1|1,0,1e-28,1"): "Device.frequency_hz = 0: must be a finite number above 0",
    (NEEDED + ",static_power", "0,1e9,1e-28,0.1,1|1,1e9,1e-28,1,1"): "Did you mean static_power_w?",
}


@pytest.mark.parametrize(("header", "rows"), WRONG)
def test_a_wrong_table_is_refused_before_the_clock_starts(table, header, rows):
    devices = DeviceTable(file=table(*rows.split("|"), header=header))
    with pytest.raises(ConfigurationError, match=re.escape(WRONG[header, rows]) + ".*" + FIX):
        cosim.run(worlds.one_cell(1e9, 1e9, devices=devices, evaluation=Never()))


# --- Mixtures ---------------------------------------------------------------------------------------------


def kinds(mixture: Mixture, num_clients: int) -> np.ndarray:
    return mixture.are_some(Simulation(seed=7), num_clients)


@pytest.mark.parametrize(("share", "num"), [(0.0, 0), (0.3, 3), (0.75, 8), (1.0, 10)])
def test_an_exact_mixture_has_so_many_of_each(share, num):
    assert kinds(Mixture(share=share), 10).sum() == num


def test_others_keep_their_kind_where_there_are_more_clients_or_more_of_a_kind():
    drawn = Mixture(share=0.4, is_exact=False)
    assert kinds(drawn, 50).tolist() == kinds(drawn, 500)[:50].tolist()
    less, more = (kinds(Mixture(share=share), 100) for share in (0.3, 0.5))
    assert (more | ~less).all()


def test_mixtures_within_mixtures_have_their_share_of_the_rest():
    """Half, then 40 % of the other half, then a quarter of what is left: 0.5, 0.2, 0.075, 0.225."""
    one, two, three, four = (worlds.processors(number * 1e9) for number in (1, 2, 3, 4))
    inner = Mixture(share=0.25, is_exact=False, some=three, others=four)
    mixture = Mixture(
        share=0.5,
        is_exact=False,
        some=one,
        others=Mixture(share=0.4, is_exact=False, some=two, others=inner),
    )
    num = 20_000
    found = mixture.of_clients(Simulation(seed=2), (num,)).frequency_hz / 1e9
    for kind, share in zip((1, 2, 3, 4), (0.5, 0.2, 0.075, 0.225), strict=True):
        deviation = 3.29 * (share * (1.0 - share) / num) ** 0.5  # 99.9 %
        assert abs((found == kind).mean() - share) < deviation
    assert abs((found == 2).mean() - 0.4) > 0.1


def test_a_client_is_what_it_would_be_among_its_own_kind():
    sim, sizes = Simulation(seed=3), (6, 4)
    mixture = Mixture(share=0.3, some=PHONES, others=SENSORS)
    mixed, is_phone = mixture.of_clients(sim, sizes), mixture.are_some(sim, 10)
    pure = [kind.of_clients(Simulation(seed=3), sizes) for kind in (SENSORS, PHONES)]
    expected = [pure[is_one][place] for place, is_one in enumerate(is_phone.astype(int))]
    assert [attrs.evolve(device, kind=None) for device in mixed] == expected
    assert [device.kind == "some" for device in mixed] == is_phone.tolist()
    assert list(mixed[2:5]) == list(mixed)[2:5]


def test_kinds_have_names():
    """Names within a mixture stay, and a name that would say nothing is refused."""
    inner = Mixture(share=0.5, some=PHONES, some_name="phone", others=SENSORS, others_name="sensor")
    devices = Mixture(share=0.25, some_name="camera", others=inner).of_clients(Simulation(seed=3), (16,))
    assert Counter(device.kind for device in devices)["camera"] == 4
    assert {device.kind for device in devices} == {"camera", "phone", "sensor"}
    wrong = Mixture(others=inner, others_name="all else")
    with pytest.raises(ConfigurationError, match=r"Mixture\.others_name = .*has no effect.*Leave it out\."):
        wrong.of_clients(Simulation(seed=3), (16,))


def test_a_table_of_devices_may_name_kinds(tmp_path):
    rows = ["device,frequency_hz,capacitance_j_per_hz2,tx_power_w,kind", "1,2e9,1e-28,0.2,sensor"]
    (tmp_path / "a.csv").write_text("\n".join([*rows, "0,1e9,1e-28,0.2,phone"]))
    devices = DeviceTable(file=str(tmp_path / "a.csv")).of_clients(Simulation(seed=3), (2,))
    assert [device.kind for device in devices] == ["phone", "sensor"]


def test_a_mixture_comes_back_from_its_file_and_keeps_the_laws():
    system = cosim.evolve(
        cosim.testing.small_system(), devices=Mixture(share=0.4, some=PHONES, others=SENSORS)
    )
    again = from_dict(cosim.System, json.loads(json.dumps(to_dict(system))))
    assert again == system
    assert attrs.asdict(again.devices)["share"] == 0.4
    cosim.testing.check_system(system)


PRESENT = "device,frequency_hz,capacitance_j_per_hz2,tx_power_w,presence_on_s,presence_off_s"


def present(folder, *rows: str) -> DeviceTable:
    lines = [f"{number},1e9,1e-28,0.2,{times}" for number, times in enumerate(rows)]
    (folder / "a.csv").write_text("\n".join([PRESENT, *lines]))
    return DeviceTable(file=str(folder / "a.csv"))


def test_a_table_of_devices_may_have_a_presence_a_row(tmp_path):
    devices = present(tmp_path, "30,10", ",", "5,20").of_clients(Simulation(seed=3), (3,))
    found = [device.presence for device in devices]
    assert found[1] is None
    means = [value for own in (found[0], found[2]) for value in (own.on.mean_s, own.off.mean_s, own.share)]
    assert means == pytest.approx([30.0, 10.0, 0.75, 5.0, 20.0, 0.2])
    system = cosim.evolve(cosim.testing.small_system(), num_cells=1, num_clients=3, evaluation=Never())
    cosim.run(cosim.evolve(system, devices=present(tmp_path, "0.02,0.01", ",", "0.01,0.01")), num_workers=1)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (("30,10", "30,"), r"presence_off_s.*is empty\. Use a mean time, or no presence_on_s"),
        (("0,10", "30,10"), r"presence_on_s.*is no mean time\. Use a time above 0"),
    ],
)
def test_wrong_times_of_presence_are_refused(rows, message, tmp_path):
    with pytest.raises(ConfigurationError, match=message):
        present(tmp_path, *rows).of_clients(Simulation(seed=3), (2,))


def test_two_presences_are_refused(tmp_path):
    both = cosim.evolve(present(tmp_path, "30,10"), presence=cosim.devices.OnOff())
    with pytest.raises(ConfigurationError, match=r"presence_on_s, too\. Leave one of both out\."):
        both.of_clients(Simulation(seed=3), (1,))
