"""Drive tests: uploads by hand over logs as apps write them; stamps, gaps, sessions, refusals."""

from pathlib import Path

import pandas as pd
import pytest
from fixtures.fixes import has_fix
from uploads import ends_s

from cosim import ConfigurationError
from cosim.formats import drive_test, gnettrack, lumos5g

GNETTRACK = """\
Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,RSRQ,SNR,CQI,RSSI,DL_bitrate,UL_bitrate,State,NRxRSRP
2019.12.14_11.05.08,-8.49,51.89,0,B,11,5G,-95,-13,6.0,11,-,4000,40,D,-
2019.12.14_11.05.08,-8.49,51.89,0,B,11,5G,-95,-13,6.0,11,-,2000,20,D,-
2019.12.14_11.05.09,-8.49,51.89,2,B,11,5G,-96,-13,5.0,10,-,1000,-,D,-
2019.12.14_11.05.10,-8.49,51.89,2,B,11,5G,-96,-13,5.0,10,-,-,10,D,-
2019.12.14_11.05.12,-8.49,51.89,3,B,12,LTE,-99,-14,-,-,-,500,10,D,-
2019.12.14_11.05.13,-8.49,51.89,3,B,12,LTE,-99,-14,-,-,-,0,10,I,-
"""
"""3 Mbit/s on average of two rows, 1, none for two seconds, 0.5, and a second without a download."""


def written(folder: Path, text: str, name: str = "B_2019.12.14.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


def log(*stamps: object) -> str:
    """A rate of 1 Mbit/s at each stamp."""
    return "time,kbps\n" + "".join(f"{stamp},1000\n" for stamp in stamps)


def of(path: Path, **asked: object):
    return drive_test(path, **{"time": "time", "rate": "kbps", "unit_bps": 1e3} | asked)


# --- Arithmetic ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gaps", "idle", "mbits", "end_s"),
    [
        ("hold", False, 3.5, 1.5),
        ("hold", False, 6.5, 5.0),  # 3, 1, 1 and 1 Mbit, then half a second at half the rate and a whole one
        ("hold", False, 7.0, 6.0),
        ("hold", False, 8.5, 6.5),
        ("zero", False, 4.25, 4.5),
        ("zero", False, 4.75, 6.0 + 0.25 / 3),
        ("zero", True, 4.5, 5.0),
    ],
)
def test_uploads_by_hand(tmp_path, gaps, idle, mbits, end_s):
    rates = gnettrack(written(tmp_path, GNETTRACK), gaps=gaps, idle=idle)
    assert ends_s(rates, tmp_path, 1e6 * mbits) == pytest.approx([end_s], rel=1e-12)


def test_uplink_and_rows_of_half_a_second(tmp_path):
    """30 kbit/s for a second, none for one, 10 kbit/s for three with one of none between."""
    rates = gnettrack(written(tmp_path, GNETTRACK), direction="up", gaps="hold")
    assert ends_s(rates, tmp_path, 6e4 + 2e4) == pytest.approx([4.0], rel=1e-12)
    shorter = gnettrack(written(tmp_path, GNETTRACK), direction="up", gaps="zero", slot_s=0.5)
    assert ends_s(shorter, tmp_path, 1.5e4 + 5e3) == pytest.approx([2.5], rel=1e-12)


def test_a_gap_is_refused_where_no_rule_is_given(tmp_path):
    with pytest.raises(
        ConfigurationError, match=r"row 5, column 'Timestamp': has no rate, 2 s after.*gaps = hold"
    ):
        gnettrack(written(tmp_path, GNETTRACK))
    with pytest.raises(ConfigurationError, match=r"row 5, column 'time': follows a gap, 2 s after"):
        of(written(tmp_path, log("11:05:08", "11:05:08", "11:05:09", "11:05:11")))


def test_runs_of_a_table_are_clients(tmp_path):
    """Lumos5G counts the seconds of each run from 1; 100 and 300 Mbit/s, and 50."""
    text = (
        "run_num,seq_num,nrStatus,Throughput,mobility_mode,trajectory_direction,tower_id\n"
        "1,1,CONNECTED,100,walking,CW,2\n1,2,CONNECTED,300,walking,CW,2\n"
        "1,1,NOT_RESTRICTED,50,driving,CW,2\n1,2,NONE,50,driving,CW,1\n"
    )
    rates = lumos5g(written(tmp_path, text))
    assert list(rates.steps()) == ["walking/CW/1", "driving/CW/1"]
    assert ends_s(rates, tmp_path, 1.3e8, num_clients=2) == pytest.approx([2.6, 1.1], rel=1e-12)


def test_phones_in_several_files_have_the_names_of_both(tmp_path):
    text = "time,phone,kbps\n0,A,1\n0,B,2\n1,A,3\n1,B,4\n"
    files = [written(tmp_path, text, f"{day}.csv") for day in ("mon", "tue")]
    rates = drive_test(*files, time="time", rate="kbps", unit_bps=1e3, device=("phone",), time_format="s")
    assert list(rates.steps()) == ["mon/A", "mon/B", "tue/A", "tue/B"]


def test_a_parquet_table_and_a_column_that_chooses_rows(tmp_path):
    frame = pd.DataFrame({"ms": [0, 1000, 2000], "bps": [5.0, None, 7.0], "kind": ["x", "x", "y"]})
    frame.to_parquet(tmp_path / "a.parquet")
    asked = {"time": "ms", "rate": "bps", "unit_bps": 1.0, "time_format": "ms", "gaps": "zero"}
    assert list(drive_test(tmp_path / "a.parquet", **asked).table["rate_bps"]) == [5.0, 0.0, 7.0]
    of_x = drive_test(tmp_path / "a.parquet", only=("kind", "x"), **asked)
    assert list(of_x.table["rate_bps"]) == [5.0, 0.0, 0.0]


# --- Stamps -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stamps",
    [
        ("2019.12.14_11.05.08", "2019.12.14_11.05.10"),
        ("2019-12-14 11:05:08.5", "2019-12-14 11:05:10.5"),
        ("2019-12-14T11:05:08+01:00", "2019-12-14T10:05:10Z"),
        ("14/12/2019 11:05:08", "14/12/2019 11:05:10"),
        ("12/14/2019 23:59:59.25", "12/15/2019 00:00:01.75"),
        ("14.12.2019 11:05:08", "14.12.2019 11:05:10"),
        ("20191214110508", "20191214110510"),
        ("11:05:08", "11:05:10"),
        ("1576321508", "1576321510"),
        ("1576321508.25", "1576321510.5"),
        ("1576321508123", "1576321510123"),
        ("1576321508123456", "1576321510123456"),
        ("1576321508123456789", "1576321510123456789"),
    ],
)
def test_forms_of_stamps_that_are_known(tmp_path, stamps):
    """Two seconds apart, so the rate of the first holds for one, and of the gap for another."""
    rates = of(written(tmp_path, log(*stamps)), gaps="hold")
    assert list(rates.table["time_s"]) == [0.0, 1.0, 2.0]


def test_a_form_that_is_given(tmp_path):
    path = written(tmp_path, log("05/06/2024 1:00 PM", "05/06/2024 1:01 PM"))
    rates = of(path, time_format="%m/%d/%Y %I:%M %p", slot_s=30.0, gaps="zero")
    assert list(rates.table["rate_bps"]) == [1e6, 0.0, 1e6]
    with pytest.raises(
        ConfigurationError, match=r"row 2, column 'time': '05/06/2024 1:00 PM' is no time of the"
    ):
        of(path, time_format="%d.%m.%Y")
    with pytest.raises(ConfigurationError, match=r"time_format = '%Q': is no form"):
        of(path, time_format="%Q")


@pytest.mark.parametrize(
    ("stamps", "words"),
    [
        (
            ("05/06/2024 11:05:08", "05/06/2024 11:05:09"),
            r"row 2.*may be %d/%m/%Y %H:%M:%S or %m/%d/%Y %H:%M:%S",
        ),
        (("0", "1"), "0 may be seconds or milliseconds.*time_format = s"),
        (
            ("2019-12-14 11:05:08", "14.12.2019"),
            r"row 3, column 'time': '14.12.2019' is no time like '2019-12-14 11",
        ),
        (("noon", "evening"), "row 2, column 'time': 'noon' is no time of a known form"),
        (("1576321508", "-"), "row 3, column 'time': '-' is no number"),
        (("11:05:08", "11:05:07"), r"row 3, column 'time': is before the row above"),
        (("11:05:08", ""), "row 3, column 'time': is empty"),
        (("1576321508", "3000000000"), "row 3, column 'time': is 1.42368e\\+09 s after the first row"),
    ],
)
def test_stamps_that_say_nothing_or_two_things_are_refused(tmp_path, stamps, words):
    with pytest.raises(ConfigurationError, match=words) as error:
        of(written(tmp_path, log(*stamps)), gaps="hold")
    assert has_fix(str(error.value))


# --- Refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "asked", "words"),
    [
        (GNETTRACK, {}, r"has no column 'time'"),
        ("time;kbps\n0;1\n", {}, "separated by semicolons"),
        ("time,kbps\n11:00:00,-3\n", {}, "row 2, column 'kbps': -3 is below 0"),
        ("time,kbps\n11:00:00,fast\n", {}, "row 2, column 'kbps': 'fast' is no number"),
        (
            "time,kbps\n11:00:00,-\n",
            {},
            "row 2, column 'time': is the first row of a device without any rate",
        ),
        ("time,kbps\n11:00:00,1\n", {"only": ("mode", "5G")}, "has no column 'mode'"),
        ("time,kbps\n11:00:00,1\n", {"unit_bps": 0.0}, "unit_bps = 0: must be above 0"),
        ("time,kbps\n11:00:00,1\n", {"slot_s": 0.0}, "slot_s = 0: must be"),
        ("", {}, "is empty"),
    ],
)
def test_what_is_no_drive_test_is_refused(tmp_path, text, asked, words):
    with pytest.raises(ConfigurationError, match=words) as error:
        of(written(tmp_path, text), **asked)
    assert has_fix(str(error.value))


def test_a_log_without_states_says_so(tmp_path):
    path = written(tmp_path, "Timestamp,DL_bitrate\n2019.12.14_11.05.08,1000\n")
    with pytest.raises(ConfigurationError, match="has no column 'State'"):
        gnettrack(path)
    assert list(gnettrack(path, idle=True).table["rate_bps"]) == [1e6, 1e6]
