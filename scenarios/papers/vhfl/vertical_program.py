"""Vertical training: local epochs on a client's own features and on outputs of a model it never sees.

A network in two parts has a `central` module, which turns the features that only the server sees into outputs
u, and a `local` module, which takes (u, local features). Within a round a client keeps u fixed, trains the
local part, and records for every sample the gradient of its loss with respect to u, in every epoch; the mean
of these over the epochs, back-propagated through the central part as it was at the start, is the central
part's gradient (VHFL paper, eqs. 11 to 17 and Algorithm 1).

The step of the central part is linear in the clients' gradients. So an update contains, besides the trained
local weights, the central weights minus rate times the gradient from this client's samples, and a weighted
mean of updates is eq. 10 for the local part and eq. 17, weighted like eq. 10, for the central part. The
server back-propagates once for each client instead of once for each round; the sum is the same up to
rounding.

Each batch's gradients are taken before its step, from the one backward pass that the step needs, too. The
loss of a client is the mean over its samples (eq. 1; eq. 14 prints the sum), so its gradient with respect to
one u is the gradient of the sample's loss over the number of samples.

Scope and limitations: plain SGD; every sample once per epoch, in random order, the last batch of an epoch may
be smaller. A network without a central part trains in the same epochs, as in horizontal federated learning.

Shape suffixes: C clients of the cohort, E epochs, M samples of a client, B batch, G features of the server, L
local features, U central outputs, N training samples, D features.
"""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from cosim.configuration import ConfigurationError
from cosim.training.training_set import TrainingSet
from cosim.values.pending import PendingUpdate
from cosim.values.submodels import CENTRAL, LOCAL
from cosim.values.weights import Weights


class VerticalProgram:
    """Program of local epochs of many clients, each with the central part's gradient from its samples.

    Args:
        central_rate: Step size of the central part.
    """

    def __init__(self, central_rate: float) -> None:
        self._central_rate = central_rate

    def shared(self, update: PendingUpdate, data: TrainingSet) -> Hashable:
        """Number of epochs and of samples."""
        return (update.num_steps, len(update.samples))

    def keeps_bits(self, network: nn.Module, update: PendingUpdate, data: TrainingSet) -> bool:
        return False

    def train(
        self, network: nn.Module, weights_C: Weights, data: TrainingSet, cohort: Sequence[PendingUpdate]
    ) -> Sequence[Weights]:
        """Train a cohort, in place on its clients' weights; no client keeps a state."""
        if data.y_N is None:
            raise ConfigurationError(
                f"client {cohort[0].client!r} trains vertically on a data set without train_y, but central "
                "gradients belong to single samples. Give train_y."
            )
        train_vertically(network, weights_C, data.x_ND, data.y_N, cohort, data.loss, self._central_rate)
        return ()


def whole_epochs(update: PendingUpdate) -> int:
    """Number of epochs of an update, whose steps must be whole epochs.

    Raises:
        ConfigurationError: They are not.
    """
    num_batches = -(-len(update.samples) // update.training.batch_size)
    if update.num_steps % num_batches:
        raise ConfigurationError(
            f"client {update.client!r} is asked for {update.num_steps} steps, but an epoch of its "
            f"{len(update.samples)} samples has {num_batches}. Ask for whole epochs, as Vhfl does."
        )
    return update.num_steps // num_batches


def epoch_orders(num_samples: int, num_epochs: int, key: int) -> NDArray[np.int64]:
    """Order of the samples in every epoch, shape (epochs, samples)."""
    rng = np.random.Generator(np.random.Philox(key=key))
    return np.stack([rng.permutation(num_samples) for _ in range(num_epochs)])


def train_vertically(
    network: nn.Module,
    weights_C: Weights,
    x_ND: Tensor,
    y_N: Tensor,
    cohort: Sequence[PendingUpdate],
    loss: Callable[[Tensor, Tensor], Tensor],
    central_rate: float,
) -> None:
    """Train local epochs of all clients of a cohort, in place on their weights.

    Args:
        network: Network with `central`, `local` and `num_global_features`, or one without a central part.
        weights_C: Parameter name -> the clients' values, shape (clients, ...).
        x_ND: Training samples, the server's features first.
        y_N: Their targets.
        cohort: Updates of one rule, with equal numbers of samples and whole epochs.
        loss: Mean loss of a batch, from outputs and targets.
        central_rate: Step size of the central part.
    """
    device = x_ND.device
    samples_CM = torch.from_numpy(np.stack([update.samples for update in cohort])).to(device)
    rule, num_samples = cohort[0].training, samples_CM.shape[1]
    num_epochs = whole_epochs(cohort[0])
    orders = [epoch_orders(num_samples, num_epochs, update.key) for update in cohort]
    orders_CEM = torch.from_numpy(np.stack(orders)).to(device)
    x_CMD, y_CM = x_ND[samples_CM], y_N[samples_CM]
    clients_C1 = torch.arange(len(cohort), device=device)[:, None]
    central = getattr(network, "central", None)
    num_global = getattr(network, "num_global_features", 0)
    x_CMG, x_CML = x_CMD[..., :num_global], x_CMD[..., num_global:]
    if central is None:
        module, local_C, central_C = network, weights_C, {}
        u_CMU = x_CMG
    else:
        module = network.get_submodule("local")
        local_C, central_C = part_of(weights_C, LOCAL), part_of(weights_C, CENTRAL)
        forward = vmap(lambda weights, x_MG: functional_call(central, weights, (x_MG,)))
        u_CMU = forward(central_C, x_CMG.clone())  # the forward pass may change the samples

    def batch_loss(weights: Weights, u_BU: Tensor, x_BL: Tensor, y_B: Tensor) -> Tensor:
        return loss(functional_call(module, weights, (torch.cat((u_BU, x_BL), -1),)), y_B)

    losses = vmap(batch_loss)
    noted_CMU = torch.zeros_like(u_CMU)
    for order_CM in orders_CEM.unbind(1):
        for batch_CB in order_CM.split(rule.batch_size, dim=1):
            at = (clients_C1, batch_CB)
            u_CBU = u_CMU[at].requires_grad_()
            for values_C in local_C.values():
                values_C.requires_grad_()
            with torch.enable_grad():  # the gradient of the clients' sum holds each client's own
                total = losses(local_C, u_CBU, x_CML[at], y_CM[at]).sum()
            u_gradient_CBU, *own_C = torch.autograd.grad(total, (u_CBU, *local_C.values()))
            noted_CMU[at] += u_gradient_CBU * batch_CB.shape[1]
            for values_C, gradient_C in zip(local_C.values(), own_C, strict=True):
                values_C.requires_grad_(False).sub_(gradient_C, alpha=rule.learning_rate)
    if central is not None:
        noted_CMU /= num_epochs * num_samples

        def through(weights: Weights, x_MG: Tensor, noted_MU: Tensor) -> Tensor:
            return (functional_call(central, weights, (x_MG,)) * noted_MU).sum()

        for name, gradient_C in vmap(grad(through))(central_C, x_CMG, noted_CMU).items():
            central_C[name].sub_(gradient_C, alpha=central_rate)


def part_of(weights: Weights, prefix: str) -> Weights:
    """Weights of one part, the same tensors under their names within it."""
    return {n.removeprefix(prefix): values for n, values in weights.items() if n.startswith(prefix)}
