"""Metric: the port of scores of a model that are not one sum over samples.

A task names its metrics (`Task.metrics`): built-in ones by bare name, your own as module:Class. They become
columns of the evaluations, after the task's own columns.

| kind | columns |
|---|---|
| MacroF1 | mean over classes of F1 |
| ClassAccuracy | accuracy on the samples of each class |
| ClientAccuracy | accuracy on each client's own test share: mean, worst tenth, spread, Jain's index |
| PersonalAccuracy | the same, of each client's own model |

Usage, in a module `rules`, for `metrics=("rules:Kappa",)`::

    class Kappa(cosim.tasks.Metric):
        \"\"\"Cohen's kappa.\"\"\"

        def measures(self, dataset):
            return {"kappa": cosim.records.Measure("Cohen's kappa", higher_is_better=True)}

        def scores(self, answers):
            return {"kappa": cohen_kappa_score(answers.targets, answers.predicted)}

If an output of a sample is nan, or several are infinitely large, the sample has no answer, and
`answers.predicted` is -1. A metric of your own is not asked then: its columns are nan, which marks the run as
diverged, unless the class says `takes_no_answers`. A measure that may be nan for a sound model says
`can_be_nan`.

Scope and limitations: outputs for the whole test set are in memory at once, and are computed again after the
task's own sums. A metric is named, so its fields have their defaults; other values need a subclass.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError, Port, part, said_of
from cosim.configuration.kinds import class_of, known_kinds
from cosim.configuration.rules import short
from cosim.records.measures import Measure
from cosim.tasks.answered import label_ranks, predicted_classes

if TYPE_CHECKING:
    from cosim.data.dataset import Dataset


class Answers(NamedTuple):
    """Answers of a model to the test set.

    Attributes:
        outputs: Outputs of the network, float32, shape (test samples, outputs).
        targets: Classes or quantities, shape (test samples,), or (test samples, quantities).
        owners: Number of the client to whose test share a sample belongs, shape (test samples,), -1 for no
            client; None, unless a metric says `reads_owners`.
    """

    outputs: NDArray[np.float32]
    targets: NDArray[Any]
    owners: NDArray[np.int64] | None

    @property
    def predicted(self) -> NDArray[np.int64]:
        """Class of the largest output, shape (test samples,); -1, which is no class, for no answer.

        A sample has no answer if one of its outputs is nan, or several are infinitely large.
        """
        return predicted_classes(self.outputs)

    @property
    def label_ranks(self) -> NDArray[np.int64]:
        """Number of classes that the model puts before the true one, shape (test samples,).

        0 is best; the mean of (ranks < M) is the Top-M accuracy. Of equal outputs the lower class comes
        first. If a sample has no answer, all classes come before the true one.

        Raises:
            ConfigurationError: A quantity is predicted.
        """
        if self.targets.dtype.kind == "f":
            raise ConfigurationError("label_ranks: the data set has no classes. Use evaluate instead.")
        return label_ranks(self.outputs, self.targets)

    def accuracies_of_clients(self, num: int = 0) -> NDArray[np.float64]:
        """Accuracy on each client's own test share, shape (clients,); NaN for an empty share.

        Args:
            num: Number of clients; 0 means up to the last that has a share.
        """
        assert self.owners is not None
        is_owned = self.owners >= 0
        is_right, owners = (self.predicted == self.targets)[is_owned], self.owners[is_owned]
        with np.errstate(invalid="ignore"):  # 0 / 0 of an empty share
            return np.bincount(owners, is_right, minlength=num) / np.bincount(owners, minlength=num)

    @property
    def own(self) -> "Answers":
        """Copy of the answers, which its reader may change."""
        owners = None if self.owners is None else self.owners.copy()
        return Answers(self.outputs.copy(), self.targets.copy(), owners)


@part
class Metric(Port, ABC):
    """Scores from the answers to a whole test set.

    Attributes:
        reads_owners: True if it needs the clients to whose test shares samples belong; set in the class.
        is_personal: True if the answers to a client's test share come from its own model, with its personal
            tensors in place of the global ones; set in a class that `reads_owners`.
        takes_no_answers: True if its scores are right even if samples have no answer (`Answers.predicted`);
            set in the class. Otherwise it is not asked then, and its columns are nan.
    """

    claims = said_of(takes_no_answers=("scores",))
    reads_owners: ClassVar[bool] = False
    is_personal: ClassVar[bool] = False
    takes_no_answers: ClassVar[bool] = False

    def check(self, dataset: "Dataset") -> None:
        """Refuse a data set that does not suit: here quantities.

        Raises:
            ConfigurationError: The data set does not suit; the message says why and what to use.
        """
        if dataset.num_classes is None:
            raise ConfigurationError(
                f"{type(self).__name__}: the targets of {dataset.name!r} are quantities, not classes. "
                "Use a metric of quantities, or leave it out."
            )

    @abstractmethod
    def measures(self, dataset: "Dataset") -> Mapping[str, Measure]:
        """Column -> its meaning."""

    @abstractmethod
    def scores(self, answers: Answers) -> Mapping[str, float]:
        """Column -> value."""


def named_metrics(names: tuple[str, ...]) -> list[Metric]:
    """Metrics of these names.

    Raises:
        ConfigurationError: The module of a metric is not loaded.
    """
    return [cls() for cls in map(class_of, names) if cls is not None]


def are_metrics(names: tuple[str, ...]) -> str | None:
    """Check that each is the name of a metric, and none occurs twice."""
    for name in names:
        cls = class_of(name)
        if cls is None or not issubclass(cls, Metric):
            return (
                f"{short(name)} is no metric; known are {', '.join(known_kinds((Metric,)))}, or module:Class"
            )
    return None if len(set(names)) == len(names) else "one comes twice"
