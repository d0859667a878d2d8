"""Whether a task and a data set fit together, asked before the clock starts."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, vmap

from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.learning.tasks.metric import Answers, named_metrics
from cosim.learning.tasks.task import Task

NUM_CLIENTS, NUM_SAMPLES = 2, 3
"""On which a loss is batched."""

NUM_TRIED, SLICE = 20, 7
"""Samples of a trial, and of a slice of it."""

TAKEN = (
    *("time_s", "version", "energy_j", "bits_per_client", "received_bits_per_client"),
    *("num_updates", "num_dropped", "dropped_share"),
    *("design", "name", "seed", "status", "error", "folder", "base", "last_version", "is_diverged"),
)
"""Columns that stand beside those of a task, in the tables of a run and of a study."""


def check_task(task: Task, dataset: Dataset) -> None:
    """Refuse a task that a data set does not suit, or that cannot be trained or reported.

    Raises:
        ConfigurationError: It does not, its loss draws or cannot be batched, or its scores are not those that
            it says.
    """
    task.check(dataset)
    kind, columns = type(task).__name__, list(task.measures())
    wrong = [name for name in columns if not name.isidentifier() or name in TAKEN]
    if wrong or not columns:
        raise ConfigurationError(
            f"{kind}.measures: {wrong[0] if wrong else 'none'}, but must be names of columns that there are "
            "not yet, at least one. Usual fix: words and a unit, such as test_mae_s."
        )
    if task.reads_training_set and dataset.train_y is None:
        raise ConfigurationError(
            f"{kind}.reads_training_set: the training samples of {dataset.name!r} arise while the clock "
            "runs. Usual fix: a task that reports on the test set alone."
        )
    _check_metrics(task, dataset)
    y_B = torch.tensor(dataset.test_y[:NUM_SAMPLES])
    size = (NUM_CLIENTS, len(y_B), task.num_outputs(dataset))
    outputs_CBK = torch.randn(size, generator=torch.Generator().manual_seed(1))
    _check_loss(task, outputs_CBK, y_B, dataset.name)
    _check_scores(task, outputs_CBK[0], y_B)


def _check_metrics(task: Task, dataset: Dataset) -> None:
    taken = [*TAKEN, *task.measures()]
    for metric in named_metrics(task.metrics):
        kind = type(metric).__name__
        metric.check(dataset)
        columns = list(metric.measures(dataset))
        wrong = [name for name in columns if not name.isidentifier() or name in taken]
        if wrong or not columns:
            raise ConfigurationError(
                f"{kind}.measures: {wrong[0] if wrong else 'none'}, but must be names of columns that there "
                "are not yet, at least one. Usual fix: words and a unit, such as test_mae_s."
            )
        size, owners = (
            (len(dataset.test_y), task.num_outputs(dataset)),
            np.zeros(len(dataset.test_y), np.int64),
        )
        outputs = np.random.default_rng(1).standard_normal(size, dtype=np.float32)
        found = list(metric.scores(Answers(outputs, dataset.test_y, owners)))
        if found != columns:
            raise ConfigurationError(
                f"{kind}.scores: gives {', '.join(found)}; its measures are {', '.join(columns)}. Usual fix: "
                "the same columns in the same order."
            )
        taken += columns


class Trial(NamedTuple):
    """Numbers of a task on a few samples with random outputs.

    Attributes:
        loss: Of all of them.
        loss_of_twice: Of a batch that holds each of them twice.
        has_gradients: Whether all gradients with respect to the outputs are finite.
        sums: Over all of them.
        sums_of_slices: The same, slice by slice.
    """

    loss: float
    loss_of_twice: float
    has_gradients: bool
    sums: dict[str, float]
    sums_of_slices: list[dict[str, float]]


def trial(task: Task, dataset: Dataset) -> Trial:
    """Try a task on the first test samples of a data set."""
    y_B = torch.tensor(dataset.test_y[:NUM_TRIED])
    size = (len(y_B), task.num_outputs(dataset))
    outputs_BK = torch.randn(size, generator=torch.Generator().manual_seed(1))
    slices = zip(outputs_BK.split(SLICE), y_B.split(SLICE), strict=True)
    return Trial(
        loss=float(task.loss(outputs_BK, y_B)),
        loss_of_twice=float(task.loss(torch.cat((outputs_BK, outputs_BK)), torch.cat((y_B, y_B)))),
        has_gradients=bool(grad(task.loss)(outputs_BK, y_B).isfinite().all()),
        sums=numbers(task, outputs_BK, y_B),
        sums_of_slices=[numbers(task, *of_slice) for of_slice in slices],
    )


def numbers(task: Task, outputs_BK: Tensor, y_B: Tensor) -> dict[str, float]:
    """The sums of a task over a slice, as numbers."""
    return {name: float(value) for name, value in task.sums(outputs_BK, y_B).items()}


def _check_loss(task: Task, outputs_CBK: Tensor, y_B: Tensor, name: str) -> None:
    try:
        vmap(grad(task.loss))(outputs_CBK, torch.stack([y_B] * len(outputs_CBK)))
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigurationError(
            f"{type(task).__name__}.loss: torch.func cannot batch its gradient on {name!r} ({reason}). Usual "
            "fix: one number, the mean over the batch, by torch operations on outputs and targets."
        ) from None


def _check_scores(task: Task, outputs_BK: Tensor, y_B: Tensor) -> None:
    sums = numbers(task, outputs_BK, y_B) | {"num_samples": len(y_B)}
    try:
        found = list(task.scores(sums, sums if task.reads_training_set else None))
    except KeyError as error:
        raise ConfigurationError(
            f"{type(task).__name__}.sums: has no {error}, which its scores are made of; there are "
            f"{', '.join(sums)}. Usual fix: a sum for each column, or a method scores."
        ) from None
    if found != list(task.measures()):
        raise ConfigurationError(
            f"{type(task).__name__}.scores: gives {', '.join(found)}; its measures are "
            f"{', '.join(task.measures())}. Usual fix: the same columns in the same order."
        )
