"""Arithmetic: while a run learns, float32 is float32, and a GPU gives the same bits each time.

torch's settings belong to the process. A script that asks for faster products of float32 matrices
(`torch.set_float32_matmul_precision`) would get other tables than the command line; on a GPU convolutions
round to TF32 unless told otherwise, and some operations add in an order that differs from run to run. So the
settings that matter are set while something is computed, and put back afterwards.

Scope and limitations: a network that changes these settings itself is not held up. Where torch has no
operation for CUDA that gives the same bits each time, it raises an error, and the run ends with it.

Validation: tests/engine/learning/test_arithmetic.py; on a GPU, benchmarks/gpu.py.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

_Setting = tuple[Callable[[], Any], Callable[[Any], object], Any]
"""A setting of torch: how it is read and written, and the value that is exact."""
_lock = threading.Lock()
_num_inside = 0
_before: list[tuple[Callable[[Any], object], Any]] = []


@contextmanager
def exact(device: str) -> Iterator[None]:
    """Keep products on "cpu" or "cuda" exact to float32, and the same bit for bit, while this lasts."""
    global _num_inside
    with _lock:
        _num_inside += 1
        for read, write, exact in _settings(device):
            if (value := read()) not in (exact, "none"):
                _before.append((write, value))
                write(exact)
    try:
        yield
    finally:
        with _lock:
            _num_inside -= 1
            while not _num_inside and _before:
                write, value = _before.pop()
                write(value)


def _settings(device: str) -> list[_Setting]:
    """Settings that decide how a device rounds."""
    has_each = hasattr(torch.backends.cuda.matmul, "fp32_precision")  # torch 2.9 and later
    if device == "cpu":
        of_products = torch.get_float32_matmul_precision, torch.set_float32_matmul_precision
        return _of_float32(torch.backends.mkldnn) if has_each else [(*of_products, "highest")]
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # which cuBLAS reads when it starts
    cuda, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    repeats = torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms
    own = [_attribute(cudnn, "benchmark", False), (*repeats, True)]
    if has_each:
        return [_attribute(cuda, "fp32_precision", "ieee"), *_of_float32(cudnn), *own]
    return [_attribute(cuda, "allow_tf32", False), _attribute(cudnn, "allow_tf32", False), *own]


def _attribute(owner: Any, name: str, exact: Any) -> _Setting:
    return partial(getattr, owner, name), partial(setattr, owner, name), exact


def _of_float32(library: Any) -> list[_Setting]:
    kinds = (getattr(library, name, None) for name in ("matmul", "conv", "rnn"))
    return [_attribute(kind, "fp32_precision", "ieee") for kind in kinds if kind is not None]
