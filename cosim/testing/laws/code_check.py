"""Code check: how much of the variance of random values is left by what arrives of them."""

from collections.abc import Callable

import torch
from torch import Tensor

from cosim.codecs.model_codec import ModelCodec
from cosim.codecs.port import Codec
from cosim.codecs.transmission import transmitted
from cosim.training.sgd import Sgd
from cosim.values.pending import PendingModel, PendingUpdate


def left_of_changes(codec: Codec, shape: tuple[int, ...]) -> float:
    """Share of a client's first change that a codec leaves."""

    def arrived(values: Tensor) -> Tensor:
        update = PendingUpdate(
            client="client-0000",
            model=PendingModel.of({"values": torch.zeros(shape)}),
            samples=[0],  # pyright: ignore[reportArgumentType]
            num_steps=1,
            training=Sgd(),
            key=1,
            codec=codec,
        )
        weights_C = {"values": values[None].clone()}
        transmitted(update, weights_C, 0)
        return weights_C["values"][0]

    return _left(arrived, shape)


def left_of_models(codec: ModelCodec, shape: tuple[int, ...]) -> float:
    """Share of a model that a codec leaves."""
    return _left(codec.received, shape)


def _left(code: Callable[[Tensor], Tensor], shape: tuple[int, ...]) -> float:
    """Share of the variance of independent normal values that the best multiple of what arrives leaves."""
    sent = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    arrived, sent = code(sent.clone()).double(), sent.double()
    power = float(arrived.square().sum())
    factor = float((sent * arrived).sum()) / power if power > 0.0 else 0.0
    return float((sent - factor * arrived).square().sum() / sent.square().sum())
