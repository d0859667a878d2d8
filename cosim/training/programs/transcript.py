"""Transcript: torch's operations as lines of TorchScript, while they are called.

Not everything can be written: operations that draw, give a number to Python or have a shape that depends on
values, and operations on a tensor from elsewhere. Nor do all calls come as operations: values are read
(`tolist`, a text, an address), memory is replaced (`values.data = `). A recording in which one of these
happens cannot be used.

Scope and limitations: the backward pass of an `autograd.Function` that looks at values but does not fail
without them goes unnoticed.

Validation: tests/training/test_recorded.py.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from typing_extensions import override

from cosim.own_code.each_operation import EachOperation


class Transcript(EachOperation):
    """Writes each operation as a line of TorchScript.

    Args:
        given: Name -> tensor that operations may take.

    Attributes:
        lines: The operations.
        can_be_used: False once something could not be written.
    """

    def __init__(self, given: dict[str, Tensor]) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.can_be_used = True
        self._names = {id(tensor): name for name, tensor in given.items()}
        self._kept: list[Any] = [given]  # so that no two have the same `id`

    @override
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if self.can_be_used:
            try:
                self._write(func, args, kwargs or {}, made)
            except _CannotWrite:
                self.can_be_used = False
        return made

    def _write(self, func: Any, args: Any, kwargs: Any, made: Any) -> None:
        if not _UNWRITTEN.isdisjoint(func.tags):
            raise _CannotWrite
        given = [*map(self._written, args), *(f"{name}={self._written(of)}" for name, of in kwargs.items())]
        name = f"made_{len(self.lines)}"
        self.lines.append(f"{name} = torch.ops.{func._schema.name.replace('::', '.')}({', '.join(given)})")
        self._kept.append(made)
        if isinstance(made, Tensor):
            self._names[id(made)] = name
        elif isinstance(made, list | tuple):
            self._names |= {id(of): f"{name}[{at}]" for at, of in enumerate(made) if isinstance(of, Tensor)}
        else:
            raise _CannotWrite

    def _written(self, given: Any) -> str:
        """An argument as TorchScript has it."""
        match given:
            case Tensor() if id(given) in self._names:
                return self._names[id(given)]
            case list() | tuple():
                return f"[{', '.join(map(self._written, given))}]"
            case float() if not math.isfinite(given):
                return f"float('{given}')"
            case None | bool() | int() | float() | str():
                return repr(given)
            case torch.dtype() | torch.layout() | torch.memory_format():
                return str(given)
            case torch.device():
                return f"torch.device('{given}')"
        raise _CannotWrite

    def source(self, made: Sequence[Tensor]) -> str | None:
        """The operations as a function that returns tensors; None if it cannot be written."""
        if not self.can_be_used or any(id(of) not in self._names for of in made):
            return None
        returned = f"return {self._written(made)}"
        return "\n    ".join([_HEAD, *self.lines, returned]) + "\n"


class _CannotWrite(Exception):
    """An operation that cannot be written."""


class _Untold(TorchFunctionMode):
    """Notices calls of which no operation tells: values are read, or memory is replaced."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__()
        self._transcript = transcript

    @override
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._transcript.can_be_used &= func not in _UNTOLD
        return func(*args, **(kwargs or {}))


_UNTOLD = {
    *(Tensor.tolist, Tensor.numpy, Tensor.__array__, Tensor.__dlpack__, Tensor.data_ptr),
    *(Tensor.__repr__, Tensor.__format__, Tensor.data.__set__),  # pyright: ignore[reportAttributeAccessIssue]
}


_HEAD = (
    "def gradients(parameters: List[Tensor], buffers: List[Tensor], constants: List[Tensor], "
    "x: Tensor, y: Tensor) -> List[Tensor]:"
)
_UNWRITTEN = {
    torch.Tag.nondeterministic_seeded,
    torch.Tag.data_dependent_output,
    torch.Tag.dynamic_output_shape,
}


def written(given: dict[str, Tensor], called: Callable[[], Sequence[Tensor]]) -> str | None:
    """A call's operations as the function `gradients` of TorchScript; None if they cannot be written.

    Args:
        given: Name -> tensor that operations may take.
        called: Returns the tensors that the function is to return.
    """
    with Transcript(given) as transcript, _Untold(transcript):
        try:
            made = called()
        except Exception:  # of what torch does not do while it is looked at
            return None
    return transcript.source(made)
