"""Traffic as files: what is written reads back the same, and every fault is found where it lies."""

import attrs
import networkx as nx
import numpy as np
import pytest

from cosim.configuration import ConfigurationError
from scenarios.papers.vhfl.traffic.table_files import read, write
from scenarios.papers.vhfl.traffic.traffic import Traffic, TrafficTable, generate

pytestmark = pytest.mark.quick

TRAFFIC = """\
time,cell,users,load,target
2024-01-02T06:00,b,1,2.5,10
2024-01-02T06:00,a,3,0,11
2024-01-02T06:30,a,4,-1,12.25
2024-01-02T06:30,b,5,1e-3,13
2024-01-02T07:00,a,6,7,0
2024-01-02T07:00,b,8,9,15
"""
"""Two cells, three slots from a Tuesday, 06:00, rows not in order."""
NEIGHBOURS = "cell,neighbour\na,b\n"


@pytest.fixture
def reading(tmp_path):
    """Reads two files of these texts."""

    def reading(traffic=TRAFFIC, neighbours=NEIGHBOURS):
        paths = tmp_path / "traffic.csv", tmp_path / "neighbours.csv"
        for path, text in zip(paths, (traffic, neighbours), strict=True):
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read(*paths)

    return reading


def test_every_value_lands_in_its_place(reading):
    table = reading()
    assert table.cells == ("a", "b")
    assert table.feature_names == ("users", "load")
    assert (table.start_s, table.slot_s) == (30 * 3600.0, 1800.0)
    assert table.target.tolist() == [[11, 10], [12.25, 13], [0, 15]]
    assert table.features.tolist() == [[[3, 0], [1, 2.5]], [[4, -1], [5, 1e-3]], [[6, 7], [8, 9]]]
    assert list(table.neighbours) == ["a", "b"]
    assert list(table.neighbours.edges) == [("a", "b")]


def test_columns_rows_and_neighbours_come_in_any_order(reading):
    expected = reading()
    header, *rows = (line.split(",") for line in TRAFFIC.splitlines())
    order = [4, 1, 0, 2, 3]
    lines = [",".join(line[place] for place in order) for line in (header, *rows[::-1])]
    table = reading("\n".join(lines), "neighbour,cell\nb,a\na,b\n")
    for name in ("cells", "feature_names", "start_s", "slot_s"):
        assert getattr(table, name) == getattr(expected, name)
    assert table.target.tolist() == expected.target.tolist()
    assert table.features.tolist() == expected.features.tolist()
    assert nx.utils.graphs_equal(table.neighbours, expected.neighbours)


@pytest.mark.parametrize(
    "traffic",
    [
        "\ufeff" + TRAFFIC,
        TRAFFIC.replace("\n", "\r\n"),
        TRAFFIC + "\n\n",
        TRAFFIC.replace(",", " , "),
        TRAFFIC.replace(":00,", ":00Z,").replace(":30,", ":30Z,"),
        TRAFFIC.replace(":00,", ":00+02:00,").replace(":30,", ":30+02:00,"),
        TRAFFIC.replace("b,", '"b",'),
    ],
    ids=["byte order mark", "CRLF", "blank lines", "spaces", "UTC", "offset", "quotes"],
)
def test_other_ways_to_write_the_same(reading, traffic):
    """An offset is dropped: the time of day is the local one."""
    table, expected = reading(traffic), reading()
    assert (table.start_s, table.cells) == (expected.start_s, expected.cells)
    assert table.target.tolist() == expected.target.tolist()
    assert table.features.tolist() == expected.features.tolist()


@pytest.mark.parametrize(
    ("start", "start_s"),
    [("2024-02-26", 0.0), ("2024-02-29T12:00:00.5", 3.5 * 86_400 + 0.5), ("2024-03-03T23:00", 167 * 3600.0)],
)
def test_the_week_begins_on_monday(reading, start, start_s):
    """26 February 2024 was a Monday."""
    rows = "".join(f"{time},{cell},1,1\n" for time in (start, "2024-03-04T00:00") for cell in "ab")
    assert reading("time,cell,users,target\n" + rows).start_s == start_s


# --- faults: file, row and column ---

FAULTS = {
    "twice": ("users,load", "load,load", 1, "load", "appears 2 times"),
    "nameless": ("users,load", "users,", 1, "", "has no name"),
    "empty value": ("a,4,-1", "a,,-1", 4, "users", "is empty"),
    "empty target": (",12.25", ", ", 4, "target", "is empty"),
    "empty cell": ("07:00,a,6", "07:00,,6", 6, "cell", "is empty"),
    "nan": ("b,5,1e-3", "b,5,NaN", 5, "load", "'NaN' is no number"),
    "infinite": (",0,11", ",inf,11", 3, "load", "'inf' is no finite number"),
    "overflow": (",0,11", ",1e999,11", 3, "load", "'1e999' is no number"),
    "text": ("7,0\n", "7,none\n", 6, "target", "'none' is no number"),
    "underscore": ("b,1,", "b,1_0,", 2, "users", "'1_0' is no number"),
    "negative": ("7,0\n", "7,-1\n", 6, "target", "-1 is below 0"),
    "no time of day": ("06:30,b", "half past six,b", 5, "time", "is no time of ISO 8601"),
    "zone in between": ("07:00,b", "07:00Z,b", 7, "time", "has another offset from UTC"),
    "duplicate": ("07:00,b", "07:00,a", 7, "cell", "'a' has a row at 2024-01-02T07:00 already, row 6"),
    "hole": (
        "2024-01-02T06:30,b,5,1e-3,13\n",
        "",
        4,
        "cell",
        "'a' has a row at 2024-01-02T06:30, and cell 'b' has none",
    ),
    "late slot": ("07:00", "07:01", 6, "time", "'2024-01-02T07:01' comes 0:31:00 after the slot before"),
}


@pytest.mark.parametrize(("old", "new", "row", "column", "what"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_by_file_row_and_column(reading, tmp_path, old, new, row, column, what):
    traffic = TRAFFIC.replace(old, new)
    assert traffic != TRAFFIC
    with pytest.raises(ConfigurationError) as error:
        reading(traffic)
    message = str(error.value)
    assert message.startswith(f"{tmp_path / 'traffic.csv'}, row {row}, column {column!r}: ")
    assert what in message
    assert " Use " in message


@pytest.mark.parametrize(("old", "new"), [("time,", "when,"), (",cell,", ",site,"), (",target", ",bps")])
def test_a_missing_column_is_named(reading, old, new):
    name = old.strip(",")
    with pytest.raises(
        ConfigurationError, match=rf"traffic\.csv: has no column '{name}'; the columns are .* Use"
    ):
        reading(TRAFFIC.replace(old, new))


def test_rows_are_lines_of_the_file(reading):
    """Blank lines count, though they say nothing."""
    traffic = TRAFFIC.replace("2024-01-02T06:30,a", "\n\n2024-01-02T06:30,a").replace("a,4", "a,x")
    with pytest.raises(ConfigurationError, match=r"traffic\.csv, row 6, column 'users'"):
        reading(traffic)


def test_the_most_frequent_step_is_the_right_one(reading):
    """A slot that is missing for all cells: the row after the hole is named, also at the beginning."""
    times = ["06:00", "07:00", "07:30", "08:00"]
    rows = "".join(f"2024-01-02T{time},{cell},1,1\n" for time in times for cell in "ab")
    with pytest.raises(
        ConfigurationError, match=r"row 4, column 'time': '2024-01-02T07:00' comes 1:00:00 after"
    ):
        reading("time,cell,users,target\n" + rows)


@pytest.mark.parametrize(
    ("neighbours", "message"),
    [
        ("cell,neighbor\na,b\n", r"has no column 'neighbour'.* Did you mean neighbor?"),
        ("cell,neighbour\na,b\nb,c\n", r"row 3, column 'neighbour': 'c' is no cell of the traffic table"),
        ("cell,neighbour\nA,b\n", r"row 2, column 'cell': 'A' is no cell of the traffic table"),
        ("cell,neighbour\na,b\nb,b\n", r"row 3, column 'neighbour': 'b' is no neighbour of itself"),
        ("cell,neighbour\na,\n", r"row 2, column 'neighbour': is empty"),
        ("cell,neighbour\n", r": has no rows after the header"),
    ],
)
def test_a_fault_among_neighbours_is_named(reading, neighbours, message):
    with pytest.raises(ConfigurationError, match=r"neighbours\.csv.*" + message):
        reading(neighbours=neighbours)


def test_a_cell_without_neighbours_is_refused(reading):
    more = "".join(f"2024-01-02T{time},c,1,1,1\n" for time in ("06:00", "06:30", "07:00"))
    with pytest.raises(ConfigurationError, match=r"neighbours\.csv: no row names cell 'c'"):
        reading(TRAFFIC + more)


@pytest.mark.parametrize(
    ("traffic", "message"),
    [
        (TRAFFIC.replace("a,4", "a,4,4"), r"traffic\.csv, row 4: has 6 fields, and the header 5"),
        (TRAFFIC.replace(",12.25", ""), r"traffic\.csv, row 4: has 4 fields, and the header 5"),
        ("time,cell,target\n2024-01-02,a,1\n", r"row 1: only the columns 'time', 'cell' and 'target'"),
        ("", r"traffic\.csv: is empty"),
        ("time,cell,users,target\n", r"traffic\.csv: has no rows after the header"),
        (
            b"time,cell,users,target\n\xff\xfe",
            r"traffic\.csv, row 2: byte 0xff is no UTF-8.*Use the file saved as UTF-8",
        ),
        (TRAFFIC.replace("a,4", '"a"x,4'), r"traffic\.csv, row 4: is no row of a csv file"),
        (
            "\n".join(line for line in TRAFFIC.splitlines() if ",b," not in line),
            r"traffic\.csv: 1 cells in 3 slots",
        ),
        ("\n".join(TRAFFIC.splitlines()[:3]), r"traffic\.csv: 2 cells in 1 slots"),
    ],
)
def test_files_that_hold_no_table_are_refused(reading, traffic, message):
    with pytest.raises(ConfigurationError, match=message):
        reading(traffic)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"nowhere\.csv.*Use"):
        read(tmp_path / "nowhere.csv", tmp_path / "neighbours.csv")


# --- round trip ---


def assert_equal(table: TrafficTable, other: TrafficTable):
    for name in ("cells", "feature_names", "start_s", "slot_s"):
        assert getattr(table, name) == getattr(other, name)
    np.testing.assert_array_equal(table.target, other.target)
    np.testing.assert_array_equal(table.features, other.features)
    assert nx.utils.graphs_equal(table.neighbours, other.neighbours)


@pytest.mark.parametrize("start_s", [0.0, 5 * 86_400 + 0.25])
def test_what_is_written_reads_back_to_the_last_bit(tmp_path, start_s):
    table = generate(Traffic(num_days=2, slot_s=900.0), 6, np.random.default_rng(3))
    table = attrs.evolve(table, start_s=start_s)
    write(table, tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder"
    assert_equal(read(folder / "traffic.csv", folder / "neighbours.csv"), table)


def test_the_files_as_users_see_them(tmp_path):
    table = TrafficTable(
        cells=("a", "b"),
        neighbours=nx.Graph([("b", "a")]),
        start_s=3600.0,
        slot_s=1800.0,
        feature_names=("users", "share, small"),
        features=np.array([[[1.0, 0.1], [2.0, 0.2]], [[3.0, 0.3], [4.0, 0.4]]]),
        target=np.array([[5.0, 6.0], [7.0, 8.5]]),
    )
    write(table, tmp_path)
    assert (tmp_path / "traffic.csv").read_text() == (
        'time,cell,users,"share, small",target\n'
        "2024-01-01T01:00:00,a,1.0,0.1,5.0\n"
        "2024-01-01T01:00:00,b,2.0,0.2,6.0\n"
        "2024-01-01T01:30:00,a,3.0,0.3,7.0\n"
        "2024-01-01T01:30:00,b,4.0,0.4,8.5\n"
    )
    assert (tmp_path / "neighbours.csv").read_text() == "cell,neighbour\na,b\n"


def test_slots_that_cannot_be_written_are_refused(tmp_path):
    table = generate(Traffic(num_days=1), 4, np.random.default_rng(3))
    with pytest.raises(ConfigurationError, match=r"slot_s = 0\.3333333.*whole microseconds"):
        write(attrs.evolve(table, slot_s=1 / 3), tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"cannot write traffic to .*file"):
        write(table, tmp_path / "file")
