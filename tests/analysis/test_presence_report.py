"""Pictures and pages of presence: counts of the rounds, and nothing where all always were present."""

import math

import pytest
import worlds
from matplotlib.figure import Figure

import cosim
from analysis.plots.presence import counts_of, presence_picture
from analysis.report.report import report


class Shifts(cosim.devices.Presence):
    """The first leaves early, the second late, the third comes late, and the last never comes."""

    def windows(self, sim, client):
        windows = {"0": (0.0, 1e-3), "1": (0.0, 0.03), "2": (0.012, math.inf), "3": (0.0, math.inf)}
        number = client[-1]
        if number in windows:
            yield windows[number]


@pytest.fixture(scope="module")
def result():
    """Two cells, of three clients and of two; jobs last some milliseconds."""
    training = worlds.training(num_edge_rounds=2, selection=cosim.selection.Uniform(num_participants=2))
    system = worlds.alike(
        3,
        2,
        protocol=cosim.HFedAvg(training=training),
        end=cosim.AfterRounds(num_global_rounds=2),
        evaluation=cosim.Never(),
    )
    return cosim.run(cosim.evolve(system, devices=cosim.evolve(system.devices, presence=Shifts())))


def test_rounds_count_who_was_there(result):
    rows = result.rounds[result.rounds["level"] == "edge"]
    for row in rows.itertuples():
        there = {
            "edge-00": [row.start_s < 1e-3, row.start_s < 0.03, row.start_s >= 0.012],
            "edge-01": [True, False],
        }[row.node]
        assert row.num_present == sum(there)
        assert row.num_participants == min(2, row.num_present)
        assert row.num_wanted == 2
    assert rows["num_present"].nunique() > 1


def test_the_picture_draws_sums_over_cells(result):
    axes = Figure().subplots()
    presence_picture(axes, result)
    counts = counts_of(result)
    drawn = {line.get_label(): line for line in axes.lines}
    assert list(drawn) == ["there", "wanted", "took part", "arrived"]
    assert drawn["wanted"].get_ydata().tolist() == [4, 4, 4, 4]
    assert drawn["there"].get_xdata().tolist() == counts["start_s"].tolist()
    rows = result.rounds[result.rounds["level"] == "edge"]
    assert sum(drawn["arrived"].get_ydata()) == rows["num_arrived"].sum()


def test_the_page_tells_it_where_some_were_away(result):
    page = report([result])
    told = page[page.index("Present clients") :]
    mean = 100.0 * counts_of(result)["num_present"].mean() / 5
    assert "clients there (%)" in told
    assert f">{mean:.3g}" in told or f"{mean:.4g}" in told


def test_the_page_says_nothing_where_all_always_were():
    assert "Present clients" not in report([cosim.run(worlds.alike(2, 2, evaluation=cosim.Never()))])
