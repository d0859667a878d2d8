"""Metrics of classes, and of clients.

With n_ij test samples of class i that the model takes for j, class c has the accuracy n_cc / sum_j n_cj and
F1 = 2 n_cc / (sum_j n_cj + sum_i n_ic), which is 0 if nothing is right; a class that neither occurs nor is
predicted is left out. A sample without an answer (`cosim.tasks.answered`) is taken for no class.

The accuracy of a client is measured on its own test share (`cosim.data.client_test_shares`). The mean is over
clients with equal weights; the worst tenth is the mean of the lowest ceil(m / 10) of m clients; the spread is
their standard deviation (of the population), and evenness is Jain's index. Clients with an empty share are
left out.

Source: F1: van Rijsbergen, "Information Retrieval", 1979; worst tenth: Li, Sanjabi, Beirami, Smith, "Fair
Resource Allocation in Federated Learning", ICLR 2020, arXiv 1905.10497, Table 1.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from typing_extensions import override

from cosim.configuration import part
from cosim.records.measures import Measure
from cosim.tasks.evenness import jain_index
from cosim.tasks.metric import Answers, Metric

if TYPE_CHECKING:
    from cosim.data.dataset import Dataset


@part
class MacroF1(Metric):
    """Mean over classes of F1."""

    takes_no_answers: ClassVar[bool] = True

    @override
    def measures(self, dataset: "Dataset") -> Mapping[str, Measure]:
        return {"macro_f1": Measure("macro F1", higher_is_better=True, is_share=True)}

    @override
    def scores(self, answers: Answers) -> Mapping[str, float]:
        """Mean over classes of 2 n_cc over the samples of a class and the samples taken for it."""
        num, true, predicted = answers.outputs.shape[1], answers.targets, answers.predicted
        right = np.bincount(true[true == predicted], minlength=num)
        taken = np.bincount(predicted[predicted >= 0], minlength=num)
        either = np.bincount(true, minlength=num) + taken
        return {"macro_f1": float((2 * right[either > 0] / either[either > 0]).mean())}


@part
class ClassAccuracy(Metric):
    """Accuracy on the samples of each class; nan for a class without test samples."""

    takes_no_answers: ClassVar[bool] = True

    @override
    def measures(self, dataset: "Dataset") -> Mapping[str, Measure]:
        return {
            _column(label): Measure(
                f"test accuracy of class {label}", higher_is_better=True, is_share=True, can_be_nan=True
            )
            for label in range(dataset.num_classes or 0)
        }

    @override
    def scores(self, answers: Answers) -> Mapping[str, float]:
        is_right = answers.predicted == answers.targets
        of_class = [is_right[answers.targets == label] for label in range(answers.outputs.shape[1])]
        return {_column(c): float(of.mean()) if len(of) else math.nan for c, of in enumerate(of_class)}


def _column(label: int) -> str:
    return f"accuracy_of_class_{label}"


@part
class ClientAccuracy(Metric):
    """Accuracy on each client's own test share: mean, worst tenth, spread and Jain's index over clients."""

    reads_owners: ClassVar[bool] = True
    takes_no_answers: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...]] = (
        "client_accuracy",
        "worst_tenth_accuracy",
        "client_spread",
        "client_jain_index",
    )
    whose: ClassVar[str] = "clients"

    @override
    def measures(self, dataset: "Dataset") -> Mapping[str, Measure]:
        mean = Measure(f"mean accuracy of {self.whose}", higher_is_better=True, is_share=True)
        worst = Measure(f"worst tenth of {self.whose}", higher_is_better=True, is_share=True)
        spread = Measure(f"spread over {self.whose}", higher_is_better=False, is_share=True)
        even = Measure(f"Jain's index of {self.whose}", higher_is_better=True, can_be_nan=True)
        return dict(zip(self.columns, (mean, worst, spread, even), strict=True))

    @override
    def scores(self, answers: Answers) -> Mapping[str, float]:
        of_client = answers.accuracies_of_clients()
        of_client = np.sort(of_client[~np.isnan(of_client)])
        worst = of_client[: -(-len(of_client) // 10)]
        found = float(of_client.mean()), float(worst.mean()), float(of_client.std()), jain_index(of_client)
        return dict(zip(self.columns, found, strict=True))


@part
class PersonalAccuracy(ClientAccuracy):
    """The same accuracies of each client's own model: the global one with the client's personal tensors."""

    is_personal: ClassVar[bool] = True
    takes_no_answers: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...]] = (
        "personal_accuracy",
        "worst_tenth_personal",
        "personal_spread",
        "personal_jain_index",
    )
    whose: ClassVar[str] = "personal models"
