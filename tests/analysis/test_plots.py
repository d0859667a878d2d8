"""Plots: what is drawn is what the tables say, with units, and told apart without colour."""

import attrs
import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import cosim
import models
from analysis.designs import designs_of
from analysis.intervals.curves import mean_curve
from analysis.intervals.statistics import Interval
from analysis.plots import Encoding, bars, curves, model_over, overview, telling_round
from analysis.plots.bars import energy_parts
from analysis.plots.style import looks_of, wasted
from cosim.records.rows import DONE, REST, Span


@pytest.fixture(scope="module")
def result() -> cosim.Result:
    training = cosim.EdgeTraining(
        num_edge_rounds=2,
        steps=cosim.SameSteps(num_local_steps=4),
        local=cosim.Sgd(batch_size=10),
        waiting=cosim.Deadline(deadline_s=4.4e-3),
    )
    system = cosim.System(
        seed=9,
        num_cells=2,
        num_clients=8,
        model="relu-12-8-4",
        data=cosim.data.Synthetic(),
        uplink=cosim.Radio(
            sharing=cosim.FixedShares(bandwidth_hz=2e5),
            fading=cosim.Rayleigh(redrawn=cosim.radio.EveryEdgeRound()),
        ),
        protocol=cosim.Hist(training=training),
        end=cosim.AfterRounds(num_global_rounds=3),
    )
    made = cosim.run(system, models.build(system.model))
    assert 0 < made.summary.num_dropped < made.summary.num_updates
    return made


def panels(result: cosim.Result) -> tuple[Axes, Axes]:
    left, right = overview(result).axes
    return left, right


def test_accuracy_is_drawn_over_simulated_time_in_percent(result: cosim.Result):
    left, _ = panels(result)
    (line,) = left.lines
    assert list(line.get_xdata()) == list(result.evaluations["time_s"])
    assert list(line.get_ydata()) == list(100 * result.evaluations["accuracy"])
    assert left.get_xlabel() == "simulated time (s)"
    assert left.get_ylabel() == "test accuracy (%)"


def test_the_timeline_has_every_span_and_every_cut_of_its_round(result: cosim.Result):
    _, right = panels(result)
    number = telling_round(result)
    (whole,) = result.rounds[
        (result.rounds["global_round"] == number) & (result.rounds["level"] == "global")
    ].itertuples()
    spans = result.spans[(result.spans["start_s"] >= whole.start_s) & (result.spans["end_s"] <= whole.end_s)]
    num_clients = spans["node"].nunique()
    assert num_clients == 8
    drawn = sorted((round(bar.get_x(), 6), round(bar.get_width(), 6)) for bar in right.patches)
    told = sorted(
        (round(1e3 * (span.start_s - whole.start_s), 6), round(1e3 * (span.end_s - span.start_s), 6))
        for span in spans.itertuples()
    )
    assert drawn == told
    cuts = sum(len(line.get_xdata()) for line in right.lines if line.get_marker() == "x")
    assert cuts == (spans["outcome"] != DONE).sum() > 0
    assert right.get_xlabel() == f"time in global round {number} (ms)"
    labels = [text.get_text() for text in right.get_legend().get_texts()]
    assert labels == ["training", "sending", "cut off", "edge round ends"]


def test_the_telling_round_is_the_first_with_a_dropped_update(result: cosim.Result):
    edge_rounds = result.rounds[result.rounds["level"] == "edge"]
    dropped = edge_rounds[edge_rounds["num_arrived"] < edge_rounds["num_participants"]]
    assert telling_round(result) == dropped["global_round"].min()


def test_curves_are_told_apart_without_colour(result: cosim.Result):
    axes = Figure().subplots()
    runs = [(result.evaluations["version"], result.evaluations["accuracy"])]
    points = mean_curve(runs, is_share=True)
    curves(axes, pd.concat([points.assign(curve=f"curve {i}") for i in range(6)]), "rounds")
    assert len({(str(line.get_linestyle()), line.get_marker()) for line in axes.lines}) == 6
    greys = [
        matplotlib.colors.rgb_to_hsv(matplotlib.colors.to_rgb(line.get_color()))[2] for line in axes.lines
    ]
    assert len(set(greys)) > 3


def test_a_bar_that_was_not_reached_says_so():
    axes = Figure().subplots()
    ten, five, twenty = (
        Interval(estimate=value, low=value - half, high=value + half, level=0.95)
        for value, half in ((10.0, 2.0), (5.0, 0.0), (20.0, 1.0))
    )
    bars(
        axes, {"N = 2": {"HIST": ten, "HFedAvg": None}, "N = 4": {"HIST": five, "HFedAvg": twenty}}, "uploads"
    )
    assert [text.get_text() for text in axes.texts] == ["10", "5", "not\nreached", "20"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["N = 2", "N = 4"]
    assert [patch.get_height() for patch in axes.patches] == [10.0, 5.0, 0.0, 20.0]
    ends = [[point[1] for point in bar.get_segments()[0]] for bar in axes.collections]
    assert ends == [[8.0, 12.0], [19.0, 21.0]]


def test_no_number_of_a_bar_is_behind_the_legend():
    """Numbers of intervals stand where the bars leave most room, on the left."""
    figure = Figure(figsize=(5.0, 4.0), layout="constrained")
    axes = figure.subplots()
    about = {
        2: (10.0, 3.8, 18.0, 5.6),
        3: (7.0, 2.3, 19.0, 5.2),
        4: (6.25, 1.9, 20.0, 4.4),
        5: (5, 1.5, 20, 4.4),
    }
    groups = {
        f"N = {n}": {
            name: Interval(estimate=mean, low=mean - half, high=mean + half, level=0.95)
            for name, mean, half in (("HIST", *both[:2]), ("HFedAvg", *both[2:]))
        }
        for n, both in about.items()
    }
    bars(axes, groups, "uploads")
    figure.draw_without_rendering()
    legend = axes.get_legend().get_window_extent()
    numbers = [text.get_window_extent() for text in axes.texts]
    assert len(numbers) == 8
    assert not any(legend.overlaps(number) for number in numbers)


def with_seeds(result: cosim.Result, number: int, **fields: object) -> list[cosim.Result]:
    """Runs as if of other seeds, each a little better than the one before."""
    return [
        attrs.evolve(
            result, config=result.config | {"system": result.config["system"] | {"seed": seed} | fields}
        ).with_tables(
            evaluations=result.evaluations.assign(accuracy=result.evaluations["accuracy"] + 0.01 * seed)
        )
        for seed in range(number)
    ]


@pytest.mark.parametrize(
    ("num_runs", "num_designs", "num_lines", "num_bands", "num_bars"),
    [(1, 2, 2, 0, 0), (2, 2, 2 + 4, 0, 0), (3, 2, 2, 2, 0), (3, 4, 4, 0, 4), (2, 4, 4 + 8, 0, 0)],
)
def test_few_runs_are_drawn_singly_and_bands_only_where_they_can_be_told_apart(
    result: cosim.Result, num_runs: int, num_designs: int, num_lines: int, num_bands: int, num_bars: int
):
    axes = Figure().subplots()
    runs = [run for n in range(num_designs) for run in with_seeds(result, num_runs, num_antennas=n)]
    designs = designs_of(runs)
    model_over(axes, designs, Encoding.of(designs))
    bars_and_caps = 3 * num_bars  # each its point and two caps
    assert len(axes.lines) == num_lines + bars_and_caps
    bands = [each for each in axes.collections if isinstance(each, matplotlib.collections.PolyCollection)]
    assert len(bands) == num_bands
    assert len(axes.containers) == num_bars


def test_no_rows_of_clients_are_said_in_the_overview(result: cosim.Result):
    bare = result.with_tables(spans=result.spans.iloc[:0], fates=result.fates.iloc[:0])
    _, right = panels(bare)
    assert [text.get_text() for text in right.texts] == ["no rows of clients were kept"]


def test_what_was_wasted_is_told_from_what_was_not_in_grey():
    known = looks_of(["training", "sending", "receiving", "waiting to send", "compressing"])
    for looks in known.values():
        assert abs(grey(wasted(looks)) - grey(looks)) > 0.15
    lost = {(grey(wasted(looks)), wasted(looks).get("hatch")) for looks in known.values()}
    assert len(lost) == len(known)


def grey(looks: dict[str, str]) -> float:
    """Lightness of a face, from 0 to 1."""
    return float(np.dot(to_rgb(looks["facecolor"]), (0.299, 0.587, 0.114)))


def test_rest_is_of_no_job_and_says_no_more_than_that_it_is(result: cosim.Result):
    spans = [Span("client-0000", doing, 0.0, 1.0, 2.0, DONE) for doing in (*REST[:2], "train")]
    parts, looks = energy_parts(designs_of([result.with_tables(spans=pd.DataFrame(spans))]))
    (own,) = parts.values()
    assert own == {"idle": 2.0, "asleep": 2.0, "training, no job": 2.0}
    assert own.keys() <= looks.keys()


def test_the_overview_of_a_run_that_learned_nothing_is_its_round(result: cosim.Result):
    timed = attrs.evolve(result, summary=result.summary._replace(scores={}, measures={}))
    whole, times, energy, late = (axes.get_xlabel() for axes in overview(timed).axes)
    assert whole.startswith("time in global round")
    assert (times, energy, late) == ("lasts at most (ms)", "energy of all clients (J)", "global round")
