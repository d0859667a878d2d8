"""Mahimahi's lists: uploads by hand over repeated loops, folders, refusals."""

from pathlib import Path

import pytest
from fixtures.fixes import has_fix
from uploads import ends_s

from cosim import ConfigurationError
from cosim.formats import Rates, mahimahi

pytestmark = pytest.mark.quick

PACKET = 8 * 1504
LIST = [2, 2, 5, 6, 10]
"""Five packets in a loop of 10 ms: two in the second ms, one each in the fifth, sixth and tenth."""


def written(folder: Path, stamps: list[object], name: str = "lte.up") -> Path:
    (folder / name).write_text("".join(f"{stamp}\n" for stamp in stamps))
    return folder / name


@pytest.mark.parametrize(
    ("packets", "end_ms"),
    [(1, 1.5), (2, 2.0), (3, 5.0), (5, 10.0), (6, 11.5), (7, 12.0), (52, 102.0), (54, 106.0)],
)
def test_uploads_by_hand(tmp_path, packets, end_ms):
    """A packet is spread over the ms that its stamp ends, and the loop begins again after 10 ms."""
    rates = mahimahi(written(tmp_path, LIST))
    assert ends_s(rates, tmp_path, packets * PACKET) == pytest.approx([end_ms / 1e3], rel=1e-12)


def test_a_steady_list_has_the_rate_of_its_packets(tmp_path):
    """11 packets in every 100 ms: 1.32 Mbit/s of 1,500 bytes, and not 1.2."""
    stamps = [
        100 * loop + stamp for loop in range(5) for stamp in (1, 9, 19, 28, 37, 46, 55, 64, 73, 82, 100)
    ]
    rates = mahimahi(written(tmp_path, stamps), packet_bits=8 * 1500)
    assert ends_s(rates, tmp_path, 1.32e6) == pytest.approx([1.0], rel=1e-12)


def test_longer_rows_carry_the_same_bits_and_end_with_the_loop(tmp_path):
    """Rows of 4, 4 and 2 ms with two, two and one packets."""
    rates = mahimahi(written(tmp_path, LIST), slot_s=0.004)
    assert list(rates.table["time_s"]) == pytest.approx([0.0, 0.004, 0.008, 0.009], rel=1e-15)
    assert list(rates.table["rate_bps"] * 0.004) == pytest.approx([2 * PACKET] * 4, rel=1e-12)
    assert ends_s(rates, tmp_path, 23 * PACKET, start_s=0.008) == pytest.approx([0.054], rel=1e-12)


def test_a_stamp_of_0_is_the_end_of_the_loop_before(tmp_path):
    rates = mahimahi(written(tmp_path, [0, *LIST]))
    assert ends_s(rates, tmp_path, 4 * PACKET) == pytest.approx([0.006], rel=1e-12)
    assert ends_s(rates, tmp_path, 6 * PACKET) == pytest.approx([0.010], rel=1e-12)


def test_a_fixed_rate_is_a_list_of_one_stamp(tmp_path):
    """A packet in each ms: 12.032 Mbit/s."""
    assert ends_s(mahimahi(written(tmp_path, [1])), tmp_path, 12.032e6) == pytest.approx([1.0], rel=1e-12)


def test_a_folder_has_a_client_for_each_file_with_loops_of_their_own(tmp_path):
    folder = tmp_path / "lists"
    folder.mkdir()
    written(folder, [2, 4], "b.up")
    written(folder, [1, 2, 3], "a.up")
    written(folder, ["no list"], ".hidden")
    rates = mahimahi(folder)
    assert list(rates.steps()) == ["a", "b"]
    assert ends_s(rates, tmp_path, 9 * PACKET, num_clients=2) == pytest.approx([0.009, 0.018], rel=1e-12)


def test_files_that_differ_in_the_end_of_their_names_are_named_by_it(tmp_path):
    files = [written(tmp_path, [1], name) for name in ("lte.up", "lte.down")]
    assert list(mahimahi(*files).steps()) == ["lte.up", "lte.down"]


def test_what_it_is_in_a_line(tmp_path):
    stamps = [stamp for ms in range(1, 61) for stamp in [ms] * (1 + ms % 2)]
    assert mahimahi(written(tmp_path, stamps)).summary == "1 client, 0.06 s, mean 18.05, median 12.03 Mbit/s"


@pytest.mark.parametrize(
    ("stamps", "words"),
    [
        ([1, 5, 3], r"lte.up, row 3: 3 ms is before the 5 ms above"),
        ([1, "", 3], r"row 2: is empty"),
        ([], "is empty"),
        ([0, 0], "row 2: 0 ms is the length of the loop"),
        ([1, 2.5], r"row 2: '2.5' is no whole number of ms"),
        ([1, -2], r"row 2: '-2' is no whole"),
        (["# packets", 1], r"row 1: has 2 words"),
        (["0.5 2.41"], r"row 1: has 2 words.*format throughput"),
        (["time_s,device,rate_bps"], r"row 1: 'time_s,device,rate_bps' is no whole"),
        ([1, 1732600000000], r"would have 1,732,600,000,000 rows.*stamps in ms since the beginning"),
        (["\x00\x01"], "zero byte"),
    ],
)
def test_what_is_no_list_is_refused(tmp_path, stamps, words):
    with pytest.raises(ConfigurationError, match=words) as error:
        mahimahi(written(tmp_path, stamps))
    assert has_fix(str(error.value))


@pytest.mark.parametrize("slot_s", [0.0, -1.0, 0.0015, float("nan"), float("inf")])
def test_slots_are_whole_ms(tmp_path, slot_s):
    with pytest.raises(ConfigurationError, match=r"slot_s = .*whole milliseconds"):
        mahimahi(written(tmp_path, LIST), slot_s=slot_s)


def test_files_that_are_not_there_or_have_one_name_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="there is no such file"):
        mahimahi(tmp_path / "none.up")
    with pytest.raises(ConfigurationError, match="holds no file"):
        mahimahi(tmp_path)
    with pytest.raises(ConfigurationError, match="no file is named"):
        mahimahi()
    file = written(tmp_path, LIST)
    with pytest.raises(ConfigurationError, match=r"2 files are called lte.up"):
        mahimahi(file, file)


@pytest.mark.parametrize("name", ["trace.parquet", "trace.csv", "trace.csv.gz"])
def test_a_file_of_any_kind_holds_the_same(tmp_path, name):
    rates = mahimahi(written(tmp_path, LIST))
    file = str(rates.save(tmp_path / name))
    assert ends_s(Rates.of(rates.steps()), tmp_path, 5 * PACKET) == pytest.approx([0.01], rel=1e-12)
    from cosim.links.traces.table import read

    read_back = read(Path(file))["lte"]
    assert list(read_back.time_s) == list(rates.table["time_s"])
    assert list(read_back.rate_bps) == list(rates.table["rate_bps"])


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    rates = mahimahi(written(tmp_path, LIST))
    with pytest.raises(ConfigurationError, match=r"trace.xlsx: cannot be written; .*Use .*trace.parquet"):
        rates.save(tmp_path / "trace.xlsx")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        rates.save(tmp_path / "missing" / "trace.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lte.up"]
