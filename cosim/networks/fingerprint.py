"""Fingerprint: a hash of all that decides what a network or a task does: its values, its classes, its code.

Two with the same fingerprint in one process do the same. So what a trial has shown of one holds for the other
(`once`), and many runs in one process try a network once. A name alone never tells: a class that is defined
again in a notebook, a method or a global that is changed, other values, other samples give another
fingerprint.

| what | what of it counts |
|---|---|
| tensors, arrays | type, shape, values, and which share memory |
| modules, other objects | class, and all attributes |
| classes and functions of a user's own | code, defaults, attributes, variables around and globals named |
| installed ones, and of cosim | name |

Scope and limitations: there is no fingerprint of what cannot be read, such as locks, open files and objects
that pickle themselves in a way of their own, nor of arrays so large that reading them takes longer than a
trial. What code reads elsewhere (a file, the time) is not seen.

Validation: tests/networks/test_fingerprint.py.
"""

import hashlib
import marshal
import pickle
import sys
import sysconfig
import weakref
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from typing_extensions import override

from cosim.configuration import is_configuration

T = TypeVar("T")

MOST_BYTES = 2**24
"""Of an array. [no source]"""

MOST_KNOWN = 1000
"""Results that a process keeps. [no source]"""

_INSTALLED = {"site-packages", "dist-packages"}
_FIXED = (str(Path(__file__).parents[1]), *(sysconfig.get_path(of) for of in ("stdlib", "platstdlib")))
_WRITE_THEMSELVES = {"__reduce__", "__reduce_ex__", "__getstate__", "__getnewargs__", "__getnewargs_ex__"}
_OF_EVERY_CLASS = {"__dict__", "__weakref__", "__doc__", "_abc_impl"}
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
    """Hash of things together; None if one of them cannot be read."""
    hashed = _Hashed()
    try:
        _Reader(hashed, pickle.HIGHEST_PROTOCOL).dump(things)
    except Exception:  # of any kind: attributes are a user's own
        return None
    return hashed.digest()


class _Hashed:
    """A file of which only the hash is kept."""

    def __init__(self) -> None:
        hashed = hashlib.sha256()
        self.write, self.digest = hashed.update, hashed.digest


class _Unreadable(Exception):
    """Something of which not all that counts can be known."""


def _read(*_: Any) -> None:
    """A name in a fingerprint, where a pickle has what makes an object; it is never called."""


class _Reader(pickle.Pickler):
    """Writes what counts of things, each object once; what it leaves to pickle is told by value, too."""

    def __init__(self, *how: Any) -> None:
        super().__init__(*how)
        self._memory: dict[int, int] = {}

    @override
    def reducer_override(self, obj: Any) -> Any:
        match obj:
            case _ if obj is _read:
                return NotImplemented
            case Tensor():
                return _read, self._of_tensor(obj), vars(obj)
            case _ if isinstance(obj, nn.Module) or is_configuration(type(obj)):
                return _read, (type(obj),), object.__getstate__(obj)
            case np.ndarray() if obj.nbytes > MOST_BYTES:
                raise _Unreadable
            case type():
                return _read, (obj.__module__, obj.__qualname__), None if _stays(obj) else _of_class(obj)
            case FunctionType():
                return _read, (obj.__module__, obj.__qualname__), _of_function(obj)
            case MethodType():
                return _read, (obj.__func__, obj.__self__)
            case BuiltinFunctionType():
                of = obj.__self__
                return _read, (obj.__qualname__, of.__name__ if isinstance(of, ModuleType) else of)
            case ModuleType():
                return _read, (obj.__name__,)
            case weakref.ref():
                return _read, ("reference", obj())
            case property():
                return _read, (obj.fget, obj.fset, obj.fdel)
            case staticmethod() | classmethod():
                return _read, (type(obj).__name__, obj.__func__)
            case torch.Generator():
                return _read, (obj.get_state(),)
            case _ if _writes_itself(type(obj)):
                raise _Unreadable
        return NotImplemented

    def _of_tensor(self, tensor: Tensor) -> tuple[Any, ...]:
        values, content = tensor.detach(), b""
        if values.layout != torch.strided or values.is_quantized:
            raise _Unreadable
        if not values.is_meta:
            plain = values.cpu().resolve_conj().resolve_neg().contiguous()
            content = hashlib.sha256(plain.reshape(-1).view(torch.uint8).numpy().data).digest()
        place = self._memory.setdefault(values.untyped_storage()._cdata, len(self._memory))
        look = str(values.dtype), str(values.device), tuple(values.shape), values.stride()
        gradient = tensor.grad if tensor.is_leaf else None
        return type(tensor), tensor.requires_grad, look, values.storage_offset(), place, content, gradient


def _writes_itself(cls: type) -> bool:
    """True if a user's own class says what a pickle has of its objects, which may be less than counts."""
    said = (vars(base)[name] for base in cls.__mro__ for name in _WRITE_THEMSELVES & vars(base).keys())
    return any(isinstance(value, FunctionType) and not _is_installed(value) for value in said)


def _of_class(cls: type) -> dict[str, Any]:
    """Bases of a class, and what stands in it."""
    own = {
        name: f"slot {name}" if type(value).__name__ == "member_descriptor" else value
        for name, value in vars(cls).items()
        if name not in _OF_EVERY_CLASS and not name.startswith("__attrs_") and not _is_made(name, value)
    }
    return {"bases": cls.__bases__, "own": own}


def _is_made(name: str, value: Any) -> bool:
    """True of what a decorator makes of the fields, whose values tell as much."""
    return name.startswith("__") and isinstance(value, FunctionType) and _is_installed(value)


def _of_function(function: FunctionType) -> dict[str, Any] | None:
    """Code of a function, and what it uses; None if its name tells it."""
    if _stays(function):
        return None
    return {
        "code": marshal.dumps(function.__code__, 2),  # later versions tell what else uses its texts
        "defaults": (function.__defaults__, function.__kwdefaults__),
        "around": list(map(_within, function.__closure__ or ())),
        "globals": {} if _is_installed(function) else dict(_globals_of(function)),
        "own": vars(function),
    }


def _within(cell: CellType) -> Any:
    try:
        return (cell.cell_contents,)
    except ValueError:  # not set yet
        return None


def _globals_of(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Globals that a function names, and what it names of modules of a user's own."""
    names = set(_names_in(function.__code__))
    for name in sorted(names & function.__globals__.keys()):
        value = function.__globals__[name]
        yield name, value
        if isinstance(value, ModuleType) and not _is_installed_module(value.__name__):
            yield from ((f"{name}.{of}", vars(value)[of]) for of in sorted(names & vars(value).keys()))


def _names_in(code: CodeType) -> Iterator[str]:
    """Names of globals and attributes in a code, and in functions within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _stays(of: Any) -> bool:
    """True of a class or a function that is found by its name in an installed module."""
    if not _is_installed_module(of.__module__ or ""):
        return False
    found: Any = sys.modules.get(of.__module__)
    for name in of.__qualname__.split("."):
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
    return found is of


def _is_installed(function: FunctionType) -> bool:
    """True if the code of a function is of an installed module, or made by one."""
    file = function.__code__.co_filename
    return file.startswith("<attrs generated") or _is_installed_file(file)


@lru_cache(maxsize=4096)
def _is_installed_module(name: str) -> bool:
    top = name.partition(".")[0]
    if top in ("__main__", "__mp_main__"):  # a notebook, whatever has started it
        return False
    if top in sys.stdlib_module_names:
        return True
    return _is_installed_file(getattr(sys.modules.get(name), "__file__", None) or "")


def _is_installed_file(file: str) -> bool:
    return not _INSTALLED.isdisjoint(Path(file).parts) or file.startswith(_FIXED)
