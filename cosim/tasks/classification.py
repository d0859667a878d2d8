"""Classification: cross entropy of classes, and the share of correctly classified samples."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from cosim.configuration import ConfigurationError, part
from cosim.data.pairs import is_one_hot, is_whole
from cosim.records.measures import Measure
from cosim.tasks.answered import predicted_classes
from cosim.tasks.port import Task

if TYPE_CHECKING:
    from torch import Tensor

    from cosim.data.dataset import Dataset


@part
class Classification(Task):
    """Cross entropy; accuracy on the test set."""

    takes_no_answers: ClassVar[bool] = True

    @override
    def check(self, dataset: "Dataset") -> None:
        """Refuse quantities in place of classes."""
        if dataset.num_classes is None:
            fix = "y.astype(int), which makes them classes; or " if is_whole(dataset.test_y) else ""
            fix = "y.argmax(1); or " if is_one_hot(dataset.test_y) else fix
            raise ConfigurationError(
                f"{type(self).__name__}: the targets of {dataset.name!r} are quantities, not classes. "
                f"Use {fix}task = Regression, or None."
            )

    @override
    def measures(self) -> Mapping[str, Measure]:
        return {
            "accuracy": Measure("test accuracy", higher_is_better=True, is_share=True),
            "loss_nats": Measure("test cross entropy (nats)", higher_is_better=False),
        }

    @override
    def sums(self, outputs: "Tensor", targets: "Tensor") -> "Mapping[str, Tensor | float]":
        """Number of correctly classified samples, and the sum of their cross entropies."""
        from torch.nn.functional import cross_entropy

        return {
            "accuracy": (predicted_classes(outputs) == targets).sum(),
            "loss_nats": cross_entropy(outputs.double(), targets, reduction="sum"),
        }
