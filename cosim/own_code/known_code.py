"""Known code: whether things are made of nothing but classes and functions of cosim and of libraries.

The libraries are torch, NumPy and transformers, which do not change while a process runs. **Whatever holds
code of a user's own is not known**, as nothing but a trial tells what that does.

Scope and limitations: what cannot be pickled is not known either.

Validation: tests/networks/test_fingerprint.py.
"""

import pickle
import sys
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from torch import Tensor, nn
from typing_extensions import override

from cosim.configuration.kinds import is_configuration
from cosim.own_code.imports import is_ours

_LIBRARIES = {"torch", "numpy", "transformers", "functools", "collections", "builtins", "copyreg", "typing"}


class Unknown(Exception):
    """Something is of a user's own, or cannot be read."""


def is_known(*things: Any) -> bool:
    """True if all that things are made of is known."""
    try:
        KnownCode(_Nowhere(), pickle.HIGHEST_PROTOCOL).dump(things)
    except Exception:  # of any kind: what is pickled may be anything
        return False
    return True


class _Nowhere:
    def write(self, _: bytes) -> None:
        """Keep nothing."""


def read(*_: Any) -> None:
    """A name, where a pickle has what makes an object; it is never called."""


class KnownCode(pickle.Pickler):
    """Goes over things, each object once, and stops at what is not known.

    Raises:
        Unknown: Something is not known.
    """

    @override
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type | FunctionType) and not _is_of_a_library(obj):
            raise Unknown
        if isinstance(obj, MethodType):  # pickled by its name alone
            return read, (obj.__func__, obj.__self__)
        if isinstance(obj, Tensor):
            return read, self.of_tensor(obj), vars(obj)
        if isinstance(obj, nn.Module) or is_configuration(type(obj)):
            return read, (type(obj),), object.__getstate__(obj)
        if isinstance(obj, np.ndarray):
            return self.of_array(obj)
        return NotImplemented

    def of_tensor(self, tensor: Tensor) -> tuple[Any, ...]:
        """Parts of a tensor that count, beside its attributes."""
        return (type(tensor),)

    def of_array(self, array: np.ndarray[Any, Any]) -> Any:
        """Parts of an array that count."""
        return read, (type(array), array.dtype)


def _is_of_a_library(of: Any) -> bool:
    """True of a class or a function of cosim or a library that its name finds."""
    module = sys.modules.get(of.__module__ or "")
    if module is None or not (
        module.__name__.partition(".")[0] in _LIBRARIES or is_ours(Path(module.__file__ or ""))
    ):
        return False
    found: Any = module
    for name in of.__qualname__.split("."):
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
    return found is of
