"""Pictures of asynchronous runs tell what the table of applied updates does."""

import attrs
import pytest
from matplotlib.figure import Figure

import cosim
from analysis.plots.asynchronous import contributions_picture, staleness_picture, versions_picture
from analysis.plots.overview import overview
from scenarios import fedasync, fedbuff


@pytest.fixture(scope="module", params=[fedasync, fedbuff], ids=["fedasync", "fedbuff"])
def result(request) -> cosim.Result:
    end = cosim.ends.AfterUpdates(num_updates=200)
    return cosim.run(attrs.evolve(request.param.system(), end=end, evaluation=cosim.Never()))


def test_staleness_is_counted(result):
    axes = Figure().subplots()
    staleness_picture(axes, result)
    shares = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in axes.patches}
    wanted = 100.0 * result.updates["staleness"].value_counts(normalize=True)
    for staleness, share in wanted.items():
        assert shares[staleness] == pytest.approx(share)
    assert sum(shares.values()) == pytest.approx(100.0)
    assert axes.lines[0].get_xdata()[0] == pytest.approx(result.updates["staleness"].mean())


def test_who_contributes_most_comes_first(result):
    axes = Figure().subplots()
    contributions_picture(axes, result)
    updates = axes.lines[0]
    counts = result.updates["client"].value_counts()
    assert updates.get_ydata()[1] == pytest.approx(100.0 * counts.max() / counts.sum())
    assert list(updates.get_xdata()[[0, -1]]) == list(updates.get_ydata()[[0, -1]]) == [0.0, 100.0]
    assert (updates.get_ydata() >= updates.get_xdata() - 1e-9).all()


def test_versions_come_when_they_are_made(result):
    axes = Figure().subplots()
    versions_picture(axes, result)
    steps = axes.lines[0]
    assert steps.get_ydata()[-1] == result.updates["made_version"].max()
    assert steps.get_xdata()[0] == result.updates["applied_s"].iloc[0]


def test_an_overview_of_a_run_without_rounds_shows_them(result):
    first, stretch, *others = (axes.get_xlabel() for axes in overview(result).axes)
    assert first == "simulated time (s)"
    assert stretch.startswith("time since")
    assert others == ["staleness (versions)", "clients that contribute most (%)"]
