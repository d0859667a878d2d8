"""Local training: plain SGD of many clients in one batched torch program.

Two programs with one result up to float32 rounding. `train_by_autograd` trains any network through
torch.func. `train_relu_layers` holds the gradients of matrices with ReLU between, derived by hand: it adds
each gradient straight into the weights inside the matrix product, which autograd cannot;
benchmarks/learner.py shows the gain.

Shape suffixes: C clients of the cohort, S steps, B batch, D features, I inputs and O outputs of a layer, K
classes, N training samples.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from cosim.learning.scores import cross_entropy
from cosim.learning.weights import Weights


def mini_batches(samples: NDArray[np.int64], num_steps: int, batch_size: int, key: int) -> NDArray[np.int64]:
    """Training-set indices of every mini-batch, shape (steps, batch).

    Random permutations of the samples back to back, cut into full batches: the batch that crosses the end of
    an epoch takes the rest from the next.
    """
    rng = np.random.Generator(np.random.Philox(key=key))
    num_drawn = num_steps * batch_size
    epochs = [rng.permutation(samples) for _ in range(math.ceil(num_drawn / len(samples)))]
    return np.concatenate(epochs)[:num_drawn].reshape(num_steps, batch_size)


def train_by_autograd(
    network: nn.Module,
    weights_C: Weights,
    x_ND: Tensor,
    y_N: Tensor,
    batches_CSB: Tensor,
    learning_rate: float,
    mean_loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy,
) -> None:
    """SGD in place on the weights of all clients, for any network.

    Args:
        network: Its forward pass; no other thread may use the same module meanwhile.
        weights_C: Parameter name -> the clients' values, shape (clients, ...).
        x_ND: Training samples.
        y_N: Their classes or targets.
        batches_CSB: Sample indices.
        learning_rate: Step size.
        mean_loss: Loss of a batch, from outputs and targets.
    """

    def loss(weights: Weights, x_BD: Tensor, y_B: Tensor) -> Tensor:
        return mean_loss(functional_call(network, weights, (x_BD,)), y_B)

    gradients = vmap(grad(loss))
    for batches_CB in batches_CSB.unbind(1):
        for name, gradient_C in gradients(weights_C, x_ND[batches_CB], y_N[batches_CB]).items():
            weights_C[name].sub_(gradient_C, alpha=learning_rate)


def train_relu_layers(
    layers_COI: Sequence[Tensor], x_ND: Tensor, y_N: Tensor, batches_CSB: Tensor, learning_rate: float
) -> None:
    """SGD on cross entropy, in place on the matrices of all clients, with ReLU between the matrices.

    Args:
        layers_COI: One stack of matrices per layer, inputs first.
        x_ND: Training samples.
        y_N: Their classes.
        batches_CSB: Sample indices.
        learning_rate: Step size.
    """
    num_clients, num_steps, batch_size = batches_CSB.shape
    steps = batches_CSB.transpose(0, 1).reshape(num_steps, num_clients * batch_size)
    num_classes = layers_COI[-1].shape[1]
    truth_SCBK = nn.functional.one_hot(y_N[steps], num_classes).to(x_ND.dtype)
    truth_SCBK = truth_SCBK.view(num_steps, num_clients, batch_size, num_classes)
    step_size = learning_rate / batch_size
    for step, truth_CBK in zip(steps, truth_SCBK, strict=True):
        inputs = [x_ND.index_select(0, step).view(num_clients, batch_size, -1)]
        for layer_COI in layers_COI[:-1]:
            inputs.append(torch.bmm(inputs[-1], layer_COI.mT).relu_())
        error_CBO = torch.bmm(inputs[-1], layers_COI[-1].mT).softmax(-1).sub_(truth_CBK)
        for depth in range(len(layers_COI) - 1, 0, -1):
            error_CBI = torch.bmm(error_CBO, layers_COI[depth])
            layers_COI[depth].baddbmm_(error_CBO.mT, inputs[depth], alpha=-step_size)
            error_CBO = torch.ops.aten.threshold_backward(error_CBI, inputs[depth], 0)
        layers_COI[0].baddbmm_(error_CBO.mT, inputs[0], alpha=-step_size)
