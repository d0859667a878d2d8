"""Task: the port of the loss that is minimised, and of the scores of a model.

| kind | targets | loss | reported |
|---|---|---|---|
| Classification | classes | cross entropy | accuracy and cross entropy on the test set |
| Regression | quantities | squared error | mean squared error on test and training set, error ratio |
| NextToken | the token that follows | cross entropy | perplexity, accuracy, cross entropy on the test set |

Scores are computed from sums over slices of a data set, so they do not depend on the division of the work;
scores that are not sums come from metrics that a task names (`cosim.tasks.metric`). The first measure is the
headline: it is plotted, and a study's target is one of its values. The field `first` makes another column the
headline, also a metric's.

A sample has no answer if an output is nan, or several are infinitely large. A task of your own is then not
asked for sums: all its scores are nan, which marks the run as diverged, unless the class says
`takes_no_answers`. A measure that may be nan for a sound model says `can_be_nan`.

Scope and limitations: a loss is the mean over a batch, a function of outputs and targets alone, in operations
that torch.func can batch. A class without a `loss` trains on the cross entropy of classes, for which there
are faster programs.

Usage::

    @part
    class Huber(cosim.tasks.Task):
        \"\"\"Huber loss, with the mean absolute error as its score.\"\"\"

        delta: float = knob(positive, default=1.0)

        def measures(self):
            return {"test_mae": cosim.records.Measure("test MAE", higher_is_better=False)}

        def loss(self, outputs, targets):
            from torch.nn.functional import huber_loss

            return huber_loss(outputs.reshape(targets.shape), targets, delta=self.delta)

        def sums(self, outputs, targets):
            return {"test_mae": (outputs.reshape(targets.shape) - targets).abs().sum()}

Validation: `cosim.testing.check_task`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
from typing_extensions import override

from cosim.configuration import Port, knob, one_of, part, parts_of, refuse, said_of
from cosim.configuration.kinds import class_of
from cosim.records.measures import Measure
from cosim.tasks.answered import are_answers
from cosim.tasks.metric import Answers, are_metrics, named_metrics

if TYPE_CHECKING:
    from torch import Tensor

    from cosim.data.dataset import Dataset

Sums = Mapping[str, float]
"""Name -> sum over all samples of a set; `num_samples` is among them."""


@part
class Task(Port, ABC):
    """Loss that is minimised, and scores that are reported.

    Attributes:
        reads_training_set: True if scores are computed from the training set, too; set in the class.
        takes_no_answers: True if its scores are right even if samples have no answer, with an output of nan
            or several that are infinitely large; set in the class. Otherwise all of them are nan then.
        metrics: Names of further scores, such as MacroF1, or module:Class of your own. [no source]
        first: Column that is the headline, such as macro_f1; None means the task's first. [no source]
    """

    forms = one_of(cross_entropy=(), loss=("loss",))
    claims = said_of(takes_no_answers=("measures", "sums", "scores"))
    reads_training_set: ClassVar[bool] = False
    takes_no_answers: ClassVar[bool] = False

    metrics: tuple[str, ...] = knob(are_metrics, default=())
    first: str | None = None

    def check(self, dataset: "Dataset") -> None:
        """Refuse a data set that does not suit, before the clock starts.

        Raises:
            ConfigurationError: The data set does not suit; the message says why and what to use.
        """

    def num_outputs(self, dataset: "Dataset") -> int:
        """Number of outputs that a network needs for a sample: one for each class, or for each quantity."""
        return dataset.num_targets

    def loss(self, outputs: "Tensor", targets: "Tensor") -> "Tensor":
        """Mean loss of a batch; here the cross entropy of class scores.

        Args:
            outputs: Outputs of the network, shape (batch, outputs).
            targets: Classes or quantities, shape (batch,), or (batch, quantities).
        """
        from torch.nn.functional import cross_entropy

        return cross_entropy(outputs, targets)

    @abstractmethod
    def measures(self) -> Mapping[str, Measure]:
        """Column -> its meaning, the headline first, unless the field `first` names another."""

    def headline_of(self, dataset: "Dataset | None") -> Measure | None:
        """Headline measure, which is plotted and in which targets are given.

        Args:
            dataset: The data set; None means that it is not known yet.

        Returns:
            The measure; None if only the data set can tell.
        """
        own = self.measures()
        if self.first is None or self.first in own:
            return own[self.first] if self.first else next(iter(own.values()))
        return None if dataset is None else self.columns(dataset)[self.first]

    @abstractmethod
    def sums(self, outputs: "Tensor", targets: "Tensor") -> "Mapping[str, Tensor | float]":
        """Name -> sum over a slice of a data set; arguments as for `loss`."""

    def scores(self, test: Sums, training: Sums | None) -> Mapping[str, float]:
        """Column -> value, from the sums over whole sets; here means over the test set.

        Args:
            test: Sums over the test set.
            training: Sums over the training set, if the task reads it; else None.
        """
        return {column: test[column] / test["num_samples"] for column in self.measures()}

    @override
    def fit(self, system: Any) -> None:
        """Refuse metrics of personal models if clients have none."""
        by_hand = any(getattr(part, "personal_tensors", None) for part in parts_of(system))
        names = [type(metric).__name__ for metric in named_metrics(self.metrics) if metric.is_personal]
        if names and not (system.personal or by_hand):
            rule = f"{names[0]} measures clients' own models, but clients keep no part of the model"
            fix = "Set System.personal, for instance to the last layer; or use ClientAccuracy."
            raise refuse(type(self), "metrics", self.metrics, rule, fix)

    def columns(self, dataset: "Dataset") -> Mapping[str, Measure]:
        """Column -> its meaning: the headline, the task's columns, the metrics' columns.

        Raises:
            ConfigurationError: There is no column with the name in `first`.
        """
        columns = dict(self.measures())
        for metric in named_metrics(self.metrics):
            columns |= metric.measures(dataset)
        if self.first is None:
            return columns
        if self.first not in columns:
            rule = f"is not a column of the evaluations, whose columns are {', '.join(columns)}"
            raise refuse(
                type(self),
                "first",
                self.first,
                rule,
                f"Use first={next(iter(columns))!r}, or add the metric that gives it.",
            )
        return {self.first: columns[self.first]} | columns

    def metric_scores(
        self, answers: Answers, dataset: "Dataset", personal: Answers | None = None
    ) -> Mapping[str, float]:
        """Column of a metric -> value.

        Args:
            answers: Answers of the global model.
            personal: Answers of each client's own model to its test share; None means the global model's.
        """
        scores: dict[str, float] = {}
        for metric in named_metrics(self.metrics):
            given = personal if personal is not None and metric.is_personal else answers
            if metric.takes_no_answers or are_answers(given.outputs).all():
                scores |= metric.scores(given.own)
            else:
                scores |= dict.fromkeys(metric.measures(dataset), math.nan)
        return scores

    @override
    def __reduce__(self) -> tuple[Callable[..., "Task"], tuple[Any, ...]]:
        """Pickle the task with its metrics' classes, so that another process loads their modules, too."""
        values = {attribute.name: getattr(self, attribute.name) for attribute in attrs.fields(type(self))}
        return _unpickled, (type(self), values, [class_of(name) for name in self.metrics])


def _unpickled(cls: type[Task], values: dict[str, Any], _metrics: object) -> Task:
    return cls(**values)
