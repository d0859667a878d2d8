"""Compiled: functions of torch calls that torch runs by itself, in one call and without Python's lock.

A thread that calls torch gives up Python's lock for the length of the call, and waits to get it back. Calls
of small networks take microseconds, so several threads would mostly wait for each other. A compiled function
holds no lock: threads that train share nothing, and each call costs less.

Scope and limitations: the functions are in the part of Python that TorchScript reads (loops, conditions,
lists; no defaults, no classes), and are found by their names. Nothing is fused or replaced, so bits are the
ones of the same calls in Python.

Validation: tests/training/test_compiled.py.
"""

import inspect
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import torch
from torch.jit._fuser import optimized_execution


@cache
def compiled(*functions: Callable[..., Any]) -> Callable[..., Any]:
    """The last of some functions, of which each may call the ones before it."""
    return of_source("", functions[-1].__name__, *functions)


@lru_cache(maxsize=256)
def of_source(source: str, name: str, *functions: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a source that is followed by some functions."""
    unit = torch.jit.CompilationUnit("\n".join([source, *map(inspect.getsource, functions)]))
    of_torch = getattr(unit, name)

    def without_lock(*arguments: Any) -> Any:
        with optimized_execution(False):
            return of_torch(*arguments)

    return without_lock
