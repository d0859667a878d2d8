"""A probe for forward passes that draw from generators of the whole process.

Scope and limitations: torch's, numpy's and Python's global generators. A generator that a network keeps to
itself, or seeds anew in every pass, is not seen. Other threads may draw from Python's global generator while
the probe runs, as those of a Dask worker do: such a draw counts when it comes in every one of some passes.

Validation: tests/learning/test_probe_draws.py.
"""

import pickle
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_PYTHONS = "Python's global generator"
_NUM_PASSES = 20
"""Passes in all of which Python's global generator must move. [no source]"""


class GlobalDraw(Exception):
    """A module drew from a global generator; the message says which of both.

    Attributes:
        may_be_others: Whether another thread may have drawn instead.
    """

    may_be_others = False


def outputs_without_draws(network: nn.Module, x_BD: Tensor) -> Tensor:
    """The outputs of a forward pass; the caller's generators stay as they are.

    Args:
        network: In the mode that is asked about. It gets hooks, so it is a copy.
        x_BD: Samples.

    Raises:
        GlobalDraw: with the innermost module that drew first.
    """
    entered: list[dict[str, Any]] = []

    def enter(_module: nn.Module, _inputs: Any) -> None:
        entered.append(_states())

    def leave(module: nn.Module, _inputs: Any, _outputs: Any) -> None:
        before, now = entered.pop(), _states()
        moved = [generator for generator, state in now.items() if state != before[generator]]
        if moved:  # an inner module leaves first
            name = next(name for name, inner in network.named_modules() if inner is module)
            kind = type(module).__name__
            drawn = GlobalDraw(f"{name or 'the network itself'} ({kind}) draws from {moved[0]}")
            drawn.may_be_others = moved == [_PYTHONS]
            raise drawn

    for module in network.modules():
        module.register_forward_pre_hook(enter, prepend=True)
        module.register_forward_hook(leave)
    with torch.no_grad(), _kept():
        for _ in range(_NUM_PASSES - 1):
            try:
                return network(x_BD)
            except GlobalDraw as drawn:
                if not drawn.may_be_others:
                    raise
                entered.clear()
        return network(x_BD)


def generator_states() -> dict[str, Any]:
    """The states of torch's and numpy's global generators."""
    on_cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return {
        "torch's global generator": [state.numpy().tobytes() for state in (torch.get_rng_state(), *on_cuda)],
        "numpy's global generator": pickle.dumps(np.random.get_state(legacy=False)),  # noqa: NPY002
    }


def _states() -> dict[str, Any]:
    return generator_states() | {_PYTHONS: random.getstate()}


@contextmanager
def _kept() -> Iterator[None]:
    """Global generators get their states back."""
    of_numpy, of_python = np.random.get_state(legacy=False), random.getstate()  # noqa: NPY002
    on_cuda = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    try:
        with torch.random.fork_rng(devices=on_cuda):
            yield
    finally:
        np.random.set_state(of_numpy)  # noqa: NPY002
        random.setstate(of_python)
