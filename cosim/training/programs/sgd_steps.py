"""Steps of many clients on labelled samples, by autograd: any network on any loss.

Two programs with one result up to float32 rounding. `train_by_autograd` trains many clients through
torch.func, `train_alone` one; `relu_layers` has a faster third. A `Step` decides how a gradient is used
(`steps`).

Running statistics and other state of a network change with every batch as in a plain loop, in place or by
assignment; they have no gradient.

Shape suffixes: C clients of the cohort, S steps, B batch, D features, N training samples.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from typing_extensions import override

from cosim.training.programs.steps import Gradient, Step
from cosim.values.weights import Weights, in_own_types


def mini_batches(samples: NDArray[np.int64], num_steps: int, batch_size: int, key: int) -> NDArray[np.int64]:
    """Training-set indices of every mini-batch, shape (steps, batch).

    Random permutations of the samples back to back, cut into full batches: the batch that crosses the end of
    an epoch takes the rest from the next.
    """
    rng = np.random.Generator(np.random.Philox(key=key))
    num_drawn = num_steps * batch_size
    num_epochs = math.ceil(num_drawn / len(samples))
    epochs = rng.permuted(samples[None].repeat(num_epochs, 0), axis=1)
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
        step.by_gradients(parameters_C, {name: Gradient(of) for name, of in gradients_C.items()})
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
                of_batch, tensors, (x_ND.index_select(0, batch_B), y_N.index_select(0, batch_B))
            )  # leaves its assignments, too
        moved = {name: tensors[f"network.{name}"].detach() for name in moved}
        with torch.no_grad():
            for name, leaf in leaves.items():
                if leaf.data_ptr() != parameters_C[name].data_ptr():  # the network has set leaf.data
                    leaf.data = parameters_C[name][0].copy_(leaf)
            dense = [gradient.to_dense() for gradient in gradients]  # rows of a table are sparse
            step.by_gradients(
                parameters_C, {n: Gradient(of[None]) for n, of in zip(parameters_C, dense, strict=True)}
            )
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
