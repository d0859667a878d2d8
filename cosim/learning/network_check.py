"""Whether a network and a data set fit together, asked before the clock starts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from cosim.configuration import ConfigurationError
from cosim.learning.datasets import Dataset
from cosim.learning.submodels import NetworkShape
from cosim.learning.weights import own_copy


def check_network(network: nn.Module, shape: NetworkShape, dataset: Dataset) -> None:
    """Refuse a network that cannot be trained on a data set.

    Raises:
        ConfigurationError: It takes other samples or gives other outputs, has running statistics that nothing
            moves, or `relu_layers` that are not all it has.
    """
    if shape.statistics and (dataset.train_y is None or dataset.num_classes is None):
        raise ConfigurationError(
            f"the network keeps running statistics, and clients of {dataset.name!r} do not train on batches "
            "of labelled samples, which would move them. Usual fix: a normalisation without, as GroupNorm."
        )
    averaging = [name for name, layer in network.named_modules() if getattr(layer, "momentum", 0.1) is None]
    if averaging:
        raise ConfigurationError(
            f"{', '.join(averaging)}: momentum = None averages over all batches so far, and a client counts "
            "none from one update to the next. Usual fix: a momentum, such as 0.1."
        )
    relu_layers = getattr(network, "relu_layers", None)
    named = tuple(name for layer in relu_layers or () for name in layer if name is not None)
    if relu_layers is not None and named != tuple(shape.parameters):
        raise ConfigurationError(
            f"relu_layers = {relu_layers} must name all of {tuple(shape.parameters)} in order, of "
            "each layer its weight and its bias or None. Usual fix: leave it out where a network is more "
            "than fully connected layers with ReLU between."
        )
    check_outputs(network, shape, dataset, partial(_outputs, network))


def _outputs(network: nn.Module, x_BD: NDArray[Any]) -> tuple[int, ...]:
    with torch.no_grad():
        return tuple(own_copy(network).to("cpu").eval()(torch.tensor(x_BD)).shape)


def check_outputs(
    network: nn.Module,
    shape: NetworkShape,
    dataset: Dataset,
    output_shape: Callable[[NDArray[Any]], tuple[int, ...]],
) -> None:
    """Refuse a network that takes other samples, or gives other outputs, than a data set has.

    Args:
        output_shape: The shape of the network's outputs for samples, shape (batch, features).

    Raises:
        ConfigurationError: It does.
    """
    taken = getattr(network, "num_global_features", 0)
    if shape.num_central_outputs and taken != dataset.num_global_features:
        seen, own = dataset.num_global_features, dataset.num_features - dataset.num_global_features
        raise ConfigurationError(
            f"the network's central part takes {taken} features; the server sees {seen} of each sample "
            f"in {dataset.name!r}, and a client {own}. Usual fix: "
            f"vertical-{seen}-{own}-<hidden>-<outputs>."
        )
    largest = dataset.test_x[[dataset.test_x.max(1).argmax()]]  # of tokens, the rarest
    try:
        found = output_shape(largest)
    except (RuntimeError, ValueError, IndexError) as error:
        if largest.dtype == np.float32:
            fits = f"one for {dataset.num_features} features, such as relu-{dataset.num_features}-300-"
        else:
            fits = "one for tokens, such as gpt2lora-16-"
        raise ConfigurationError(
            f"the network does not take samples of {dataset.name!r} ({error}). Usual fix: "
            f"{fits}{dataset.num_classes or 1}."
        ) from None
    num_outputs = dataset.num_classes or 1
    if found != (1, num_outputs):
        raise ConfigurationError(
            f"the network gives outputs of shape {found} for one sample: must be (1, {num_outputs}), "
            "one per class. Usual fix: a network whose last size is the number of classes."
            if dataset.num_classes
            else f"the network gives outputs of shape {found} for one sample: must be (1, 1), the "
            "predicted quantity. Usual fix: a network with one output."
        )
