"""Recurring rows: a client whose samples repeat a few feature rows trains on the distinct rows alone.

The features of a request for a video give the request before, so a client has a few dozen distinct feature
rows, each seen with several labels. The gradient of a mini-batch's mean cross entropy needs every distinct
row once: if the batch holds m_r samples of row r, m_rk of them with label k, and the network gives
probabilities p_rk, the error at the outputs is (m_r p_rk - m_rk) / B for a batch of B samples. 25 rows in
place of 320 samples take a thirteenth of the arithmetic, and the step equals the whole batch's up to float32
rounding.

A sample is the whole number row * num_classes + label (`datasets.Dataset` without train_y). Mini-batches are
drawn as from any data set and then counted, so a step uses the counts of each distinct sample and each row of
a client.

Scope and limitations: classification by cross entropy; networks whose outputs for a row depend on that row
only. Layers with ReLU between are trained by hand (`relu_layers`), other networks by torch.func. Clients of a
cohort may differ in their numbers of steps; clients with fewer steps leave it when they are done. A client
with fewer rows than another gets copies of its first row, of which no batch has a sample.

Usage: by `learner.Learner`, from such a data set with `batching=RecurringRows` and ordinary client updates.

Validation: tests/papers/rawhfl/test_recurring_rows.py against torch.optim.SGD on the whole batches; speed in
benchmarks/recurring_rows.py.

Shape suffixes: C clients of the cohort, R distinct rows of a client, P distinct samples of a client, S steps,
B batch, D features, K classes, N rows of the table.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from cosim.tasks.port import Task
from cosim.training.programs.relu_layers import ReluLayer, ReluPasses, relu_layers_of
from cosim.training.programs.sgd_steps import by_use, mini_batches
from cosim.training.programs.steps import Begin, Gradient, Step
from cosim.training.training_set import TrainingSet
from cosim.values.pending import PendingUpdate
from cosim.values.weights import Weights

ROWS_APART = 4
"""Divisor of numbers of rows: clients train together if the quotients, rounded up, are equal.

The cost of a matrix product grows with its rows, so a client with 12 should not be padded to another's 40. 48
clients with 10 to 40 rows each take a sixth more steps per second than with all in one program; 2 and 8 are
equally good.
"""


class RecurringRows:
    """Steps on the distinct rows of clients (`cosim.training.programs.batching`)."""

    def suits(self, task: Task) -> bool:
        return task.form == "cross_entropy"

    def shared(self, update: PendingUpdate, data: TrainingSet) -> Hashable:
        """Number of rows, up to the size of a group."""
        assert data.num_classes is not None
        return program_on_rows(update, data.num_classes)

    def train(
        self,
        network: nn.Module,
        weights_C: Weights,
        data: TrainingSet,
        cohort: Sequence[PendingUpdate],
        begin: Begin,
    ) -> Sequence[Weights]:
        """Train a cohort, in place on its clients' weights; returns the clients' states."""
        assert data.num_classes is not None
        return train_on_rows(network, weights_C, data.x_ND, data.num_classes, cohort, begin)


def program_on_rows(update: PendingUpdate, num_classes: int) -> int:
    """Properties that updates must share to be trained together on rows, besides their rule and shapes.

    Args:
        update: Update with samples row * num_classes + label.
        num_classes: Number of classes of the data set.
    """
    num_rows = len(np.unique(update.samples // num_classes))
    return -(-num_rows // ROWS_APART)


class Draws(NamedTuple):
    """Content of the mini-batches of a client.

    Attributes:
        rows_R: Its distinct rows, rising.
        outputs_P: For each distinct sample, the place of its row in rows_R times num_classes, plus its label.
        row_counts_SR: Number of times that the batch of a step holds each row.
        sample_counts_SP: Number of times that it holds each distinct sample.
    """

    rows_R: NDArray[np.int64]
    outputs_P: NDArray[np.int64]
    row_counts_SR: NDArray[np.int64]
    sample_counts_SP: NDArray[np.int64]


def draws(update: PendingUpdate, num_classes: int) -> Draws:
    """Mini-batches of an update, counted.

    Args:
        update: Update with samples row * num_classes + label.
        num_classes: Number of classes of the data set.
    """
    numbers_P, places = np.unique(update.samples, return_inverse=True)
    batches_SB = mini_batches(places, update.num_steps, update.training.batch_size, update.key)
    places_of_steps = batches_SB + len(numbers_P) * np.arange(update.num_steps)[:, None]
    counts = np.bincount(places_of_steps.ravel(), minlength=update.num_steps * len(numbers_P))
    counts_SP = counts.reshape(update.num_steps, len(numbers_P))
    rows_R, firsts_R, row_of_P = np.unique(numbers_P // num_classes, return_index=True, return_inverse=True)
    return Draws(
        rows_R,
        outputs_P=row_of_P * num_classes + numbers_P % num_classes,
        row_counts_SR=np.add.reduceat(counts_SP, firsts_R, axis=1),  # numbers rise: a row's are neighbours
        sample_counts_SP=counts_SP,
    )


class Stretch(NamedTuple):
    """Steps that the same clients take.

    Attributes:
        x_CRD: Features of the clients' rows.
        outputs_CP: As in `Draws`.
        row_counts_SCR: As in `Draws`, float32.
        sample_counts_SCP: As in `Draws`, float32.
    """

    x_CRD: Tensor
    outputs_CP: Tensor
    row_counts_SCR: Tensor
    sample_counts_SCP: Tensor


def stretches(cohort: Sequence[PendingUpdate], x_ND: Tensor, num_classes: int) -> Iterator[Stretch]:
    """Steps of a cohort, from one client's end to the next one's.

    Args:
        cohort: Updates with the most steps first; a stretch has a number of the first ones.
        x_ND: Table of feature rows.
        num_classes: Number of classes of the data set.
    """
    drawn = [draws(update, num_classes) for update in cohort]
    size_CR = (len(cohort), max(len(d.rows_R) for d in drawn))
    size_CP = (len(cohort), max(len(d.outputs_P) for d in drawn))
    rows_CR, outputs_CP = np.empty(size_CR, np.int64), np.empty(size_CP, np.int64)
    row_counts_SCR = np.zeros((cohort[0].num_steps, *size_CR), np.float32)
    sample_counts_SCP = np.zeros((cohort[0].num_steps, *size_CP), np.float32)
    for client, of_client in enumerate(drawn):
        num_steps, num_rows = of_client.row_counts_SR.shape
        num_samples = len(of_client.outputs_P)
        rows_CR[client, :num_rows], rows_CR[client, num_rows:] = of_client.rows_R, of_client.rows_R[0]
        outputs_CP[client, :num_samples] = of_client.outputs_P
        outputs_CP[client, num_samples:] = of_client.outputs_P[0]
        row_counts_SCR[:num_steps, client, :num_rows] = of_client.row_counts_SR
        sample_counts_SCP[:num_steps, client, :num_samples] = of_client.sample_counts_SP
    whole = Stretch(
        x_ND[torch.from_numpy(rows_CR).to(x_ND.device)],
        *(torch.from_numpy(a).to(x_ND.device) for a in (outputs_CP, row_counts_SCR, sample_counts_SCP)),
    )
    begin = 0
    for end in sorted({update.num_steps for update in cohort}):
        still = sum(update.num_steps >= end for update in cohort)
        yield Stretch(
            whole.x_CRD[:still],
            whole.outputs_CP[:still],
            whole.row_counts_SCR[begin:end, :still],
            whole.sample_counts_SCP[begin:end, :still],
        )
        begin = end


def train_on_rows(
    network: nn.Module,
    weights_C: Weights,
    x_ND: Tensor,
    num_classes: int,
    cohort: Sequence[PendingUpdate],
    begin: Begin,
) -> Sequence[Weights]:
    """Take steps on cross entropy for all clients of a cohort, in place on their weights.

    Args:
        network: Network with its forward pass, or its `relu_layers`; no other thread may use the same module
            meanwhile.
        weights_C: Tensor name -> the clients' values, shape (clients, ...).
        x_ND: Table of feature rows.
        num_classes: Number of classes of the data set.
        cohort: Updates of one program, with samples row * num_classes + label.
        begin: Makes the step that uses the gradients.

    Returns:
        State that each client keeps; empty if they keep none.
    """
    order = sorted(range(len(cohort)), key=lambda client: -cohort[client].num_steps)
    in_order = [cohort[client] for client in order]
    sorted_C = {name: values_C[order] for name, values_C in weights_C.items()}
    parameters_C, _, companions_C = by_use(network, sorted_C)
    step = begin(parameters_C, companions_C, in_order)
    batch_size = cohort[0].training.batch_size
    relu_layers = getattr(network, "relu_layers", None)
    for stretch in stretches(in_order, x_ND, num_classes):
        num_clients = len(stretch.x_CRD)
        still_C = {name: values_C[:num_clients] for name, values_C in parameters_C.items()}
        still = step.of_first(num_clients)
        if relu_layers is None:
            _train_by_autograd(network, still_C, stretch, still, batch_size)
        else:
            _train_relu_layers(relu_layers_of(relu_layers, still_C), stretch, still, batch_size)
    states = step.end(parameters_C, in_order)
    for name, values_C in weights_C.items():
        values_C[order] = sorted_C[name]
    of_client = dict(zip(order, states, strict=False))
    return [of_client[client] for client in range(len(states))]


def _train_relu_layers(layers: Sequence[ReluLayer], stretch: Stretch, step: Step, batch_size: int) -> None:
    num_clients, num_rows, _ = stretch.x_CRD.shape
    num_classes = layers[-1].weight_COI.shape[1]
    firsts_C1 = torch.arange(num_clients, device=stretch.x_CRD.device)[:, None] * (num_rows * num_classes)
    outputs = (firsts_C1 + stretch.outputs_CP).flatten()
    passes = ReluPasses(layers, stretch.x_CRD, batch_size)
    for rows_CR, samples_CP in zip(stretch.row_counts_SCR, stretch.sample_counts_SCP, strict=True):
        error_CRK = passes.forward().mul_(rows_CR[..., None])
        error_CRK.view(-1).index_add_(0, outputs, samples_CP.flatten(), alpha=-1)
        passes.descend(step)


def _train_by_autograd(
    network: nn.Module, parameters_C: Weights, stretch: Stretch, step: Step, batch_size: int
) -> None:
    def loss_sum(weights: Weights, x_RD: Tensor, outputs_P: Tensor, samples_P: Tensor) -> Tensor:
        own_RD = x_RD.clone()  # the network may change them, and the next step has the same rows
        log_probabilities_RK = functional_call(network, weights, (own_RD,)).log_softmax(-1)
        return -(log_probabilities_RK.flatten().gather(0, outputs_P) * samples_P).sum()

    gradients = vmap(grad(loss_sum))
    for samples_CP in stretch.sample_counts_SCP:
        found = gradients(parameters_C, stretch.x_CRD, stretch.outputs_CP, samples_CP)
        step.by_gradients(parameters_C, {name: Gradient(of, batch_size) for name, of in found.items()})
