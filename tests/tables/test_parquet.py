"""Parquet: damaged files are tables or one sentence, and numbers of every width are read."""

import io
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosim import ConfigurationError
from cosim.tables.read import table_of


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int8", "uint64", "int32"])
def test_numbers_are_read_whatever_their_width(kind, tmp_path):
    values = pa.array(np.array([1, 2, 100], dtype=kind))
    pyarrow.parquet.write_table(pa.table({"a": values}), tmp_path / "a.parquet")
    assert table_of(tmp_path / "a.parquet").numbers("a").tolist() == [1.0, 2.0, 100.0]


def test_a_row_is_counted_from_1(tmp_path):
    pyarrow.parquet.write_table(pa.table({"a": [1.0, -2.0]}), tmp_path / "a.parquet")
    with pytest.raises(ConfigurationError, match=r"a\.parquet, row 2, column 'a': -2 is below 0"):
        table_of(tmp_path / "a.parquet").numbers("a")


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), max_size=6), st.integers(0, 3000))
def test_damaged_files_are_tables_or_one_sentence(tmp_path, changes, cut):
    buffer = io.BytesIO()
    frame = pa.table({"time_s": np.arange(30.0), "device": [f"client-{row % 3:04d}" for row in range(30)]})
    pyarrow.parquet.write_table(frame, buffer)
    content = bytearray(buffer.getvalue())
    for place, value in changes:
        content[place % len(content)] = value
    (tmp_path / "damaged.parquet").write_bytes(bytes(content[: cut or None]))
    with suppress(ConfigurationError):
        table = table_of(tmp_path / "damaged.parquet")
        table.numbers("time_s")
        table.names("device")
