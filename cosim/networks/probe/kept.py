"""Kept: what the modules of a network hold beside parameters, buffers and modules.

That is plain attributes, of the modules and of their classes, and what their forward passes reach outside of
them by name: globals of their file, variables of a function around them.

Scope and limitations: numbers, texts, arrays, tensors, generators of draws, the usual containers, and the
attributes of other objects, down to `DEPTH`. What a forward pass reaches by a function of its own, in a file
or on another device is not seen.

Validation: tests/networks/probe/test_probe_memory.py.
"""

import random
from collections import deque
from collections.abc import Iterator, Mapping, Set
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

DEPTH = 6
"""Containers and objects within each other that are looked into. [no source]"""

_OF_TORCH = frozenset(vars(nn.Module())) | {"_flat_weights", "_flat_weight_refs"}
_CONSTANT = "constant"


def kept_by(network: nn.Module) -> dict[str, Any]:
    """Name -> what is there now, in copies of its own that `alike` compares."""
    freezer = _Freezer(_own_tensors(network))
    return {name: freezer.frozen(value) for name, value in _held(network)}


def alike(one: Any, other: Any) -> bool:
    """True if two such values are the same, tensors to float32 rounding."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return close(one, other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return type(one) is type(other) and bool(one == other)


def close(one: Tensor, other: Tensor, share: float = 1e-4, least: float = 0.0) -> bool:
    """True if two tensors are the same up to a share of their largest value, or up to a least difference."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not (one.is_floating_point() or one.is_complex()):
        return torch.equal(one, other)
    one, other = one.detach(), other.detach()
    return torch.allclose(one, other, rtol=0.0, atol=max(share * largest(other), least), equal_nan=True)


def largest(tensor: Tensor) -> float:
    """The largest number in a tensor, without its sign."""
    return float(tensor.detach().abs().nan_to_num(0.0, 0.0, 0.0).max()) if tensor.numel() else 0.0


def untrained(network: nn.Module) -> Iterator[str]:
    """Names of attributes with parameters that want gradients, of which the network does not know."""
    own = _own_tensors(network)
    for name, value in _held(network):
        for tensor in _tensors(value):
            if isinstance(tensor, nn.Parameter) and tensor.requires_grad and id(tensor) not in own:
                yield name
                break


def _own_tensors(network: nn.Module) -> dict[int, str]:
    tensors = (*network.named_parameters(), *network.named_buffers())
    return {id(tensor): name for name, tensor in tensors}


def _held(network: nn.Module) -> Iterator[tuple[str, Any]]:
    """Name -> value, as it is."""
    classes: set[type] = set()
    functions: list[FunctionType] = []
    for path, module in network.named_modules():
        for name, value in vars(module).items():
            if name not in _OF_TORCH:
                yield f"{path}.{name}".removeprefix("."), value
                functions += _own_functions(value)
        for cls in type(module).__mro__:
            if cls in classes or cls is object or cls.__module__.startswith("torch."):
                continue
            classes.add(cls)
            for name, value in vars(cls).items():
                functions += _own_functions(value)
                if not name.startswith("__"):
                    yield f"{cls.__name__}.{name}", value
    reached: set[FunctionType] = set()
    while functions:
        function = functions.pop()
        if function not in reached:
            reached.add(function)
            for name, value in _named_in(function):
                yield name, value
                functions += (f for f in _own_functions(value) if f.__globals__ is function.__globals__)


def _own_functions(value: Any) -> list[FunctionType]:
    function = value.__func__ if isinstance(value, MethodType) else value
    is_own = isinstance(function, FunctionType) and not str(function.__module__).startswith("torch.")
    return [function] if is_own else []


def _named_in(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Globals and variables around a function that it names."""
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield f"the global {name}", function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"the variable {name} around {function.__name__}", cell.cell_contents
        except ValueError:  # not set yet
            continue


class _Freezer:
    """Makes copies that do not change any more; what is not looked into is a constant."""

    def __init__(self, own: Mapping[int, str]) -> None:
        self._own, self._seen = own, set[int]()

    def frozen(self, value: Any, depth: int = DEPTH) -> Any:
        """A copy of a value, with what it holds; what has come up before is not looked into again."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return repr(value)
        constant = isinstance(value, FunctionType | MethodType | ModuleType | type | nn.Module)
        if constant or depth == 0 or id(value) in self._own or id(value) in self._seen:
            return self._own.get(id(value), _CONSTANT)
        self._seen.add(id(value))
        if isinstance(value, Tensor):
            return _values(value)
        if isinstance(value, np.ndarray | np.generic):
            return repr(value.tolist()) if value.dtype.kind not in "biufc" else torch.tensor(value)
        if isinstance(value, torch.Generator):
            return value.get_state()
        if isinstance(value, np.random.Generator):
            return repr(value.bit_generator.state)
        if isinstance(value, np.random.RandomState):
            return repr(value.get_state(legacy=False))
        if isinstance(value, random.Random):
            return repr(value.getstate())
        held = [self.frozen(item, depth - 1) for item in _items(value)]
        return [type(value).__name__, *(sorted(held, key=str) if isinstance(value, Set) else held)]


def _values(tensor: Tensor) -> Any:
    try:
        return tensor.detach().cpu().clone()
    except RuntimeError:  # without values, or of a program that is over
        return "no values"


def _items(value: Any) -> list[Any]:
    """Items that a container or an object holds."""
    if isinstance(value, Mapping):
        return [item for pair in value.items() for item in pair]
    if isinstance(value, list | tuple | deque | Set):
        return list(value)
    return [item for pair in getattr(value, "__dict__", {}).items() for item in pair]


def _tensors(value: Any, depth: int = DEPTH) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, nn.Module):
        yield from value.parameters()
    elif depth and isinstance(value, Mapping | list | tuple | deque):
        for item in _items(value):
            yield from _tensors(item, depth - 1)
