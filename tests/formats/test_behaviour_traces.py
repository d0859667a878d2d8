"""Behaviour traces: presence by hand with each device's own period, pickles that run nothing, refusals."""

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from fixtures.fixes import has_fix
from hypothesis import given
from hypothesis import strategies as st

from cosim import ConfigurationError
from cosim.clock.simulation import Simulation
from cosim.devices import PresenceWindows
from cosim.formats import fedscale_availability, flash_states
from cosim.formats.plain_pickle import pickled

CLIENTS = {
    71: {"duration": 300, "active": [100, 400], "inactive": [250, 550], "finish_time": 600, "model": "A"},
    4: {"duration": 200, "active": [0], "inactive": [200], "finish_time": 400, "model": "B"},
}


def there_s(windows: PresenceWindows, client: str, until_s: float) -> float:
    """Time for which a client is present, up to an instant."""
    total_s = 0.0
    for from_s, to_s in windows.windows(Simulation(1), client):
        if from_s >= until_s:
            break
        total_s += min(to_s, until_s) - from_s
    return total_s


def presence(folder: Path, windows) -> PresenceWindows:
    found = PresenceWindows(file=str(windows.save(folder / "windows.csv")))
    found.check([f"client-{number:04d}" for number in sorted(set(windows.table["device"]))])
    return found


def behaves(folder: Path, clients: object, **options):
    (folder / "client_behave_trace").write_bytes(pickle.dumps(clients))
    return fedscale_availability(folder / "client_behave_trace", **{"repeats": True} | options)


def test_each_client_of_fedscale_has_its_own_period(tmp_path):
    """In 1,000 s: 300 of the first 600 and 150 of the other 400; 200 of each 400, three times begun."""
    found = presence(tmp_path, behaves(tmp_path, CLIENTS))
    assert there_s(found, "client-0000", 1000.0) == 300.0 + 150.0
    assert there_s(found, "client-0001", 1000.0) == 200.0 + 200.0 + 200.0
    once = presence(tmp_path, behaves(tmp_path, CLIENTS, repeats=False))
    assert there_s(once, "client-0000", 1000.0) == 300.0
    assert there_s(once, "client-0001", 1000.0) == 200.0


def test_json_says_the_same_and_more_clients_are_taken_in_turn(tmp_path):
    (tmp_path / "trace.json").write_text(json.dumps(CLIENTS))
    five = fedscale_availability(tmp_path / "trace.json", repeats=True, num_clients=5)
    assert five.table["name"].tolist() == ["71", "71", "4", "71", "71", "4", "71", "71"]
    assert five.table["device"].tolist() == [0, 0, 1, 2, 2, 3, 4, 4]
    two = fedscale_availability(tmp_path / "trace.json", repeats=True)
    assert two.table.equals(behaves(tmp_path, CLIENTS).table)
    assert two.summary == "2 clients, there 50 % of the time"


def changed(**changes: object) -> dict:
    return {71: CLIENTS[71] | changes}


FAULTS = {
    "fewer": (changed(inactive=[250]), "entry '71': has 2 times in active, and 1 in inactive. Use"),
    "turns": (
        changed(active=[100, 200]),
        "entry '71': active: 200 is before the time before it in inactive, 250. Use",
    ),
    "swapped": (
        changed(active=[300, 400]),
        "entry '71': inactive: 250 is before the time before it in active, 300. Use",
    ),
    "beyond": (changed(finish_time=500), "550 is after finish_time = 500. Use"),
    "texts": (changed(active=["1", "2"]), "active: '1' is no finite number of 0 or above. Use"),
    "nan": (changed(active=[float("nan"), 2]), "active: nan is no finite number of 0 or above. Use"),
    "no list": (changed(active=7), "active is 7, and no list. Use"),
    "no key": ({1: {"active": []}}, "entry '1': has the keys active. Use inactive, too"),
    "no dict": ({1: 2}, "entry 1: is 2, and no dict. Use"),
    "list": ([1, 2], "holds [1, 2], and no dict of devices. Use"),
    "never": (
        CLIENTS | {9: CLIENTS[4] | {"active": [], "inactive": []}},
        "1 of 3 devices are never there, such as 9",
    ),
    "none ever": (changed(active=[], inactive=[]), "no device is ever there. Use"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_what_is_no_such_trace_is_refused(tmp_path, case):
    clients, said = FAULTS[case]
    with pytest.raises(ConfigurationError, match=re.escape(said)) as error:
        behaves(tmp_path, clients)
    assert has_fix(str(error.value))


def test_devices_that_are_never_there_are_left_out_where_that_is_asked_for(tmp_path):
    found = behaves(tmp_path, FAULTS["never"][0], skip_absent=True)
    assert found.table["name"].tolist() == ["71", "71", "4"]


class Bomb:
    """Makes a file where it is unpickled."""

    def __reduce__(self):
        return Path.touch, (Path("exploded"),)


class Setter:
    """Calls its own method where it is unpickled."""

    def __setstate__(self, state):
        Path("exploded").touch()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "value", [Bomb(), {1: {"active": Bomb()}}, {1: {"active": [np.float64(1.0)]}}, {1: {2}}, b"bytes", Setter]
)
def test_a_file_of_a_stranger_runs_no_code(tmp_path, monkeypatch, value, protocol):
    monkeypatch.chdir(tmp_path)
    content = pickle.dumps(value, protocol)
    with pytest.raises(
        ConfigurationError, match=r"makes no plain data and may run code\. Use a json"
    ) as error:
        pickled(tmp_path / "trace", content)
    assert not (tmp_path / "exploded").exists()
    assert has_fix(str(error.value))


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.integers() | st.text(), inner)
    ),
)


@given(value=plain, protocol=st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_plain_data_come_back_as_they_were(value, protocol):
    assert pickled(Path("trace"), pickle.dumps(value, protocol)) == value


@given(data=st.data(), protocol=st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_damaged_pickles_are_refused_or_read(data, protocol):
    content = bytearray(pickle.dumps(CLIENTS, protocol))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    said = "Use this."
    try:
        pickled(Path("trace"), bytes(content[: data.draw(st.integers(1, len(content)))]))
    except ConfigurationError as error:
        said = str(error)
    assert said.count("Use ") == 1


LINES = [
    ("2020-01-02 08:00:00", "battery_charged_on"),
    ("2020-01-02 08:00:30", "85.0%"),
    ("2020-01-02 08:01:00", "WIFI"),
    ("2020-01-02 08:02:00", "screen_lock"),
    ("2020-01-02 08:05:00", "4G"),
    ("2020-01-02 08:06:00", "wifi"),
    ("2020-01-02 08:06:30", "phone_off"),
    ("2020-01-02 08:10:00", "battery_okay"),
]


def flash(folder: Path, *users: list[tuple[str, str]], **options):
    text = {
        f"user-{number}": {"model": "A", "messages": "\n".join("\t".join(line) for line in lines) + "\n"}
        for number, lines in enumerate(users)
    }
    (folder / "state_traces.json").write_text(json.dumps(text))
    return flash_states(folder / "state_traces.json", **{"repeats": True} | options)


def rows(windows) -> list[tuple[float, float]]:
    return list(zip(windows.table["from_s"], windows.table["to_s"], strict=True))


def test_a_phone_is_there_while_it_is_locked_charging_and_on_wifi(tmp_path):
    """From 120 to 300 s, and from 360 until it is switched off; again after 600 s."""
    found = flash(tmp_path, LINES)
    assert rows(found) == [(120.0, 300.0), (360.0, 390.0)]
    assert found.table["period_s"].tolist() == [600.0, 600.0]
    assert there_s(presence(tmp_path, found), "client-0000", 1200.0 + 150.0) == 2 * 210.0 + 30.0
    assert rows(flash(tmp_path, LINES, needs="charging")) == [(0.0, 390.0)]


def test_users_keep_their_times_of_day(tmp_path):
    """The second user's lines begin 100 s later, and last 300 s: its 60th to 200th is 160 to 300."""
    later = [
        ("2020-01-02 08:01:40", "battery_charged_on"),
        ("2020-01-02 08:02:40", "screen_off"),
        ("2020-01-02 08:05:00", "screen_on"),
        ("2020-01-02 08:06:40", "unknown"),
    ]
    found = flash(tmp_path, LINES, later, needs="charging dark", skip_absent=True)
    assert found.table["name"].tolist() == ["user-1"]
    assert rows(found) == [(160.0, 300.0)]
    begins = {"begins": "2020-01-02 08:03:20"}
    turned = flash(tmp_path, later, needs="charging dark", **begins)
    assert sorted(rows(turned)) == [(0.0, 100.0), (260.0, 300.0)]
    cut = flash(tmp_path, later, needs="charging dark", repeats=False, **begins)
    assert rows(cut) == [(0.0, 100.0)]


FLASH_FAULTS = {
    "event": (
        [*LINES, ("2020-01-02 08:11:00", "bluetooth")],
        {},
        "line 9: '2020-01-02 08:11:00\\tbluetooth' is no",
    ),
    "stamp": (
        [("yesterday", "wifi")],
        {},
        "line 1: 'yesterday\\twifi' does not begin with a stamp and a tab. Use",
    ),
    "order": (
        [LINES[2], LINES[0]],
        {},
        "line 2: 2020-01-02 08:00:00 is before 2020-01-02 08:01:00, the line above",
    ),
    "one second": (LINES[:1], {}, "has lines at one second only, and no length. Use"),
    "state": (LINES, {"needs": "charged"}, "needs: 'charged' is no state. Did you mean charging? Use"),
    "no state": (LINES, {"needs": ""}, "needs: names no state. Use"),
    "begins": (LINES, {"begins": "8 am"}, "begins: '8 am' is no stamp. Use"),
    "clients": (LINES, {"num_clients": 0}, "num_clients = 0: must be at least 1. Use"),
}


@pytest.mark.parametrize("case", FLASH_FAULTS)
def test_other_lines_are_refused(tmp_path, case):
    lines, options, said = FLASH_FAULTS[case]
    with pytest.raises(ConfigurationError, match=re.escape(said)) as error:
        flash(tmp_path, lines, **options)
    assert has_fix(str(error.value))


def test_a_folder_with_several_files_is_refused(tmp_path):
    flash(tmp_path, LINES)
    assert rows(flash_states(tmp_path, repeats=True)) == [(120.0, 300.0), (360.0, 390.0)]
    (tmp_path / "another.json").write_text("{}")
    with pytest.raises(
        ConfigurationError, match=r"has 2 files, and this format takes one\. Use the path of one.*another"
    ):
        flash_states(tmp_path, repeats=True)


def test_files_that_are_no_json_are_refused(tmp_path):
    path = tmp_path / "t.json"
    for content, said in {
        b"": "is empty",
        b'{"a": ': "cannot be read",
        b'{"a": {}, "a": {}}': "entry 'a': appears twice",
        b"[" * 100_000: "cannot be read",
        b"\x80\x04": "cannot be read",
        b"stamp,event\n": "cannot be read",
    }.items():
        path.write_bytes(content)
        with pytest.raises(ConfigurationError, match=re.escape(said)) as error:
            flash_states(path, repeats=True)
        assert has_fix(str(error.value))
