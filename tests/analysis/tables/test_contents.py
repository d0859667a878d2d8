"""Contents of tables: the numbers of samples, in the units of their heads."""

import io

import pandas as pd
from study_tables import runs

from analysis.intervals.statistics import Interval
from analysis.metrics import metrics
from analysis.studies import compared
from analysis.tables.cells import Number, number_of
from analysis.tables.contents import by_design, by_metric, frame
from analysis.tables.factors import factors_of

EXACTLY = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
"""Converter that reads decimals like Python: pandas does so since version 3.1, or where it is told."""


def test_factors_are_columns_with_their_units_in_the_head():
    head, rows = factors_of(runs())
    assert head == ["design", "bandwidth (MHz)"]
    assert rows == {0: ["A", "0.5"], 1: ["A", "2"], 2: ["B", "0.5"], 3: ["B", "2"]}
    one = runs().query("base == 'A' and seed == 1").assign(**{"x.bandwidth_hz": 5e5})
    one.attrs = runs().attrs
    assert factors_of(one)[0] == ["design"]


def test_cells_are_the_numbers_of_compared_in_the_unit_of_the_head():
    found = by_design(runs(), ["time_s", "energy_j", "dropped_share"])
    assert found.head[2:] == ["simulated time (ms)", "energy (kJ)", "dropped updates (%)"]
    known = {(row.design, row.metric): row for row in compared(runs())}
    shown = (("time_s", 1e3), ("energy_j", 1e-3), ("dropped_share", 100.0))
    for design, row in enumerate(found.rows):
        for cell, (metric, scale) in zip(row[2:], shown, strict=True):
            value = known[design, metric].value
            assert cell[:2] == number_of(value, scale)[:2]
    differences = by_design(runs(), ["time_s"], reference=1)
    assert differences.rows[1][2] == ""
    assert differences.rows[0][2] == number_of(known_difference(), 1e3)


def known_difference() -> Interval:
    """Of design 0 to design 1."""
    (row,) = (row for row in compared(runs(), 1) if (row.design, row.metric) == (0, "time_s"))
    assert row.difference is not None
    return row.difference


def test_csv_keeps_every_number():
    read = pd.read_csv(io.StringIO(frame(runs(), metrics(runs()), 0).to_csv(index=False)), **EXACTLY)
    assert list(read["x.bandwidth_hz"].unique()) == [5e5, 2e6]
    for row in compared(runs()):
        (own,) = read[(read["design"] == row.design) & (read["metric"] == row.metric)].itertuples()
        assert (own.value, own.low, own.high) == (row.value.estimate, row.value.low, row.value.high)
        if row.difference is not None:
            assert own.difference == row.difference.estimate


def best(table) -> list[list[bool]]:
    return [[cell.is_best for cell in row if isinstance(cell, Number)] for row in table.rows]


def test_the_best_is_marked_only_where_all_pairs_say_so():
    """Design 0 is faster than each other by 500 ms and more, always alike; or the difference varies."""
    found = runs()
    assert not any(map(any, best(by_design(found, ["time_s"]))))
    found["time_s"] = [1.0, 2.0, 1.5, 2.501, 1.6, 2.6, 1.7, 2.7]
    assert best(by_design(found, ["time_s"])) == [[True], [False], [False], [False]]
    found["time_s"] = [1.0, 2.0, 1.5, 1.9, 1.6, 2.6, 1.7, 2.7]
    assert not any(map(any, best(by_design(found, ["time_s"]))))


def test_by_metric_says_which_design_the_differences_are_to():
    found = by_metric(runs(), ["time_s"], reference=2)
    assert found.head[-1] == "difference to B, 0.5 MHz, seed by seed"
    assert [row[-1] == "-" for row in found.rows] == [False, False, True, False]
    assert [row[0] for row in found.rows] == ["simulated time (ms)", "", "", ""]


def test_a_column_of_a_field_is_called_by_the_class_of_its_part():
    field = "training.waiting.deadline_s"
    runs = pd.DataFrame({"design": [0, 1], "name": ["a", "b"], field: [0.04, 0.06]})
    runs.attrs = {"fields": [field], "parts": {"training.waiting": "Deadline"}}
    assert factors_of(runs) == (["deadline (ms)"], {0: ["40"], 1: ["60"]})
