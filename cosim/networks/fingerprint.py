"""Fingerprint: a hash of all that decides what a network or a task of cosim's or torch's does.

Two with the same fingerprint in one process do the same. So what a trial has shown of one holds for the other
(`once`), and many runs in one process try a network once. Values, attributes, hooks and shared memory count,
and classes by their names, since installed libraries and cosim do not change while a process
runs. **Whatever holds code of a user's own has no fingerprint**, as nothing but a trial tells what it does.

Scope and limitations: there is none of what cannot be pickled either, nor of arrays so large that reading
them takes longer than a trial.

Validation: tests/networks/test_fingerprint.py.
"""

import hashlib
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from typing_extensions import override

from cosim.configuration.kinds import is_configuration
from cosim.own_code.imports import is_ours

T = TypeVar("T")

MOST_BYTES = 2**24
"""Of an array. [no source]"""

MOST_KNOWN = 1000
"""Results that a process keeps. [no source]"""

_LIBRARIES = {"torch", "numpy", "functools", "collections", "builtins", "copyreg", "typing"}
_known: dict[bytes, Any] = {}


def once(found: Callable[..., T], *given: Any) -> T:
    """The result of a function, from an earlier call in this process where all that decides it is the same.

    Args:
        found: A function of the engine, whose result nothing changes.
        given: Its arguments.
    """
    key = fingerprint(found, *given)
    if key is None:
        return found(*given)
    if key not in _known:
        result = found(*given)
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = result
        return result
    return _known[key]


def fingerprint(*things: Any) -> bytes | None:
    """Hash of things together; None if one of them is of a user's own, or cannot be read."""
    hashed = _Hashed()
    try:
        _Reader(hashed, pickle.HIGHEST_PROTOCOL).dump(things)
    except Exception:  # of any kind: what is pickled may be anything
        return None
    return hashed.digest()


class _Hashed:
    """A file of which only the hash is kept."""

    def __init__(self) -> None:
        hashed = hashlib.sha256()
        self.write, self.digest = hashed.update, hashed.digest


class _Unknown(Exception):
    """Something that has no complete fingerprint."""


def _read(*_: Any) -> None:
    """A name in a fingerprint, where a pickle has what makes an object; it is never called."""


class _Reader(pickle.Pickler):
    """Writes what counts of things, each object once."""

    def __init__(self, *how: Any) -> None:
        super().__init__(*how)
        self._memory: dict[int, int] = {}

    @override
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type | FunctionType) and not _is_known(obj):
            raise _Unknown
        if isinstance(obj, MethodType):  # pickled by its name alone
            return _read, (obj.__func__, obj.__self__)
        if isinstance(obj, Tensor):
            return _read, self._of_tensor(obj), vars(obj)
        if isinstance(obj, nn.Module) or is_configuration(type(obj)):
            return _read, (type(obj),), object.__getstate__(obj)
        if isinstance(obj, np.ndarray) and obj.nbytes > MOST_BYTES:
            raise _Unknown
        return NotImplemented

    def _of_tensor(self, tensor: Tensor) -> tuple[Any, ...]:
        values, content = tensor.detach(), b""
        if values.layout != torch.strided or values.is_quantized:
            raise _Unknown
        if not values.is_meta:
            plain = values.cpu().resolve_conj().resolve_neg().contiguous()
            content = hashlib.sha256(plain.reshape(-1).view(torch.uint8).numpy().data).digest()
        place = self._memory.setdefault(values.untyped_storage()._cdata, len(self._memory))
        look = str(values.dtype), str(values.device), tuple(values.shape), values.stride()
        gradient = tensor.grad if tensor.is_leaf else None
        return type(tensor), tensor.requires_grad, look, values.storage_offset(), place, content, gradient


def _is_known(of: Any) -> bool:
    """True of a class or a function of cosim, torch or numpy that its name finds."""
    module = sys.modules.get(of.__module__ or "")
    if module is None or not (
        module.__name__.partition(".")[0] in _LIBRARIES or is_ours(Path(module.__file__ or ""))
    ):
        return False
    found: Any = module
    for name in of.__qualname__.split("."):
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
    return found is of
