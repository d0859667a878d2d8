"""Files of ns-3 and OMNeT++, and tables of packets: uploads by hand, what a missing row is, refusals."""

from pathlib import Path

import pytest
from fixtures.fixes import has_fix
from uploads import ends_s

from cosim import ConfigurationError
from cosim.formats import ns3_rlc, omnetpp, packets

HEADER = (
    "% start\tend\tCellId\tIMSI\tRNTI\tLCID\tnTxPDUs\tTxBytes\tnRxPDUs\tRxBytes\tdelay\tstdDev\tmin\tmax\t"
    "PduSize\tstdDev\tmin\tmax\n"
)


def row(start_s: float, imsi: int, lcid: int, rx_bytes: int, epoch_s: float = 0.25) -> str:
    words = (start_s, start_s + epoch_s, 1, imsi, imsi, lcid, 9, 2 * rx_bytes, 9, rx_bytes)
    return "\t".join(map(str, (*words, 0.002, 0, 0.002, 0.002, 100, 0, 100, 100))) + "\t\n"


RLC = HEADER + "".join(
    row(*words)
    for words in (
        (0.25, 1, 3, 31_250),
        (0.25, 1, 4, 31_250),
        (0.25, 2, 3, 12_500),
        (1.0, 1, 3, 62_500),
        (1.0, 2, 3, 12_500),
        (1.25, 2, 3, 25_000),
    )
)
"""IMSI 1: 2 Mbit/s from two bearers, nothing for 0.5 s, 2 Mbit/s, nothing; 2: 0.4, 0, 0, 0.4, 0.8 Mbit/s."""


def written(folder: Path, text: str, name: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


# --- ns-3 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mbits", "ends"),
    [(0.1, (0.05, 0.25)), (0.25, (0.125, 1.0 + 0.05 / 0.8)), (0.75, (0.875, 2.25 + 0.15 / 0.8))],
)
def test_uploads_by_hand_where_a_missing_row_is_nothing(tmp_path, mbits, ends):
    rates = ns3_rlc(written(tmp_path, RLC, "DlRlcStats.txt"))
    assert list(rates.steps()) == ["1", "2"]
    assert ends_s(rates, tmp_path, 1e6 * mbits, num_clients=2) == pytest.approx(ends, rel=1e-12)


def test_a_simulation_that_begins_before_and_ends_later(tmp_path):
    """Half a second and a quarter without any row."""
    rates = ns3_rlc(written(tmp_path, RLC, "DlRlcStats.txt"), start_s=0.0, end_s=1.75)
    assert {steps.end_s for steps in rates.steps().values()} == {1.75}
    assert ends_s(rates, tmp_path, 0.5e6) == pytest.approx([0.5], rel=1e-12)
    assert ends_s(rates, tmp_path, 1.5e6) == pytest.approx([2.25], rel=1e-12)


def test_an_epoch_in_which_nothing_came_at_all_is_there(tmp_path):
    rates = ns3_rlc(written(tmp_path, HEADER + row(0.0, 7, 3, 100) + row(1.0, 7, 3, 100), "UlRlcStats.txt"))
    assert list(rates.table["rate_bps"]) == [3200.0, 0.0, 0.0, 0.0, 3200.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (RLC.lstrip("% "), "row 1: is no header of RLC statistics"),
        (HEADER, "row 1: has no rows after it"),
        ("% start end CellId IMSI RNTI LCID nTxPDUs TxBytes\n", "has no column 'RxBytes'"),
        (RLC + "0.25\t0.5\t1\n", "row 8: has 3 words, and the header 18"),
        (RLC + row(1.3, 1, 3, 5), "row 8: is no epoch of 0.25 s since 0.25 s"),
        (RLC + row(1.5, 1, 3, 5, epoch_s=0.5), "row 8: is no epoch of 0.25 s"),
        (RLC + row(0.0, 1, 3, 5), "row 8: begins before 0.25 s"),
        (RLC + row(1.0, 1, 3, 5), "row 8: is the second row of IMSI 1, LCID 3"),
        (RLC.replace("62500\t0.002", "nan\t0.002"), "row 5, column 'RxBytes': 'nan' is no number"),
        ("time_s,device,rate_bps\n0,1,2\n", "row 1: is no header"),
        ("", "is empty"),
    ],
)
def test_what_are_no_statistics_is_refused(tmp_path, text, words):
    with pytest.raises(ConfigurationError, match=words) as error:
        ns3_rlc(written(tmp_path, text, "DlRlcStats.txt"))
    assert has_fix(str(error.value))


def test_an_end_before_the_last_row_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"end_s = 1: the last row ends at 1.5 s"):
        ns3_rlc(written(tmp_path, RLC, "DlRlcStats.txt"), end_s=1.0)


# --- OMNeT++ ------------------------------------------------------------------------------------------------

CSV_R = """\
run,type,module,name,attrname,attrvalue,value,vectime,vecvalue
General-0,runattr,,,configname,General,,,
General-0,itervar,,,numUe,2,,,
General-0,scalar,Net.ue[0].app[0],packetReceived:count,,,125,,
General-0,vector,Net.ue[0].app[0],throughput:vector,,,,0.5 1 1.5 2.5,4 0 2 1
General-0,attr,Net.ue[0].app[0],throughput:vector,unit,Mbps,,,
General-0,attr,Net.ue[0].app[0],throughput:vector,interpolationmode,linear,,,
General-0,vector,Net.ue[1].app[0],throughput:vector,,,,0.5 1,1 3
General-0,attr,Net.ue[1].app[0],throughput:vector,unit,Mbps,,,
General-0,vector,Net.ue[1].app[0],endToEndDelay:vector,,,,0.5 1,0.1 0.2
"""
"""4, 0 and 2 Mbit/s for half a second each, 1 Mbit/s for a second; 1 and 3 for half a second each."""


@pytest.mark.parametrize(
    ("mbits", "ends"), [(1.0, (0.25, 0.5 + 0.5 / 3)), (2.5, (1.25, 1.5)), (4.5, (2.5 + 0.125, 2.5))]
)
def test_uploads_by_hand_where_a_value_is_of_the_interval_that_its_time_ends(tmp_path, mbits, ends):
    rates = omnetpp(written(tmp_path, CSV_R, "out.csv"))
    assert list(rates.steps()) == ["Net.ue[0].app[0]", "Net.ue[1].app[0]"]
    assert ends_s(rates, tmp_path, 1e6 * mbits, num_clients=2) == pytest.approx(ends, rel=1e-12)


def test_units_starts_and_names_that_are_given(tmp_path):
    path = written(tmp_path, CSV_R.replace("0.5 1,1 3", "1.5 2,1 3"), "out.csv")
    rates = omnetpp(path, unit_bps=1.0, start_s=0.0, device=r"ue\\[(\\d+)\\]".replace("\\\\", "\\"))
    assert list(rates.steps()) == ["0", "1"]
    assert ends_s(rates, tmp_path, 1.75, num_clients=2) == pytest.approx([0.4375, 1.5 + 0.25 / 3], rel=1e-12)


def test_vectors_longer_than_a_block_of_a_reader(tmp_path):
    """A cell of 2 MB."""
    num = 200_000
    times = " ".join(f"{0.5 * (one + 1):.1f}" for one in range(num))
    text = CSV_R + f"General-0,vector,Net.ue[2].app[0],long:vector,,,,{times},{' '.join(['2'] * num)}\n"
    for end in ("", 'General-0,attr,Net,x,note,"a ""quoted"" word",,,\n'):
        rates = omnetpp(written(tmp_path, text + end, "out.csv"), name="long:vector", unit_bps=1e6)
        assert rates.summary == "1 client, 100000 s, mean 2, median 2 Mbit/s"


@pytest.mark.parametrize(
    ("text", "asked", "words"),
    [
        (
            CSV_R,
            {"name": "throughput"},
            r"has no vector 'throughput'; its vectors are endToEndDelay:vector, thr",
        ),
        (CSV_R, {"run": "General-1"}, "has no vector 'throughput:vector' in run General-1"),
        (
            CSV_R + CSV_R.split("\n", 1)[1].replace("General-0", "General-1"),
            {},
            "has 2 runs, such as General-0",
        ),
        (CSV_R, {"name": "endToEndDelay:vector"}, r"row 10, column 'name': Net.ue\[1\].app\[0\] has no unit"),
        (CSV_R.replace("Mbps", "s"), {}, r"row 5, column 'name': Net.ue\[0\].app\[0\] has the unit s"),
        (CSV_R.replace("4 0 2 1", "4 0 2"), {}, "row 5, column 'vectime': has 4 times and 3 values"),
        (CSV_R.replace("4 0 2 1", "4 0 nan 1"), {}, "row 5, column 'vecvalue': 'nan' is no number"),
        (CSV_R.replace("0.5 1 1.5", "0.5 1 1"), {}, "row 5, column 'vectime': 1 s is not after 1 s"),
        (CSV_R, {"start_s": 0.5}, "row 5, column 'vectime': 0.5 s is not after 0.5 s"),
        (CSV_R, {"device": r"ue\[(0)\]"}, r"row 8, column 'module': Net.ue\[1\].app\[0\] has nothing like"),
        (CSV_R, {"device": "(app)"}, "row 8, column 'module': is another vector of app"),
        (CSV_R, {"device": "("}, "is no expression with a group"),
        (CSV_R, {"unit_bps": -1.0}, "unit_bps = -1: must be above 0"),
        (CSV_R, {"device": "ue"}, "is no expression with a group"),
        ("time_s,device,rate_bps\n0,1,2\n", {}, "has no column 'run'"),
        ("version 3\nrun General-0\n", {}, "separated by spaces"),
    ],
)
def test_what_are_no_such_vectors_is_refused(tmp_path, text, asked, words):
    with pytest.raises(ConfigurationError, match=words) as error:
        omnetpp(written(tmp_path, text, "out.csv"), **asked)
    assert has_fix(str(error.value))


# --- Packets ------------------------------------------------------------------------------------------------

PACKETS = "time_s,node,bytes\n0.02,0,1500\n0.04,0,1500\n0.31,0,1500\n0.33,1,1000\n"


def test_packets_are_spread_over_their_slots(tmp_path):
    """24 kbit in the first tenth of a second and 12 in the fourth; 8 in the fourth."""
    rates = packets(written(tmp_path, PACKETS, "sink.csv"))
    assert ends_s(rates, tmp_path, 12e3, num_clients=2) == pytest.approx([0.05, 0.75], rel=1e-12)
    assert ends_s(rates, tmp_path, 48e3) == pytest.approx([0.45], rel=1e-12)


def test_a_measurement_that_ends_after_its_last_packet(tmp_path):
    rates = packets(written(tmp_path, PACKETS, "sink.csv"), end_s=0.55, device=None)
    assert rates.summary.startswith("1 client, 0.55 s, ")
    assert ends_s(rates, tmp_path, 56e3) == pytest.approx([0.6], rel=1e-12)


@pytest.mark.parametrize(
    ("text", "asked", "words"),
    [
        (PACKETS, {"end_s": 0.3}, "row 4, column 'time_s': 0.31 is after end_s = 0.3"),
        (PACKETS, {"size": "length"}, "has no column 'length'"),
        (PACKETS, {"slot_s": 0.0}, "slot_s = 0: must be"),
        (PACKETS, {"end_s": 1e12}, r"end_s = 1e\+12: is no end of a measurement"),
        (PACKETS + "1e25,0,1500\n", {}, r"row 6, column 'time_s': 1e25 is too late"),
        (
            PACKETS + "1732600000000,0,1500\n",
            {},
            "row 6, column 'time_s': .* is too late for rows that short",
        ),
    ],
)
def test_what_are_no_packets_is_refused(tmp_path, text, asked, words):
    with pytest.raises(ConfigurationError, match=words) as error:
        packets(written(tmp_path, text, "sink.csv"), **asked)
    assert has_fix(str(error.value))
