"""Pivots: each design in its place, with the numbers that it has elsewhere."""

import pytest
from study_tables import runs

from analysis.metrics import metrics
from analysis.samples import samples
from analysis.tables.captions import captioned
from analysis.tables.cells import Number, text_of, value_of
from analysis.tables.pivots import pivot_frame, pivoted


def test_rows_and_columns_are_the_values_of_the_fields():
    found = pivoted(runs(), ["time_s"], ["design"], ["bandwidth_hz"])
    assert found.head == ["design", "500 kHz", "2 MHz"]
    own = samples(runs(), metrics(runs())["time_s"])
    cells = [[text_of(value_of(own[d], 1e3)) for d in line] for line in ((0, 1), (2, 3))]
    assert [[row[0], *map(text_of, row[1:])] for row in found.rows] == [["A", *cells[0]], ["B", *cells[1]]]
    across = pivoted(runs(), ["time_s"], ["x.bandwidth_hz"])
    assert across.head == ["bandwidth (MHz)", "A", "B"]
    assert [*map(text_of, across.rows[0][1:])] == [cells[0][0], cells[1][0]]
    assert pivoted(runs(), ["time_s"], columns=["design"]).head == across.head


def test_several_metrics_stand_below_each_other():
    found = pivoted(runs(), ["time_s", "dropped_share"], ["design"], ["bandwidth_hz"])
    assert [row[:2] for row in found.rows] == [
        ["simulated time (ms)", "A"],
        ["", "B"],
        ["dropped updates (%)", "A"],
        ["", "B"],
    ]


def test_the_best_is_found_in_each_column():
    table = runs()
    table["time_s"] = [1.0, 2.0, 3.0, 4.0, 1.5, 2.501, 3.5, 3.9]
    found = pivoted(table, ["time_s"], ["design"], ["bandwidth_hz"])
    assert [[cell.is_best for cell in row if isinstance(cell, Number)] for row in found.rows] == [
        [True, False],
        [False, False],
    ]
    assert "Bold:" in captioned(found, table, ["time_s"]).caption


def test_a_caption_says_seeds_level_and_kind():
    caption = captioned(pivoted(runs(), ["time_s"], ["design"]), runs(), ["time_s"], lead="Times.").caption
    assert caption == "Times. Means over 2 seeds with 95 % intervals (Student's t over seeds)."
    caption = captioned(pivoted(runs(), ["dropped_share"], ["design"]), runs(), ["dropped_share"]).caption
    assert "of shares on the logit" in caption


def test_csv_has_every_number_unrounded():
    found = pivot_frame(runs(), ["time_s"], ["design"], ["bandwidth_hz"])
    own = samples(runs(), metrics(runs())["time_s"])
    assert found["base"].tolist() == ["A", "B"]
    for row, designs in zip(found.to_dict("records"), ((0, 1), (2, 3)), strict=True):
        for name, design in zip(("500 kHz", "2 MHz"), designs, strict=True):
            value = own[design].value
            numbers = [row[f"{name}: {column}"] for column in ("value", "low", "high")]
            assert numbers == [value.estimate, value.low, value.high]


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        (
            ["colour"],
            [],
            r"--rows colour: is nothing in which the designs differ\. Use one of: design, x\.band",
        ),
        (["design"], ["design"], r"--columns design: is in --rows, too\. Use it in one of both\."),
        (["design", "bandwidth_hz"], [], r"--rows design: designs differ in nothing else\. Use "),
    ],
)
def test_fields_that_make_no_pivot_are_refused(rows, columns, message):
    with pytest.raises(ValueError, match=message):
        pivoted(runs(), ["time_s"], rows, columns)
