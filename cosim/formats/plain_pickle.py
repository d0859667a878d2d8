"""Plain pickle: the dicts, lists, numbers and texts of a pickle, which is read and not run.

A pickle is a program, which may call any function of Python. This reader knows only the steps that make plain
data, and refuses every other by its name, so a file of a stranger runs no code.

Source: the list of steps in Python's `pickletools`.
"""

import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import short
from cosim.tables.faults import fault, unreadable

TRUSTED = "json.dump(pickle.load(open(FILE, 'rb')), open('it.json', 'w'), default=float)"
"""Program that a user runs on a file that they trust."""

_VALUES = frozenset(
    [
        "INT",
        "BININT",
        "BININT1",
        "BININT2",
        "LONG",
        "LONG1",
        "LONG4",
        "FLOAT",
        "BINFLOAT",
        "STRING",
        "BINSTRING",
        "SHORT_BINSTRING",
        "UNICODE",
        "BINUNICODE",
        "SHORT_BINUNICODE",
        "BINUNICODE8",
    ]
)
"""Steps that put their own argument on the stack."""
_MADE: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
}
_SILENT = frozenset(("PROTO", "FRAME"))
_KEPT = frozenset(("PUT", "BINPUT", "LONG_BINPUT"))
_FOUND = frozenset(("GET", "BINGET", "LONG_BINGET"))
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_ADDED = {"APPEND": 1, "SETITEM": 2, "APPENDS": None, "SETITEMS": None}
"""Steps that add values to the one below them, and how many; None means all since the mark."""
_OF_MARK: dict[str, Callable[[list[Any]], Any]] = {
    "LIST": list,
    "TUPLE": tuple,
    "DICT": lambda own: dict(zip(own[::2], own[1::2], strict=True)),
}


def pickled(path: Path, content: bytes) -> Any:
    """The plain data of a pickle.

    Raises:
        ConfigurationError: It is damaged, or does something else than to make plain data.
    """
    stack = _Stack()
    try:
        for step, argument, place in pickletools.genops(content):
            if step.name == "STOP":
                (found,) = stack.values
                return found
            if not stack.take(step.name, argument):
                of = f" of {argument.replace(' ', '.')}" if isinstance(argument, str) else ""
                what = f"byte {place}: is {step.name}{short(of)}, which makes no plain data and may run code"
                raise fault(path, what, f"a json file: {TRUSTED}, for a file that you trust")
    except ConfigurationError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, MemoryError) as error:
        raise unreadable(path, error, "a whole pickle") from None
    raise fault(path, "is a pickle that is cut off", "the whole file")


class _Stack:
    """Values that a pickle has made so far."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._marks: list[int] = []
        self._kept: dict[int, Any] = {}

    def take(self, step: str, argument: Any) -> bool:
        """Take a step; False if it is none that makes plain data."""
        if step in _VALUES:
            self.values.append(argument)
        elif step in _MADE:
            self.values.append(_MADE[step]())
        elif step in _FOUND:
            self.values.append(self._kept[argument])
        elif step in _KEPT:
            self._kept[argument] = self.values[-1]
        elif step == "MEMOIZE":
            self._kept[len(self._kept)] = self.values[-1]
        elif step == "MARK":
            self._marks.append(len(self.values))
        elif step in _TUPLES:
            self.values.append(tuple(self._last(len(self.values) - _TUPLES[step])))
        elif step in _ADDED:
            own = self._last(self._marks.pop() if _ADDED[step] is None else len(self.values) - _ADDED[step])
            _add(self.values[-1], own)
        elif step in _OF_MARK:
            self.values.append(_OF_MARK[step](self._last(self._marks.pop())))
        else:
            return step in _SILENT
        return True

    def _last(self, begins: int) -> list[Any]:
        if not 0 <= begins <= len(self.values):
            raise ValueError("its stack is empty")
        found = self.values[begins:]
        del self.values[begins:]
        return found


def _add(to: Any, own: list[Any]) -> None:
    """Add items to a list, or keys and values in turn to a dict."""
    if type(to) is dict:
        to.update(zip(own[::2], own[1::2], strict=True))
    elif type(to) is list:
        to.extend(own)
    else:
        raise TypeError(f"it adds to a {type(to).__name__}")
