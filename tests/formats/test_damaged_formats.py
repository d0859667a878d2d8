"""Damaged files of every format: read, or refused in a sentence with its fix; what is written is read."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
import test_behaviour_traces
import test_device_costs
import test_drive_test
import test_iperf3
import test_mahimahi
import test_movements
import test_simulators
from fixtures.fixes import has_fix

from cosim import ConfigurationError, formats
from cosim.clock.simulation import Simulation
from cosim.devices import Column, DeviceTable, PresenceWindows
from cosim.links.traces.table import read
from cosim.names import ClientNames

WHOLE = {
    "lte.up": ("".join(f"{stamp}\n" for stamp in test_mahimahi.LIST), formats.mahimahi, {}),
    "bus.log": ("5.0 2.0\n6.0\t0.5\n8.0,4\n", formats.throughput, {}),
    "drive.csv": (test_drive_test.GNETTRACK, formats.gnettrack, {"gaps": "hold"}),
    "epoch.csv": (
        "time,phone,kbps\n1576321508.25,A,1\n1576321509.25,A,1\n1576321508.5,B,1\n1576321510.5,B,-\n",
        formats.drive_test,
        {"time": "time", "rate": "kbps", "unit_bps": 1e3, "device": ("phone",), "gaps": "zero"},
    ),
    "phone.json": (json.dumps(test_iperf3.output(*test_iperf3.TEST)), formats.iperf3, {}),
    "DlRlcStats.txt": (test_simulators.RLC, formats.ns3_rlc, {}),
    "out.csv": (test_simulators.CSV_R, formats.omnetpp, {}),
    "sink.csv": (test_simulators.PACKETS, formats.packets, {}),
    "behaves.json": (
        json.dumps(test_behaviour_traces.CLIENTS),
        formats.fedscale_availability,
        {"repeats": True},
    ),
    "states.json": (
        json.dumps({"user": {"messages": "\n".join(map("\t".join, test_behaviour_traces.LINES))}}),
        formats.flash_states,
        {"repeats": True},
    ),
    "capacity.json": (
        json.dumps(test_device_costs.CAPACITY),
        formats.fedscale_devices,
        test_device_costs.POWERS,
    ),
    "phones.csv": (
        test_device_costs.CSV,
        formats.benchmark_devices,
        {"time": "inference_ms", "per": "step", "uplink": "ul_kbps"} | test_device_costs.POWERS,
    ),
    "nodes.tcl": (test_movements.SETDEST, formats.moving_gains, {"layout": "setdest"} | test_movements.QUIET),
    "a.movements": (
        test_movements.BONNMOTION,
        formats.moving_gains,
        {"layout": "bonnmotion"} | test_movements.QUIET,
    ),
    "three.movements": (
        test_movements.IN_3D,
        formats.moving_gains,
        {"layout": "bonnmotion-3d"} | test_movements.QUIET,
    ),
    "cars.csv": (test_movements.CARS, formats.moving_windows, {}),
    "gains.xml": (test_movements.fcd(), formats.moving_gains, {"layout": "sumo"} | test_movements.QUIET),
    "stays.xml": (test_movements.fcd(), formats.moving_windows, {}),
}
WORDS = (
    *("-", "", "nan", "inf", "-1", "0", "1e18", "1e400", "9999999999999999999999", "null", "{}", "%", "١"),
    *('"', "\n", "\r", "\t", ",", ";", " ", "\x00", "é", "\ufeff"),
)


def damaged(text: str, rng: random.Random) -> bytes:
    """A text with a word put into it or in place of others, cut off, or with a line moved or repeated."""
    start = rng.randrange(len(text))
    end = min(len(text), start + rng.choice((0, 1, 4, 12)))
    lines = text.split("\n")
    line = rng.randrange(len(lines))
    return rng.choice(
        (
            text[:start] + rng.choice(WORDS) + text[end:],
            text[:start] + rng.choice(WORDS) + text[end:],
            text[:start],
            "\n".join([*lines[:line], *lines[line + 1 :], lines[line]]),
            "\n".join([*lines[: line + 1], *lines[line:]]),
        )
    ).encode()


def check_is_read(found: formats.Converted, folder: Path) -> None:
    """The part that a file is written for reads it."""
    path = found.save(folder / f"found{found.ends[0]}")
    match found:
        case formats.Rates():
            assert read(path)
        case formats.Windows():
            PresenceWindows(file=str(path)).check(ClientNames(0, found.table["device"].nunique()))
        case formats.DeviceCosts():
            sizes, columns = [len(found.table)], [*found.table.columns]
            assert DeviceTable(file=str(path)).of_clients(Simulation(1), sizes)
            for name in columns[columns.index("tx_power_w") + 1 :]:
                assert min(Column(file=str(path), column=name).of_clients(sizes)[0]) > 0.0
        case formats.Gains():
            assert ((found.gain >= 0.0) & (found.gain < 1.0)).all()
            assert np.load(path)["gain"].tolist() == found.gain.tolist()
        case _:
            raise AssertionError(found)


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_damaged_is_read_or_refused(tmp_path: Path, name: str) -> None:
    text, convert, asked = WHOLE[name]
    path, rng, num_read, said = tmp_path / name, random.Random(name), 0, []
    for _ in range(60):
        path.write_bytes(damaged(text, rng))
        try:
            found = convert(path, **asked)
        except ConfigurationError as error:
            said.append(str(error))
            continue
        num_read += 1
        assert found.summary
        check_is_read(found, tmp_path)
    assert said
    assert num_read
    assert all(map(has_fix, said))
