"""Combinations: means of pending updates, with noise or without, and received models, pending too.

Each is computed when a learner reads it. To add a combination, write a subclass of `PendingModel` where it is
made; the learner does not change (`cosim.protocols.combinations` has the ones of protocols).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from cosim.configuration import ConfigurationError
from cosim.values.pending import PendingModel, PendingUpdate
from cosim.values.submodels import NetworkShape

if TYPE_CHECKING:
    from cosim.codecs.model_codec import ModelCodec
    from cosim.values.weights import Weights


class NoisyMean(PendingModel):
    """Mean of updated models as it is received over the air. [HIST journal, equations 26, 27]

    The mean of accumulated gradients (w - w_u) / eta with noise Z moves the model to w - eta (mean + Z), that
    is the mean of the w_u less eta Z.

    Args:
        updates: At least one; all start from one model with one rate eta.
        deviation: Gives eta times the standard deviation of Z; asked when the model is first read.
        key: Determines Z, 0 to 2**63 - 1.
    """

    __slots__ = ("deviation", "key")

    def __init__(self, updates: Sequence[PendingUpdate], deviation: Callable[[], float], key: int) -> None:
        super().__init__((), updates, shares(len(updates), None))
        self.deviation, self.key = deviation, key

    @override
    def combine(
        self, shape: NetworkShape, models: "Sequence[Weights]", update_sum: "Weights | None"
    ) -> "Weights":
        import torch

        assert update_sum is not None
        deviation = self.deviation()
        generator = torch.Generator().manual_seed(self.key)
        noisy = {}
        for name, total in update_sum.items():
            noise = torch.randn(total.shape, generator=generator, dtype=torch.float64)
            noisy[name] = total + deviation * noise.to(total.device)
        return noisy


class ReceivedModel(PendingModel):
    """Model as clients receive it when a codec changes its parameters on the way down."""

    __slots__ = ("codec",)

    def __init__(self, model: PendingModel, codec: "ModelCodec") -> None:
        super().__init__((model,))
        self.codec = codec

    @override
    def combine(
        self, shape: NetworkShape, models: "Sequence[Weights]", update_sum: "Weights | None"
    ) -> "Weights":
        exact = shape.moving
        return {
            name: values if name in exact else self.codec.received(values)
            for name, values in models[0].items()
        }


def mean(updates: Sequence[PendingUpdate], weights: Sequence[float] | None = None) -> PendingModel:
    """Mean of updated models. [HIST journal, equation 6]

    Args:
        updates: At least one.
        weights: Relative weight of each, for example its number of samples, divided by their sum; None:
            equal.
    """
    return PendingModel(updates=updates, coefficients=shares(len(updates), weights))


def shares(count: int, weights: Sequence[float] | None) -> tuple[float, ...]:
    """Weights divided by their sum; equal ones for None.

    Raises:
        ConfigurationError: There are none, or they are no weights.
    """
    if count == 0:
        raise ConfigurationError(
            "there are no models to take the mean of. Keep the old model when no update arrives."
        )
    if weights is None:
        return (1.0 / count,) * count
    relative = np.asarray(weights, dtype=float)
    if (
        relative.shape != (count,)
        or not np.isfinite(relative).all()
        or relative.min() < 0
        or relative.sum() <= 0
    ):
        raise ConfigurationError(
            f"weights = {weights}: must be {count} numbers, none below 0, one of them above 0. Check "
            "the weights that the rule gives."
        )
    return tuple(float(share) for share in relative / relative.sum())
