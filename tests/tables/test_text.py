"""Text: the fast way to read a csv file reads what the slow one does, and rows keep their lines."""

import gzip
import math
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cosim import ConfigurationError
from cosim.tables import text
from cosim.tables.read import table_of
from cosim.tables.text import table_of_text
from cosim.tables.text_column import number_of

NUMBERS = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(allow_nan=False).map(lambda number: f"{number:.25e}"),
    st.integers(-(10**25), 10**25).map(str),
    st.sampled_from(
        ["", ".5", "5.", "+1", "1_0", "0x1", "1e400", "1e-400", "inf", "nan", "NaN", "１", "1e", "-", "1d3"]
    ),
)


def told(path) -> object:
    """Table that is read from a file, or the error."""
    try:
        table = table_of_text(path)
    except ConfigurationError as error:
        return str(error)
    cells = {name: table._columns[name].texts().to_pylist() for name in table.columns}
    return cells, [table.line(row) for row in range(table.num_rows)]


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@example('a,b\n1,"2"3\n')
@example('a,b\n1,""2\n')
@example('a,b\n1,2"\n')
@example('a,b\n"1","2\n3,4\n')
@given(st.text(alphabet='ab1,,,"\n\n\r \t.#é', max_size=30).map(lambda body: f"a,b\n{body}"))
def test_what_is_split_fast_is_what_the_walk_reads(tmp_path, monkeypatch, body):
    path = tmp_path / "table.csv"
    path.write_bytes(body.encode())
    fast = told(path)
    with monkeypatch.context() as patch:
        patch.setattr(text, "_split", lambda *_: None)
        assert told(path) == fast


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_numbers_are_those_of_python_by_our_rule(tmp_path, cells):
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(["n,a", *(f"{cell},0" for cell in cells)]), encoding="utf-8")
    found, gaps = table_of_text(path)._columns["a"].numbers(), [not cell for cell in cells]
    assert found[0].tolist() == [0.0] * len(cells)
    values, are_gaps = table_of_text(path)._columns["n"].numbers()
    assert are_gaps.tolist() == gaps
    np.testing.assert_array_equal(values, [number_of(cell) for cell in cells])


@pytest.mark.parametrize(
    ("cell", "number"),
    [("1e3", 1e3), (".5", 0.5), ("5.", 5.0), ("+1", 1.0), ("-Inf", -math.inf), ("5e-324", 5e-324)]
    + [(cell, None) for cell in ("1_0", "0x1", "1e400", "nan", "１", "1,5", "", "e", "--1", "True", "1 0")],
)
def test_a_number_is_written_in_one_way(cell, number):
    found = number_of(cell)
    assert math.isnan(found) if number is None else found == number


def test_a_row_is_called_by_its_line(tmp_path):
    """Empty lines and lines in quotes count, though they are no rows."""
    path = tmp_path / "table.csv"
    path.write_text('\na,b\n\n"x\ny",1\n\n0,2\n1,z\n')
    with pytest.raises(
        ConfigurationError, match=r"table\.csv, row 8, column 'b': 'z' is no number\. Use a number"
    ):
        table_of(path).numbers("b")


def test_decimals_are_read_to_the_last_bit(tmp_path):
    decimals = [repr((number * 0.6180339887498949) % 1.0) for number in range(1, 200)]
    path = tmp_path / "rates.csv"
    path.write_text("\n".join(["rate_bps", *decimals]))
    assert table_of(path).numbers("rate_bps").tolist() == [float(decimal) for decimal in decimals]


def test_a_column_alone_has_no_gaps(tmp_path):
    path = tmp_path / "rates.csv"
    path.write_text("rate_bps\n1\n\n2\n")
    with pytest.raises(ConfigurationError, match=r"row 3, column 'rate_bps': is empty"):
        table_of(path).numbers("rate_bps")


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["csv", "csv.gz"]),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=8),
    st.integers(0, 400),
    st.integers(0, 60),
)
def test_damaged_files_are_tables_or_one_sentence(tmp_path, end, bytes_, cut, zeros):
    """Bytes are changed, a piece is cut out, zeros are added."""
    content = b"time_s,device,rate_bps\n" + b"".join(
        b"%d,client-%04d,%d.5\n" % (row, row % 2, row * 7) for row in range(12)
    )
    content = bytearray(gzip.compress(content) if end == "csv.gz" else content)
    for place, value in bytes_:
        content[place % len(content)] = value
    path = tmp_path / f"damaged.{end}"
    path.write_bytes(bytes(content[: cut or None]) + b"\0" * (zeros - 50))
    with suppress(ConfigurationError):
        table = table_of(path)
        table.numbers("time_s")
        table.names("device")
