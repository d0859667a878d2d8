"""Tables of a user's are read as Python reads numbers, whatever the version of pandas."""

from cosim.files.checked_rows import CheckedRows


def test_decimals_are_read_to_the_last_bit(tmp_path):
    """Nearly a third of these come out by a bit too small or too large in pandas 2, if it is not told."""
    decimals = [repr((number * 0.6180339887498949) % 1.0) for number in range(1, 200)]
    path = tmp_path / "rates.csv"
    path.write_text("\n".join(["rate_bps", *decimals]))
    assert CheckedRows(path).values("rate_bps").tolist() == [float(text) for text in decimals]
