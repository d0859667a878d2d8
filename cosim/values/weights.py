"""Weights: the tensors of a model by name, cut into submodels, assembled, and summed.

Sums are kept in float64: an accumulated gradient is a small difference of sums of float32 weights, and it
should not lose its digits because the difference is taken after the sum.
"""

import copy
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from cosim.configuration import ConfigurationError
from cosim.values.submodels import NetworkShape, Part

Weights = dict[str, Tensor]
"""Tensor name -> its values: trained parameters in the network's order, then running statistics, state."""


def frozen_on(network: nn.Module, device: str) -> dict[int, nn.Parameter]:
    """The parameters of wholly frozen layers, by `id`, on a device; themselves where they are there."""
    layers = [list(layer.parameters(recurse=False)) for layer in network.modules()]
    frozen = [p for own in layers for p in own if not any(other.requires_grad for other in own)]
    there = (device, "meta")
    return {id(p): p if p.device.type in there else nn.Parameter(p.to(device), False) for p in frozen}


def own_copy(network: nn.Module, instead: Mapping[int, nn.Parameter] | None = None) -> nn.Module:
    """A copy of a network that shares its frozen layers, which may be most of its memory.

    Args:
        instead: Parameters that the copy has in place of the network's, by their `id`. None means its own
            frozen ones, as `frozen_on` finds them.
    """
    memo: dict[int, Any] = dict(frozen_on(network, "cpu") if instead is None else instead)
    for layer in network.modules():
        for held in vars(layer).values():  # most are hooks that are not there, slow to copy
            if type(held) is OrderedDict and not held:
                memo[id(held)] = OrderedDict()
    return copy.deepcopy(network, memo)


def lacks_values(network: nn.Module) -> bool:
    """True if something of a network lies on torch's device "meta"."""
    return any(tensor.is_meta for tensor in (*network.parameters(), *network.buffers()))


def tensors_of(network: nn.Module) -> dict[str, Tensor]:
    """A network's own parameters and buffers, by name."""
    return dict(network.named_parameters()) | dict(network.named_buffers())


def own_weights(network: nn.Module, shape: NetworkShape | None = None, device: str = "cpu") -> Weights:
    """A network's own values, as they are at this instant, of what a model of it consists of."""
    tensors = tensors_of(network)
    names = (shape or NetworkShape.of(network)).tensors
    return {name: tensors[name].detach().to(device, torch.float32, copy=True) for name in names}


def in_own_types(network: nn.Module, weights: Weights) -> Weights:
    """Weights as a network holds them: state of whole numbers or truths is rounded to its type."""
    types = {name: buffer.dtype for name, buffer in network.named_buffers() if name in weights}
    whole = {name: of for name, of in types.items() if not of.is_floating_point}
    return weights | {name: weights[name].round().to(of) for name, of in whole.items()} if whole else weights


def cut(weights: Weights, shape: NetworkShape, part: Part) -> Weights:
    """The smaller dense weights of a part. [HIST journal, equations 2, 4]"""
    shape.cut(part)
    smaller = dict(weights)
    for group, cuts in shape.unit_groups.items():
        for name, axis in cuts:
            units = torch.tensor(part.units[group], device=weights[name].device)
            smaller[name] = weights[name].index_select(axis, units)
    num_units = shape.num_units
    for name, group in shape.summed_statistics.items():
        smaller[name] = weights[name] * (len(part.units[group]) / num_units[group])
    return smaller


def assembled(
    shape: NetworkShape, parts: Sequence[Part], weights: Sequence[Weights], base: Weights | None = None
) -> Weights:
    """The full weights from the weights of disjoint parts. [HIST journal, equation 7]

    Tensors that no group cuts are averaged over the parts (the paper's dense network has none such), but for
    running statistics of what is summed over units, which add up.

    Args:
        shape: The full network.
        parts: Disjoint parts.
        weights: The weights of each part.
        base: Full weights that hold where no part does. None means that the parts cover everything.

    Raises:
        ConfigurationError: parts overlap, or cover too little without a base.
    """
    _check_disjoint(shape, parts, covering=base is None)
    groups = {name: (group, axis) for group, cuts in shape.unit_groups.items() for name, axis in cuts}
    full: Weights = {}
    for name, size in shape.tensors.items():
        if name in shape.summed_statistics:
            group = shape.summed_statistics[name]
            full[name] = torch.stack([w[name] for w in weights]).sum(0, dtype=torch.float64).float()
            held = sum(len(part.units[group]) for part in parts) / shape.num_units[group]
            if base is not None and held < 1.0:
                full[name] += (1.0 - held) * base[name]
            continue
        if name not in groups:
            full[name] = torch.stack([w[name] for w in weights]).mean(0, dtype=torch.float64).float()
            continue
        group, axis = groups[name]
        full[name] = weights[0][name].new_empty(size) if base is None else base[name].clone()
        for part, smaller in zip(parts, weights, strict=True):
            units = torch.tensor(part.units[group], device=full[name].device)
            full[name].index_copy_(axis, units, smaller[name])
    return full


def _check_disjoint(shape: NetworkShape, parts: Sequence[Part], covering: bool) -> None:
    for group, total in shape.num_units.items():
        held = sorted(int(unit) for part in parts for unit in part.units[group])
        if len(set(held)) < len(held):
            raise ConfigurationError(
                f"parts overlap in {group!r}: a unit of the assembled model must have one source. Use "
                "parts that do not overlap."
            )
        if covering and held != list(range(total)):
            raise ConfigurationError(
                f"parts hold {len(held)} of the {total} units of {group!r}. Give the base model."
            )


PIECE = 2**14
"""Values that are added at a time: 128 KiB in float64. Half a MiB still leaves gaps."""


class WeightedSum:
    """A running sum of weights times coefficients, in float64.

    Args:
        begun: What it goes on from, which becomes its own. None means nothing.

    Attributes:
        total: The sum, empty before the first term.
        num_terms: What has been added to it.
    """

    def __init__(self, begun: Weights | None = None) -> None:
        self.total: Weights = {} if begun is None else begun
        self.num_terms = 0

    def add(self, coefficient: float, weights: Mapping[str, Tensor]) -> None:
        """Add coefficient times weights.

        Raises:
            ConfigurationError: weights of another shape (parts of different cells do not sum).
        """
        for name, values in weights.items():
            if name not in self.total:
                self.total[name] = _first(values, coefficient)
            elif self.total[name].shape != values.shape:
                raise ConfigurationError(
                    f"{name}: shapes {tuple(self.total[name].shape)} and {tuple(values.shape)} cannot "
                    "be added. Assemble submodels of different cells instead."
                )
            else:
                _add(self.total[name], values, coefficient)
        self.num_terms += 1


def _first(values: Tensor, coefficient: float) -> Tensor:
    """Coefficient times values, added to zero, so that no -0.0 is left."""
    own = values.detach().to(torch.float64, copy=True, memory_format=torch.contiguous_format)
    return torch.add(own.new_zeros(()), own, alpha=coefficient, out=own)


def _add(total: Tensor, values: Tensor, coefficient: float) -> None:
    """Add piece by piece, with the bits of one addition.

    torch makes a float64 copy of what it adds. Large ones that come and go between models that stay leave
    gaps that nothing fits: 200 clients in flight on 784-300-10 took up to 400 MiB more. On a GPU, and of what
    is float64, it makes none, and each piece would be a call.
    """
    makes_copy = values.device.type == "cpu" and values.dtype != total.dtype and values.numel() > PIECE
    if not makes_copy or not (total.is_contiguous() and values.is_contiguous()):
        total.add_(values, alpha=coefficient)
        return
    for of_total, piece in zip(total.view(-1).split(PIECE), values.view(-1).split(PIECE), strict=True):
        of_total.add_(piece, alpha=coefficient)
