"""When a run is over, and which versions are evaluated: against arithmetic, and through a stop."""

import attrs
import numpy as np
import pytest
import worlds

import cosim
from cosim.configuration import Lack
from cosim.configuration.going_together import GLOBAL_ROUNDS
from cosim.ends.port import Progress
from cosim.records.measures import Measure
from cosim.records.rows import END_OF_RUN, Evaluation
from cosim.testing import check_system, small_system

pytestmark = pytest.mark.quick

USUAL = attrs.evolve(small_system(), end=cosim.AfterRounds(num_global_rounds=6))
"""Five clients in two cells, two edge rounds in a global round, all arrive: ten updates each."""


@pytest.fixture(scope="module")
def usual() -> cosim.Result:
    return cosim.run(USUAL)


def ends_s(result: cosim.Result) -> np.ndarray:
    """Ends of the global rounds."""
    return result.rounds.loc[result.rounds["level"] == "global", "end_s"].to_numpy()


def ended_by(end: cosim.ends.End, **fields: object) -> cosim.Result:
    return cosim.run(attrs.evolve(USUAL, end=end, **fields))


@pytest.mark.parametrize(
    ("end", "num_rounds"),
    [
        (cosim.AfterRounds(num_global_rounds=2), 2),
        (cosim.AfterVersions(num_versions=2), 2),
        (cosim.ends.AfterUpdates(num_updates=20), 2),
        (cosim.ends.AfterUpdates(num_updates=21), 3),
        (cosim.ends.AfterUpdates(num_updates=1), 1),
    ],
    ids=str,
)
def test_a_run_is_over_with_the_round_that_does_it(end, num_rounds, usual):
    """Its tables are the beginning of a longer run's, and its last model is evaluated."""
    result = ended_by(end)
    assert len(ends_s(result)) == num_rounds
    assert result.summary.time_s == ends_s(usual)[num_rounds - 1]
    assert result.spans.equals(usual.spans.iloc[: len(result.spans)])
    assert result.evaluations.equals(usual.evaluations.iloc[: num_rounds + 1])


@pytest.mark.parametrize(("num_updates", "num_rounds"), [(6, 1), (7, 2), (12, 2)])
def test_updates_that_are_late_do_not_count(num_updates, num_rounds):
    """Of five that are asked three are in time, in each of two edge rounds."""
    end = cosim.ends.AfterUpdates(num_updates=num_updates)
    assert len(ends_s(cosim.run(worlds.some_late(end=end, evaluation=cosim.Never())))) == num_rounds


def test_at_its_instant_everything_is_cut_and_paid_for(usual):
    """In the middle of the fourth round: three versions, whose last is the trained model."""
    third_s, fourth_s = ends_s(usual)[2:4]
    middle_s = round(third_s + 0.4 * (fourth_s - third_s), 9)
    result = ended_by(
        cosim.AfterSeconds(duration_s=middle_s), evaluation=cosim.ends.EveryVersions(num_versions=2)
    )
    assert result.summary.status == "complete"
    assert result.summary.time_s == middle_s
    assert list(ends_s(result)) == list(ends_s(usual)[:3])
    assert result.evaluations["time_s"].tolist() == [0.0, ends_s(usual)[1], third_s]
    kept = usual.evaluations.iloc[[0, 2, 3]].reset_index(drop=True)
    assert result.evaluations["loss_nats"].tolist() == kept["loss_nats"].tolist()

    cut = result.spans[result.spans["outcome"] == END_OF_RUN]
    under_way = usual.spans[(usual.spans["start_s"] < middle_s) & (usual.spans["end_s"] > middle_s)]
    assert len(cut) == len(under_way) > 0
    assert set(cut["end_s"]) == {middle_s}
    part = (middle_s - under_way["start_s"]) / (under_way["end_s"] - under_way["start_s"])
    expected = dict(zip(under_way["node"], under_way["energy_j"] * part, strict=True))
    for node, energy_j in zip(cut["node"], cut["energy_j"], strict=True):
        assert energy_j == pytest.approx(expected[node], rel=1e-12)
    assert set(result.fates.loc[result.fates["end_s"] == middle_s, "outcome"]) == {END_OF_RUN}


def test_a_round_that_ends_at_the_very_instant_counts(usual):
    result = ended_by(cosim.AfterSeconds(duration_s=ends_s(usual)[1]))
    assert list(ends_s(result)) == list(ends_s(usual)[:2])
    assert END_OF_RUN not in set(result.spans["outcome"])


def test_before_the_first_round_has_ended_the_initial_model_is_the_trained_one(usual):
    result = ended_by(cosim.AfterSeconds(duration_s=ends_s(usual)[0] / 2))
    assert result.evaluations.shape[0] == 1
    assert result.weights is not None
    initial = ended_by(cosim.AfterRounds(num_global_rounds=1))
    assert result.summary.scores["accuracy"] == initial.evaluations["accuracy"].iloc[0]


def test_evaluations_come_with_the_first_version_at_or_after_each_multiple(usual):
    """An interval of 0.4 of the whole has two multiples before the end."""
    interval_s = 0.4 * usual.summary.time_s
    result = ended_by(USUAL.end, evaluation=cosim.ends.EverySeconds(interval_s=interval_s))
    due = [min(end_s for end_s in ends_s(usual) if end_s >= k * interval_s) for k in (1, 2)]
    assert result.evaluations["time_s"].tolist() == [0.0, *due, usual.summary.time_s]


@pytest.mark.parametrize(
    ("times", "due"),
    [
        (cosim.ends.EverySeconds(interval_s=2.0), [2, 4, 5]),
        (cosim.ends.EveryVersions(num_versions=2), [2, 4]),
        (cosim.Never(), []),
    ],
    ids=["seconds", "versions", "never"],
)
def test_what_is_due(times, due):
    """Versions at 1.0, 2.0, 3.9, 4.0 and 8.5 s; several multiples in between make one evaluation."""
    last, found = Progress(), []
    for version, time_s in enumerate((1.0, 2.0, 3.9, 4.0, 8.5), 1):
        progress = Progress(version=version, time_s=time_s)
        if times.is_due(progress, last):
            last = progress
            found.append(version)
    assert found == due


def test_a_version_at_a_multiple_is_due():
    """Versions every 0.1 s, each at a multiple of 0.1 s."""
    times, last = cosim.ends.EverySeconds(interval_s=0.1), Progress()
    for version in range(1, 200):
        progress = Progress(version=version, time_s=version / 10)
        assert times.is_due(progress, last)
        last = progress


def test_ends_and_evaluation_times_keep_the_laws():
    """Times, energy, determinism, timing only, resume and round trip."""
    time_s = 0.7 * cosim.run(attrs.evolve(USUAL, evaluation=cosim.Never())).summary.time_s
    check_system(
        attrs.evolve(
            USUAL,
            end=cosim.AfterSeconds(duration_s=time_s),
            evaluation=cosim.ends.EverySeconds(interval_s=time_s / 3),
        )
    )


def test_rounds_do_not_end_a_protocol_that_has_none():
    class Roundless(cosim.HFedAvg):
        lacks = (Lack(GLOBAL_ROUNDS),)

    with pytest.raises(cosim.ConfigurationError, match="Roundless: it has no global rounds") as refused:
        attrs.evolve(USUAL, protocol=Roundless())
    assert "AfterSeconds" in str(refused.value)
    assert attrs.evolve(USUAL, protocol=Roundless(), end=cosim.AfterVersions(num_versions=1)).end


def test_a_version_is_heard_of_once_with_its_evaluation():
    """The last, which is not due, included."""
    heard = []
    end, times = cosim.AfterRounds(num_global_rounds=3), cosim.ends.EveryVersions(num_versions=2)
    cosim.run(attrs.evolve(USUAL, end=end, evaluation=times), listener=heard.append)
    found = [(report.version, report.evaluation is not None) for report in heard]
    assert found == [(0, True), (1, False), (2, True), (3, True)]


def test_a_protocol_that_returns_early_has_its_last_version_evaluated():
    class Short(cosim.HFedAvg):
        def run(self, sim, cloud):
            model = cloud.initial_model(sim)
            for number in (1, 2, 3):
                start_s = sim.now_s
                model = yield from self.global_round(sim, cloud, model, number)
                model = cloud.close_round(sim, number, start_s, model)
            return model

    protocol = Short(training=USUAL.protocol.training)
    system = attrs.evolve(USUAL, protocol=protocol, evaluation=cosim.ends.EveryVersions(num_versions=2))
    result = cosim.run(system)
    assert len(result.evaluations) == 3  # versions 0, 2 and 3
    assert result.evaluations["time_s"].iloc[-1] == result.summary.time_s


TARGET = 0.6
"""That `USUAL` reaches after some rounds, not with each."""


@pytest.mark.parametrize("held", [1, 2])
@pytest.mark.parametrize("every", [1, 2])
def test_a_run_to_a_target_is_the_beginning_of_a_longer_one(held, every):
    """It ends with the evaluation that `Result.at_target` finds in that one."""
    longer = attrs.evolve(
        USUAL,
        end=cosim.AfterRounds(num_global_rounds=12),
        evaluation=cosim.ends.EveryVersions(num_versions=every),
    )
    usual, end = cosim.run(longer), cosim.AfterTarget(target=TARGET, held=held, at_the_latest=longer.end)
    result, reached = cosim.run(attrs.evolve(longer, end=end)), usual.at_target(TARGET, held)
    assert reached is not None
    assert result.summary.num_global_rounds == reached.version < 12
    assert result.summary.time_s == reached.time_s
    assert result.summary.status == "complete"
    assert result.evaluations.equals(usual.evaluations.iloc[: len(result.evaluations)])
    assert result.spans.equals(usual.spans.iloc[: len(result.spans)])


@pytest.mark.parametrize(
    "latest",
    [cosim.AfterRounds(num_global_rounds=3), cosim.AfterSeconds(duration_s=0.01)],
    ids=["rounds", "seconds"],
)
def test_a_run_that_does_not_get_there_ends_at_the_latest(latest):
    result, expected = ended_by(cosim.AfterTarget(target=0.99, at_the_latest=latest)), ended_by(latest)
    assert result.summary.time_s == expected.summary.time_s
    assert result.spans.equals(expected.spans)
    assert result.evaluations.equals(expected.evaluations)


@pytest.mark.parametrize(
    ("measure", "target", "held", "scores", "found"),
    [
        (Measure("accuracy", higher_is_better=True), 0.5, 1, [0.4, 0.5], [False, True]),
        (
            Measure("accuracy", higher_is_better=True),
            0.5,
            2,
            [0.6, 0.4, 0.5, 0.5],
            [False, False, False, True],
        ),
        (Measure("loss", higher_is_better=False), 0.5, 1, [0.6, 0.5], [False, True]),
        (Measure("loss", higher_is_better=False), 0.5, 2, [0.4, 0.6, 0.3, 0.2], [False, False, False, True]),
        (Measure("loss", higher_is_better=False), 0.5, 1, [np.nan, np.inf, 0.4], [False, False, True]),
        (Measure("accuracy", higher_is_better=True), 0.5, 1, [np.nan, -np.inf, 0.6], [False, False, True]),
    ],
    ids=["accuracy", "accuracy held", "loss", "loss held", "no loss", "no accuracy"],
)
def test_a_target_is_reached_by_the_first_score_alone(measure, target, held, scores, found):
    other = Measure("other", higher_is_better=not measure.higher_is_better)
    measures = {"first": measure, "other": other}
    rows = [
        Evaluation(float(n), n, {"first": score, "other": 0.5}, measures) for n, score in enumerate(scores)
    ]
    end = cosim.AfterTarget(target=target, held=held)
    progresses = [Progress(version=n, evaluations=rows[: n + 1]) for n in range(len(rows))]
    assert [end.is_reached(progress) for progress in progresses] == found


def test_an_asynchronous_run_ends_with_the_version_that_reaches_a_target():
    usual = attrs.evolve(USUAL, protocol=cosim.FedAsync(), end=cosim.AfterVersions(num_versions=60))
    longer = cosim.run(usual)
    reached = longer.at_target(0.5)
    assert reached is not None
    assert reached.version < 60
    result = cosim.run(attrs.evolve(usual, end=cosim.AfterTarget(target=0.5, at_the_latest=usual.end)))
    assert result.evaluations["version"].iloc[-1] == reached.version
    assert result.summary.time_s == reached.time_s


def test_a_run_to_a_target_keeps_the_laws():
    """Resume reads the scores that decide from the checkpoint."""
    check_system(attrs.evolve(USUAL, end=cosim.AfterTarget(target=TARGET, held=2)))


def test_an_end_that_reads_scores_is_refused_where_there_are_none():
    end = cosim.AfterTarget()
    with pytest.raises(cosim.ConfigurationError, match="only times are asked for, and Sys"):
        attrs.evolve(USUAL, end=end, evaluation=cosim.Never())
    training = cosim.protocols.AsynchronousTraining(turn=end)
    with pytest.raises(cosim.ConfigurationError, match=r"AsynchronousTraining.turn = .*is not evaluated"):
        attrs.evolve(USUAL, protocol=cosim.HFedAvg(training=training))
    with pytest.raises(cosim.ConfigurationError, match="FedAsync: it has no global rounds"):
        attrs.evolve(USUAL, protocol=cosim.FedAsync(), end=end)


def test_a_target_that_no_score_can_have_is_refused_before_anything_is_written(tmp_path):
    """With the system, where it is known without data what is reported, else when they have been read."""
    end, message = cosim.AfterTarget(target=80.0), r"AfterTarget.target = 80: .*Did you mean 0.8\?"
    with pytest.raises(cosim.ConfigurationError, match=message):
        attrs.evolve(USUAL, data=cosim.FashionMnist(), end=end)
    with pytest.raises(cosim.ConfigurationError, match=message):
        cosim.run(attrs.evolve(USUAL, end=end), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
