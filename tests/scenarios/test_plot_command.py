"""`cosim plot`: one picture of a size and a format, with ticks of eight points, and what is refused."""

import io
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

import cosim
from analysis.designs import designs_of
from analysis.plots.pareto import front
from cosim import AfterRounds, EdgeTraining, FixedShares, HFedAvg, Radio, Sgd, System, evolve
from cosim.data import Synthetic
from cosim.records.rows import Span
from cosim.studies.study import Study
from scenarios.command_line import main
from scenarios.command_line.pictures import KINDS, PlotOptions
from scenarios.command_line.plot import drawn_as, inches, study_of

SYSTEM = System(
    num_cells=2,
    num_clients=4,
    model="relu-12-8-4",
    data=Synthetic(),
    uplink=Radio(sharing=FixedShares(bandwidth_hz=1e6)),
    protocol=HFedAvg(
        training=EdgeTraining(
            num_edge_rounds=2, steps=cosim.SameSteps(num_local_steps=2), local=Sgd(batch_size=10)
        )
    ),
    end=AfterRounds(num_global_rounds=2),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A study of four designs, and two seeds each."""
    made = tmp_path_factory.mktemp("looked")
    grid = {"bandwidth_hz": (5e5, 1e6), "num_local_steps": (2, 4)}
    Study(SYSTEM, grid, 2).run(made / "s", executor=ThreadPoolExecutor(1))
    return made


def call(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in arguments])
    return ended.value.code


def drawn(found, **options):
    """The picture of designs, with the targets of the options."""
    options = PlotOptions(**options)
    return drawn_as(study_of(found, [], [], options), options)[0]


def designs(folder):
    return designs_of([cosim.Result.load(each) for each in sorted((folder / "s" / "runs").iterdir())])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("timeline", "presence")])
def test_a_picture_is_as_wide_as_asked_and_its_ticks_have_eight_points(folder, kind):
    figure = drawn(designs(folder), kind=kind, width="88mm", target=("0.1",) if kind == "pareto" else ())
    assert figure.get_figwidth() == pytest.approx(88 / 25.4)
    (axes,) = figure.axes
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels(), axes.xaxis.label, axes.yaxis.label):
        assert label.get_fontsize() == 8.0
    box, page = axes.get_tightbbox(), figure.bbox
    assert page.x0 - 1 <= box.x0 <= box.x1 <= page.x1 + 1
    assert page.y0 - 1 <= box.y0 <= box.y1 <= page.y1 + 1


def test_the_formats_are_those_of_the_names_and_the_same_bytes_each_time(folder):
    starts = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}
    for kind, start in starts.items():
        paths = [folder / f"{number}.{kind}" for number in (1, 2)]
        for path in paths:
            assert call("plot", folder / "s", "--out", path, "--width", "4in") == 0
        assert paths[0].read_bytes().startswith(start)
        assert paths[0].read_bytes() == paths[1].read_bytes()
    assert imread(folder / "1.png").shape[1] == 4 * 300


def test_a_study_is_drawn_by_its_names(folder):
    assert call("plot", folder / "s", "--kind", "energy", "--out", folder / "e.svg") == 0
    svg = (folder / "e.svg").read_text()
    shown = re.sub(r"<[^>]*>|\s", "", svg)
    for name in pd.read_parquet(folder / "s" / "runs.parquet")["name"].unique():
        assert name.replace(" ", "") in shown


def test_a_factor_is_drawn_from_means_with_a_line_for_what_else_differs(folder):
    found = designs(folder)
    figure = drawn(found, kind="factor", field="bandwidth", metric="energy_j")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "bandwidth (MHz)"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["2 local steps", "4 local steps"]
    lines = {str(line.get_label()): line for line in axes.lines if str(line.get_label()).endswith("steps")}
    assert list(lines) == ["2 local steps", "4 local steps"]
    for line, steps in zip(lines.values(), (2, 4), strict=True):
        own = [d for d in found if d.fields["protocol.training.steps.num_local_steps"] == steps]
        assert list(line.get_xdata()) == pytest.approx([0.5, 1.0], abs=0.005)
        means = [np.mean([run.summary.energy_j for run in design.counted]) for design in own]
        assert list(line.get_ydata()) == pytest.approx([1e3 * mean for mean in means])
    dots = {round(y, 9) for line in axes.lines if line.get_marker() == "." for y in line.get_ydata()}
    assert dots == {round(1e3 * run.summary.energy_j, 9) for design in found for run in design.counted}


@pytest.mark.parametrize(
    ("bands_hz", "head", "least"),
    [
        (np.geomspace(1e6, 3e7, 30), "bandwidth (MHz)", "1"),
        (np.geomspace(1.0, 1e12, 13), "bandwidth", "1 Hz"),
        (np.geomspace(1.0, 1e12, 40), "bandwidth", "1 Hz"),
    ],
)
def test_values_along_an_axis_are_read_one_by_one_in_units_of_their_size(bands_hz, head, least, folder):
    (first, *_) = designs(folder)
    field = "uplink.sharing.bandwidth_hz"
    found = [evolve(first, called=f"{hz}", fields=first.fields | {field: float(hz)}) for hz in bands_hz]
    figure = drawn(found, kind="factor", field="bandwidth", metric="energy_j")
    (axes,) = figure.axes
    figure.savefig(io.BytesIO(), dpi=100)
    shown = [text for text in axes.get_xticklabels() if text.get_text()]
    boxes = [text.get_window_extent() for text in shown]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    assert (axes.get_xlabel(), shown[0].get_text(), len(axes.get_xticks())) == (head, least, len(bands_hz))
    assert len(shown) >= 4
    assert axes.get_xticklabels()[-1].get_text() == ("30" if head.endswith(")") else "1 THz")


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("energy_j", "energy (mJ)"),
        ("energy", "energy (mJ)"),
        ("time_s", "simulated time (ms)"),
        ("dropped_share", "dropped updates (%)"),
        ("bits_per_client", "sent per client (kbit)"),
        ("accuracy", "test accuracy (%)"),
    ],
)
def test_a_metric_goes_by_its_words_or_by_its_column_as_in_tables(folder, metric, words):
    figure = drawn(designs(folder), kind="factor", metric=metric)
    assert figure.axes[0].get_ylabel().replace("\n", " ") == words


def test_a_target_that_must_hold_takes_longer(folder):
    found = designs(folder)
    alone, held = (drawn(found, kind="pareto", target=("0.3",), held=held).axes[0] for held in (1, 2))
    assert alone.get_xlabel() == "time to 30 % test accuracy (ms)"
    assert held.get_ylabel() == "energy to 30 % test accuracy held\nfor 2 evaluations (mJ)"
    times_s = [[bar.get_children()[0].get_xdata()[0] for bar in axes.containers] for axes in (alone, held)]
    for (first, second), design in zip(zip(*times_s, strict=True), found, strict=True):
        reached = [[run.time_to_target_s(0.3, held) for run in design.counted] for held in (1, 2)]
        assert None not in reached[0]
        assert first == pytest.approx(1e3 * np.mean(reached[0]))
        assert second > first


def test_targets_are_lines_in_curves(folder):
    (axes,) = drawn(designs(folder), target=("0.4", "50%")).axes
    level = [line.get_ydata()[0] for line in axes.lines if len(set(line.get_ydata())) == 1]
    assert level[-2:] == [40.0, 50.0]


@pytest.mark.parametrize("kind", ["energy", "timeline", "cdf"])
def test_pictures_of_clients_need_their_rows(folder, kind):
    run = designs(folder)[0].counted[0]
    bare = run.with_tables(spans=run.spans.iloc[:0], fates=run.fates.iloc[:0])
    with pytest.raises(cosim.ConfigurationError, match="the run kept no rows of its clients"):
        drawn(designs_of([bare]), kind=kind)


def test_what_is_of_one_design_refuses_several(folder):
    for kind in ("timeline", "presence"):
        with pytest.raises(cosim.ConfigurationError, match=f"--kind {kind}: of one design, and these are 4"):
            drawn(designs(folder), kind=kind)


def test_a_long_legend_leaves_room_for_the_bar(folder):
    run = designs(folder)[0].counted[0]
    spans = [Span("client-0000", f"doing {n}", 0.0, 1.0, 1.0, "done") for n in range(12)]
    found = designs_of([run.with_tables(spans=pd.DataFrame(spans))])
    figure = drawn(found, kind="energy")
    figure.canvas.draw()
    (axes,) = figure.axes
    assert axes.get_window_extent().height / figure.dpi > 0.25


def test_arrivals_are_a_distribution_that_ends_where_drops_begin(folder):
    run = designs(folder)[0].counted[0]
    fates = run.fates.assign(
        outcome=["deadline" if number % 4 == 0 else "done" for number in range(len(run.fates))]
    )
    figure = drawn(designs_of([run.with_tables(fates=fates)]), kind="cdf")
    (line,) = figure.axes[0].lines
    heights = line.get_ydata()
    assert (np.diff(heights) >= 0.0).all()
    assert heights[-1] == pytest.approx(75.0)


def test_a_front_has_those_that_no_other_beats():
    places = [(1.0, 5.0), (2.0, 2.0), (2.5, 3.0), (4.0, 1.0), (5.0, 1.0), (2.0, 2.5)]
    assert front(places) == [0, 1, 3]
    rng = np.random.default_rng(1)
    places = [tuple(place) for place in rng.integers(0, 12, (60, 2)).astype(float)]
    beaten = [any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in places) for a in places]
    assert {places[index] for index in front(places)} == {
        a for a, lost in zip(places, beaten, strict=True) if not lost
    }


@pytest.mark.parametrize(("length", "found"), [("3.5in", 3.5), ("3.5", 3.5), ("50.8mm", 2.0), ("72pt", 1.0)])
def test_lengths(length, found):
    assert inches("--width", length) == pytest.approx(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--kind", "pie"), "--kind pie: no such picture."),
        (("--kind", "pareto"), "needs a target. Use --target 0.8"),
        (("--kind", "pareto", "--target", "0.99"), "no run reached it"),
        (("--kind", "pareto", "--target", "80"), "Did you mean 0.8?"),
        (("--kind", "accuracy-time", "--target", "0.5,80"), "Did you mean 0.8?"),
        (("--kind", "pareto", "--target", "0.1,0.2"), "needs one target, and 2 are given"),
        (("--kind", "energy", "--target", "0.1"), "--target: a picture of --kind energy has none"),
        (("--target", "0.1", "--held", "2"), "--held: a picture of --kind accuracy-time has no time"),
        (("--kind", "pareto", "--held", "2"), "--held 2: there is no target"),
        (("--kind", "timeline"), "of one design, and these are 4"),
        (("--kind", "factor", "--field", "radius"), "--field radius: must name exactly one. Use one of"),
        (("--kind", "energy", "--field", "bandwidth"), "--field: a picture of --kind energy has none"),
        (("--metric", "energy"), "--metric energy: must name exactly one. Use one of accuracy"),
        (("--kind", "cdf", "--global-round", "1"), "--global-round: a picture of --kind cdf has none"),
        (("--kind", "factor", "--metric", "speed"), "--metric speed: must name exactly one. Use one of"),
        (("--width", "wide"), "--width wide: must be from 1in to 40in"),
        (("--out", "fig.gif"), "fig.gif: no known format"),
    ],
)
def test_what_is_refused(folder, arguments, message, capsys):
    assert call("plot", folder / "s", *arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("Error:") == 1
