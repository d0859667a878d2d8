"""Regression: squared error of quantities, and the scores of a model for them."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from cosim.configuration import ConfigurationError, part
from cosim.records.measures import Measure
from cosim.tasks.port import Sums, Task

if TYPE_CHECKING:
    from torch import Tensor

    from cosim.data.dataset import Dataset


@part
class Regression(Task):
    """Squared error; mean squared errors, and the error ratio on the test set.

    The error ratio is the sum of the absolute errors over the sum of the absolute targets. With several
    quantities, errors are means over them.
    """

    reads_training_set: ClassVar[bool] = True
    takes_no_answers: ClassVar[bool] = True

    @override
    def check(self, dataset: "Dataset") -> None:
        """Refuse classes in place of quantities."""
        if dataset.num_classes is not None:
            raise ConfigurationError(
                f"{type(self).__name__}: the targets of {dataset.name!r} are classes, not quantities. "
                "Use y.astype(np.float32), which makes them quantities; or task = Classification, or "
                "None."
            )

    @override
    def loss(self, outputs: "Tensor", targets: "Tensor") -> "Tensor":
        """Mean squared error of a batch."""
        return (outputs.reshape(targets.shape) - targets).square().mean()

    @override
    def measures(self) -> Mapping[str, Measure]:
        return {
            "test_mse": Measure("test MSE", higher_is_better=False),
            "train_mse": Measure("training MSE", higher_is_better=False),
            "error_ratio": Measure("test error ratio", higher_is_better=False, can_be_nan=True),
        }

    @override
    def sums(self, outputs: "Tensor", targets: "Tensor") -> "Mapping[str, Tensor | float]":
        """Sums of squared errors, absolute errors and absolute targets, and their number."""
        errors = outputs.reshape(targets.shape).double() - targets
        return {
            "squares": errors.square().sum(),
            "errors": errors.abs().sum(),
            "targets": targets.double().abs().sum(),
            "num_targets": targets.numel(),
        }

    @override
    def scores(self, test: Sums, training: Sums | None) -> Mapping[str, float]:
        """Means of squares, and the ratio of sums."""
        assert training is not None
        return {
            "test_mse": test["squares"] / test["num_targets"],
            "train_mse": training["squares"] / training["num_targets"],
            "error_ratio": test["errors"] / test["targets"] if test["targets"] else math.nan,
        }
