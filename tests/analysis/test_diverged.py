"""Training that diverges wins nothing: a rate of 1e20 at a target of 0.9, where 90 % are of class 0."""

from concurrent.futures import ThreadPoolExecutor

import attrs
import numpy as np
import pytest

import cosim
from analysis.designs import designs_of
from analysis.plots import DrawnStudy
from analysis.report.report import report
from analysis.studies import compared
from analysis.tables.contents import by_design, by_metric, frame
from analysis.tables.latex import latex
from analysis.together import together
from cosim.studies.index import Index
from cosim.studies.study import Study
from cosim.studies.table import FILE, table_in
from scenarios.command_line.pictures import PlotOptions
from scenarios.command_line.plot import drawn_as

RATES = (0.3, 1e20)


def data(_):
    """90 % of class 0."""
    x = np.random.default_rng(1).standard_normal((200, 12)).astype("f4")
    y = (np.arange(200) % 10 == 0).astype(np.int64)
    x[:, 0] += 3.0 * y
    return (x[:150], y[:150]), (x[150:], y[150:])


def system(rate: float, **changes) -> cosim.System:
    """Three rounds of six clients."""
    local = cosim.Sgd(batch_size=8, learning_rate=rate)
    return cosim.System(
        num_cells=1,
        num_clients=6,
        model="mlp-12-8-2",
        data=cosim.Arrays(source=f"{__name__}:data"),
        protocol=cosim.HFedAvg(training=cosim.EdgeTraining(num_edge_rounds=1, local=local)),
        **{"end": cosim.AfterRounds(num_global_rounds=3), **changes},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A study of both rates, and two seeds each."""
    made = tmp_path_factory.mktemp("diverged") / "s"
    study = Study(system(0.1), {"learning_rate": RATES}, 2, targets=(0.9,))
    study.run(made, executor=ThreadPoolExecutor(1))
    return made


@pytest.fixture(scope="module")
def results(folder):
    return [cosim.Result.load(each) for each in sorted((folder / "runs").iterdir())]


def test_a_run_says_that_it_has_diverged(results):
    for run in results:
        is_diverged = run.config["system"]["protocol"]["training"]["local"]["learning_rate"] == 1e20
        assert run.summary.is_diverged == is_diverged
        assert ("complete, diverged" in repr(run)) == is_diverged
        assert (run.time_to_target_s(0.9) is None) == is_diverged
        if is_diverged:
            assert run.evaluations["accuracy"].iloc[-1] == 0.0


def test_a_target_ends_no_diverged_run():
    end = cosim.AfterTarget(target=0.9, held=2, at_the_latest=cosim.AfterRounds(num_global_rounds=3))
    assert cosim.run(system(1e20, end=end)).summary.num_global_rounds == 3


def test_a_study_says_that_a_diverged_design_reached_nothing_and_won_nothing(folder):
    runs = together([folder])
    assert list(runs["is_diverged"]) == [False] * 2 + [True] * 2
    found = {(row.design, row.metric): row for row in compared(runs)}
    assert found[0, "reached_0.9"].statistic == "2 of 2 reached"
    assert found[1, "reached_0.9"].statistic == "0 of 2 reached"
    assert found[1, "time_to_0.9_s"].pairs[:2] == (0, 2)
    assert found[1, "loss_nats"].value.remark == "not finite in 2 of 2"


def test_a_table_that_is_older_than_the_column_is_made_from_what_is_known_of_runs(folder):
    kept, whole = (folder / FILE).read_bytes(), table_in(folder)
    try:
        whole.drop(columns="is_diverged").to_parquet(folder / FILE, index=False)
        Index(folder).add_table(cosim.files.on_disk.checksum(folder / FILE))
        assert list(table_in(folder)["is_diverged"]) == [False] * 2 + [True] * 2
    finally:
        (folder / FILE).write_bytes(kept)


def test_tables_have_a_column_that_says_so(folder):
    runs = together([folder])
    head, *_ = found = by_metric(runs, ["loss_nats", "time_s"], 0)
    place = head.index("diverged")
    assert [row[place] for row in found.rows] == ["0 of 2", "2 of 2"] * 2
    assert found.rows[1][place + 1 :] == ["not finite in 2 of 2", "-"]
    assert "not finite in 2 of 2" in latex(by_design(runs, ["loss_nats"]))
    numbers = frame(runs, ["loss_nats", "accuracy"], 0)
    assert list(numbers["num_diverged"]) == [0, 0, 2, 2]
    assert np.isnan(numbers["value"]).tolist() == [False, False, False, True]
    sound = runs[runs["design"] == 0]
    sound.attrs = runs.attrs
    assert "diverged" not in by_metric(sound, ["time_s"], 0).head


def test_reports_and_pictures_say_so(results):
    html = report(results, targets=(0.9,))
    assert "diverged: learning rate 1e+20" in html
    assert "diverged: learning rate 0.3" not in html
    assert "complete, diverged" in html
    seeds = [run.config["system"]["seed"] for run in results[2:]]
    told = f"diverged: learning rate 1e+20: a score of seeds {seeds[0]}, {seeds[1]} is no finite number."
    assert html.count(told) == 1
    designs = designs_of(results)
    for kind, said in (
        ("accuracy-time", "diverged: learning rate 1e+20"),
        ("factor", "training has diverged"),
    ):
        figure = drawn_as(DrawnStudy(designs), PlotOptions(kind=kind, width="5in"))[0]
        legend = figure.axes[0].get_legend()
        assert said in [text.get_text() for text in legend.get_texts()]


def test_of_some_seeds_that_diverged_it_is_said_how_many(results):
    """A run of the sound rate, as if it were of the other one."""
    sound, *others = results[1:]
    config = others[0].config | {"system": others[0].config["system"] | {"seed": 99}}
    (design,) = designs_of([attrs.evolve(sound, config=config), *others])
    assert design.name.startswith("2 of 3 diverged: ")
