"""Every reader of a user's table reads a damaged file as the good one, or refuses it in one sentence."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import cosim
from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.devices import Column, DeviceTable, PresenceWindows
from cosim.links import HoldLast, RateTrace
from cosim.names import ClientNames
from cosim.topology import TableTopology

CLIENTS = ClientNames(0, 2)


class Reader(NamedTuple):
    """A good file, its last column of numbers, and what a part reads of it, as plain values."""

    text: str
    numbers: str
    read: Callable[[str], object]


def rates(file: str) -> object:
    found = RateTrace(file=file, past_end=HoldLast()).of_clients(Simulation(seed=1), CLIENTS)
    return {client: [rate.bits(0.0, end_s) for end_s in (1.0, 2.0, 10.0)] for client, rate in found.items()}


def devices(file: str) -> object:
    return list(DeviceTable(file=file).of_clients(Simulation(seed=1), (2,)))


def distances(file: str) -> object:
    return TableTopology(file=file).distances_m(Simulation(seed=1), Numbers.of(CLIENTS)).tolist()


def column(file: str) -> object:
    return Column(file=file, column="snr_db").of_clients((2,))


def windows(file: str) -> object:
    presence = PresenceWindows(file=file)
    presence.check(CLIENTS)
    return [list(presence.windows(Simulation(seed=1), client)) for client in CLIENTS]


READERS = {
    "rates": Reader("time_s,device,rate_bps\n0,0,4096\n1.5,0,15\n0,1,100\n", "rate_bps", rates),
    "devices": Reader(
        "device,frequency_hz,capacitance_j_per_hz2,tx_power_w\n1,2e9,1e-28,0.25\n0,1e9,2e-28,4096\n",
        "tx_power_w",
        devices,
    ),
    "distances": Reader("device,distance_m\n0,100.5\n1,200\n", "distance_m", distances),
    "column": Reader("device,snr_db\nclient-0000,10\nclient-0001,20\n", "snr_db", column),
    "windows": Reader("device,from_s,to_s\n0,0,15.5\n1,2,4096\n", "to_s", windows),
}


def rows(change: Callable[[str], str], *, header: bool = False) -> Callable[[str], bytes]:
    """A damage of each row, and of the header."""

    def damaged(text: str) -> bytes:
        first, *others = text.splitlines()
        return "".join(
            f"{line}\n" for line in [change(first) if header else first, *map(change, others)]
        ).encode()

    return damaged


def last(value: str) -> Callable[[str], bytes]:
    """A damage of the last cell of the last row."""
    return lambda text: re.sub(r"[^,]*\n$", f"{value}\n", text).encode()


def head(change: Callable[[str], str]) -> Callable[[str], bytes]:
    """A damage of the header."""
    return lambda text: change(text.partition("\n")[0]).encode() + b"\n" + text.partition("\n")[2].encode()


SAME = {
    "as it is": str.encode,
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "old Mac": lambda text: text.replace("\n", "\r").encode(),
    "byte order mark": lambda text: text.encode("utf-8-sig"),
    "no last newline": lambda text: text.rstrip("\n").encode(),
    "empty last lines": lambda text: text.encode() + b"\n\n  \n",
    "empty lines within": lambda text: text.replace("\n", "\n\n").encode(),
    "spaces": lambda text: text.replace(",", " ,  ").encode(),
    "quoted": rows(lambda line: ",".join(f'"{cell}"' for cell in line.split(",")), header=True),
    "quoted after spaces": rows(lambda line: ", ".join(f'"{cell}"' for cell in line.split(",")), header=True),
    "a quoted comma": rows(lambda line: f'"a, b",{line}', header=True),
    "a quoted line": rows(lambda line: f'"a\nb",{line}', header=True),
    "more columns": rows(lambda line: f"{line},note", header=True),
    "an index of pandas": lambda text: b"," + rows(lambda line: f"0,{line}")(text),
    "commas at every end": rows(lambda line: f"{line},", header=True),
    "letters in notes": rows(lambda line: f"{line},Zürich １", header=True),
}


@pytest.mark.parametrize("damage", SAME)
@pytest.mark.parametrize("kind", READERS)
def test_what_says_the_same_is_read_the_same(kind, damage, tmp_path):
    reader = READERS[kind]
    (tmp_path / "good.csv").write_text(reader.text)
    (tmp_path / "other.csv").write_bytes(SAME[damage](reader.text))
    assert reader.read(str(tmp_path / "other.csv")) == reader.read(str(tmp_path / "good.csv"))


REFUSED = {
    "a field too many": (
        lambda text: text.rstrip("\n").encode() + b",15\n",
        r"row \d: has \d fields, and the header \d",
    ),
    "a field too many in each row": (
        rows(lambda line: f"{line},15"),
        r"row 2: has \d fields, and the header \d",
    ),
    "a field too few": (lambda text: text.encode() + b"0\n", r"row \d: has 1 fields, and the header \d"),
    "a comma at the end of each row": (
        rows(lambda line: f"{line},"),
        r"row 2: has \d fields.* ends in a comma",
    ),
    "a name that appears twice": (
        rows(lambda line: f"{line},{line.split(',')[-1]}", header=True),
        "appears 2 times",
    ),
    "UTF-16": (lambda text: text.encode("utf-16"), "is text in UTF-16.*saved as UTF-8"),
    "UTF-16 without a mark": (lambda text: text.encode("utf-16-le"), "row 1: holds a zero byte"),
    "Latin-1": (
        lambda text: text.encode() + "é\n".encode("latin-1"),
        r"row \d: byte 0xe9 is no UTF-8.*UTF-8",
    ),
    "semicolons": (
        lambda text: text.replace(",", ";").encode(),
        "row 1: the header is separated by semicolons",
    ),
    "tabs": (lambda text: text.replace(",", "\t").encode(), "row 1: the header is separated by tabs"),
    "blanks": (lambda text: text.replace(",", "  ").encode(), "row 1: the header is separated by spaces"),
    "semicolons and decimal commas": (
        lambda text: text.replace(",", ";").replace(".", ",").encode(),
        "row 1: the header .*commas between columns, and points in decimals",
    ),
    "a decimal comma": (
        lambda text: text.rstrip("\n").encode() + b",5\n",
        "has .* fields.*points in decimals",
    ),
    "a quoted decimal comma": (last('"0,5"'), r"row \d, column '\w+': '0,5' is no number"),
    "a comment above": (lambda text: b"# drive 7\n" + text.encode(), "row 1: '# drive 7' is a comment"),
    "a comment of ns-3": (lambda text: b"% " + text.encode(), "row 1: '% .*' is a comment"),
    "a comment below": (lambda text: text.encode() + b"# end\n", r"row \d: '# end' is a comment"),
    "an empty file": (lambda text: b"", "is empty"),
    "blank lines alone": (lambda text: b"\n \n", "is empty"),
    "no rows": (lambda text: text.partition("\n")[0].encode(), "has no rows after the header"),
    "no header": (lambda text: b"0,0,0\n1,1,1\n", "row 1: the header holds numbers in place of names"),
    "an empty cell": (last(""), r"row \d, column '\w+': is empty"),
    "nan": (last("nan"), r"row \d, column '\w+': 'nan' is no number"),
    "NA": (last("NA"), r"row \d, column '\w+': 'NA' is no number"),
    "underscores": (last("1_000"), r"row \d, column '\w+': '1_000' is no number"),
    "hexadecimal": (last("0x10"), r"'0x10' is no number"),
    "no float64": (last("1e400"), r"'1e400' is no number"),
    "no float64 below 0": (last("-1e400"), r"'-1e400' is no number"),
    "beyond all": (last("1e31"), r"row \d, column '\w+': 1e31 is above|is 1e9 or more"),
    "full-width": (last("１２"), r"'１２' is no number"),
    "True": (last("True"), r"'True' is no number"),
    "a dash": (last("-"), r"'-' is no number"),
    "text after a quote": (last('"1"2'), r"row \d: is no row of a csv file"),
    "a quote without end": (last('"1'), r"row \d: is no row of a csv file"),
    "a zero byte": (lambda text: text.encode() + b"\0\n", r"row \d: holds a zero byte"),
    "a zip": (lambda text: b"PK\x03\x04" + text.encode(), "is a zip archive, as Excel's workbooks are"),
    "a gzip": (lambda text: gzip.compress(text.encode()), r"is a gzip.*\.csv\.gz"),
    "a Parquet file": (lambda text: b"PAR1" + text.encode(), r"is a Parquet file.*\.parquet"),
}


def refused(reader: Reader, file: Path, said: str) -> None:
    with pytest.raises(cosim.ConfigurationError, match=said) as error:
        reader.read(str(file))
    message = str(error.value)
    assert str(file) in message
    assert re.search(r" Use .*\.$", message)
    assert "\n" not in message


@pytest.mark.parametrize("damage", REFUSED)
@pytest.mark.parametrize("kind", READERS)
def test_what_may_say_something_else_is_refused_where_it_is(kind, damage, tmp_path):
    change, said = REFUSED[damage]
    (tmp_path / "other.csv").write_bytes(change(READERS[kind].text))
    refused(READERS[kind], tmp_path / "other.csv", said)


@pytest.mark.parametrize("kind", READERS)
def test_a_missing_column_is_named_with_what_may_be_it(kind, tmp_path):
    reader = READERS[kind]
    (tmp_path / "other.csv").write_text(reader.text.replace(reader.numbers, reader.numbers.title(), 1))
    said = f"no column {reader.numbers!r}.*Did you mean {reader.numbers.title()}"
    refused(reader, tmp_path / "other.csv", f"{said}|{reader.numbers.title()}.*Did you mean {reader.numbers}")


@pytest.mark.parametrize("kind", READERS)
def test_gzipped_text_is_read_whole_or_refused(kind, tmp_path):
    reader, content = READERS[kind], gzip.compress(READERS[kind].text.encode())
    (tmp_path / "good.csv").write_text(reader.text)
    (tmp_path / "whole.csv.gz").write_bytes(content)
    assert reader.read(str(tmp_path / "whole.csv.gz")) == reader.read(str(tmp_path / "good.csv"))
    for name, found, said in (
        ("half", content[: len(content) // 2], "is a gzip that is cut off"),
        ("plain", reader.text.encode(), "is no gzip, or is damaged"),
        ("empty", b"", "is empty"),
        ("turned", content[:20] + bytes([content[20] ^ 0xFF]) + content[21:], "gzip|cannot be read|damaged"),
    ):
        (tmp_path / f"{name}.csv.gz").write_bytes(found)
        refused(reader, tmp_path / f"{name}.csv.gz", said)


# --- Parquet ------------------------------------------------------------------------------------------------


def frame_of(reader: Reader) -> pd.DataFrame:
    first, *others = (line.split(",") for line in reader.text.splitlines())
    frame = pd.DataFrame(others, columns=first)
    return frame.assign(**{name: frame[name].astype(float) for name in first if name != "device"})


def written(folder: Path, table: object, name: str = "other.parquet") -> Path:
    path = folder / name
    table = pa.Table.from_pandas(table) if isinstance(table, pd.DataFrame) else table
    pyarrow.parquet.write_table(table, path)
    return path


SAME_FRAMES = {
    "as it is": lambda frame, name: frame,
    "an index": lambda frame, name: frame.set_index(pd.Index([5, 3, 9][: len(frame)])),
    "an index that is a column": lambda frame, name: frame.set_index("device"),
    "float32 of whole numbers": lambda frame, name: frame.assign(
        **{name: np.float32([16, 15, 100][: len(frame)])}
    ),
    "categories of names": lambda frame, name: frame.assign(device=frame["device"].astype("category")),
    "other types": lambda frame, name: frame.assign(when=pd.Timestamp("2024-01-01"), ok=True, z=1j),
    "nested": lambda frame, name: frame.assign(more=[[1, 2]] * len(frame)),
}


@pytest.mark.parametrize("change", SAME_FRAMES)
@pytest.mark.parametrize("kind", READERS)
def test_parquet_that_says_the_same(kind, change, tmp_path):
    reader = READERS[kind]
    frame = SAME_FRAMES[change](frame_of(reader), reader.numbers)
    path = tmp_path / "other.parquet"
    if "z" in frame:
        frame = frame.drop(columns="z")
    written(tmp_path, frame)
    plain = frame.reset_index() if frame.index.name else frame
    plain.drop(columns=[name for name in ("more",) if name in plain]).to_csv(
        tmp_path / "good.csv", index=False
    )
    assert reader.read(str(path)) == reader.read(str(tmp_path / "good.csv"))


def last_column(values: Callable[[int], object]) -> Callable[[pd.DataFrame, str], pa.Table]:
    def changed(frame: pd.DataFrame, name: str) -> pa.Table:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        return table.set_column(table.column_names.index(name), name, values(len(frame)))

    return changed


REFUSED_FRAMES = {
    "durations": (last_column(lambda n: pa.array(range(n), pa.duration("us"))), "duration.*total_seconds"),
    "timestamps": (
        last_column(lambda n: pa.array(range(n), pa.timestamp("ms"))),
        "timestamp.*since the start",
    ),
    "dates": (last_column(lambda n: pa.array(range(n), pa.date32())), "date32"),
    "bools": (last_column(lambda n: pa.array([True] * n)), "bool, and no number"),
    "decimals": (
        last_column(lambda n: pa.array(range(n), pa.decimal128(20, 2))),
        r"decimal.*astype\(float\)",
    ),
    "categories": (
        last_column(lambda n: pa.array(["1", "2", "3"][:n]).dictionary_encode()),
        "dictionary.*astype",
    ),
    "texts": (last_column(lambda n: pa.array(["1"] * n)), "string.*to_numeric"),
    "lists": (last_column(lambda n: pa.array([[1.0]] * n)), "list"),
    "structures": (last_column(lambda n: pa.array([{"re": 1.0, "im": 2.0}] * n)), "struct"),
    "nulls": (last_column(lambda n: pa.array([1.0] * (n - 1) + [None])), r"row \d, column '\w+': is empty"),
    "nothing but nulls": (last_column(lambda n: pa.nulls(n)), r"row 1, column '\w+': is empty"),
    "nan": (last_column(lambda n: pa.array([1.0] * (n - 1) + [np.nan])), r"row \d, column '\w+': is empty"),
    "floats as devices": (lambda frame, name: frame.assign(device=0.0), "column 'device'.*double"),
    "no rows": (lambda frame, name: frame.iloc[:0], "has no rows"),
    "twice": (
        lambda frame, name: pa.Table.from_arrays(
            [*pa.Table.from_pandas(frame).columns, pa.array(frame[name])], [*frame.columns, name]
        ),
        "appears 2 times",
    ),
}


@pytest.mark.parametrize("change", REFUSED_FRAMES)
@pytest.mark.parametrize("kind", READERS)
def test_parquet_of_other_types_is_refused_by_type(kind, change, tmp_path):
    make, said = REFUSED_FRAMES[change]
    reader = READERS[kind]
    refused(reader, written(tmp_path, make(frame_of(reader), reader.numbers)), said)


def test_devices_are_read_from_tables_of_numbers_and_of_names(tmp_path):
    """Full-width digits are no number of a client, though Python takes them for one."""
    reader = READERS["distances"]
    path = tmp_path / "names.csv"
    path.write_text("device,distance_m\n１,100.5\n1,200\n")
    refused(reader, path, r"row 2, column 'device': '１' is no client")


# --- What a class refuses -----------------------------------------------------------------------------------

NEEDED = "device,frequency_hz,capacitance_j_per_hz2,tx_power_w"
BY_CLASSES = {
    "share of a battery": (
        f"{NEEDED},battery_capacity_j,battery_initial_share\n0,1e9,1e-28,0.1,50,0.5\n1,1e9,1e-28,0.1,50,80\n",
        r"row 3, column 'battery_initial_share': Battery\.initial_share = 80: must lie from 0 to 1"
        r"\. Use 0\.8 for 80 %\.$",
    ),
    "capacity": (
        f"{NEEDED},battery_capacity_j\n0,1e9,1e-28,0.1,0\n1,1e9,1e-28,0.1,50\n",
        r"row 2, column 'battery_capacity_j': Battery\.capacity_j = 0: must be above 0",
    ),
    "no capacity": (
        f"{NEEDED},battery_charge_w\n0,1e9,1e-28,0.1,1\n1,1e9,1e-28,0.1,1\n",
        r"has no column 'battery_capacity_j'",
    ),
    "a gap of a battery": (
        f"{NEEDED},battery_capacity_j,battery_charge_w\n0,1e9,1e-28,0.1,,\n1,1e9,1e-28,0.1,50,\n",
        r"row 3, column 'battery_charge_w': '' is empty",
    ),
    "frequency": (
        f"{NEEDED}\n1,1e9,1e-28,0.1\n0,0,1e-28,0.1\n",
        r"row 3, column 'frequency_hz': Device\.frequency_hz = 0: must be a finite number above 0",
    ),
    "memory": (
        f"{NEEDED},memory_bits\n0,1e9,1e-28,0.1,\n1,1e9,1e-28,0.1,0\n",
        r"row 3, column 'memory_bits': Device\.memory_bits = 0: must be above 0",
    ),
    "a battery that stays empty": (
        f"{NEEDED},battery_capacity_j,battery_initial_share\n0,1e9,1e-28,0.1,50,1\n1,1e9,1e-28,0.1,50,0\n",
        r"row 3, column 'battery_capacity_j': Battery.initial_share = 0: an empty battery that nothing",
    ),
    "a misspelt column": (
        f"{NEEDED},Static_Power_W\n0,1e9,1e-28,0.1,1\n1,1e9,1e-28,0.1,1\n",
        r"column 'Static_Power_W': is no column .*Did you mean static_power_w",
    ),
}


@pytest.mark.parametrize("case", BY_CLASSES)
def test_what_a_class_refuses_is_refused_where_it_is(case, tmp_path):
    text, said = BY_CLASSES[case]
    path = tmp_path / "devices.csv"
    path.write_text(text)
    with pytest.raises(cosim.ConfigurationError, match=said) as error:
        devices(str(path))
    assert str(path) in str(error.value)


def test_a_device_without_a_battery_needs_no_numbers_of_one(tmp_path):
    path = tmp_path / "devices.csv"
    path.write_text(
        f"{NEEDED},battery_capacity_j,battery_charge_w\n0,1e9,1e-28,0.1,,\n1,1e9,1e-28,0.1,50,2\n"
    )
    none, one = devices(str(path))
    assert none.battery is None
    assert one.battery == cosim.devices.Battery(capacity_j=50.0, charge_w=2.0)


def test_a_number_of_a_column_is_refused_where_it_is(tmp_path):
    path = tmp_path / "snr.csv"
    path.write_text("device,snr_db\n0,10\n1,1000\n")
    with pytest.raises(
        cosim.ConfigurationError,
        match=r"GivenSnr\.snr_db = .*snr\.csv, row 3, column 'snr_db': 1000 must lie from",
    ):
        cosim.GivenSnr(snr_db=Column(file=str(path), column="snr_db"))
