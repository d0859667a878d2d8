"""Check of a network and a data set: they must fit together, before the clock starts."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.func import functional_call

from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.networks.fingerprint import fingerprint
from cosim.networks.probe.draws import GlobalDraw, outputs_without_draws
from cosim.networks.probe.manner import Manner, manner_of
from cosim.networks.probe.memory import check_memory
from cosim.networks.probe.outputs import check_scores, check_tables, check_values, not_taken, told
from cosim.networks.probe.writes import written_parameters
from cosim.own_code.dropout import dropping_layers, keyed_dropout
from cosim.tasks.port import Task
from cosim.training.programs.relu_layers import ReluLayers, ReluPasses, relu_layers_of
from cosim.training.training_set import batching_of
from cosim.values.submodels import NetworkShape
from cosim.values.weights import own_copy

NUM_COMPARED = 4
"""Samples on which a network with `relu_layers` is compared with the products that train it."""


def check_network(
    network: nn.Module, shape: NetworkShape, dataset: Dataset, task: Task, device: str
) -> Manner:
    """How a network is trained for a task on a data set; refuse one that cannot be.

    Raises:
        ConfigurationError: It takes other samples or gives other outputs, has running statistics that nothing
            moves, draws where no key reaches, remembers what it was given, cannot be trained, or has
            `relu_layers` that are not all it is.
    """
    check_values(network, shape.parameters)
    if shape.moving and batching_of(dataset, task) is not None:
        raise ConfigurationError(
            f"the network changes {next(iter(shape.moving))} with every batch, but clients of "
            f"{dataset.name!r} train on distinct feature rows, not on batches. Use a normalisation "
            "without running statistics, such as GroupNorm, or a data set with train_y."
        )
    averaging = [name for name, layer in network.named_modules() if getattr(layer, "momentum", 0.1) is None]
    if averaging:
        raise ConfigurationError(
            f"{', '.join(averaging)}: momentum = None averages over all batches so far, but a client "
            "does not count them across updates. Use a momentum, such as 0.1."
        )
    relu_layers = getattr(network, "relu_layers", None)
    named = tuple(name for layer in relu_layers or () for name in layer if name is not None)
    if relu_layers is not None and named != tuple(shape.parameters):
        raise ConfigurationError(
            f"relu_layers = {relu_layers} must name all of {tuple(shape.parameters)} in order: for "
            "each layer its weight, and its bias or None. Leave it out if the network is more than "
            "fully connected layers with ReLU between them."
        )
    _check_dropout(network, shape, dataset)
    check_outputs(network, shape, dataset, task, partial(_outputs, network))
    largest = torch.tensor(_largest(dataset))
    probed = own_copy(network).to("cpu").train()
    try:
        with keyed_dropout(probed, key=0), written_parameters(probed) as written:
            outputs = outputs_without_draws(probed, torch.cat((largest, largest)))  # normalisation needs two
    except GlobalDraw as draw:
        raise _unkeyed(draw, "training") from None
    except Exception as error:  # whatever a user's forward pass raises
        raise ConfigurationError(
            f"the network takes samples of {dataset.name!r} in evaluation mode, but not two of them in "
            f"training mode ({told(error)}). Use a forward pass that takes the same samples in both "
            "modes."
        ) from None
    check_scores(outputs, 2, task, dataset, " in training mode")
    if frozen := [name for name in written if name not in shape.parameters]:
        raise ConfigurationError(
            f"{', '.join(frozen)}: frozen, but the network's forward pass writes into it. Frozen "
            "tensors are shared by all clients and not sent. Use register_buffer for what training "
            "changes."
        )
    if relu_layers is not None:
        _check_relu_layers(network, shape, relu_layers, dataset.test_x.shape[1:])
    check_tables(network, dataset)
    check_memory(network, shape, dataset)
    return manner_of(network, shape, dataset, task, device)


def _outputs(network: nn.Module, x_BD: NDArray[Any]) -> Any:
    try:
        return outputs_without_draws(own_copy(network).to("cpu").eval(), torch.tensor(x_BD))
    except GlobalDraw as draw:
        raise _unkeyed(draw, "evaluation") from None


def _largest(dataset: Dataset) -> NDArray[Any]:
    """The test sample with the largest feature, of tokens the rarest, shape (1, ...)."""
    return dataset.test_x[[dataset.test_x.reshape(len(dataset.test_x), -1).max(1).argmax()]]


def check_outputs(
    network: nn.Module,
    shape: NetworkShape,
    dataset: Dataset,
    task: Task,
    outputs_of: Callable[[NDArray[Any]], Any],
    classes_are_known: bool = True,
) -> None:
    """Refuse a network that takes other samples than there are, or gives other outputs than a task wants.

    Args:
        outputs_of: The network's outputs for samples, shape (batch, features), with values or without.
        classes_are_known: True if the data set has as many classes as it says.

    Raises:
        ConfigurationError: It does.
    """
    taken = getattr(network, "num_global_features", 0)
    if shape.num_central_outputs and taken != dataset.num_global_features:
        seen, own = dataset.num_global_features, dataset.num_features - dataset.num_global_features
        raise ConfigurationError(
            f"the network's central part takes {taken} features; the server sees {seen} of each sample "
            f"in {dataset.name!r}, a client {own}. Use vertical-{seen}-{own}-<hidden>-<outputs>."
        )
    try:
        outputs = outputs_of(_largest(dataset))
    except ConfigurationError:
        raise
    except Exception as error:  # whatever a user's forward pass raises
        raise not_taken(network, error, dataset, task) from None
    if classes_are_known:
        check_scores(outputs, 1, task, dataset)


def is_known_to_fit(network: nn.Module, dataset: Dataset, task: Task) -> bool:
    """True of dense layers without code of a user's, if they take the samples and give what a task wants."""
    relu_layers = getattr(network, "relu_layers", None)
    if relu_layers is None or dataset.test_x.dtype != np.float32 or fingerprint(network) is None:
        return False
    (_, num_inputs), (num_outputs, _) = (network.get_parameter(relu_layers[at][0]).shape for at in (0, -1))
    return dataset.test_x.shape[1:] == (num_inputs,) and num_outputs == task.num_outputs(dataset)


def _check_dropout(network: nn.Module, shape: NetworkShape, dataset: Dataset) -> None:
    """Refuse dropout where it would be left out, or where one mask cannot be one sample's."""
    dropping = dropping_layers(network)
    if not dropping:
        return
    reason = fix = None
    if getattr(network, "relu_layers", None) is not None:
        reason, fix = "relu_layers is declared, whose products drop nothing", "Leave relu_layers out."
    elif dataset.train_y is None:
        reason = (
            f"a feature row of {dataset.name!r} stands for all samples that repeat it, but each sample has "
            "its own mask"
        )
        fix = "Use p = 0, or a data set with train_y."
    elif shape.num_central_outputs:
        reason, fix = (
            "vertical training runs all clients in one program, where they would share a mask",
            "Use p = 0.",
        )
    if reason is not None:
        raise ConfigurationError(f"dropout in {', '.join(dropping)}: {reason}. {fix}")


def _unkeyed(draw: GlobalDraw, mode: str) -> ConfigurationError:
    return ConfigurationError(
        f"the network's forward pass in {mode} mode: {draw}, which all threads share, so the seed "
        "would not determine the results. Use nn.Dropout layers, which draw from the update's own key."
    )


def _check_relu_layers(
    network: nn.Module, shape: NetworkShape, names: ReluLayers, sample_shape: tuple[int, ...]
) -> None:
    """Refuse `relu_layers` whose products, which train the network, are not its forward pass."""
    generator = torch.Generator().manual_seed(1)
    x_BD = torch.randn((NUM_COMPARED, *sample_shape), generator=generator)
    weights_1 = {
        name: torch.randn((1, *size), generator=generator) * math.sqrt(2.0 / max((1, *size[1:])))
        for name, size in shape.parameters.items()
    }
    weights = {name: values_1[0] for name, values_1 in weights_1.items()}
    layers, is_same = relu_layers_of(names, weights_1), True
    try:
        with torch.no_grad():
            passes = ReluPasses(layers, x_BD.flatten(1).unsqueeze(0), NUM_COMPARED)
            passes.forward()
            expected_BK = passes.scores_CBK[0]
            for training in (False, True):
                own = own_copy(network).to("cpu").train(training)
                found_BK = functional_call(own, weights, (x_BD,))
                rounding = 1e-4 * expected_BK.abs().max()
                is_same &= bool((found_BK - expected_BK).abs().max() <= rounding)
    except (RuntimeError, ValueError, IndexError):
        is_same = False  # matrices that do not fit
    if not is_same:
        raise ConfigurationError(
            f"relu_layers of {type(network).__name__}: its forward pass is not these layers with ReLU "
            "between them, but would be trained as if it were. Leave relu_layers out."
        )
