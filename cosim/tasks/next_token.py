"""Next token: prediction of the token that follows a window of tokens.

A sample is a window of tokens, and its class is the token that follows. The loss is the mean cross entropy in
nats; the perplexity, its exponential over the whole test set, is the headline.

Scope and limitations: one prediction for each window, at its last position, as in LEAF; the network takes
tokens, such as window-28-12-8-48.

Source: Caldas et al., "LEAF", arXiv 1812.01097, Section 3 (Shakespeare: the next character).
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from typing_extensions import override

from cosim.configuration import ConfigurationError, part
from cosim.records.measures import Measure
from cosim.tasks.classification import Classification
from cosim.tasks.port import Sums

if TYPE_CHECKING:
    from cosim.data.dataset import Dataset

_LARGEST_LOSS = 700.0
"""Largest loss with a finite exponential."""


@part
class NextToken(Classification):
    """Cross entropy of the token that follows; perplexity and accuracy on the test set."""

    takes_no_answers: ClassVar[bool] = True

    @override
    def check(self, dataset: "Dataset") -> None:
        """Refuse data that are not text."""
        if dataset.num_classes is None or dataset.test_x.dtype != np.int64:
            raise ConfigurationError(
                f"NextToken: samples of {dataset.name!r} are not windows of tokens, each with the "
                "token that follows. Use data = AuthoredText, or another task."
            )

    @override
    def measures(self) -> Mapping[str, Measure]:
        perplexity = Measure("test perplexity", higher_is_better=False)
        return {"perplexity": perplexity} | dict(super().measures())

    @override
    def scores(self, test: Sums, training: Sums | None) -> Mapping[str, float]:
        """Means over the test set, and the exponential of the loss."""
        accuracy, loss = (test[name] / test["num_samples"] for name in ("accuracy", "loss_nats"))
        perplexity = math.exp(loss) if loss < _LARGEST_LOSS else loss * math.inf
        return {"perplexity": perplexity, "accuracy": accuracy, "loss_nats": loss}
