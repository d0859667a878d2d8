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
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from typing_extensions import override

from cosim.own_code.unchanged import place
from cosim.training.programs.recorded import Batch, Gradients, recorded
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

    def gradients(batch: Batch) -> list[Tensor]:
        parameters = dict(zip(parameters_C, batch.parameters, strict=True))
        buffers = dict(zip(buffers_C, batch.buffers, strict=True))
        gradients_C, moved_C = of_clients(parameters, buffers, batch.x, batch.y)
        return [*(gradients_C[name] for name in parameters), *(moved_C[name] for name in buffers)]

    of_clients = vmap(grad(loss, has_aux=True))
    cohort = _Cohort(network, mean_loss, gradients, parameters_C, x_ND, y_N, step)
    buffers = in_own_types(network, buffers_C)
    moved = cohort.take_steps([*parameters_C.values()], buffers, batches_CSB.unbind(1))
    for name, values_C in moved.items():
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
    parameters = [values_C[0].detach() for values_C in parameters_C.values()]
    buffers = in_own_types(network, {name: values_C[0].detach() for name, values_C in buffers_C.items()})
    gradients = _Alone(network, mean_loss, [*parameters_C], [*buffers])
    cohort = _Cohort(network, mean_loss, gradients, parameters_C, x_ND, y_N, step)
    moved = cohort.take_steps(parameters, buffers, batches_CSB[0].unbind(0))
    for name, values in moved.items():
        buffers_C[name][0].copy_(values)


class _Cohort(NamedTuple):
    """Clients that take the same steps along gradients, and what they train on."""

    network: nn.Module
    mean_loss: Callable[[Tensor, Tensor], Tensor]
    gradients: Gradients
    parameters_C: Weights
    x_ND: Tensor
    y_N: Tensor
    step: Step

    def take_steps(self, parameters: list[Tensor], buffers: Weights, batches: Sequence[Tensor]) -> Weights:
        """Take all steps; returns the buffers.

        Args:
            parameters: In the same memory as the clients' values, as the gradients take them.
            buffers: First values.
            batches: Sample indices of each step.
        """
        names, moved = [*self.parameters_C, *buffers], [*buffers.values()]
        first = self._batch(parameters, moved, batches[0])
        compiled = self.step.compiled_step(self.parameters_C, 1.0)
        if compiled is not None:
            own = self.network, self.mean_loss, self.gradients
            found = recorded(*own, names, first, len(batches))
            if found is not None:
                samples = self.x_ND, self.y_N, batches
                moved = found.take_steps(self.parameters_C, first, *samples, compiled)
                return dict(zip(buffers, moved, strict=True))
        for number, chosen in enumerate(batches):
            batch = self._batch(parameters, moved, chosen) if number else first
            made = self.gradients(batch)
            moved = made[len(parameters) :]
            of = {
                name: Gradient(gradient.view(values_C.shape))
                for (name, values_C), gradient in zip(self.parameters_C.items(), made, strict=False)
            }
            self.step.by_gradients(self.parameters_C, of)
        return dict(zip(buffers, moved, strict=True))

    def _batch(self, parameters: list[Tensor], buffers: list[Tensor], chosen: Tensor) -> Batch:
        if chosen.dim() == 1:
            return Batch(
                parameters, buffers, self.x_ND.index_select(0, chosen), self.y_N.index_select(0, chosen)
            )
        return Batch(parameters, buffers, self.x_ND[chosen], self.y_N[chosen])


class _Alone:
    """Gradients of one client, by one module: a network may read its parameters on the way back, too."""

    def __init__(
        self,
        network: nn.Module,
        mean_loss: Callable[[Tensor, Tensor], Tensor],
        names: Sequence[str],
        moving: Sequence[str],
    ) -> None:
        self._module = _Gradients(network, mean_loss)
        self._names, self._moving = ([f"network.{name}" for name in of] for of in (names, moving))

    def __call__(self, batch: Batch) -> list[Tensor]:
        leaves = [values.detach().requires_grad_() for values in batch.parameters]
        tensors = dict(zip((*self._names, *self._moving), (*leaves, *batch.buffers), strict=True))
        with torch.enable_grad():  # the workers switch gradients off
            gradients = functional_call(self._module, tensors, (batch.x, batch.y, leaves))
        # `tensors` has what the network has assigned to its buffers
        for values, leaf in zip(batch.parameters, leaves, strict=True):
            if place(leaf) != place(values):  # the network has set leaf.data
                values.copy_(leaf.detach())
        dense = [gradient.to_dense() for gradient in gradients]  # rows of a table are sparse
        return [*dense, *(tensors[name].detach() for name in self._moving)]


class _Gradients(nn.Module):
    def __init__(self, network: nn.Module, mean_loss: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.network, self._mean_loss = network, mean_loss

    @override
    def forward(self, x_BD: Tensor, y_B: Tensor, leaves: Sequence[Tensor]) -> tuple[Tensor, ...]:
        loss = self._mean_loss(self.network(x_BD), y_B)
        return torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
