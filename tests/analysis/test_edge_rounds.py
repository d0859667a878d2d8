"""Pictures and pages of runs that keep rows of edge rounds alone: what they tell, and what they refuse."""

import re
import warnings

import attrs
import numpy as np
import pytest
from matplotlib.figure import Figure

import cosim
from analysis.designs import designs_of
from analysis.plots import DrawnStudy, energy, late_picture, overview, times_picture
from analysis.report.report import report
from cosim.testing import small_system
from scenarios.command_line.pictures import PlotOptions
from scenarios.command_line.plot import drawn_as

FIX = "the run kept no rows of its clients. Use cosim run --records all"


def result_of(records="rounds", deadline_s=2e-3, num_global_rounds=3, num_cells=2, seed=1):
    system = small_system(cosim.Deadline(deadline_s=deadline_s))
    end = cosim.AfterRounds(num_global_rounds=num_global_rounds)
    changes = {"evaluation": cosim.Never(), "num_cells": num_cells, "seed": seed, "end": end}
    return cosim.run(attrs.evolve(system, **changes), records=records)


def alone(result):
    """The run with the first of its edge rounds only."""
    return result.with_tables(tallies=result.tallies.iloc[:1])


def axes():
    return Figure().subplots()


def test_edge_rounds_are_a_distribution_from_the_shortest_to_the_longest():
    result, drawn = result_of(), axes()
    times_picture(drawn, result)
    scale = {"s": 1.0, "ms": 1e3}[re.findall(r"\((m?s)\)", drawn.get_xlabel())[0]]
    lasted_s = result.tallies["end_s"] - result.tallies["start_s"]
    (line,) = (line for line in drawn.lines if line.get_label() == "edge round")
    x, y = line.get_xdata(), line.get_ydata()
    assert (x[0], x[-1]) == pytest.approx((scale * lasted_s.min(), scale * lasted_s.max()))
    assert (y[0], y[-1]) == (0.0, 100.0)
    assert np.interp(50.0, y, x) == pytest.approx(scale * lasted_s.median())


def test_one_edge_round_is_a_line_upwards():
    result, drawn = alone(result_of()), axes()
    times_picture(drawn, result)
    for line in drawn.lines:
        assert list(line.get_ydata()) == [0.0, 100.0]
        assert len(set(line.get_xdata())) == 1


def test_late_updates_by_global_round():
    result, drawn = result_of(), axes()
    late_picture(drawn, result)
    (line,) = drawn.lines
    told = result.tallies
    late = 100.0 * (1.0 - told["num_arrived"] / told["num_participants"])
    assert 0.0 < late.mean() < 100.0
    assert list(line.get_ydata()) == pytest.approx(late.groupby(told["global_round"]).median().tolist())
    assert drawn.get_xlim() == (0.5, 3.5)


@pytest.mark.parametrize(
    ("deadline_s", "num_global_rounds", "num_cells"), [(1e-4, 1, 1), (2e-3, 3, 2), (100.0, 3, 2)]
)
def test_small_runs_and_those_where_nobody_arrives_are_drawn_in_peace(
    deadline_s, num_global_rounds, num_cells
):
    result = result_of(deadline_s=deadline_s, num_global_rounds=num_global_rounds, num_cells=num_cells)
    assert (result.tallies["num_arrived"].sum() == 0) == (deadline_s == 1e-4)
    for run in (result, alone(result)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            figure = overview(run)
            figure.draw_without_rendering()
            report([run])
        late = figure.axes[2]
        assert all(tick.is_integer() for tick in late.get_xticks())


@pytest.mark.usefixtures("unwritten_pictures")
def test_ten_thousand_cells_are_thinned():
    result = result_of()
    tallies = result.tallies.loc[np.tile(result.tallies.index, 10_000 // 2)]
    places = np.arange(len(tallies)) % 10_000
    tallies = tallies.assign(edge=np.char.mod("edge-%02d", places).astype(object)).reset_index(drop=True)
    many, drawn = result.with_tables(tallies=tallies.astype({"edge": "str"})), axes()
    times_picture(drawn, many)
    assert max(len(line.get_xdata()) for line in drawn.lines) == 1_000
    html = report([many])
    assert "Cells; 20 of 10,000, longest on average" in html


def bars(designs):
    drawn = axes()
    energy(drawn, designs)
    return {str(c.get_label()): [patch.get_width() for patch in c.patches] for c in drawn.containers}


def test_energy_is_drawn_by_activity_where_its_fate_is_not_known():
    rows, few = result_of("all"), result_of()
    (of_rows,), (of_few,) = (list(bars(designs_of([run])).items())[:1] for run in (rows, few))
    assert of_few[0] == of_rows[0] == "training"
    found = bars(designs_of([few]))
    assert set(found) == {"training", "sending"}
    assert sum(map(sum, found.values())) == pytest.approx(rows.summary.energy_j, rel=1e-9)
    assert any(part.startswith("wasted") for part in bars(designs_of([rows])))


def test_beside_runs_with_rows_all_energy_is_drawn_by_activity():
    rows, few = result_of("all"), result_of()
    other = attrs.evolve(few, config=few.config | {"system": few.config["system"] | {"num_cells": 9}})
    found = bars(designs_of([rows, other]))
    assert set(found) == {"training", "sending"}
    for widths in found.values():
        assert widths[0] == pytest.approx(widths[1], rel=1e-9)


@pytest.mark.usefixtures("unwritten_pictures")
def test_a_page_shows_edge_rounds_and_says_what_takes_rows_of_clients():
    html = report([result_of()])
    assert html.count(FIX) == 3  # the critical path, the timeline, reasons of drops
    assert "Edge rounds, without their clients" in html
    assert "Cells; all;" in html
    assert "wasted energy (%)" not in html
    both = report([result_of("all"), result_of("all", seed=2)])
    assert "Edge rounds, without their clients" not in both
    assert FIX not in both


def test_plots_use_edge_rounds_or_say_what_they_take():
    (design,) = designs_of([result_of()])
    drawn = drawn_as(DrawnStudy([design]), PlotOptions(kind="cdf"))[0].axes[0]
    assert drawn.get_ylabel() == "share of edge rounds (%)"
    with pytest.raises(cosim.ConfigurationError, match=FIX):
        drawn_as(DrawnStudy([design]), PlotOptions(kind="timeline"))
    few = result_of()
    other = attrs.evolve(few, config=few.config | {"system": few.config["system"] | {"num_cells": 9}})
    with pytest.raises(cosim.ConfigurationError, match=FIX):
        drawn_as(DrawnStudy(designs_of([few, other])), PlotOptions(kind="cdf"))
