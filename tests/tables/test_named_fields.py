"""An error about a file names the field of the part that has named the file."""

import numpy as np
import pytest
import worlds

import cosim
from cosim import ConfigurationError
from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.devices import Column, DeviceTable, MeasuredSteps, PresenceWindows
from cosim.links import RateTrace, TracedLink
from cosim.names import ClientNames
from cosim.queues import Empirical, TraceArrivals
from cosim.radio import GainTrace, LargeScale, LinkBudget, NoiseOnly
from cosim.topology import Disc, TableTopology

CLIENTS, SIM = ClientNames(0, 1), Simulation(seed=1)
READ = {
    "RateTrace.file": lambda file: RateTrace(file=file).of_clients(SIM, CLIENTS),
    "DeviceTable.file": lambda file: DeviceTable(file=file).of_clients(SIM, [1]),
    "TableTopology.file": lambda file: TableTopology(file=file).distances_m(SIM, Numbers.of(CLIENTS)),
    "Column.file": lambda file: Column(file=file, column="snr_db").of_clients([1]),
    "PresenceWindows.file": lambda file: PresenceWindows(file=file).check(CLIENTS),
    "MeasuredSteps.file": lambda file: MeasuredSteps(file=file).fit(worlds.one_cell(1e9)),
    "GainTrace.file": lambda file: GainTrace(file=file).check(CLIENTS),
    "TraceArrivals.file": lambda file: TraceArrivals(file=file).mean_rate_per_s,
    "Empirical.path": lambda file: Empirical(path=file),
}
DAMAGED = {
    "no columns": b"a,b\n1,2\n",
    "a row too long": b"device,x\n0,1\n0,1,2\n",
    "Latin-1": b"device,caf\xe9\n0,1\n",
    "no client": b"device,snr_db\n7,1\n",
    "empty": b"",
}


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("field", READ)
def test_what_is_damaged_names_the_field_of_its_file(field, damage, tmp_path):
    path = tmp_path / f"x.{'npz' if field == 'GainTrace.file' else 'csv'}"
    path.write_bytes(DAMAGED[damage])
    with pytest.raises(ConfigurationError) as refused:
        READ[field](str(path))
    assert refused.value.field == field
    assert type(refused.value)(*refused.value.args).field == field


def test_what_a_class_refuses_keeps_the_field_of_the_class(tmp_path):
    path = tmp_path / "x.csv"
    head = "device,frequency_hz,capacitance_j_per_hz2,tx_power_w,battery_capacity_j"
    path.write_text(f"{head}\n0,1e9,1e-28,0.1,0\n")
    with pytest.raises(ConfigurationError) as refused:
        DeviceTable(file=str(path)).of_clients(SIM, [1])
    assert refused.value.field == "Battery.capacity_j"


@pytest.mark.parametrize("topology", [Disc(min_distance_m=0.0, cell_radius_m=9.0), None])
def test_a_distance_that_a_link_refuses_names_what_gave_it(topology, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("device,distance_m\n0,5\n")
    radio = cosim.Radio(link=LinkBudget(large_scale=LargeScale(environment="uma")))
    given = topology or TableTopology(file=str(path))
    with pytest.raises(ConfigurationError) as refused:
        cosim.run(worlds.one_cell(1e9, topology=given, uplink=radio, evaluation=cosim.Never()))
    assert refused.value.field == ("TableTopology.file" if topology is None else "Disc.cell_radius_m")


def test_a_run_over_a_damaged_file_names_its_field(tmp_path):
    (tmp_path / "x.csv").write_text("time_s,device,rate_bps\n1,0,5\n")
    np.savez(tmp_path / "x.npz", time_s=[1.0], gain=[[1.0]])
    trace = GainTrace(file=str(tmp_path / "x.npz"))
    for field, link in (
        ("RateTrace.file", TracedLink(trace=RateTrace(file=str(tmp_path / "x.csv")))),
        ("GainTrace.file", cosim.Radio(link=NoiseOnly(), fading=trace)),
    ):
        with pytest.raises(ConfigurationError) as refused:
            cosim.run(worlds.one_cell(1e9, uplink=link, evaluation=cosim.Never()))
        assert refused.value.field == field
