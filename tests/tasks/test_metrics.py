"""Metrics against scikit-learn and by hand; they are columns of runs, and users' own are among them."""

import math
import pickle

import attrs
import numpy as np
import own_parts
import pytest
from data_sets import loaded
from sklearn.metrics import f1_score, recall_score

import cosim
from cosim.configuration import ConfigurationError
from cosim.data.synthetic import Synthetic
from cosim.tasks.evenness import jain_index
from cosim.tasks.metric import Answers
from cosim.testing import check_task, small_system
from scenarios.papers.vhfl import CellTraffic

DATA = loaded(Synthetic())
ALL = ("MacroF1", "ClassAccuracy", "ClientAccuracy")


def answers(targets, predicted, owners=None, num_classes=5) -> Answers:
    outputs = np.float32(np.eye(num_classes)[predicted])
    return Answers(outputs, np.array(targets), None if owners is None else np.array(owners))


def test_f1_and_accuracies_of_classes_are_those_of_scikit_learn():
    """Class 3 is never predicted, class 4 is not there at all."""
    rng = np.random.default_rng(1)
    targets, predicted = rng.integers(4, size=300), rng.integers(3, size=300)
    given = answers(targets, predicted)
    assert cosim.tasks.MacroF1().scores(given)["macro_f1"] == pytest.approx(
        f1_score(targets, predicted, average="macro", zero_division=0), rel=1e-12
    )
    found = list(cosim.tasks.ClassAccuracy().scores(given).values())
    assert found[:4] == pytest.approx(recall_score(targets, predicted, average=None), rel=1e-12)
    assert np.isnan(found[4])


def test_accuracies_of_clients_by_hand():
    """Client 0 half, client 1 none, client 3 all, client 2 without a share; one sample has no owner."""
    given = answers([0, 1, 2, 3, 0], [0, 2, 3, 3, 0], owners=[0, 0, 1, 3, -1])
    found = cosim.tasks.ClientAccuracy().scores(given)
    assert found == pytest.approx(
        {
            "client_accuracy": 0.5,
            "worst_tenth_accuracy": 0.0,
            "client_spread": np.std([0.5, 0.0, 1.0]),
            "client_jain_index": 1.5**2 / (3 * 1.25),
        }
    )


def test_the_worst_tenth_of_25_clients_are_three():
    owners = np.repeat(np.arange(25), 25)
    predicted = np.concatenate([np.arange(25) >= client for client in range(25)]).astype(int)
    found = cosim.tasks.ClientAccuracy().scores(answers(np.ones(625, dtype=int), predicted, owners))
    assert found["worst_tenth_accuracy"] == pytest.approx((1 + 2 + 3) / 3 / 25)


def test_metrics_are_the_last_columns_of_a_run():
    plain = cosim.run(small_system()).evaluations
    task = cosim.tasks.Classification(metrics=ALL)
    result = cosim.run(attrs.evolve(small_system(), task=task))
    names = ["macro_f1", *(f"accuracy_of_class_{label}" for label in range(4))]
    names += ["client_accuracy", "worst_tenth_accuracy", "client_spread", "client_jain_index"]
    scores = [name for name in result.evaluations if name not in plain]
    assert scores == names
    assert result.evaluations[list(plain)].equals(plain)
    assert list(result.summary.measures) == ["accuracy", "loss_nats", *names]
    of_classes = result.evaluations[[f"accuracy_of_class_{label}" for label in range(4)]]
    np.testing.assert_allclose(of_classes.mean(axis=1), result.evaluations["accuracy"], rtol=1e-12)


@pytest.mark.parametrize("task", [cosim.tasks.Classification(metrics=ALL)])
def test_a_task_with_metrics_keeps_the_laws(task):
    check_task(task)


def test_a_metric_of_ones_own_is_named_by_its_module():
    task = cosim.tasks.Classification(metrics=("own_parts:Kappa",))
    found = cosim.run(attrs.evolve(small_system(), task=pickle.loads(pickle.dumps(task)))).evaluations
    assert own_parts.Kappa is not None
    by_accuracy = (found["accuracy"] - 0.25) / 0.75  # as many test samples of each class
    np.testing.assert_allclose(found["kappa"], by_accuracy, atol=1e-6)


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        (("Macro",), r"Classification\.metrics = .*Macro is no metric; known are ClassAccuracy"),
        (("MacroF1", "MacroF1"), r"one comes twice"),
        (("nowhere:Kappa",), r"the module nowhere is not loaded"),
    ],
)
def test_what_is_no_metric_is_refused(names, rule):
    with pytest.raises(ConfigurationError, match=rule):
        cosim.tasks.Classification(metrics=names)


def test_metrics_of_classes_and_of_clients_refuse_what_has_none():
    regression = attrs.evolve(
        small_system(),
        task=cosim.tasks.Regression(metrics=("MacroF1",)),
        num_clients=16,
        data=CellTraffic(),
        model="mlp-18-4-1",
    )
    with pytest.raises(ConfigurationError, match=r"MacroF1: the targets of 'traffic' are quantities"):
        cosim.run(regression)
    task = cosim.tasks.Regression(metrics=("ClientAccuracy",))
    with pytest.raises(ConfigurationError, match=r"CellTraffic\.split = .*belong to no client"):
        cosim.run(attrs.evolve(regression, task=task))


def test_the_table_of_clients_has_their_accuracies(tmp_path):
    """Accuracies of the kept model, of which the metric's columns are mean, spread and evenness."""
    task = cosim.tasks.Classification(metrics=("ClientAccuracy",))
    result = cosim.run(attrs.evolve(small_system(), task=task), keep="best", out=tmp_path / "a")
    kept = result.evaluations[result.evaluations["version"] == result.summary.kept_version].iloc[0]
    found = result.clients["accuracy"]
    assert found.mean() == pytest.approx(kept["client_accuracy"], rel=1e-12)
    assert found.std(ddof=0) == pytest.approx(kept["client_spread"], rel=1e-9)
    assert jain_index(found.dropna()) == pytest.approx(kept["client_jain_index"], rel=1e-12)
    assert cosim.Result.load(tmp_path / "a").clients.equals(result.clients)
    assert "accuracy" not in cosim.run(small_system()).clients


def test_jain_index_by_hand():
    assert jain_index([3, 3, 3]) == 1.0
    assert jain_index([5, 0, 0, 0]) == 0.25
    assert jain_index([1, 2, 3]) == pytest.approx(36 / (3 * 14))
    assert math.isnan(jain_index([0, 0]))
