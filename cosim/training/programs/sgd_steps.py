"""Steps of many clients on labelled samples, in one batched torch program.

Three programs with one result up to float32 rounding. `train_by_autograd` trains any network on any loss
through torch.func, `train_alone` one client at a time. `train_relu_layers` holds the gradients of cross
entropy for fully connected layers, with or without biases and with ReLU between, derived by hand: a step can
add such a gradient straight into the weights inside the matrix product, which autograd cannot;
benchmarks/learner.py shows the gain. A `Step` decides how a gradient is used (`steps`).

Running statistics and other state of a network change with every batch as in a plain loop, in place or by
assignment; they have no gradient.

Shape suffixes: C clients of the cohort, S steps, B batch, D features, I inputs and O outputs of a layer, K
classes, N training samples.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from typing_extensions import override

from cosim.training.programs.steps import Gradient, Product, Step
from cosim.values.weights import Weights, in_own_types

ReluLayers = Sequence[tuple[str, str | None]]
"""Declaration of a network: the names of every layer's weight, shape (outputs, inputs), and bias, or None."""


class ReluLayer(NamedTuple):
    """One layer of all clients, the same tensors as the weights.

    Attributes:
        weight: Name of the weights.
        weight_COI: Their values.
        bias: Name of the biases; None if there are none.
        bias_CO: Their values.
    """

    weight: str
    weight_COI: Tensor
    bias: str | None
    bias_CO: Tensor | None


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


def by_use(network: nn.Module, weights_C: Weights) -> tuple[Weights, Weights, Weights]:
    """Parameters, buffers and companions among the weights of all clients."""
    parameters = {name: weights_C[name] for name, _ in network.named_parameters() if name in weights_C}
    buffers = {name: weights_C[name] for name, _ in network.named_buffers() if name in weights_C}
    own = parameters | buffers
    return parameters, buffers, {name: of for name, of in weights_C.items() if name not in own}


def train_by_autograd(
    network: nn.Module,
    parameters_C: Weights,
    buffers_C: Weights,
    x_ND: Tensor,
    y_N: Tensor,
    batches_CSB: Tensor,
    step: Step,
    mean_loss: Callable[[Tensor, Tensor], Tensor],
) -> None:
    """Steps in place on the weights of all clients, for any network.

    Args:
        network: Network with the forward pass, in training mode; no other thread may use the same module
            meanwhile.
        parameters_C: Name -> the clients' values, shape (clients, ...).
        buffers_C: The same for running statistics and state.
        x_ND: Training samples.
        y_N: Their classes or targets.
        batches_CSB: Sample indices.
        step: Step that uses the gradients.
        mean_loss: Loss of a batch, from outputs and targets.
    """

    def loss(parameters: Weights, buffers: Weights, x_BD: Tensor, y_B: Tensor) -> tuple[Tensor, Weights]:
        tensors = parameters | {name: values.clone() for name, values in buffers.items()}
        outputs = functional_call(network, tensors, (x_BD,))  # leaves its assignments in `tensors`
        return mean_loss(outputs, y_B), {name: tensors[name] for name in buffers}

    gradients = vmap(grad(loss, has_aux=True))
    moved_C = in_own_types(network, buffers_C)
    for batches_CB in batches_CSB.unbind(1):
        x_CBD, y_CB = x_ND[batches_CB], y_N[batches_CB]
        gradients_C, moved_C = gradients(parameters_C, moved_C, x_CBD, y_CB)
        step.begin()
        for name, gradient_C in gradients_C.items():
            step.by_gradient(name, parameters_C[name], Gradient(gradient_C))
    for name, values_C in moved_C.items():
        buffers_C[name].copy_(values_C)


def train_alone(
    network: nn.Module,
    parameters_C: Weights,
    buffers_C: Weights,
    x_ND: Tensor,
    y_N: Tensor,
    batches_CSB: Tensor,
    step: Step,
    mean_loss: Callable[[Tensor, Tensor], Tensor],
) -> None:
    """Train one client in the same way, without vmap and without the cost of torch.func in every step.

    Args:
        parameters_C: Name -> the client's values, shape (1, ...).
        batches_CSB: Sample indices, shape (1, steps, batch).
    """
    leaves = {name: values_C[0].detach().requires_grad_() for name, values_C in parameters_C.items()}
    moved = in_own_types(network, {name: values_C[0].detach() for name, values_C in buffers_C.items()})
    of_batch = _Gradients(network, mean_loss, [*leaves.values()])
    for batch_B in batches_CSB[0]:
        tensors = {f"network.{name}": values for name, values in (leaves | moved).items()}
        with torch.enable_grad():  # the workers switch gradients off
            gradients = functional_call(
                of_batch, tensors, (x_ND[batch_B], y_N[batch_B])
            )  # leaves its assignments, too
        moved = {name: tensors[f"network.{name}"].detach() for name in moved}
        with torch.no_grad():
            for name, leaf in leaves.items():
                if leaf.data_ptr() != parameters_C[name].data_ptr():  # the network has set leaf.data
                    leaf.data = parameters_C[name][0].copy_(leaf)
            step.begin()
            for (name, values_C), gradient in zip(parameters_C.items(), gradients, strict=True):
                dense = gradient.to_dense()  # rows of a table are sparse
                step.by_gradient(name, values_C, Gradient(dense[None]))
    for name, values in moved.items():
        buffers_C[name][0].copy_(values)


class _Gradients(nn.Module):
    """Gradients of a batch, as one module, because a network may read its parameters on the way back, too."""

    def __init__(
        self, network: nn.Module, mean_loss: Callable[[Tensor, Tensor], Tensor], leaves: Sequence[Tensor]
    ) -> None:
        super().__init__()
        self.network, self._mean_loss, self._leaves = network, mean_loss, leaves

    @override
    def forward(self, x_BD: Tensor, y_B: Tensor) -> tuple[Tensor, ...]:
        loss = self._mean_loss(self.network(x_BD), y_B)
        return torch.autograd.grad(loss, self._leaves, allow_unused=True, materialize_grads=True)


def relu_layers_of(names: ReluLayers, weights_C: Weights) -> list[ReluLayer]:
    """Layers that a network declares, from weights of shape (clients, ...)."""
    return [
        ReluLayer(weight, weights_C[weight], bias, None if bias is None else weights_C[bias])
        for weight, bias in names
    ]


def train_relu_layers(
    layers: Sequence[ReluLayer], x_ND: Tensor, y_N: Tensor, batches_CSB: Tensor, step: Step
) -> None:
    """Take steps on cross entropy, in place on the layers of all clients, with ReLU between the layers.

    Args:
        layers: Layers from the input on.
        x_ND: Training samples.
        y_N: Their classes.
        batches_CSB: Sample indices.
        step: Step that uses the gradients.
    """
    num_clients, num_steps, batch_size = batches_CSB.shape
    steps = batches_CSB.transpose(0, 1).reshape(num_steps, num_clients * batch_size)
    num_classes = layers[-1].weight_COI.shape[1]
    truth_SCBK = nn.functional.one_hot(y_N[steps], num_classes).to(x_ND.dtype)
    truth_SCBK = truth_SCBK.view(num_steps, num_clients, batch_size, num_classes)
    for places, truth_CBK in zip(steps, truth_SCBK, strict=True):
        x_CBD = x_ND.index_select(0, places).view(num_clients, batch_size, -1)
        inputs, probabilities_CBK = forward(layers, x_CBD)
        descend(layers, inputs, probabilities_CBK.sub_(truth_CBK), step, batch_size)


def forward(layers: Sequence[ReluLayer], x_CBD: Tensor) -> tuple[list[Tensor], Tensor]:
    """Inputs of every layer, and the probabilities of the classes, shape (clients, batch, classes)."""
    inputs = [x_CBD]
    for layer in layers[:-1]:
        inputs.append(layer_outputs(inputs[-1], layer).relu_())
    return inputs, layer_outputs(inputs[-1], layers[-1]).softmax(-1)


def descend(
    layers: Sequence[ReluLayer], inputs: Sequence[Tensor], error_CBO: Tensor, step: Step, batch_size: int
) -> None:
    """Take one step, in place on the layers of all clients.

    Args:
        layers: Layers from the input on.
        inputs: Inputs of every layer, from `forward`.
        error_CBO: Gradient of the sum over the batch with respect to the outputs of the last layer.
        step: Step that uses the gradients.
        batch_size: Samples of the batch.
    """
    step.begin()
    for depth in range(len(layers) - 1, -1, -1):
        weight, weight_COI, bias, bias_CO = layers[depth]
        error_CBI = torch.bmm(error_CBO, weight_COI) if depth > 0 else None
        step.by_gradient(weight, weight_COI, Product(error_CBO.mT, inputs[depth], batch_size))
        if bias is not None and bias_CO is not None:
            step.by_gradient(bias, bias_CO, Gradient(error_CBO.sum(1), batch_size))
        if error_CBI is not None:
            error_CBO = torch.ops.aten.threshold_backward(error_CBI, inputs[depth], 0)


def layer_outputs(x_CBI: Tensor, layer: ReluLayer) -> Tensor:
    """The outputs of one layer, without ReLU, shape (clients, batch, outputs)."""
    if layer.bias_CO is None:
        return torch.bmm(x_CBI, layer.weight_COI.mT)
    return torch.baddbmm(layer.bias_CO.unsqueeze(1), x_CBI, layer.weight_COI.mT)
