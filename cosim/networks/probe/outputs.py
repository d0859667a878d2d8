"""Outputs: what a network gives for the samples of a data set, asked before the clock starts.

Largest and smallest values are tried of every feature, because a value beyond a table is only seen when it
comes up: in one row that holds them all; where a network takes no such row, in the samples that hold them.

Scope and limitations: a value that is in the data and beyond a table is found where it is the largest or the
smallest of its feature; what a network looks up by several features together is tried at their extremes only.

Validation: tests/networks/probe/test_probe_outputs.py.
"""

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from textwrap import shorten
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from typing_extensions import override

from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.data.pairs import labels_for
from cosim.own_code.each_operation import EachOperation
from cosim.tasks.port import Task
from cosim.values.weights import own_copy

LOOKS_UP = ("embedding", "_embedding_bag", "index", "index_select", "gather", "scatter", "take", "one_hot")
"""torch operations that take a value for a place, by the beginning of their names."""

LONGEST = 120
"""Letters of an error that are told."""

SLICE = 100
"""Samples that are tried at a time."""


def check_scores(outputs: Any, num_samples: int, task: Task, dataset: Dataset, mode: str = "") -> None:
    """Refuse outputs that are no scores of samples.

    Args:
        outputs: Whatever a forward pass returned.
        num_samples: Of the batch.
        mode: Where it was, such as " in training mode".

    Raises:
        ConfigurationError: They are no tensor, of another type, or of another shape.
    """
    wanted = (num_samples, task.num_outputs(dataset))
    if not isinstance(outputs, Tensor):
        what, fix = _other_than_a_tensor(outputs)
        raise ConfigurationError(
            f"the network's forward pass{mode} gives {what}: must be one tensor of shape (batch, "
            f"{wanted[1]}). {fix}"
        )
    found = tuple(outputs.shape)
    if found != wanted:
        samples = "one sample" if num_samples == 1 else f"{num_samples} samples"
        fix = (
            f"Use a network whose last size is {wanted[1]}."
            if not mode
            else "Give the same outputs in both modes."
        )
        meant = labels_for(dataset.test_y, dataset.num_classes, found[1]) if len(found) == 2 else None
        fix = f"{fix} {meant}" if meant else fix
        raise ConfigurationError(
            f"the network gives outputs of shape {found} for {samples}{mode}: must be {wanted}, which "
            f"{type(task).__name__} wants for {dataset.name!r}. {fix}"
        )
    if outputs.dtype != torch.float32:
        is_float = outputs.is_floating_point()
        fix = (
            "Use outputs.float() at its end." if is_float else "Return scores, before argmax or a comparison."
        )
        raise ConfigurationError(
            f"the network gives outputs of {outputs.dtype}{mode}: must be torch.float32. {fix}"
        )


def _other_than_a_tensor(outputs: Any) -> tuple[str, str]:
    """Name of the outputs' type, and how to get a tensor."""
    kind = type(outputs).__name__
    if outputs is None:
        return "None", "Return the outputs."
    names: list[str] = []
    if isinstance(outputs, Mapping):
        names = [str(name) for name in outputs]
    elif dataclasses.is_dataclass(outputs):
        names = [field.name for field in dataclasses.fields(outputs)]
    elif isinstance(outputs, tuple | list):
        named = list(getattr(outputs, "_fields", ()))
        one = f"outputs.{named[0]}" if named else "outputs[0]"
        return (
            f"a {kind} of {len(outputs)}",
            f"Use a module of yours that returns one of them, such as {one}.",
        )
    if not names:
        return f"a {kind}", "Use a module of yours that returns a tensor."
    one = "logits" if "logits" in names else names[0]
    own = f"outputs[{one!r}]" if isinstance(outputs, Mapping) else f"outputs.{one}"
    return f"a {kind} of {', '.join(names)}", f"Use a module of yours that returns {own}."


def not_taken(network: nn.Module, error: Exception, dataset: Dataset, task: Task) -> ConfigurationError:
    """The refusal of a network that fails on a sample."""
    says = f"the network does not take samples of {dataset.name!r} ({told(error)})"
    if isinstance(error, TypeError) and (num_inputs := _num_inputs(network)) != 1:
        takes = f"a sample is one tensor, but its forward pass takes {num_inputs}"
        return ConfigurationError(
            f"{says}: {takes}. Write a module that takes one and cuts it, as x[:, :n] and x[:, n:]."
        )
    if not isinstance(error, RuntimeError | ValueError | IndexError):
        return ConfigurationError(f"{says}. Mend its forward pass.")
    if dataset.test_x.dtype == np.float32:
        fits = f"one for {dataset.num_features} features, such as relu-{dataset.num_features}-300-"
    else:
        fits = "one for tokens, such as gpt2lora-16-"
    return ConfigurationError(f"{says}. Use {fits}{task.num_outputs(dataset)}.")


def told(error: BaseException) -> str:
    """The first sentence of an error, with its kind where that says more."""
    if "data-dependent control flow" in str(error):
        return "it looks at values, by an if or .item()"
    line = shorten(str(error).strip().partition("\n")[0].partition(". ")[0].rstrip("."), LONGEST)
    plain = isinstance(error, RuntimeError | ValueError | IndexError | TypeError)
    return line if line and plain else f"{type(error).__name__}: {line}".removesuffix(": ")


def _num_inputs(network: nn.Module) -> int:
    """Inputs that a forward pass cannot do without."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wanted = inspect.signature(network.forward).parameters.values()
    return sum(one.default is one.empty and one.kind in kinds for one in wanted)


class _LooksUp(EachOperation):
    """Notes whether an operation takes values for places."""

    found = False

    @override
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.found |= func.overloadpacket.__name__.startswith(LOOKS_UP)
        return func(*args, **(kwargs or {}))


def looks_up(network: nn.Module, x_BD: Tensor) -> bool:
    """True if a forward pass takes values of something for places in a table."""
    with torch.no_grad(), _LooksUp() as mode:
        network(x_BD)
    return mode.found


def check_tables(network: nn.Module, dataset: Dataset) -> None:
    """Refuse samples whose values are beyond a network's tables.

    Raises:
        ConfigurationError: With the first such sample.
    """
    network = own_copy(network).to("cpu").eval()
    if not looks_up(network, torch.tensor(dataset.test_x[:1])):
        return
    extremes = np.stack([of for x in (dataset.train_x, dataset.test_x) for of in (x.max(0), x.min(0))])
    if _fails(network, extremes) is None:
        return
    for part, x in (("training", dataset.train_x), ("test", dataset.test_x)):
        for places in _holding_extremes(x):
            if _fails(network, x[places]) is None:
                continue
            for place in places:
                if (error := _fails(network, x[[place]])) is not None:
                    raise ConfigurationError(
                        f"{part} sample {place} of {dataset.name!r}, with values from {x[place].min()} "
                        f"to {x[place].max()}: the network does not take it ({told(error)}). Use an "
                        "embedding with at least one row more than the largest value."
                    )


def _holding_extremes(x: NDArray[Any]) -> Iterator[NDArray[np.int64]]:
    """Samples that hold the largest or the smallest value of a feature, some at a time."""
    rows = x.reshape(len(x), -1)
    places = np.unique(np.concatenate((rows.argmax(0), rows.argmin(0))))
    yield from np.array_split(places, -(-len(places) // SLICE))


def _fails(network: nn.Module, x_BD: NDArray[Any]) -> Exception | None:
    try:
        with torch.no_grad():
            network(torch.tensor(x_BD))
    except Exception as error:  # whatever a user's forward pass raises
        return error
    return None


def check_values(network: nn.Module, trained: Mapping[str, Any]) -> None:
    """Refuse a network without parameters to train, or with some that are not float32.

    Args:
        trained: The trained parameters by name.

    Raises:
        ConfigurationError: There is none, or one has another type.
    """
    if not trained:
        num = sum(1 for _ in network.parameters())
        what = f"all its {num} parameters are frozen" if num else "it has no parameters"
        raise ConfigurationError(
            f"the network trains nothing: {what}. Use requires_grad_(True) on what should be trained, "
            "and keep layers in nn.ModuleList, not in a list."
        )
    for name, values in network.named_parameters():
        if name in trained and values.dtype != torch.float32:
            raise ConfigurationError(
                f"the network's {name} is {values.dtype}: what is trained must be torch.float32. Use "
                "network.float()."
            )
