"""Movements: gains at places by hand in three layouts, windows of vehicles, upload times, refusals."""

import gzip
import io
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fixtures.fixes import has_fix
from fixtures.through_gains import ends_s, radio

from cosim import ConfigurationError
from cosim.formats import moving_gains, moving_windows
from cosim.links import RepeatTrace

SETDEST = """# two nodes
$node_(1) set X_ 0.0
$node_(1) set Y_ 50.0
$node_(1) set Z_ 0.0
$node_(0) set X_ 30.0
$node_(0) set Y_ 0.0
$god_ set-dist 0 1 1
$ns_ at 1.0 "$node_(0) setdest 60.0 0.0 10.0"
$ns_ at 3.0 "$node_(0) setdest 50.0 40.0 20.0"
"""
BONNMOTION = "0 30 0 1 30 0 3 50 0 5 50 40\n0.0 0.0 50.0\n"
STEPS = {
    0.0: {"a": (30, 0)},
    1.0: {"a": (40, 0), "b": (0, 50)},
    2.0: {"b": (0, 40)},
    3.0: {"a": (20, 0), "b": (0, 30)},
}
QUIET = {"base_x_m": 0.0, "base_y_m": 0.0, "sight": "always", "shadowing": False, "lasts_s": 6.0}
"""In sight, without shadowing, in a street canyon at 2.4 GHz."""


def fcd(steps=STEPS, speed: float = 10.0, unit: float = 1.0) -> str:
    lines = ["<?xml version='1.0' encoding='UTF-8'?>", "<!-- generated -->", "<fcd-export>"]
    for time_s, there in steps.items():
        lines.append(f'<timestep time="{time_s:.2f}">')
        for name, (x_m, y_m) in there.items():
            place = f'x="{x_m * unit}" y="{y_m * unit}" angle="90.00" type="car"'
            lines.append(f'<vehicle id="{name}" {place} speed="{speed}" pos="1.0" lane="e_0" slope="0.00"/>')
        lines.append("</timestep>")
    return "\n".join([*lines, "</fcd-export>"])


def written(folder: Path, text: str, name: str = "moves") -> Path:
    (folder / name).write_text(text)
    return folder / name


def gain_at(distance_m: float) -> float:
    """UMi in sight before the breakpoint: 32.4 + 21 log10(d3) + 20 log10(2.4), 10 m above 1.5 m."""
    loss_db = 32.4 + 21.0 * math.log10(math.hypot(distance_m, 8.5)) + 20.0 * math.log10(2.4)
    return 10.0 ** (-loss_db / 10.0)


IN_3D = "0 30 0 1.5 1 30 0 1.5 3 50 0 9 5 50 40 0\n0.0 0.0 50.0 2.5\n"
"""The same with heights."""


@pytest.mark.parametrize(
    ("layout", "text"), [("setdest", SETDEST), ("bonnmotion", BONNMOTION), ("bonnmotion-3d", IN_3D)]
)
def test_nodes_move_evenly_and_stay_where_they_arrive(tmp_path, layout, text):
    """Node 0 is at 30 m for a second, 50 m at 3 s, then turns, and is at (50, 40) from 5 s on."""
    found = moving_gains(written(tmp_path, text), layout=layout, **QUIET)
    own_m = [30.0, 30.0, 40.0, 50.0, math.hypot(50, 20), math.hypot(50, 40)]
    assert found.devices == ("0", "1")
    assert found.gain[:, 0] == pytest.approx([gain_at(d) for d in own_m], rel=1e-12)
    assert found.gain[:, 1] == pytest.approx([gain_at(50.0)] * 6, rel=1e-12)


def test_vehicles_come_and_go(tmp_path):
    """Vehicle a is there for 2 s and again from 3 to 4 s, b from 1 to 4 s; else their gains are 0."""
    file = written(tmp_path, fcd())
    found = moving_gains(file, layout="sumo", **QUIET | {"lasts_s": 4.0})
    assert found.gain[:, 0] == pytest.approx([gain_at(30), gain_at(40), 0.0, gain_at(20)], rel=1e-12)
    assert found.gain[:, 1] == pytest.approx([0.0, gain_at(50), gain_at(40), gain_at(30)], rel=1e-12)
    windows = moving_windows(file).table
    assert windows["name"].tolist() == ["a", "a", "b"]
    assert windows[["device", "from_s", "to_s"]].to_numpy().tolist() == [[0, 0, 2], [0, 3, 4], [1, 1, 4]]
    (tmp_path / "fcd.xml.gz").write_bytes(gzip.compress(fcd().encode()))
    assert moving_windows(tmp_path / "fcd.xml.gz").table.equals(windows)


CARS = """timestep_time;vehicle_id;vehicle_x;vehicle_y;vehicle_speed;vehicle_lane;person_id;person_x;person_y
0.00;a;30;0;10;e_0;;;
1.00;a;40;0;10;e_0;;;
1.00;b;0;50;10;e_0;;;
2.00;b;0;40;10;e_0;;;
3.00;a;20;0;10;e_0;;;
3.00;b;0;30;10;e_0;;;
6.00;a;20;0;0;e_0;;;
6.00;;;;;;a;0;7
"""
"""Table as SUMO writes it. No row says that none is there at 4 and 5 s; a person has the id of a vehicle."""


def as_parquet(folder: Path, text: str) -> Path:
    frame = pd.read_csv(io.StringIO(text), sep=";")
    frame.to_parquet(folder / "fcd.parquet")
    return folder / "fcd.parquet"


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "comma.csv"])
def test_floating_cars_come_as_tables_without_their_empty_steps(tmp_path, ending):
    text = CARS.replace(";", ",") if ending == "comma.csv" else CARS
    path = as_parquet(tmp_path, text) if ending == "parquet" else tmp_path / f"fcd.{ending}"
    if ending == "csv.gz":
        path.write_bytes(gzip.compress(text.encode()))
    elif ending != "parquet":
        path.write_text(text)
    windows = moving_windows(path).table
    assert windows["name"].tolist() == ["a", "a", "a", "b", "a"]
    assert windows[["device", "from_s", "to_s"]].to_numpy().tolist() == [
        [0, 0, 2],
        [0, 3, 4],
        [0, 6, 7],
        [1, 1, 4],
        [2, 6, 7],
    ]
    found = moving_gains(path, layout="sumo", **QUIET | {"lasts_s": 7.0})
    own = [gain_at(30), gain_at(40), 0.0, gain_at(20), 0.0, 0.0, gain_at(20)]
    assert found.gain[:, 0] == pytest.approx(own, rel=1e-12)
    assert found.gain[:, 2] == pytest.approx([0.0] * 6 + [gain_at(10)], rel=1e-12)


CAR = "timestep_time;vehicle_id;vehicle_x;vehicle_y\n"
WRONG_CARS = {
    "a head without elements": ("time;id;x;y\n0;a;1;2\n1;a;1;2\n", "no column 'timestep_time'"),
    "no head": ("0.00;a;30;0\n1.00;a;40;0\n", "no column 'timestep_time'"),
    "an odd step": (
        f"{CAR}0;a;30;0\n1;a;40;0\n2.5;a;50;0\n",
        "row 4, column 'timestep_time': 2.5 is no whole number of steps of 1 s after the first. Use",
    ),
    "back": (f"{CAR}1;a;30;0\n0;a;40;0\n", "row 3, column 'timestep_time': 0 is before the row above. Use"),
    "twice": (f"{CAR}0;a;30;0\n0;a;40;0\n1;a;30;0\n", "a appears twice at 0 s. Use"),
    "no place": (f"{CAR}0;a;30;0\n1;a;;0\n", "row 3, column 'vehicle_x': '' is no place. Use"),
    "no number": (f"{CAR}0;a;30;0\n1;a;30;1,5\n", "row 3, column 'vehicle_y': '1,5' is no number. Use"),
    "one step": (f"{CAR}0;a;30;0\n", "has 1 steps, and 1 vehicles. Use"),
    "no vehicles": ("timestep_time;x\n0;1\n1;1\n", "no column 'vehicle_id'"),
    "degrees": (
        "timestep_time;vehicle_id;vehicle_x;vehicle_y;vehicle_speed\n"
        + "".join(f"{step};a;13.{step};52.5;0.1\n" for step in range(5))
        + "".join(f"{step};a;13.{step};52.5;30\n" for step in range(5, 9)),
        "Use places in m, without --fcd-output.geo",
    ),
}


@pytest.mark.parametrize("case", WRONG_CARS)
def test_tables_of_cars_that_do_not_fit_are_refused(tmp_path, case):
    text, said = WRONG_CARS[case]
    with pytest.raises(ConfigurationError, match=re.escape(said)) as error:
        moving_windows(written(tmp_path, text, "fcd.csv"))
    assert has_fix(str(error.value))


def test_an_upload_goes_through_the_places_by_hand(tmp_path):
    """Rates of log2(1 + gain / 1e-9) Mbit/s, in rows of a second."""
    found = moving_gains(written(tmp_path, BONNMOTION), layout="bonnmotion", **QUIET)
    file = str(found.save(tmp_path / "gains.npz"))
    first, third = (math.log2(1.0 + gain_at(d) / 1e-9) * 1e6 for d in (30.0, 40.0))
    bits = 2.0 * first + 0.25 * third
    assert ends_s(radio(file, past_end=RepeatTrace()), [bits, 1.0])[0] == pytest.approx(2.25, rel=1e-9)


def test_line_of_sight_is_drawn_once_and_each_device_has_its_own(tmp_path):
    """At 60 m 18/60 + exp(-60/36) (1 - 18/60) = 0.432 are in sight; going away, sight is lost once."""
    lines = "\n".join(f"0 20 0 400 420 0{'':{k}}" for k in range(1, 800))
    options = QUIET | {"sight": "drawn", "lasts_s": 400.0, "step_s": 10.0}
    found = moving_gains(written(tmp_path, lines), layout="bonnmotion", **options)
    at_m = 20.0 + found.time_s
    in_sight = np.isclose(found.gain, np.array([[gain_at(d)] for d in at_m]), rtol=1e-9, atol=0.0)
    assert (np.diff(in_sight.astype(int), axis=0) <= 0).all()
    assert abs(in_sight[4].mean() - 0.432) < 3.3 * math.sqrt(0.432 * 0.568 / 799)
    fewer = moving_gains(written(tmp_path, lines[: lines.index("\n")]), layout="bonnmotion", **options)
    assert fewer.gain[:, 0].tolist() == found.gain[:, 0].tolist()


FAST = SETDEST.replace('10.0"', '130.0"')
NOWHERE = SETDEST.replace("$node_(0) set Y_ 0.0\n", "")
REFUSED = {
    "km/h": ("setdest", FAST, {}, "row 8: 130 m/s is 468 km/h. Use speeds in m/s"),
    "no beginning": ("setdest", NOWHERE, {}, "node 0 has no place to begin"),
    "tcl": ("setdest", SETDEST + "exec rm\n", {}, "row 10: 'exec rm' is no movement. Use"),
    "order": ("setdest", SETDEST.replace("at 3.0", "at 0.5"), {}, "row 9: 0.5 s is before the line above"),
    "endless": ("setdest", SETDEST.replace("60.0 0", "1e400 0"), {}, "row 8: 1e400 is no finite number. Use"),
    "nowhere": (
        "setdest",
        SETDEST.replace("X_ 30.0", "X_ 1e400"),
        {},
        "row 5: 1e400 is no finite number. Use",
    ),
    "3D": (
        "bonnmotion",
        "0 1 2 3\n",
        {},
        "row 1: has 4 numbers, and times and places in turn are 3 for each point. Use layout = bonnmotion-3d",
    ),
    "2D": ("bonnmotion-3d", "0 1 2\n", {}, "row 1: has 3 numbers, and times and places in turn are 4"),
    "2D read as 3D": (
        "bonnmotion-3d",
        BONNMOTION,
        {},
        "row 1: 0 s is not after 30 s. Use times that ascend, or layout = bonnmotion, or",
    ),
    "twice at a step": (
        "sumo",
        fcd().replace('id="b"', 'id="a"'),
        {},
        "a appears twice at 1 s. Use one place at a step",
    ),
    "fast": ("bonnmotion", "0 0 0 1 5000 0\n", {}, "row 1: 5000 m/s at 0 s. Use places in m, or layout ="),
    "back": ("bonnmotion", "1 0 0 1 0 0\n", {}, "row 1: 1 s is not after 1 s. Use"),
    "geo": ("sumo", fcd(unit=1e-5), {}, "without --fcd-output.geo"),
    "entity": ("sumo", "<!DOCTYPE a [<!ENTITY b 'c'>]><fcd-export/>", {}, "declares a document type"),
    "cut": ("sumo", fcd()[:200], {}, "cannot be read"),
    "other": ("sumo", "<routes/>", {}, "row 1: <routes> is no element of an FCD output. Use"),
    "no place": ("sumo", fcd().replace('x="30', 'z="30'), {}, "x is not there, and no number. Use"),
    "far": ("bonnmotion", "0 9000 0\n", {}, "umi.distance_2d_m = 9000: must lie from 10 to 5000 m"),
    "step": ("bonnmotion", BONNMOTION, {"step_s": 0.0}, "step_s = 0: must be above 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(tmp_path, case):
    layout, text, options, said = REFUSED[case]
    with pytest.raises(ConfigurationError, match=re.escape(said)) as error:
        moving_gains(written(tmp_path, text), layout=layout, **QUIET | options)
    assert has_fix(str(error.value))


def test_speeds_in_km_per_h_are_told_by_the_places(tmp_path):
    steps = {float(k): {"a": (20.0 + 10.0 * k, 0.0)} for k in range(5)}
    assert len(moving_windows(written(tmp_path, fcd(steps))).table) == 1
    with pytest.raises(ConfigurationError, match=r"moves 40 m, and its speeds make 144 m\. Use speeds"):
        moving_windows(written(tmp_path, fcd(steps, speed=36.0)))
