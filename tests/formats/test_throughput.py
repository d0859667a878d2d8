"""Files of seconds and Mbit/s: uploads by hand at both ends of an interval, refusals."""

import pytest
from fixtures.fixes import has_fix
from uploads import ends_s

from cosim import ConfigurationError
from cosim.formats import throughput


@pytest.fixture(name="file")
def fixture_file(tmp_path):
    path = tmp_path / "bus.log"
    path.write_text("5.0 2.0\n6.0\t0.5\n8.0,4\n")
    return path


def test_uploads_by_hand(tmp_path, file):
    """2 Mbit in a second, 1 Mbit in two, 8 Mbit in two; then it begins again."""
    rates = throughput(file)
    assert ends_s(rates, tmp_path, 2.5e6) == pytest.approx([2.0], rel=1e-12)
    assert ends_s(rates, tmp_path, 12e6) == pytest.approx([5.5], rel=1e-12)


def test_rates_of_the_time_that_a_stamp_ends(tmp_path, file):
    """0.5 Mbit in a second and 8 Mbit in two; 2.0 Mbit/s is of no interval."""
    rates = throughput(file, stamp="ends")
    assert ends_s(rates, tmp_path, 2.5e6) == pytest.approx([1.5], rel=1e-12)
    assert ends_s(rates, tmp_path, 8.75e6) == pytest.approx([3.5], rel=1e-12)


def test_another_unit(tmp_path, file):
    assert ends_s(throughput(file, unit_bps=1e3), tmp_path, 2.5e3) == pytest.approx([2.0], rel=1e-12)


@pytest.mark.parametrize("unit_bps", [0.0, -1e6, float("nan")])
def test_a_unit_is_above_0(file, unit_bps):
    with pytest.raises(ConfigurationError, match=r"^unit_bps = .*: must be above 0\. Use 1e6 for Mbit/s\.$"):
        throughput(file, unit_bps=unit_bps)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1\n2\n", r"row 1: has 1 words.*format mahimahi"),
        ("0 1\n1 2 3\n", "row 2: has 3 words"),
        ("time rate\n0 1\n", "row 1, column 'seconds': 'time' is no number"),
        ("0 1\n1 -2\n", "row 2, column 'rate': '-2' is no number of 0 or above"),
        ("0 1\n1 nan\n", "row 2, column 'rate'"),
        ("0 1\n0 2\n", "row 2: 0 s is not after the 0 s above"),
        ("0 1\n", "one line"),
        ("0 1\n2e9 1\n", r"bus: ends after 4e\+09 s, and the clock at 1e9 s"),
        ("0 1\n1 2e40\n", r"bus: has a rate of 2e\+46 bit/s"),
        ("", "is empty"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path, text, words):
    path = tmp_path / "bus.log"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=words) as error:
        throughput(path)
    assert has_fix(str(error.value))
