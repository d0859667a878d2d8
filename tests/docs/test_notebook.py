"""Notebooks: short tables of systems, results and studies, and a notebook that runs from top to bottom."""

from html.parser import HTMLParser
from pathlib import Path

import attrs
import notebooks
import pytest
from matplotlib.figure import Figure

from cosim.studies.study import Study

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "looking.ipynb"


class Cells(HTMLParser):
    """The words of a table, row by row."""

    def __init__(self, html):
        super().__init__()
        self.rows = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])

    def handle_data(self, data):
        if self.rows:
            self.rows[-1].append(data)


@pytest.fixture(scope="module")
def shown():
    """Output of each cell of the notebook."""
    return notebooks.shown(NOTEBOOK)


def test_the_notebook_runs_and_every_cell_shows_something(shown):
    kinds = [type(value).__name__ for value in shown]
    assert kinds == ["System", "Result", "Figure", "DataFrame", "DataFrame", "list", "Figure"]
    assert shown[5] == ["500 kHz", "1 MHz"]
    assert all(len(value.axes) == 2 for value in shown if isinstance(value, Figure))


def test_the_notebook_is_kept_without_outputs():
    assert notebooks.is_without_outputs(NOTEBOOK)


def test_a_result_shows_its_summary(shown):
    result = shown[1]
    rows = dict(Cells(result._repr_html_()).rows)
    assert rows["simulated"] == f"{result.summary.time_s:.4g} s"
    assert rows["test accuracy"] == f"{100 * result.summary.scores['accuracy']:.1f} %"
    assert "\n" not in repr(result)
    assert len(repr(result)) < 300


def test_a_system_and_a_study_show_what_they_are(shown):
    system = shown[0]
    assert ["protocol", "HFedAvg"] in Cells(system._repr_html_()).rows
    study = Study(system, {"num_local_steps": tuple(range(1, 31))}, 5)
    rows = dict(Cells(study._repr_html_()).rows)
    assert (rows["designs"], rows["seeds"], rows["further designs"]) == ("30", "5", "18")
    assert max(len(repr(system)), len(repr(study))) < 300


def test_what_is_shown_is_text(shown):
    hostile = attrs.evolve(shown[1], summary=shown[1].summary._replace(status="<script>alert(1)</script>"))
    assert "<script" not in hostile._repr_html_()
    assert dict(Cells(hostile._repr_html_()).rows)["status"] == "<script>alert(1)</script>"
