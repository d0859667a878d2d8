"""cosim: a discrete-event network-and-learning co-simulator for wireless federated learning.

Usage::

    import cosim

    radio = cosim.Radio(sharing=cosim.FixedShares(bandwidth_hz=5e6))
    system = cosim.System(num_cells=2, uplink=radio)
    result = cosim.run(system)

A name is imported when it is first asked for, so that nothing waits for what it does not use. The names and
their modules stand in `cosim/__init__.pyi`, where type checkers read them too.
"""

import ast
import importlib
from pathlib import Path
from typing import Any

from cosim.files.packages import warn_of_hidden as _warn_of_hidden

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_HOMES = {
    alias.name: str(node.module)
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
"""Name -> the module that has it."""
__all__ = list(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        from cosim.configuration.rules import did_you_mean

        raise AttributeError(f"module {__name__!r} has no attribute {name!r}.{did_you_mean(name, _HOMES)}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


_warn_of_hidden()
