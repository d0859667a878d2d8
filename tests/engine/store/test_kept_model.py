"""Which model a run keeps: the best by a column, the earliest of equal ones, the same after a resume."""

import math
from concurrent.futures import ThreadPoolExecutor

import attrs
import numpy as np
import pytest
from here import Stopped

import cosim
from cosim.configuration import ConfigurationError
from cosim.engine.servers.cloud import VersionReport
from cosim.engine.store.checkpoint import Checkpoint
from cosim.engine.store.kept_model import Kept, kept_by
from cosim.records.measures import Measure
from cosim.records.rows import Evaluation
from cosim.studies.study import Study
from cosim.testing import small_system
from cosim.values.pending import PendingModel
from scenarios.command_line import main

UP, DOWN = Measure("up", higher_is_better=True), Measure("down", higher_is_better=False)


def chosen(column: str | None, *scores: tuple[float, float]) -> int:
    """Version of the model that is kept of evaluations with these values of both columns."""
    kept = None
    for version, (up, down) in enumerate(scores):
        row = Evaluation(float(version), version, {"up": up, "down": down}, {"up": UP, "down": DOWN}, 0.0)
        later = Kept(row, PendingModel())
        kept = later if kept is None else kept.or_better(later, column)
    assert kept is not None
    return kept.evaluation.version


@pytest.mark.parametrize(
    ("column", "scores", "version"),
    [
        (None, [(0.9, 0.1), (0.1, 0.9)], 1),
        ("up", [(0.5, 0.0), (0.9, 0.0), (0.9, 0.0), (0.1, 0.0)], 1),
        ("down", [(0.0, 2.0), (0.0, 0.5), (0.0, 0.5), (0.0, 1.0)], 1),
        ("up", [(0.5, 0.0), (math.nan, 0.0), (0.4, 0.0)], 0),
        ("up", [(math.nan, 0.0), (0.1, 0.0), (math.nan, 0.0)], 1),
        ("down", [(0.0, math.inf), (0.0, math.nan), (0.0, 3.0)], 2),
        ("up", [(math.nan, 0.0)] * 3, 2),
        ("up", [(0.5, 0.0), (0.9, math.nan), (0.8, 0.0)], 2),
    ],
    ids=["last", "highest", "lowest", "nan later", "nan first", "infinity", "nothing but nan", "diverged"],
)
def test_by_hand(column, scores, version):
    assert chosen(column, *scores) == version


def test_best_is_the_headline_and_other_words_are_columns():
    measures = {"up": UP, "down": DOWN}
    assert [kept_by(word, measures) for word in ("last", "best", "down")] == [None, "up", "down"]
    with pytest.raises(
        ConfigurationError, match=r"run: keep = 'f1': must be one of last, best, up, down\. Us"
    ):
        kept_by("f1", measures)


# --- in a run -----------------------------------------------------------------------------------------------


def shaky(**changes) -> cosim.System:
    """Steps so large that the model gets worse at times, and better again."""
    system = small_system()
    local = cosim.Sgd(batch_size=10, learning_rate=1.2)
    protocol = attrs.evolve(system.protocol, training=attrs.evolve(system.protocol.training, local=local))
    end, task = cosim.AfterRounds(num_global_rounds=6), cosim.tasks.Classification(metrics=("MacroF1",))
    parts = {"seed": 3, "protocol": protocol, "end": end, "task": task}
    return attrs.evolve(system, **(parts | changes))


@pytest.fixture(scope="module")
def plain() -> tuple[cosim.Result, dict[int, dict[str, np.ndarray]]]:
    """A run that keeps the last model, and the weights of each version."""
    found: dict[int, dict[str, np.ndarray]] = {}

    def listener(report: VersionReport) -> None:
        found[report.version] = {name: v.numpy().copy() for name, v in report.model.settled.items()}

    return cosim.run(shaky(), num_workers=1, listener=listener), found


@pytest.mark.parametrize(("keep", "column"), [("best", "accuracy"), ("loss_nats", "loss_nats")])
def test_a_run_its_folder_and_its_network_hold_the_best_model(tmp_path, plain, keep, column):
    usual, versions = plain
    values = usual.evaluations[column].to_numpy()
    best = int(values.argmax() if column == "accuracy" else values.argmin())
    assert 0 < best < len(values) - 1, values
    result = cosim.run(shaky(), num_workers=1, keep=keep, out=tmp_path / "a")
    assert result.evaluations.equals(usual.evaluations)
    np.testing.assert_equal(result.learned, versions[best])
    np.testing.assert_equal(cosim.Result.load(tmp_path / "a").weights, versions[best])
    own = {name: values.detach().numpy() for name, values in result.network.named_parameters()}
    np.testing.assert_equal(own, versions[best])
    kept = Checkpoint.load(tmp_path / "a")
    assert kept is not None
    assert (kept.version, kept.kept_version) == (6, best)
    assert cosim.Result.load(tmp_path / "a").summary.kept_version == best
    assert usual.summary.kept_version == 6
    assert ("kept model" in repr(result), "kept model" in repr(usual)) == (True, False)
    np.testing.assert_equal(kept.weights, versions[6], "what a run goes on from is there as well")
    np.testing.assert_equal(usual.learned, versions[6])


@pytest.mark.parametrize("stops", [(2,), (5,), (1, 3, 5)])
def test_a_stopped_run_keeps_what_an_uninterrupted_one_keeps(tmp_path, plain, stops):
    usual, versions = plain
    best = int(usual.evaluations["accuracy"].to_numpy().argmax())
    for attempt, stop in enumerate(stops):

        def listener(report: VersionReport, stop: int = stop) -> None:
            if report.version == stop:
                raise Stopped

        options = {"out": tmp_path / "a", "keep": "best", "num_workers": 1, "resume": attempt > 0}
        with pytest.raises(Stopped):
            cosim.run(shaky(), listener=listener, **options)
        so_far = int(usual.evaluations["accuracy"].to_numpy()[: stop + 1].argmax())
        np.testing.assert_equal(cosim.Result.load(tmp_path / "a").weights, versions[so_far])
    with pytest.raises(ConfigurationError, match=r"run: keep = 'last': .* keeps 'best'\. Use keep='best'"):
        cosim.run(shaky(), out=tmp_path / "a", resume=True)
    result = cosim.run(shaky(), out=tmp_path / "a", resume=True, keep="best")
    np.testing.assert_equal(result.learned, versions[best])
    np.testing.assert_equal(cosim.Result.load(tmp_path / "a").weights, versions[best])
    with pytest.raises(ConfigurationError, match=r"keeps 'best'"):
        cosim.run(shaky(), out=tmp_path / "a", resume="as found")


def test_what_cannot_be_kept_is_refused_before_a_folder_is_made(tmp_path):
    with pytest.raises(
        ConfigurationError, match=r"keep = 'recall': must be one of last, best, accuracy, loss_na"
    ):
        cosim.run(shaky(), keep="recall", out=tmp_path / "a")
    with pytest.raises(ConfigurationError, match=r"keep = 'best': must be last, since nothing is learned"):
        cosim.run(shaky(evaluation=cosim.Never()), keep="best", out=tmp_path / "a")
    assert not (tmp_path / "a").exists()


@pytest.mark.usefixtures("unwritten_pictures")
def test_a_run_that_goes_on_from_the_command_line_keeps_what_it_was_started_for(tmp_path, plain, capsys):
    usual, versions = plain
    best = int(usual.evaluations["accuracy"].to_numpy().argmax())

    def listener(report: VersionReport) -> None:
        if report.version == best + 1:
            raise Stopped

    with pytest.raises(Stopped):
        cosim.run(shaky(), out=tmp_path / "a", keep="best", listener=listener)
    with pytest.raises(SystemExit, match="0"):
        main(["run", "--resume", str(tmp_path / "a"), "--quiet"])
    shown = (
        f"Kept: the model of version {best} (test accuracy {100 * usual.evaluations['accuracy'].max():.1f} %"
    )
    assert shown in " ".join(capsys.readouterr().out.split())
    np.testing.assert_equal(cosim.Result.load(tmp_path / "a").weights, versions[best])


def test_a_study_keeps_the_best_of_each_run_and_is_known_by_it(tmp_path, plain):
    usual, versions = plain
    study, out = Study(shaky(), seeds=1), tmp_path / "study"
    with ThreadPoolExecutor(1) as executor:
        (run,) = study.run(out, keep="best", executor=executor)["folder"]
        best = int(usual.evaluations["accuracy"].to_numpy().argmax())
        np.testing.assert_equal(cosim.Result.load(out / run).weights, versions[best])
        with pytest.raises(ConfigurationError, match=r"holds another study \(its keep differs\)"):
            study.run(out, executor=executor)
