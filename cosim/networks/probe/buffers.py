"""Buffers: tensors of a network beside its parameters, sorted by the effect of training on them.

| kind | contents | treatment |
|---|---|---|
| running statistics | what `batch_norm` moves in training mode | travel with a model |
| state of its own | what training mode writes or assigns otherwise | travels with a model |
| constants | the rest: tables, masks, positions | stay with the network, cost no bits |

A network whose only buffers belong to torch's normalisation layers, or are declared as `moving_buffers` or in
its `unit_groups`, needs no trial. A copy of any other network takes two samples, in training mode and in
evaluation mode, and the tensors that each operation writes into are noted. Values do not matter, so a network
without values, in a timing-only run, is sorted like the one that learns. If training mode changes a state, a
second pass begins with the same buffers: a buffer that it leaves unchanged is a table that is filled once.

Scope and limitations: writes that two samples do not trigger are not seen. Buffers that only a user's own
train function changes must be declared (otherwise `programs.client_by_client` refuses it).
`num_batches_tracked` of torch's layers matters only for `momentum = None`, which is refused, so it does not
travel. A network that does not take the samples is sorted by its layers alone; `probe.network` then refuses
it.

Validation: tests/networks/probe/test_buffers.py.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.modules.batchnorm import _NormBase as NormLayer

from cosim.configuration import ConfigurationError
from cosim.networks.probe.draws import outputs_without_draws
from cosim.networks.probe.writes import Writes
from cosim.own_code.dropout import keyed_dropout
from cosim.own_code.unchanged import differ, kept_modes, place
from cosim.values.submodels import MEAN, VARIANCE, NetworkShape, declared_statistics
from cosim.values.weights import lacks_values, own_copy

COUNTER = "num_batches_tracked"
NUM_SAMPLES = 2
"""Of a trial; a normalisation layer wants two."""

Pass = Callable[[nn.Module], object]
"""A forward pass of a network in the mode that it is in."""


class Moved(NamedTuple):
    """Names of buffers that a pass moves.

    Attributes:
        statistics: By `batch_norm`.
        state: Otherwise.
    """

    statistics: frozenset[str] = frozenset()
    state: frozenset[str] = frozenset()


def shape_of(network: nn.Module, x_BD: NDArray[Any]) -> NetworkShape:
    """The shape of a network, with what training moves in it.

    Args:
        network: With values, or on torch's device "meta".
        x_BD: Samples, at least one.

    Raises:
        ConfigurationError: A buffer that evaluation mode moves too, or whose shape or type a pass changes, or
            that has no first value; a network without values whose pass looks at values.
    """
    moved, evaluated = _by_layers(network)
    if any(True for _ in _of_its_own(network)):
        x_BD = x_BD[np.arange(NUM_SAMPLES) % len(x_BD)]
        has_values = not lacks_values(network)
        try:
            found = _tried(network, x_BD) if has_values else _tried_without_values(network, x_BD)
        except ConfigurationError:
            raise
        except Exception as error:  # of any kind: the pass is the user's own
            if not has_values:
                raise ConfigurationError(
                    "the network's forward pass cannot be tried without values "
                    f"({type(error).__name__}: {str(error).partition(chr(10))[0]}). Return a network "
                    "that has values."
                ) from error
            found = moved, evaluated  # `probe.network` says what is wrong
        known = moved.statistics | declared_statistics(network)
        moved = Moved(known | found[0].statistics, found[0].state - known)
        evaluated |= found[1]
    if evaluated:
        raise ConfigurationError(
            f"{', '.join(sorted(evaluated))}: the network's forward pass changes it in evaluation mode "
            "too, so an evaluation would change the model. Write `if self.training:` before the "
            "change; use a plain variable for what every pass makes again."
        )
    return NetworkShape.of(network, moved.statistics, moved.state)


def _by_layers(network: nn.Module) -> tuple[Moved, frozenset[str]]:
    """Buffers that torch's normalisation layers move in training mode, and in evaluation mode."""

    def found() -> frozenset[str]:
        return frozenset(
            f"{prefix}.{leaf}" if prefix else leaf
            for prefix, layer in network.named_modules()
            if isinstance(layer, NormLayer) and layer.training and layer.running_mean is not None
            for leaf in (MEAN, VARIANCE)
        )

    with kept_modes(network):
        network.train()  # which a network may keep from some of its layers
        statistics = found()
        network.eval()
        return Moved(statistics), found()


def _of_its_own(network: nn.Module) -> Iterator[str]:
    """Buffers that are neither declared nor of torch's normalisation layers, even without a value."""
    declared = declared_statistics(network)
    for prefix, layer in network.named_modules():
        for leaf in layer._buffers:
            name = f"{prefix}.{leaf}" if prefix else leaf
            is_known = isinstance(layer, NormLayer) and leaf in (MEAN, VARIANCE, COUNTER)
            if not is_known and name not in declared:
                yield name


def _tried(network: nn.Module, x_BD: NDArray[Any]) -> tuple[Moved, frozenset[str]]:
    def passed(module: nn.Module) -> None:
        with keyed_dropout(module, key=0):
            outputs_without_draws(module, torch.tensor(x_BD))

    return _in_both_modes(own_copy(network).to("cpu"), passed)


def _tried_without_values(network: nn.Module, x_BD: NDArray[Any]) -> tuple[Moved, frozenset[str]]:
    """The same on fake tensors."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        twins: dict[int, Any] = {
            id(of): nn.Parameter(torch.empty(of.shape, dtype=of.dtype), of.requires_grad)
            for of in network.parameters()
        }
        twins |= {id(of): torch.empty(of.shape, dtype=of.dtype) for of in network.buffers()}
        samples = torch.empty(x_BD.shape, dtype=torch.tensor(x_BD).dtype)
        with torch.no_grad():
            return _in_both_modes(copy.deepcopy(network, memo=twins), lambda module: module(samples.clone()))


def _in_both_modes(module: nn.Module, passed: Pass) -> tuple[Moved, frozenset[str]]:
    """Buffers that training mode moves, and names of buffers that evaluation mode moves."""
    firsts = dict(module.named_buffers())
    module.train()
    moved = _moved(module, firsts, passed)
    if moved.state or dict(module.named_buffers()).keys() != firsts.keys():
        moved = _moved(module, firsts, passed)
    _check(module, firsts, moved)
    module.eval()
    evaluated = _moved(module, firsts, passed)
    return moved, evaluated.statistics | evaluated.state


def _moved(module: nn.Module, firsts: dict[str, Tensor], passed: Pass) -> Moved:
    """Buffers that a pass moves when it begins with copies of the first values."""
    given = {name: first.clone() for name, first in firsts.items()}
    late = {name: value for name, value in module.named_buffers() if name not in firsts}
    for name, value in given.items():
        prefix, _, leaf = name.rpartition(".")
        module.get_submodule(prefix)._buffers[leaf] = value
    given |= late
    places = {name: place(value) for name, value in given.items()}
    with Writes() as writes:
        passed(module)
    ended = dict(module.named_buffers())
    statistics = {name for name, of in places.items() if of in writes.by_norm}
    moved = {
        name
        for name, of in places.items()
        if of in writes.others
        or ended.get(name) is not given[name]
        or place(given[name]) != of
        or (name in firsts and differ(given[name], firsts[name]))
    }
    return Moved(frozenset(statistics), frozenset(moved - statistics - _counters(module)))


def _counters(module: nn.Module) -> set[str]:
    """Names of the counters of torch's normalisation layers."""
    layers = ((prefix, of) for prefix, of in module.named_modules() if isinstance(of, NormLayer))
    return {f"{prefix}.{COUNTER}" if prefix else COUNTER for prefix, _ in layers}


def _check(module: nn.Module, firsts: dict[str, Tensor], moved: Moved) -> None:
    """Refuse state that cannot travel."""
    for name, value in module.named_buffers():
        if name not in moved.state:
            continue
        first = firsts.get(name)
        what = fix = None
        if first is None:
            what, fix = (
                "has no value before the first forward pass",
                "Use register_buffer with its first value.",
            )
        elif value.shape != first.shape:
            what = f"has the shape {tuple(first.shape)}, but after a forward pass {tuple(value.shape)}"
            fix = (
                "Use register_buffer with its final shape; or a plain variable for what every pass "
                "makes again."
            )
        elif value.dtype != first.dtype:
            what = f"is {first.dtype}, but after a forward pass {value.dtype}"
            fix = "Use register_buffer with its final type, such as torch.tensor(0.0)."
        elif value.is_complex():
            what, fix = "is complex, but models hold real numbers", "Use torch.view_as_real."
        if what is not None:
            raise ConfigurationError(
                f"{name}: training changes this buffer, so it is sent with the model, but it {what}. {fix}"
            )
