"""Presence windows: a table says which client is present when, or one error says what is wrong with it."""

import json
import math
import re

import pandas as pd
import pytest
import worlds
from fixtures.fixes import FIX

import cosim
from cosim import AfterRounds, AfterSeconds, ConfigurationError, Never
from cosim.clock.simulation import Simulation
from cosim.devices import PresenceWindows
from cosim.files.on_disk import checksum


def table(folder, *rows, columns="device,from_s,to_s"):
    """A csv file of such rows."""
    path = folder / "windows.csv"
    path.write_text("\n".join([columns, *rows]) + "\n")
    return str(path)


def system(presence, num_clients=2, **changes):
    """A cell whose clients are present as a table says."""
    usual = worlds.one_cell(*[1e9] * num_clients, evaluation=Never(), end=AfterRounds(num_global_rounds=1))
    usual = cosim.evolve(usual, **changes)
    return cosim.evolve(usual, devices=cosim.evolve(usual.devices, presence=presence))


def test_rows_come_in_any_order_and_are_joined_where_they_overlap_or_meet(tmp_path):
    rows = ("1,7,inf", "client-0000,4,5", "0, 1, 2.5", "0,2,3", "client-0000,3,3.5")
    windows = PresenceWindows(file=table(tmp_path, *rows)).windows
    assert list(windows(Simulation(1), "client-0000")) == [(1.0, 3.5), (4.0, 5.0)]
    assert list(windows(Simulation(1), "client-0001")) == [(7.0, math.inf)]


def test_a_period_repeats_them(tmp_path):
    presence = PresenceWindows(file=table(tmp_path, "0,1,2", "0,5,6"), period_s=10.0)
    windows = presence.windows(Simulation(1), "client-0000")
    assert [next(windows) for _ in range(5)] == [(1, 2), (5, 6), (11, 12), (15, 16), (21, 22)]


def test_a_column_gives_each_device_its_own_period(tmp_path):
    rows = ("0,1,2,10", "1,0,3,4", "0,5,6,10")
    presence = PresenceWindows(file=table(tmp_path, *rows, columns="device,from_s,to_s,period_s"))
    first = presence.windows(Simulation(1), "client-0000")
    assert [next(first) for _ in range(3)] == [(1, 2), (5, 6), (11, 12)]
    second = presence.windows(Simulation(1), "client-0001")
    assert [next(second) for _ in range(3)] == [(0, 3), (4, 7), (8, 11)]


PERIODS = {
    "0,1,2,10|1,0,3,4|0,5,6,11": "row 4, column 'period_s': 11 is another period than that of row 2",
    "0,1,2,10|1,0,3,2": "row 3, column 'to_s': 3 is above the period",
    "0,1,2,0|1,0,3,4": "row 2, column 'period_s': 0 is below a nanosecond",
    "0,1,2,|1,0,3,4": "row 2, column 'period_s': is empty",
}


@pytest.mark.parametrize("rows", PERIODS)
def test_a_wrong_period_in_the_table_is_refused(tmp_path, rows):
    file = table(tmp_path, *rows.split("|"), columns="device,from_s,to_s,period_s")
    with pytest.raises(ConfigurationError, match=re.escape(PERIODS[rows]) + ".*" + FIX):
        cosim.run(system(PresenceWindows(file=file)), out=tmp_path / "run")


def test_two_periods_are_one_too_many(tmp_path):
    file = table(tmp_path, "0,1,2,10", columns="device,from_s,to_s,period_s")
    presence = PresenceWindows(file=file, period_s=10.0)
    said = r"period_s = 10.*has a column period_s.*Use period_s = None"
    with pytest.raises(ConfigurationError, match=said):
        cosim.run(system(presence, num_clients=1))


def test_rounds_are_run_within_them_to_the_instant(tmp_path):
    """Alone a job lasts 3 ms and an upload; the windows of the other end before it does."""
    job_s = worlds.STEPS * worlds.STEP_CYCLES / 1e9 + worlds.BITS / worlds.BANDWIDTH_HZ
    rows = ("0,2.5,4", "1,3.25,3.2502", "1,1.25,1.2502")
    end = AfterSeconds(duration_s=2.5 + 3.5 * job_s)
    result = cosim.run(system(PresenceWindows(file=table(tmp_path, *rows)), end=end))
    other = result.fates[result.fates["client"] == "client-0001"]
    assert other[["start_s", "end_s", "outcome"]].to_numpy().tolist() == [[1.25, 1.2502, "left"]]
    own = result.fates[result.fates["client"] == "client-0000"]
    assert own["start_s"].tolist() == pytest.approx([2.5 + n * job_s for n in range(4)], rel=1e-12)
    assert own["outcome"].tolist() == ["done"] * 3 + ["end of the run"]


def test_parquet_gives_the_same(tmp_path):
    frame = pd.DataFrame(
        {"device": [1, 0], "from_s": [0.5, 0.0], "to_s": [math.inf, 3.0], "note": ["a", "b"]}
    )
    frame.to_parquet(tmp_path / "windows.parquet")
    frame.to_csv(tmp_path / "windows.csv", index=False)
    for client in ("client-0000", "client-0001"):
        found = [
            list(PresenceWindows(file=str(tmp_path / name)).windows(Simulation(1), client))
            for name in ("windows.parquet", "windows.csv")
        ]
        assert found[0] == found[1]
        assert len(found[0]) == 1


ROWS = {
    "0,1,2": "has no row for 1 of 2 clients, such as client-0001",
    "0,1,2|1,3,3": "row 3, column 'to_s': 3 is not after from_s",
    "0,1,2|1,1.7e9,1.8e9": "row 3, column 'from_s': 1.7e9 is 1e9 or more, when the clock ends",
    "0,1,2|1,0,1.8e9": "row 3, column 'to_s': 1.8e9 is 1e9 or more, when the clock ends",
    "0,1,2|1,-1,3": "row 3, column 'from_s': -1 is below 0",
    "0,1,2|1,,3": "row 3, column 'from_s': is empty",
    "0,1,2|1,soon,3": "row 3, column 'from_s': 'soon' is no number",
    "0,1,2|2,1,3": "row 3, column 'device': 2 is none of the system's clients",
    "0,1,2|edge-01,1,3": "row 3, column 'device': 'edge-01' is no client",
    "0,1,2|,1,3": "row 3, column 'device': is empty",
    "0,1,2|1,1,2000": "row 3, column 'to_s': 2000 is above the period",
    "0,1714550400000,1714550460000|1,1714550401000,inf": "row 2, column 'from_s': 1714550400000 is the first "
    "time of the table, 19,844,333 days after the run begins",
    "0,2e6,3e6|1,1.5e6,inf": "row 3, column 'from_s': 1.5e6 is the first time of the table, 17 days after",
    "": "has no rows after the header",
}


@pytest.mark.parametrize("rows", ROWS)
def test_a_wrong_row_is_refused_before_the_clock_starts(tmp_path, rows):
    presence = PresenceWindows(file=table(tmp_path, *filter(None, rows.split("|"))), period_s=1000.0)
    with pytest.raises(ConfigurationError, match=re.escape(ROWS[rows]) + ".*" + FIX):
        cosim.run(system(presence), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_file_that_is_none_is_refused(tmp_path):
    for file, why in {
        "": "must end in .csv",
        str(tmp_path / "none.csv"): "there is no file",
        table(tmp_path, "0,1", columns="device,from_s"): "has no column 'to_s'; the columns are",
    }.items():
        with pytest.raises(ConfigurationError, match=re.escape(why) + ".*" + FIX):
            cosim.run(system(PresenceWindows(file=file), num_clients=1))
    (tmp_path / "broken.parquet").write_text("no parquet")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        cosim.run(system(PresenceWindows(file=str(tmp_path / "broken.parquet"))))


def test_a_run_names_its_table_and_is_known_by_what_is_in_it(tmp_path):
    file = table(tmp_path, "0,0,inf", "1,0,inf")
    windowed = system(PresenceWindows(file=file))
    cosim.run(windowed, out=tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["system"]["devices"]["presence"] == {
        "kind": "PresenceWindows",
        "file": file,
        "period_s": None,
    }
    sources = json.loads((tmp_path / "run" / "provenance.json").read_text())["sources"]
    assert sources == {file: {"of": ["PresenceWindows"], "sha256": checksum(tmp_path / "windows.csv")}}
    table(tmp_path, "0,0,inf", "1,0,9")
    with pytest.raises(ConfigurationError, match=r"windows\.csv has changed since"):
        cosim.run(windowed, out=tmp_path / "run", resume=True)
