"""Files that unfold to more than there is room for are refused by what they say of themselves."""

import gzip
import io
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow.parquet import ParquetFile, write_table

import cosim
from cosim.data.pictures import idx
from cosim.engine.store.checkpoint import Checkpoint
from cosim.radio.gain_trace import GainTrace
from cosim.results.tables import read_table
from cosim.studies.table import table_in
from cosim.tables import room
from cosim.tables.read import table_of
from cosim.tables.room import Unfolds, check_npz, check_parquet

pytestmark = pytest.mark.quick

TEN_GIB = {"text": 2**20, "rows": 10 * 2**10}
"""One text of a MiB, in each of these rows."""


def one_text_in_many_rows(path: Path, rows: int = TEN_GIB["rows"]) -> Path:
    """A file of some kilobytes."""
    text = pa.array(["x" * TEN_GIB["text"]])
    column = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), text)
    write_table(pa.table({"device": column}), path, store_schema=False, compression="zstd")
    assert path.stat().st_size < 2**20
    return path


def zeros_in_many_rows(path: Path, rows: int = 200_000) -> Path:
    """A file of some kilobytes, of 1.6 MB in each of two columns."""
    write_table(pa.table({"a": np.zeros(rows), "device": np.zeros(rows, np.int64)}), path)
    assert path.stat().st_size < 2**13
    return path


def checked(path: Path) -> None:
    with ParquetFile(path) as file:
        check_parquet(path, file)


@pytest.fixture
def little(monkeypatch) -> None:
    """A machine with 3 MiB to spare."""
    monkeypatch.setattr(room, "free_memory_gib", lambda: 3 / 1024)


@pytest.fixture
def strict(monkeypatch) -> None:
    """Limits by which more than 1 MiB is absurd, if it is 200 times the file's size."""
    monkeypatch.setattr(room, "free_memory_gib", lambda: None)
    monkeypatch.setattr(room, "ABSURD_GIB", 1 / 1024)
    monkeypatch.setattr(room, "ABSURD_TIMES", 200)


def test_a_text_in_many_rows_is_refused_unread(tmp_path):
    path = one_text_in_many_rows(tmp_path / "a.parquet")
    with pytest.raises(
        Unfolds, match=r"MiB that unfold to 10\.0 GiB, (more than 1000 times|and .* are free)"
    ):
        checked(path)


@pytest.mark.parametrize("machine", ["little", "strict"])
def test_every_reader_of_parquet_refuses(machine, request, tmp_path):
    """Tables of runs and of studies, and tables that fields name."""
    request.getfixturevalue(machine)
    path = zeros_in_many_rows(tmp_path / "spans.parquet")
    with pytest.raises(Unfolds, match=r"unfold to 3\.05 MiB"):
        checked(path)
    with pytest.raises(ValueError, match="unfold to"):
        read_table(tmp_path, "spans")
    with pytest.raises(cosim.ConfigurationError, match=r"cannot be read \(.* unfold to .*Use a whole"):
        table_of(path)
    shutil.copy(path, tmp_path / "runs.parquet")
    with (
        pytest.warns(UserWarning, match=r"runs.parquet: damaged \(.* unfold to"),
        pytest.raises(cosim.ConfigurationError, match=r"study\.json"),
    ):
        table_in(tmp_path)


def test_texts_that_are_as_many_as_they_look_are_read(tmp_path, strict):
    """The bound of the metadata is far above what they take, so they are counted."""
    names = [f"client-{number:06d}" for number in range(3000)] * 20
    write_table(
        pa.table({"client": names, "time_s": np.random.default_rng(1).random(60_000)}), tmp_path / "a"
    )
    checked(tmp_path / "a")


def test_tables_without_rows_and_small_ones_are_read(tmp_path, little):
    for rows in (0, 1, 1000):
        pd.DataFrame({"a": np.zeros(rows), "b": ["x"] * rows}).to_parquet(tmp_path / "a.parquet")
        checked(tmp_path / "a.parquet")


@pytest.mark.parametrize("machine", ["little", "strict"])
def test_archives_of_arrays(machine, request, tmp_path):
    request.getfixturevalue(machine)
    arrays = {"time_s": np.zeros(10**6), "gain": np.zeros((2, 1, 1))}
    np.savez_compressed(tmp_path / "gains.npz", **arrays)
    with pytest.raises(Unfolds, match="unfold to"):
        check_npz(tmp_path / "gains.npz")
    with pytest.raises(cosim.ConfigurationError, match=r"gains\.npz: cannot be read \(.* unfold to"):
        GainTrace(file=str(tmp_path / "gains.npz"))._read()
    (tmp_path / "gains.npz").rename(tmp_path / "checkpoint.npz")
    with pytest.raises(cosim.ConfigurationError, match=r"checkpoint\.npz: damaged \(.* unfold to"):
        Checkpoint.load(tmp_path)


@pytest.mark.parametrize("machine", ["little", "strict"])
def test_gzipped_tables(machine, request, tmp_path):
    request.getfixturevalue(machine)
    path = tmp_path / "devices.csv.gz"
    path.write_bytes(gzip.compress(b"device,a\n" + b"0,1\n" * 10**6))
    with pytest.raises(cosim.ConfigurationError, match=r"devices\.csv\.gz: cannot be read \(.* unfold to"):
        table_of(path)


def test_gzipped_pictures_are_no_larger_than_the_largest_of_the_family():
    packed = io.BytesIO()
    with gzip.open(packed, "wb", compresslevel=1) as file:
        for _ in range(46):
            file.write(bytes(2**20))
    with pytest.raises(idx.WrongContent, match="unfolds to more than the 47,040,016 bytes"):
        idx.unzipped(packed.getvalue())
