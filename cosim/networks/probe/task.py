"""Check of a task and a data set: they must fit together, before the clock starts."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import grad, vmap

from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.networks.fingerprint import fingerprint
from cosim.networks.probe.outputs import told
from cosim.tasks.metric import Answers, named_metrics
from cosim.tasks.port import Task

NUM_CLIENTS, NUM_SAMPLES = 2, (3, 4)
"""On which a loss is batched; of two sizes, as one may be the number of outputs by chance."""

NUM_TRIED, SLICE = 20, 7
"""Samples of a trial, and of a slice of it."""

TAKEN = (
    *("time_s", "version", "energy_j", "bits_per_client", "received_bits_per_client"),
    *("num_updates", "num_dropped", "dropped_share"),
    *("design", "name", "seed", "status", "error", "folder", "base", "last_version", "is_diverged"),
    *("latest_s", "protocol"),
)
"""Columns that stand beside a task's, in the tables of a run and of a study."""


def check_task(task: Task, dataset: Dataset) -> None:
    """Refuse a task that a data set does not suit, or that cannot be trained or reported.

    Raises:
        ConfigurationError: It does not, its loss draws or cannot be batched, or its scores differ from what
            it says.
    """
    task.check(dataset)
    if task.form == "cross_entropy" and dataset.num_classes is None:
        raise ConfigurationError(
            f"{type(task).__name__}: has no loss of its own, so it is cross entropy, but the targets "
            f"of {dataset.name!r} are quantities. Add a method loss(self, outputs, targets)."
        )
    kind, columns = type(task).__name__, list(task.measures())
    wrong = [name for name in columns if not name.isidentifier() or name in TAKEN]
    if wrong or not columns:
        raise ConfigurationError(
            f"{kind}.measures: {wrong[0] if wrong else 'none'}, but must be names of new columns, "
            "at least one. Use words and a unit, such as test_mae_s.",
            f"{kind}.measures",
        )
    if task.reads_training_set and dataset.train_y is None:
        raise ConfigurationError(
            f"{kind}.reads_training_set: the training samples of {dataset.name!r} do not exist before "
            "the run. Use a task that reports on the test set alone.",
            f"{kind}.reads_training_set",
        )
    _check_metrics(task, dataset)
    tried = [_tried(task, dataset, num_samples) for num_samples in NUM_SAMPLES]
    for outputs_CBK, y_B in tried:
        if fingerprint(task) is None:  # code of a user's; losses of ours are tried in tests/tasks
            _check_loss(task, outputs_CBK, y_B, dataset.name)
        _check_scores(task, outputs_CBK[0], y_B)
    outputs_CBK, y_B = tried[-1]
    _check_pairs(task, outputs_CBK[0], y_B)
    _check_sums(task, outputs_CBK[0], y_B)


def _tried(task: Task, dataset: Dataset, num_samples: int) -> tuple[Tensor, Tensor]:
    """Random outputs of clients, and targets of a number of samples."""
    y_B = torch.tensor(_various(dataset.test_y, num_samples))
    size = (NUM_CLIENTS, len(y_B), task.num_outputs(dataset))
    return torch.randn(size, generator=torch.Generator().manual_seed(1)), y_B


def _various(y_N: NDArray[Any], num: int) -> NDArray[Any]:
    """A number of targets, from the smallest to the largest."""
    _, places = np.unique(y_N, axis=0, return_index=True)
    return y_N[places[np.linspace(0, len(places) - 1, num).astype(int)]]


def _check_metrics(task: Task, dataset: Dataset) -> None:
    taken = [*TAKEN, *task.measures()]
    for metric in named_metrics(task.metrics):
        kind = type(metric).__name__
        metric.check(dataset)
        columns = list(metric.measures(dataset))
        wrong = [name for name in columns if not name.isidentifier() or name in taken]
        if wrong or not columns:
            raise ConfigurationError(
                f"{kind}.measures: {wrong[0] if wrong else 'none'}, but must be names of new columns, "
                "at least one. Use words and a unit, such as test_mae_s.",
                f"{kind}.measures",
            )
        size, owners = (
            (len(dataset.test_y), task.num_outputs(dataset)),
            np.zeros(len(dataset.test_y), np.int64),
        )
        outputs = np.random.default_rng(1).standard_normal(size, dtype=np.float32)
        found = list(metric.scores(Answers(outputs, dataset.test_y, owners).own))
        if found != columns:
            raise ConfigurationError(
                f"{kind}.scores: gives {', '.join(found)}; its measures are {', '.join(columns)}. Use "
                "the same columns in the same order.",
                f"{kind}.scores",
            )
        taken += columns


class Trial(NamedTuple):
    """Numbers of a task on a few samples with random outputs.

    Attributes:
        loss: Of all of them.
        loss_of_twice: Of a batch that holds each of them twice.
        has_gradients: True if all gradients with respect to the outputs are finite.
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
        loss=_loss(task, outputs_BK, y_B),
        loss_of_twice=_loss(task, torch.cat((outputs_BK, outputs_BK)), torch.cat((y_B, y_B))),
        has_gradients=bool(grad(task.loss)(outputs_BK.clone(), y_B.clone()).isfinite().all()),
        sums=numbers(task, outputs_BK, y_B),
        sums_of_slices=[numbers(task, *of_slice) for of_slice in slices],
    )


def numbers(task: Task, outputs_BK: Tensor, y_B: Tensor) -> dict[str, float]:
    """The sums of a task over a slice, as numbers; it gets copies, which it may change."""
    return {name: float(value) for name, value in task.sums(outputs_BK.clone(), y_B.clone()).items()}


def _loss(task: Task, outputs_BK: Tensor, y_B: Tensor) -> float:
    """Its loss, likewise."""
    return float(task.loss(outputs_BK.clone(), y_B.clone()))


def _check_loss(task: Task, outputs_CBK: Tensor, y_B: Tensor, name: str) -> None:
    try:
        vmap(grad(task.loss))(outputs_CBK.clone(), torch.stack([y_B] * len(outputs_CBK)))
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigurationError(
            f"{type(task).__name__}.loss: torch.func cannot batch its gradient on {name!r} ({reason}). "
            "Return one number, the mean over the batch, by torch operations on outputs and targets."
        ) from None


def _check_scores(task: Task, outputs_BK: Tensor, y_B: Tensor) -> None:
    sums = numbers(task, outputs_BK, y_B) | {"num_samples": len(y_B)}
    try:
        found = list(task.scores(sums, sums if task.reads_training_set else None))
    except KeyError as error:
        raise ConfigurationError(
            f"{type(task).__name__}.sums: has no {error}, which its scores need; there are "
            f"{', '.join(sums)}. Return a sum for each column, or add a method scores."
        ) from None
    if found != list(task.measures()):
        raise ConfigurationError(
            f"{type(task).__name__}.scores: gives {', '.join(found)}; its measures are "
            f"{', '.join(task.measures())}. Use the same columns in the same order."
        )


def _check_pairs(task: Task, outputs_BK: Tensor, y_B: Tensor) -> None:
    """Refuse a loss of every output with every target, as (B, 1) less (B,) broadcasts."""
    if y_B.is_floating_point():  # outputs among the targets, so that errors have both signs
        outputs_BK = y_B.mean() + y_B.std() * outputs_BK
    samples = list(zip(outputs_BK.split(1), y_B.split(1), strict=True))
    try:
        whole = _loss(task, outputs_BK, y_B)
        own = [_loss(task, *sample) for sample in samples]
        pairs = [_loss(task, outputs, y) for outputs, _ in samples for _, y in samples]
    except Exception:  # a loss may want more than one sample
        return
    of_pairs = (math.fsum(pairs) / len(pairs), math.fsum(pairs))
    of_own = (math.fsum(own) / len(own), math.fsum(own))
    if any(_same(whole, of) for of in of_pairs) and not any(_same(whole, of) for of in of_own):
        raise ConfigurationError(
            f"{type(task).__name__}.loss: pairs each output with the targets of all samples, as the "
            f"shapes {tuple(outputs_BK.shape)} of outputs and {tuple(y_B.shape)} of targets are "
            "broadcast. Use outputs.reshape(targets.shape)."
        )


def _check_sums(task: Task, outputs_BK: Tensor, y_B: Tensor) -> None:
    """Refuse sums that differ from the sums over single samples."""
    kind = type(task).__name__
    try:
        samples = zip(outputs_BK.split(1), y_B.split(1), strict=True)
        of_samples = [numbers(task, *sample) for sample in samples]
    except Exception as error:  # whatever a user's function raises
        raise ConfigurationError(
            f"{kind}.sums: fails on one sample ({told(error)}), which the last slice of a set may be. "
            "Use outputs.reshape(targets.shape) in place of squeeze().",
            f"{kind}.sums",
        ) from None
    for name, value in numbers(task, outputs_BK, y_B).items():
        added = math.fsum(of[name] for of in of_samples)
        if math.isfinite(value) and math.isfinite(added) and not _same(value, added):
            raise ConfigurationError(
                f"{kind}.sums: {name} of {len(y_B)} samples is {value:.6g}, and {added:.6g} one by one, so "
                "it would depend on how a set is cut. Use .sum() in place of .mean(), and "
                "outputs.reshape(targets.shape).",
                f"{kind}.sums",
            )


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-6)
