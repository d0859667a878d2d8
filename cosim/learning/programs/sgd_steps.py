"""SGD steps of many clients on labelled samples, in one batched torch program.

Three programs with one result up to float32 rounding. `train_by_autograd` trains any network on any loss
through torch.func, `train_alone` one client at a time. `train_relu_layers` holds the gradients of cross
entropy for fully connected layers, with or without biases and with ReLU between, derived by hand: it adds
each gradient straight into the weights inside the matrix product, which autograd cannot;
benchmarks/learner.py shows the gain.

Running statistics of normalisation layers move with every batch as in a plain loop; they have no gradient.

Shape suffixes: C clients of the cohort, S steps, B batch, D features, I inputs and O outputs of a layer, K
classes, N training samples.
"""

import math
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from cosim.learning.network.weights import Weights

ReluLayers = Sequence[tuple[str, str | None]]
"""What a network declares: the names of every layer's weight, shape (outputs, inputs), and bias, or None."""

ReluLayer = tuple[Tensor, Tensor | None]
"""One layer of all clients: the weights, shape (clients, outputs, inputs), and the biases, shape (clients, 1,
outputs), or None."""


T = TypeVar("T")


class Pull(NamedTuple, Generic[T]):
    """What draws weights back to where they started, in every step besides its gradient.

    Attributes:
        share: Of the way from the weights before the step to their start.
        starts: Where they started, in the form of the weights.
    """

    share: float
    starts: T


def mini_batches(samples: NDArray[np.int64], num_steps: int, batch_size: int, key: int) -> NDArray[np.int64]:
    """Training-set indices of every mini-batch, shape (steps, batch).

    Random permutations of the samples back to back, cut into full batches: the batch that crosses the end of
    an epoch takes the rest from the next.
    """
    rng = np.random.Generator(np.random.Philox(key=key))
    num_drawn = num_steps * batch_size
    num_epochs = math.ceil(num_drawn / len(samples))
    epochs = rng.permuted(np.broadcast_to(samples, (num_epochs, len(samples))), axis=1)
    return epochs.ravel()[:num_drawn].reshape(num_steps, batch_size)


def train_by_autograd(
    network: nn.Module,
    weights_C: Weights,
    x_ND: Tensor,
    y_N: Tensor,
    batches_CSB: Tensor,
    learning_rate: float,
    mean_loss: Callable[[Tensor, Tensor], Tensor],
    pull: Pull[Weights] | None = None,
) -> None:
    """SGD in place on the weights of all clients, for any network.

    Args:
        network: Its forward pass, in training mode; no other thread may use the same module meanwhile.
        weights_C: Tensor name -> the clients' values, shape (clients, ...).
        x_ND: Training samples.
        y_N: Their classes or targets.
        batches_CSB: Sample indices.
        learning_rate: Step size.
        mean_loss: Loss of a batch, from outputs and targets.
        pull: Back to weights of the same names; None: none.
    """

    buffers = {name for name, _ in network.named_buffers()}
    parameters_C = {name: values for name, values in weights_C.items() if name not in buffers}
    statistics_C = {name: values for name, values in weights_C.items() if name in buffers}

    def loss(parameters: Weights, statistics: Weights, x_BD: Tensor, y_B: Tensor) -> tuple[Tensor, Weights]:
        moved = {name: values.clone() for name, values in statistics.items()}
        return mean_loss(functional_call(network, (parameters, moved), (x_BD,)), y_B), moved

    gradients = vmap(grad(loss, has_aux=True))
    for batches_CB in batches_CSB.unbind(1):
        x_CBD, y_CB = x_ND[batches_CB], y_N[batches_CB]
        gradients_C, moved_C = gradients(parameters_C, statistics_C, x_CBD, y_CB)
        if pull is not None:
            for name, values_C in parameters_C.items():
                values_C.lerp_(pull.starts[name], pull.share)
        for name, gradient_C in gradients_C.items():
            parameters_C[name].sub_(gradient_C, alpha=learning_rate)
        for name, values_C in moved_C.items():
            statistics_C[name].copy_(values_C)


def train_alone(
    network: nn.Module,
    weights: Weights,
    x_ND: Tensor,
    y_N: Tensor,
    batches_SB: Tensor,
    learning_rate: float,
    mean_loss: Callable[[Tensor, Tensor], Tensor],
    pull: Pull[Weights] | None = None,
) -> None:
    """The same for one client: without vmap, and without the cost of torch.func for every step.

    Args:
        weights: Tensor name -> values.
        batches_SB: Sample indices.
    """
    trained = [name for name, p in network.named_parameters() if p.requires_grad]
    leaves = [weights[name].detach().requires_grad_() for name in trained]
    tensors = weights | dict(zip(trained, leaves, strict=True))
    for batch_B in batches_SB:
        with torch.enable_grad():  # the workers switch it off
            loss = mean_loss(functional_call(network, tensors, (x_ND[batch_B],)), y_N[batch_B])
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
        with torch.no_grad():
            for name, values in zip(trained, leaves, strict=True):
                if pull is not None:
                    values.lerp_(pull.starts[name], pull.share)
            for values, gradient in zip(leaves, gradients, strict=True):
                values.sub_(gradient, alpha=learning_rate)


def relu_layers_of(names: ReluLayers, weights_C: Weights) -> list[ReluLayer]:
    """The layers that a network declares, as views of the weights."""
    return [
        (weights_C[weight], None if bias is None else weights_C[bias].unsqueeze(1)) for weight, bias in names
    ]


def train_relu_layers(
    layers: Sequence[ReluLayer],
    x_ND: Tensor,
    y_N: Tensor,
    batches_CSB: Tensor,
    learning_rate: float,
    pull: Pull[list[ReluLayer]] | None = None,
) -> None:
    """SGD on cross entropy, in place on the layers of all clients, with ReLU between the layers.

    Args:
        layers: Inputs first.
        x_ND: Training samples.
        y_N: Their classes.
        batches_CSB: Sample indices.
        learning_rate: Step size.
        pull: Back to layers of the same form; None: none.
    """
    kept = 1.0 if pull is None else 1.0 - pull.share
    num_clients, num_steps, batch_size = batches_CSB.shape
    steps = batches_CSB.transpose(0, 1).reshape(num_steps, num_clients * batch_size)
    num_classes = layers[-1][0].shape[1]
    truth_SCBK = nn.functional.one_hot(y_N[steps], num_classes).to(x_ND.dtype)
    truth_SCBK = truth_SCBK.view(num_steps, num_clients, batch_size, num_classes)
    step_size = learning_rate / batch_size
    for step, truth_CBK in zip(steps, truth_SCBK, strict=True):
        x_CBD = x_ND.index_select(0, step).view(num_clients, batch_size, -1)
        inputs, probabilities_CBK = forward(layers, x_CBD)
        descend(layers, inputs, probabilities_CBK.sub_(truth_CBK), step_size, kept)
        if pull is not None:
            for layer, start in zip(layers, pull.starts, strict=True):
                for values, started in zip(layer, start, strict=True):
                    if values is not None and started is not None:
                        values.add_(started, alpha=pull.share)


def forward(layers: Sequence[ReluLayer], x_CBD: Tensor) -> tuple[list[Tensor], Tensor]:
    """The inputs of every layer, and the probabilities of the classes, shape (clients, batch, classes)."""
    inputs = [x_CBD]
    for layer in layers[:-1]:
        inputs.append(layer_outputs(inputs[-1], layer).relu_())
    return inputs, layer_outputs(inputs[-1], layers[-1]).softmax(-1)


def descend(
    layers: Sequence[ReluLayer],
    inputs: Sequence[Tensor],
    error_CBO: Tensor,
    step_size: float,
    kept: float = 1.0,
) -> None:
    """One SGD step, in place on the layers of all clients.

    Args:
        layers: Inputs first.
        inputs: Of every layer, from `forward`.
        error_CBO: Gradient of the sum over the batch with respect to the outputs of the last layer.
        step_size: Factor of that sum's gradient.
        kept: Factor of the weights before the step.
    """
    for depth in range(len(layers) - 1, -1, -1):
        weight_COI, bias_C1O = layers[depth]
        error_CBI = torch.bmm(error_CBO, weight_COI) if depth > 0 else None
        weight_COI.baddbmm_(error_CBO.mT, inputs[depth], beta=kept, alpha=-step_size)
        if bias_C1O is not None:
            if kept != 1.0:
                bias_C1O.mul_(kept)
            bias_C1O.sub_(error_CBO.sum(1, keepdim=True), alpha=step_size)
        if error_CBI is not None:
            error_CBO = torch.ops.aten.threshold_backward(error_CBI, inputs[depth], 0)


def layer_outputs(x_CBI: Tensor, layer: ReluLayer) -> Tensor:
    """The outputs of one layer, without ReLU, shape (clients, batch, outputs)."""
    weight_COI, bias_C1O = layer
    if bias_C1O is None:
        return torch.bmm(x_CBI, weight_COI.mT)
    return torch.baddbmm(bias_C1O, x_CBI, weight_COI.mT)
