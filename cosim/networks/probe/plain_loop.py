"""Plain loop: what torch alone makes of a network, without anything of the engine but its batches and masks.

It is the oracle of `cosim.testing.check_network`: parameters are the module's own, gradients are autograd's,
steps are `torch.optim.SGD`.

Validation: tests/testing/test_check_network.py.
"""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from cosim.data.dataset import Dataset
from cosim.own_code.dropout import keyed_dropout
from cosim.tasks.port import Task
from cosim.training.programs.sgd_steps import mini_batches
from cosim.training.training_set import TrainingSet
from cosim.values.pending import PendingUpdate
from cosim.values.weights import own_copy, tensors_of

Arrays = Mapping[str, NDArray[np.float32]]
"""Tensor name -> its values."""


def trained_plainly(
    network: nn.Module, start: Arrays, dataset: Dataset, task: Task, update: PendingUpdate
) -> dict[str, NDArray[np.float32]]:
    """Weights that an update by plain SGD ends with, as far as its model names them."""
    own, data, rule = _with(network, start), TrainingSet(dataset, "cpu", task), update.training
    own.train()
    optimizer = torch.optim.SGD([p for p in own.parameters() if p.requires_grad], lr=rule.learning_rate)
    batches = mini_batches(update.samples, update.num_steps, rule.batch_size, update.key)
    with torch.enable_grad(), keyed_dropout(own, update.key):
        for batch in torch.from_numpy(batches):
            x_BD, y_B = data.at(batch)
            optimizer.zero_grad()
            task.loss(own(x_BD), y_B).backward()
            optimizer.step()
    ends = tensors_of(own)
    return {name: ends[name].detach().numpy().astype(np.float32) for name in start}


def evaluated_plainly(
    network: nn.Module, values: Arrays, x_BD: NDArray[np.generic]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Outputs for samples together, and one by one, in evaluation mode, shape (batch, outputs)."""
    own = _with(network, values).eval()
    with torch.no_grad():
        together = own(torch.tensor(x_BD)).numpy()
        return together, np.concatenate([own(torch.tensor(x_BD[[i]])).numpy() for i in range(len(x_BD))])


def _with(network: nn.Module, values: Arrays) -> nn.Module:
    own = own_copy(network).to("cpu")
    tensors = tensors_of(own)
    with torch.no_grad():
        for name, array in values.items():
            tensors[name].copy_(torch.tensor(array))
    return own
