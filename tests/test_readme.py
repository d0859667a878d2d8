"""README: its programs work as pasted, on one page each, and its commands are known."""

import re
import subprocess
import sys
from pathlib import Path
from statistics import NormalDist

import pytest

import analysis
from cosim import HyperExponential, Simulation
from cosim.learning.traffic_csv import read
from cosim.queueing.station import Station
from scenarios import catalogue, command_line

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


SCENARIO, STUDY, FOUR_WAYS, TRAFFIC, STATION, MARGIN = re.findall(
    r"```python\n(.*?)```", README, flags=re.DOTALL
)


def pasted(code: str, tmp_path: Path) -> str:
    """What a program of the README prints."""
    assert len(code.splitlines()) <= 30
    script = tmp_path / "my_scenario.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_scenario_works_when_pasted(tmp_path):
    printed = pasted(SCENARIO, tmp_path)
    times_s = [float(t) for t in re.findall(r"MHz: ([0-9.]+) simulated seconds", printed)]
    assert len(times_s) == 2
    assert times_s[0] < times_s[1]


def test_the_example_of_a_traffic_table_can_be_read(tmp_path):
    pasted(TRAFFIC, tmp_path)
    table = read(tmp_path / "my-traffic/traffic.csv", tmp_path / "my-traffic/neighbours.csv")
    assert len(table.cells) == 16


def test_a_station_works_on_its_own(tmp_path):
    printed = pasted(STATION, tmp_path)
    sim = Simulation(seed=1)
    station = Station(sim, "path", 2.0, HyperExponential(weights=(0.3, 0.7)), "stationary", keep_packets=True)
    sim.run(sim.spend("client", "train", 3.0))
    message = station.send("client", num_packets=1)
    sim.run(sim.spend("client", "send", message.done))
    sim.run(sim.spend("client", "wait", 1.0))
    assert station.packets is not None
    (packet,) = (packet for packet in station.packets if packet.sender)
    assert printed == f"sojourn time: {packet.departure_s - packet.arrival_s:.3f} s\n"


def test_a_margin_mends_plans(tmp_path):
    """The share that is lost is the normal tail beyond the margin over the error."""
    lost = [float(share) for share in re.findall(r"dB: ([0-9.]+) lost", pasted(MARGIN, tmp_path))]
    assert lost == pytest.approx([NormalDist().cdf(-margin) for margin in (0.0, 1.0, 2.0)], abs=0.05)


def test_every_command_is_known():
    commands = re.findall(r"`(cosim .*?)`", README) + re.findall(r"^cosim .*", README, flags=re.MULTILINE)
    for command, name in re.findall(r"cosim (\w+) ?([a-z0-9][a-z0-9-]*)?", "\n".join(commands)):
        assert command in command_line._COMMANDS or command == "run"
        known = {
            "run": catalogue.SCENARIOS,
            "study": catalogue.SCENARIOS,
            "show": catalogue.SCENARIOS,
            "reproduce": catalogue.REPRODUCTIONS,
            "validate": catalogue.VALIDATIONS,
            "data": {"fashion-mnist": ""},
        }.get(command, {"": ""})
        is_folder = command in ("report", "trace")
        assert not name or is_folder or name in known


def test_every_file_that_is_named_is_there():
    for path in re.findall(
        r"`((?:cosim|docs|benchmarks|scenarios)/[\w/.]+\.\w+)`|\]\((docs/[\w.]+)\)", README
    ):
        assert (ROOT / (path[0] or path[1])).exists(), path


def test_four_ways_to_train_take_what_closed_forms_say(tmp_path):
    """HIST of 4 equal parts takes a quarter of HFedAvg's time; over the air by eqs. 37 to 39."""
    found = {
        (name, sharing): float(time_s)
        for name, sharing, time_s in re.findall(r"(\w+), ([\w-]+): ([0-9.]+) s", pasted(FOUR_WAYS, tmp_path))
    }
    for sharing in ("fixed", "over-the-air"):
        assert found["Hist", sharing] == pytest.approx(found["HFedAvg", sharing] / 4, abs=2e-4)
        assert found["HFedAvg", "over-the-air"] < found["HFedAvg", "fixed"]
    # 5 edge rounds: 20 steps of 1e6 cycles on the slowest processor, near 1 GHz, and the airtime.
    airtime_s = (64 * 300 + 300 * 10) * 15e3 / 20e6 / 14e3
    assert found["HFedAvg", "over-the-air"] == pytest.approx(5 * (20e6 / 1.01e9 + airtime_s), rel=0.02)


def test_a_study_makes_a_picture(tmp_path):
    """A smaller scenario than the README's, else word for word."""
    code = STUDY.replace("quickstart.system()", "cosim.evolve(quickstart.system(), evaluate_every=None)")
    pasted("import cosim\n" + code, tmp_path)
    assert (tmp_path / "energy.png").read_bytes().startswith(b"\x89PNG")
    runs = analysis.load(tmp_path / "studies" / "energy")
    assert len(runs) == 9
    mean_j = runs.groupby("radio.bandwidth_hz")["energy_j"].mean()
    assert mean_j.is_monotonic_decreasing
