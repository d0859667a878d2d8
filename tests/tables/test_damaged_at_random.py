"""Files damaged at random, of a fixed seed: no traceback, and no number that the file does not say."""

import csv
import gzip
import io
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_every_reader import CLIENTS, READERS

import cosim
from cosim.clock.simulation import Simulation
from cosim.links import HoldLast
from cosim.queues.service import Empirical
from cosim.radio import GainTrace

NUM = int(os.environ.get("COSIM_DAMAGED_FILES", "300")) // 15
"""Of each kind and form."""
NOISE = [b",", b"\n", b'"', b"\r", b"\0", b"-", b"e9", b" ", b"#", b";", b"nan", b"\xff", b"\xc3\xa9", b"1"]
REFUSED = "refused"


def service(file: str) -> object:
    return Empirical(path=file).durations_s.tolist()


def gains(file: str) -> object:
    trace = GainTrace(file=file, past_end=HoldLast())
    trace.check(CLIENTS)
    return [trace.gains(Simulation(seed=1), CLIENTS, (row,)).tolist() for row in range(3)]


def outcome(read: Callable[[str], object], path: Path) -> object:
    """Plain values of a file, or `REFUSED` where they are a sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return read(str(path))
        except cosim.ConfigurationError:
            return REFUSED


def damaged(rng: np.random.Generator, content: bytes) -> bytes:
    """Cut off, a bit flipped, a piece put in, doubled, left out or swapped, or in another encoding."""
    start, end = sorted(rng.integers(0, len(content) + 1, 2).tolist())
    match rng.integers(7):
        case 0:
            return content[:end]
        case 1:
            flipped = bytearray(content)
            flipped[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
            return bytes(flipped)
        case 2:
            return content[:start] + NOISE[rng.integers(len(NOISE))] + content[start:]
        case 3:
            return content[:end] + content[start:]
        case 4:
            return content[:start] + content[end:]
        case 5:
            return content[end:] + content[:start]
        case _:
            encoding = ("utf-16", "utf-32", "cp1252", "utf-8-sig")[rng.integers(4)]
            return content.decode("latin-1").encode(encoding, errors="replace")


def said(content: bytes) -> str | None:
    """A plain csv file of what the cells of another say, by Python's reader; None if they say nothing."""
    try:
        text = content.decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True))
    except (UnicodeDecodeError, csv.Error):
        return None
    cells = [[cell.strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]
    if not cells or len(set(map(len, cells))) > 1:
        return None
    plain = io.StringIO()
    csv.writer(plain, lineterminator="\n").writerows(cells)
    return plain.getvalue()


def rng_of(kind: str, number: int) -> np.random.Generator:
    return np.random.default_rng([number, *kind.encode()])


@pytest.mark.parametrize("kind", READERS)
def test_csv(kind, tmp_path):
    """Values are as Python's own reader of csv finds them in the cells."""
    reader, path, other = READERS[kind], tmp_path / "a.csv", tmp_path / "plain.csv"
    for number in range(NUM):
        path.write_bytes(content := damaged(rng_of(kind, number), reader.text.encode()))
        found, plain = outcome(reader.read, path), said(content)
        if found != REFUSED:
            assert plain is not None, content
            other.write_text(plain)
            assert found == outcome(reader.read, other), content


@pytest.mark.parametrize("kind", READERS)
def test_gzip(kind, tmp_path):
    """A checksum is in the file, so what is read is what was written."""
    reader, path, good = READERS[kind], tmp_path / "a.csv.gz", tmp_path / "good.csv"
    good.write_text(reader.text)
    whole = gzip.compress(reader.text.encode(), mtime=0)
    for number in range(NUM):
        path.write_bytes(content := damaged(rng_of(kind, number), whole))
        assert outcome(reader.read, path) in (REFUSED, reader.read(str(good))), content


def in_parquet(text: str, path: Path) -> bytes:
    """The content of a csv file, written to a Parquet file, and that file's bytes."""
    head, *rows = csv.reader(io.StringIO(text))
    columns = {
        name: [cell if name == "device" else float(cell) for cell in cells]
        for name, cells in zip(head, zip(*rows, strict=True), strict=True)
    }
    pq.write_table(pa.table(columns), path, write_page_checksum=True)
    return path.read_bytes()


@pytest.mark.parametrize("kind", READERS)
def test_parquet(kind, tmp_path):
    """Pages have checksums, so what is read is what was written."""
    reader, path, good = READERS[kind], tmp_path / "a.parquet", tmp_path / "good.csv"
    good.write_text(reader.text)
    whole = in_parquet(reader.text, path)
    assert outcome(reader.read, path) == reader.read(str(good))
    for number in range(NUM):
        path.write_bytes(content := damaged(rng_of(kind, number), whole))
        assert outcome(reader.read, path) in (REFUSED, reader.read(str(good))), content


def test_parquet_of_a_column_of_damaged_metadata(tmp_path):
    """A bit of the size of a histogram of levels: Arrow would end the process, asked for the column."""
    reader, path = READERS["rates"], tmp_path / "a.parquet"
    path.write_bytes(damaged(rng_of("rates", 282), in_parquet(reader.text, path)))
    assert outcome(reader.read, path) == REFUSED


def test_npz(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, time_s=[0.0, 1.0, 2.0], gain=np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]]))
    whole, good = path.read_bytes(), gains(str(path))
    for number in range(2 * NUM):
        path.write_bytes(content := damaged(rng_of("npz", number), whole))
        assert outcome(gains, path) in (REFUSED, good), content


def test_laws(tmp_path):
    path, text = tmp_path / "a.csv", b"0.5\n1.25\n3\n40\n"
    for number in range(NUM):
        path.write_bytes(content := damaged(rng_of("laws", number), text))
        found = outcome(service, path)
        if found != REFUSED:
            assert found == [float(line) for line in content.decode("utf-8-sig").split()], content
