"""Local training: plain SGD of many clients in one batched torch program."""

import copy
import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from cosim.learning.weights import Weights

# Shape suffixes: C clients of the cohort, S steps, B batch, D features, I inputs and O outputs of a layer, K classes.


def mini_batches(samples: NDArray[np.int64], num_steps: int, batch_size: int, key: int) -> NDArray[np.int64]:
    """Training-set indices of every mini-batch, shape (steps, batch).

    Random permutations of the samples back to back, cut into full batches: the batch that crosses the end of an
    epoch takes the rest from the next.
    """
    rng = np.random.Generator(np.random.Philox(key=key))
    num_needed = num_steps * batch_size
    epochs = [rng.permutation(samples) for _ in range(math.ceil(num_needed / len(samples)))]
    return np.concatenate(epochs)[:num_needed].reshape(num_steps, batch_size)


def train_by_autograd(
    network: nn.Module, weights_C: Weights, x: Tensor, y: Tensor, batches_CSB: Tensor, learning_rate: float
) -> None:
    """SGD in place on stacked weights, any network: gradients by torch.func."""

    def loss(weights: Weights, x_BD: Tensor, y_B: Tensor) -> Tensor:
        return nn.functional.cross_entropy(functional_call(network, weights, (x_BD,)), y_B)

    gradients = vmap(grad(loss))
    for batches_CB in batches_CSB.unbind(1):
        for name, gradient in gradients(weights_C, x[batches_CB], y[batches_CB]).items():
            weights_C[name].sub_(gradient, alpha=learning_rate)


def train_relu_cohort(
    layers_COI: Sequence[Tensor], x: Tensor, y: Tensor, batches_CSB: Tensor, learning_rate: float
) -> None:
    """SGD in place on stacked matrices with ReLU between: gradients by hand."""
    num_clients, _, batch_size = batches_CSB.shape
    for batches_CB in batches_CSB.unbind(1):
        flat = batches_CB.reshape(-1)
        inputs = [x.index_select(0, flat).view(num_clients, batch_size, -1)]
        for layer_COI in layers_COI[:-1]:
            inputs.append(torch.bmm(inputs[-1], layer_COI.mT).relu_())
        error_CBO = torch.bmm(inputs[-1], layers_COI[-1].mT).softmax(-1)
        error_CBO.view(flat.numel(), -1)[torch.arange(flat.numel(), device=x.device), y[flat]] -= 1
        for depth in reversed(range(len(layers_COI))):
            before = error_CBO
            if depth > 0:
                error_CBO = torch.bmm(before, layers_COI[depth]) * (inputs[depth] > 0)
            layers_COI[depth].baddbmm_(before.mT, inputs[depth], alpha=-learning_rate / batch_size)


def own_copy(network: nn.Module) -> nn.Module:
    """A copy for one thread: functional_call swaps a module's parameters while it runs."""
    return copy.deepcopy(network)
