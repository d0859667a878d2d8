"""Reports of runs without rounds: what was applied, and no section that has nothing to say."""

import re

import attrs
import pytest
from matplotlib.figure import Figure

import cosim
from analysis.designs import designs_of
from analysis.plots import DrawnStudy
from analysis.plots.asynchronous import by_client, speed_picture
from analysis.plots.timeline import round_picture, telling_round, timeline
from analysis.report.applied import applied
from analysis.report.report import report
from cosim import AfterRounds, AfterVersions, HFedAvg, Never
from cosim.ends import AfterUpdates
from cosim.protocols import AsynchronousTraining
from cosim.protocols.asynchronous.trainers import WholeCells
from scenarios import fedbuff, quickstart
from scenarios.command_line.pictures import PlotOptions
from scenarios.command_line.plot import drawn_as

pytestmark = pytest.mark.usefixtures("unwritten_pictures")
NUM_UPDATES = 200
QUICK = attrs.evolve(quickstart.system(), evaluation=Never())
FEDBUFF = attrs.evolve(fedbuff.system(), end=AfterUpdates(num_updates=NUM_UPDATES), evaluation=Never())
ROUNDS = "Why a round took so long"


@pytest.fixture(scope="module")
def result() -> cosim.Result:
    return cosim.run(FEDBUFF)


@pytest.fixture(scope="module")
def barrier() -> cosim.Result:
    return cosim.run(attrs.evolve(QUICK, protocol=HFedAvg(), end=AfterRounds(num_global_rounds=2)))


def row_of(html: str, design: str, heading: str) -> list[str]:
    """Cells of a design in the table with a heading."""
    (body,) = re.findall(rf"{re.escape(heading)}</th>.*?<tbody>(.*?)</tbody>", html, re.DOTALL)
    (row,) = re.findall(rf'<th scope="row">{design}</th>(.*?)</tr>', body)
    return re.findall(r"<td>(.*?)</td>", row)


def test_numbers_of_what_was_applied_are_those_of_its_table(result):
    updates = result.updates
    (row,) = applied(designs_of([result]))["table"].rows
    cells = row[1:]
    num, versions, between_s, staleness, largest, waited_s, busiest, energy_j = map(float, cells)
    assert (num, versions) == (NUM_UPDATES, NUM_UPDATES / 10)
    assert between_s == pytest.approx(updates["applied_s"].max() / versions, rel=1e-3)
    assert (staleness, largest) == (pytest.approx(updates["staleness"].mean()), updates["staleness"].max())
    assert waited_s == pytest.approx((updates["applied_s"] - updates["arrival_s"]).mean(), rel=1e-3)
    counts = updates["client"].value_counts()
    assert busiest == pytest.approx(100.0 * counts.iloc[:6].sum() / NUM_UPDATES, rel=1e-3)
    assert energy_j == pytest.approx(updates["energy_j"].mean(), rel=1e-3)


def test_fast_clients_contribute_most(result):
    found = by_client(result)
    assert found["num_updates"].sum() == NUM_UPDATES
    assert found["num_updates"].is_monotonic_decreasing
    fastest, slowest = found["mean_job_s"].idxmin(), found["mean_job_s"].idxmax()
    assert found.loc[fastest, "num_updates"] > found.loc[slowest, "num_updates"]
    axes = Figure().subplots()
    speed_picture(axes, result)
    (dots,) = axes.lines
    assert dots.get_xdata()[0] == pytest.approx(1e3 * found["mean_job_s"].iloc[0])
    assert list(dots.get_ydata()) == list(found["num_updates"])


def test_a_run_without_rounds_has_no_section_of_rounds(result):
    html = report([result])
    assert ROUNDS not in html
    assert "did not end" not in html
    assert "No global round" not in html
    assert row_of(html, "the run", "runs")[0] == "20"
    assert "No client: every update arrived." in html


def test_beside_a_barrier_each_has_what_it_has(result, barrier):
    html = report([barrier, result])
    assert html.count(f">{ROUNDS}</h2>") == 1
    numbers = (row_of(html, name, "sent per client (Mbit)") for name in ("HFedAvg", "FedBuff"))
    assert [row[:2] for row in numbers] == [["2", "–"], ["–", "20"]]
    assert "did not end" not in html


def test_the_timeline_of_a_run_without_rounds_is_a_stretch_with_every_span_and_every_version(result):
    assert telling_round(result) is None
    axes = Figure().subplots()
    timeline(axes, result, None)
    jobs_s = (result.fates["end_s"] - result.fates["start_s"])[result.fates["outcome"] == "done"]
    length_s = 2.0 * jobs_s.quantile(0.9)
    low = (result.summary.time_s - length_s) / 2.0
    high = low + length_s
    assert axes.get_xlim()[1] == pytest.approx(1e3 * length_s * 1.005)
    spans = result.spans[(result.spans["start_s"] < high) & (result.spans["end_s"] > low)]
    bars = [bar for bar in axes.patches if bar.get_height() > 0.5]
    assert len(bars) == len(spans)
    drawn_s = sum(bar.get_width() for bar in bars) / 1e3
    assert drawn_s == pytest.approx(
        (spans["end_s"].clip(upper=high) - spans["start_s"].clip(lower=low)).sum()
    )
    lines = [s[0][0] for c in axes.collections for s in c.get_segments()]
    made_s = result.updates["applied_s"][result.updates["applied_s"].between(low, high)]
    assert sorted(lines) == pytest.approx(sorted(1e3 * (made_s - low)))
    assert "update applied" in [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("protocol", "end"),
    [
        (cosim.FedBuff(num_updates=2, training=WholeCells()), AfterVersions(num_versions=8)),
        (HFedAvg(training=AsynchronousTraining()), AfterRounds(num_global_rounds=3)),
    ],
    ids=["cells below", "cells above"],
)
def test_cells_that_are_asynchronous_and_cells_of_an_asynchronous_cloud_have_pages(protocol, end):
    result = cosim.run(attrs.evolve(QUICK, protocol=protocol, end=end))
    html = report([result])
    assert "did not end" not in html
    assert (ROUNDS in html) == result.has_rounds
    axes = Figure().subplots()
    round_picture(axes, result, telling_round(result))
    assert "update applied" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_round_of_a_run_without_rounds_is_refused(result):
    options = PlotOptions(kind="timeline", global_round=1)
    with pytest.raises(cosim.ConfigurationError, match=r"has versions, no rounds\."):
        drawn_as(DrawnStudy(designs_of([result])), options)
    with pytest.raises(ValueError, match="there are none"):
        report([result], global_round=1)
