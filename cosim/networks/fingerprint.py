"""Fingerprint: a hash of all that decides what a network or a task of cosim's or torch's does.

Two with the same fingerprint in one process do the same. So what a trial has shown of one holds for the other
(`once`), and many runs in one process try a network once. Values, attributes, hooks and shared memory count,
and classes by their names. **Whatever holds code of a user's own has no fingerprint**
(`cosim.own_code.known_code`).

Scope and limitations: there is none of arrays so large that reading them takes longer than a trial.

Validation: tests/networks/test_fingerprint.py.
"""

import hashlib
import pickle
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from numpy.typing import NDArray
from torch import Tensor
from typing_extensions import override

from cosim.own_code.known_code import KnownCode, Unknown

T = TypeVar("T")

MOST_BYTES = 2**24
"""Of an array. [no source]"""

MOST_KNOWN = 1000
"""Results that a process keeps. [no source]"""

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


class _Reader(KnownCode):
    """Writes what counts of things."""

    def __init__(self, *how: Any) -> None:
        super().__init__(*how)
        self._memory: dict[int, int] = {}

    @override
    def of_tensor(self, tensor: Tensor) -> tuple[Any, ...]:
        values, content = tensor.detach(), b""
        if values.layout != torch.strided or values.is_quantized:
            raise Unknown
        if not values.is_meta:
            plain = values.cpu().resolve_conj().resolve_neg().contiguous()
            content = hashlib.sha256(plain.reshape(-1).view(torch.uint8).numpy().data).digest()
        place = self._memory.setdefault(values.untyped_storage()._cdata, len(self._memory))
        look = str(values.dtype), str(values.device), tuple(values.shape), values.stride()
        gradient = tensor.grad if tensor.is_leaf else None
        return type(tensor), tensor.requires_grad, look, values.storage_offset(), place, content, gradient

    @override
    def of_array(self, array: NDArray[Any]) -> Any:
        if array.nbytes > MOST_BYTES:
            raise Unknown
        return NotImplemented
