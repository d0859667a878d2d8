"""Samples without an answer count as wrong: predictions, ranks and metrics against loops over numbers."""

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import cosim
import models
from cosim.engine.learning.learner import Learner
from cosim.tasks.answered import label_ranks, predicted_classes
from cosim.tasks.metric import Answers

pytestmark = pytest.mark.quick

NUM_CLASSES = 3
VALUES = st.sampled_from([-math.inf, -1.0, 0.0, 2.0, math.inf, math.nan])
ROWS = st.lists(st.lists(VALUES, min_size=NUM_CLASSES, max_size=NUM_CLASSES), min_size=1, max_size=6)


def best(row: list[float]) -> int | None:
    """The first of the largest; None where that is no question."""
    if any(map(math.isnan, row)) or row.count(math.inf) > 1:
        return None
    return row.index(max(row))


@given(ROWS)
def test_the_largest_output_is_predicted_where_there_is_one(rows):
    wanted = [-1 if best(row) is None else best(row) for row in rows]
    assert predicted_classes(torch.tensor(rows)).tolist() == wanted
    assert predicted_classes(np.array(rows, np.float32)).tolist() == wanted
    assert Answers(np.array(rows, np.float32), np.zeros(len(rows)), None).predicted.tolist() == wanted


@given(ROWS, st.integers(0, NUM_CLASSES - 1))
def test_ranks_are_places_in_the_order_of_outputs_and_no_top_m_counts_no_answer(rows, label):
    ranks = label_ranks(np.array(rows), np.full(len(rows), label)).tolist()
    for row, rank in zip(rows, ranks, strict=True):
        order = sorted(range(NUM_CLASSES), key=lambda k: (-row[k], k))
        assert rank == (NUM_CLASSES if best(row) is None else order.index(label))


def of_outputs(outputs: list[list[float]]) -> Learner:
    """A learner whose network gives these outputs for its test samples, the numbers 0, 1, ..."""
    given_NK = torch.tensor(outputs)

    class Table(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))

        def forward(self, x_BD):
            return given_NK[x_BD[:, 0].long().clamp(0, len(given_NK) - 1)] * self.scale

    x = np.arange(len(outputs), dtype=np.float32)[:, None]
    y = np.array([0, 0, 0, 0, 1], np.int64)
    dataset = cosim.data.Dataset(
        name="rows",
        train_x=x,
        train_y=y,
        test_x=x,
        test_y=y,
        num_classes=2,
        test_owners=np.array([0, 0, 1, 1, 2]),
    )
    task = cosim.tasks.Classification(metrics=("MacroF1", "ClassAccuracy", "ClientAccuracy"))
    return Learner(Table(), dataset, num_workers=1, brings_weights=True, task=task)


@pytest.mark.parametrize("lost", [[math.nan, 0.0], [0.0, math.nan], [math.nan] * 2, [math.inf] * 2])
def test_no_answer_is_right_of_nothing_in_any_metric(lost):
    """Four of class 0, of which two have no answer, and one of class 1, which is right."""
    learner = of_outputs([[1.0, 0.0], lost, [1.0, 0.0], lost, [-math.inf, 1.0]])
    found = learner.evaluate(learner.initial_model(key=1))
    assert found.pop("loss_nats") != found.get("loss_nats")
    assert found == {
        "accuracy": 3 / 5,
        "macro_f1": pytest.approx((2 * 2 / (4 + 2) + 2 * 1 / (1 + 1)) / 2),
        "accuracy_of_class_0": 2 / 4,
        "accuracy_of_class_1": 1.0,
        "client_accuracy": pytest.approx((1 / 2 + 1 / 2 + 1) / 3),
        "worst_tenth_accuracy": 1 / 2,
        "client_spread": pytest.approx(np.std([0.5, 0.5, 1.0])),
        "client_jain_index": pytest.approx(2.0**2 / (3 * 1.5)),
    }
    assert learner.answers(learner.initial_model(key=1)).label_ranks.tolist() == [0, 2, 0, 2, 0]


def test_a_class_that_is_masked_out_is_legal():
    learner = of_outputs([[1.0, -math.inf]] * 4 + [[-math.inf, 1.0]])
    found = learner.evaluate(learner.initial_model(key=1))
    assert (found["accuracy"], found["loss_nats"]) == (1.0, 0.0)


class Naive(cosim.tasks.Classification):
    """A task that knows nothing of nan, and would find class 0 where there is one."""

    def sums(self, outputs, targets):
        assert not outputs.isnan().any()
        return {"accuracy": (outputs.argmax(1) == targets).sum(), "loss_nats": 0.0}


class Knowing(Naive):
    """A task that says it knows."""

    takes_no_answers: ClassVar[bool] = True

    def sums(self, outputs, targets):
        return {"accuracy": (outputs.nan_to_num().argmax(1) == targets).sum(), "loss_nats": len(targets)}


class NaiveShare(cosim.tasks.Metric):
    """A metric that knows nothing of nan."""

    def measures(self, dataset) -> Mapping[str, cosim.records.Measure]:
        return {"naive": cosim.records.Measure("naive", higher_is_better=True, is_share=True)}

    def scores(self, answers):
        assert np.isfinite(answers.outputs).all()
        return {"naive": float((answers.outputs.argmax(1) == answers.targets).mean())}


class KnowingShare(NaiveShare):
    """A metric that says it knows."""

    takes_no_answers: ClassVar[bool] = True

    def measures(self, dataset):
        return {"knowing": cosim.records.Measure("knowing", higher_is_better=True, is_share=True)}

    def scores(self, answers):
        return {"knowing": float((answers.predicted == answers.targets).mean())}


OWN = tuple(f"{__name__}:{kind.__name__}" for kind in (NaiveShare, KnowingShare))


@pytest.mark.parametrize("value", [0.0, math.nan])
@pytest.mark.parametrize("task", [Naive(metrics=OWN), Knowing(metrics=OWN)], ids=["naive", "knowing"])
def test_what_a_task_or_metric_of_ones_own_makes_of_no_answer_counts_where_it_says_that_it_knows(task, value):
    x = np.random.default_rng(1).standard_normal((1200, 4)).astype(np.float32)
    y = np.where(np.arange(1200) % 10, 0, 1)
    learner = Learner(models.build("relu-4-3-2"), cosim.data.Dataset.of("own", (x, y), (x, y)), task=task)
    weights = {n: np.full(size, value, np.float32) for n, size in learner.shape.parameters.items()}
    found = learner.evaluate(learner.stored_model(weights))
    if value == 0.0:
        assert (found["accuracy"], found["naive"], found["knowing"]) == (0.9, 0.9, 0.9)
        return
    assert (found["accuracy"] == 0.9) == isinstance(task, Knowing)
    assert math.isnan(found["accuracy"]) == (type(task) is Naive)
    assert math.isnan(found["naive"])
    assert found["knowing"] == 0.0


class AccuracyAlone(cosim.tasks.Classification):
    """A subclass that reports nothing of which nan would be seen."""

    def measures(self):
        return {"accuracy": cosim.records.Measure("accuracy", higher_is_better=True, is_share=True)}


def test_a_task_that_reports_other_measures_says_of_its_own_whether_it_takes_no_answers():
    assert [
        kind.takes_no_answers
        for kind in (cosim.tasks.Classification, cosim.tasks.Regression, cosim.tasks.NextToken)
    ] == [True] * 3
    assert not AccuracyAlone.takes_no_answers
