"""Remarks: numbers that are legal and that few mean are told, and others are not."""

import json
import warnings

import attrs
import numpy as np
import pytest
from typing_extensions import override

import cosim
from analysis.designs import designs_of
from analysis.remarks import remarks_on as remarks_on_designs
from cosim import evolve
from cosim.configuration import part
from cosim.devices.device import DeviceArrays
from cosim.engine.run.ground import ground_of
from cosim.links.traces.rate_trace import RateTrace
from cosim.system.remarks import Remark
from cosim.system.remarks import remarks_on as remarks_of_run
from cosim.testing import small_system

pytestmark = pytest.mark.quick

SYSTEM = small_system()


@part
class Cable(cosim.Link):
    """A part of a user's with a rate."""

    rate_bps: float = 1e7

    @override
    def of_cells(self, sim, cells):
        return []


def remarks_on(system: cosim.System) -> list[str]:
    """The remarks on a system and its devices."""
    return remarks_of_run(system, ground_of(system).devices)


def traced(folder, text: str) -> cosim.System:
    file = folder / "street.csv"
    file.write_text("time_s,device,rate_bps\n" + text)
    return evolve(SYSTEM, uplink=cosim.links.TracedLink(trace=RateTrace(file=str(file))))


def test_usual_numbers_are_not_remarked_on(tmp_path):
    assert remarks_on(SYSTEM) == remarks_on(evolve(SYSTEM, uplink=Cable())) == []
    assert remarks_on(traced(tmp_path, "0,0,1e6\n1,0,0\n2,0,2e6\n5,0,1e6\n0,1,5e6\n")) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"uplink": Cable(rate_bps=10.0)},
            "uplink.rate_bps = 10 bit/s is little. Use 1e+07, if",
        ),
        (
            {"topology": cosim.topology.Disc(backhaul_rate_bps=54.0)},
            "topology.backhaul_rate_bps = 54 bit/s is little. Use 5.4e+07, if 54 Mbit/s was meant.",
        ),
        (
            {"uplink": cosim.Radio(sharing=cosim.FixedShares(bandwidth_hz=5.0))},
            "uplink.sharing.bandwidth_hz = 5 Hz is little. Use 5e+06, if 5 MHz was meant.",
        ),
    ],
)
def test_rates_and_bands_that_look_like_millions(changed, words):
    (remark,) = remarks_on(evolve(SYSTEM, **changed))
    assert remark.startswith(words)


def test_a_table_of_rates_in_megabits_and_a_gap_in_its_stamps(tmp_path):
    slow, gap = remarks_on(traced(tmp_path, "0,a,10\n1,a,12.5\n2,a,0\n300,a,9\n301,a,11\n0,b,1\n"))
    assert slow.endswith(
        "column 'rate_bps': its median is 10 bit/s. Use 1e6 times the column if it is in Mbit/s, 1000 times "
        "if in kbit/s."
    )
    assert "device 'a': no row between 2 s and 300 s, so its rate stays for so long. Use " in gap


def test_a_table_of_rates_in_kilobits_and_one_peak(tmp_path):
    (slow,) = remarks_on(traced(tmp_path, "0,0,12000\n1,0,0\n2,0,31000\n3,0,9000000\n0,1,8000\n1,1,9000\n"))
    assert slow.endswith(
        "'rate_bps': its median is 12000 bit/s. Use 1000 times the column if it is in kbit/s."
    )
    assert remarks_on(traced(tmp_path, "0,0,120000\n1,0,0\n2,0,310000\n3,0,9000000\n0,1,8000\n")) == []


@pytest.mark.parametrize("steps", [(1000, 2001, 3003), (100.0, 200.0, 250.0)])
def test_stamps_in_milliseconds(tmp_path, steps):
    rows = "".join(f"{stamp},0,1e6\n" for stamp in (0, *steps))
    (remark,) = remarks_on(traced(tmp_path, rows + "0,1,1e6\n"))
    assert remark.endswith(
        f"column 'time_s': its median step is {np.median(np.diff((0, *steps))):g} s. Use time_s / 1000 if it "
        "is in ms."
    )


@pytest.mark.parametrize("step_s", [60, 300, 900, 3600, 86_400, 0.1, 99.0])
def test_stamps_of_minutes_and_hours_are_usual(tmp_path, step_s):
    rows = "".join(f"{number * step_s},0,1e6\n" for number in range(5))
    assert remarks_on(traced(tmp_path, rows + "0,1,1e6\n")) == []


def test_stamps_of_gains_in_milliseconds(tmp_path):
    file = tmp_path / "street.npz"
    np.savez(file, time_s=[0.0, 500.0, 1000.0], gain=np.ones((3, SYSTEM.num_clients)))
    trace = cosim.radio.GainTrace(file=str(file))
    (remark,) = remarks_on(evolve(SYSTEM, uplink=cosim.Radio(fading=trace)))
    assert remark.endswith(
        "street.npz, array 'time_s': its median step is 500 s. Use time_s / 1000 if it is in ms."
    )


@pytest.mark.parametrize(("name", "value"), [("gain_db", 95.0), ("gain", 95.0)])
def test_path_losses_in_place_of_gains(tmp_path, name, value):
    file, gains = tmp_path / "street.npz", np.full((3, SYSTEM.num_clients), value)
    np.savez(file, time_s=[0.0, 1.0, 2.0], **{name: gains})
    trace = cosim.radio.GainTrace(file=str(file))
    (remark,) = remarks_on(evolve(SYSTEM, uplink=cosim.Radio(fading=trace, link=cosim.radio.NoiseOnly())))
    shown = "95" if name == "gain_db" else "19.8"
    assert f"street.npz: the median of its gains is {shown} dB, and no channel amplifies. Use gain_" in remark


def with_windows(folder, from_s: object, to_s: object) -> cosim.System:
    file = folder / "presence.csv"
    rows = "".join(f"{client},{from_s},{to_s}\n" for client in range(SYSTEM.num_clients))
    file.write_text("device,from_s,to_s\n" + rows)
    presence = cosim.devices.PresenceWindows(file=str(file))
    return evolve(SYSTEM, devices=attrs.evolve(SYSTEM.devices, presence=presence))


def test_windows_of_presence_in_milliseconds(tmp_path):
    (remark,) = remarks_on(with_windows(tmp_path, 0, 3_600_000))
    assert remark.endswith(
        "presence.csv, column 'to_s': a window lasts 3.6e+06 s in the median. Use from_s / 1000 and "
        "to_s / 1000 if they are in ms."
    )
    assert remarks_on(with_windows(tmp_path, 0, 86_400)) == remarks_on(with_windows(tmp_path, 0, "inf")) == []


def of_devices(folder, frequency_hz: object, tx_power_w: object) -> cosim.System:
    file = folder / "phones.csv"
    rows = "".join(f"{client},{frequency_hz},2e-28,{tx_power_w}\n" for client in range(SYSTEM.num_clients))
    file.write_text("device,frequency_hz,capacitance_j_per_hz2,tx_power_w\n" + rows)
    return evolve(SYSTEM, devices=cosim.devices.DeviceTable(file=str(file)))


def test_devices_in_gigahertz_and_dbm(tmp_path):
    frequency, power = remarks_on(of_devices(tmp_path, 1.5, 23))
    assert frequency == (
        "DeviceTable: the median frequency_hz of its clients is 1.5 Hz. Use 1e9 times the numbers if they "
        "are in GHz, 1e6 times if in MHz."
    )
    assert power == (
        "DeviceTable: the median tx_power_w of its clients is 23 W. Use 0.1995 W if 23 dBm was meant: "
        "10 ** (dBm / 10 - 3)."
    )
    assert remarks_on(of_devices(tmp_path, 1e8, 5)) == []


def test_devices_of_any_population():
    devices = DeviceArrays(frequency_hz=np.array([2.0, 3.0]), capacitance_j_per_hz2=0.0, tx_power_w=0.1)
    (remark,) = remarks_of_run(SYSTEM, devices)
    assert "the median frequency_hz of its clients is 2.5 Hz" in remark


def test_a_run_says_its_remarks_once_before_its_clock_and_keeps_them(tmp_path):
    system = evolve(
        SYSTEM, devices=attrs.evolve(SYSTEM.devices, tx_power=cosim.devices.SamePower(power_w=23.0))
    )
    heard = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default")
        for name in ("a", "b"):
            cosim.run(system, out=tmp_path / name, listener=lambda report: heard.append(len(said)))
    assert [warning.category for warning in said] == [Remark]
    assert said[0].filename == __file__
    assert set(heard) == {1}
    kept = [json.loads((tmp_path / name / "provenance.json").read_text())["remarks"] for name in ("a", "b")]
    assert kept == [[str(said[0].message)]] * 2
    assert f"the run: {kept[0][0]}" in remarks_on_designs(designs_of([cosim.Result.load(tmp_path / "a")]))
