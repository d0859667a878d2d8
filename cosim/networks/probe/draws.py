"""A probe for forward passes that draw from global generators (`cosim.own_code.global_generators`).

Scope and limitations: torch's, numpy's and Python's global generators. A generator that a network keeps to
itself, or seeds again in every pass, is not seen. Threads outside cosim, such as a Dask worker's, may draw
while the probe runs, so a draw counts when it comes in every one of some passes.

Validation: tests/networks/probe/test_probe_draws.py.
"""

from typing import Any

import torch
from torch import Tensor, nn

from cosim.own_code.global_generators import kept, moved, states

_NUM_PASSES = 20
"""Passes in all of which a generator must move. [no source]"""


class GlobalDraw(Exception):
    """A module drew from a global generator; the message says from which."""


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
        entered.append(states())

    def leave(module: nn.Module, _inputs: Any, _outputs: Any) -> None:
        if drawn := moved(entered.pop()):  # an inner module leaves first
            name = next(name for name, inner in network.named_modules() if inner is module)
            kind = type(module).__name__
            raise GlobalDraw(f"{name or 'the network itself'} ({kind}) draws from {drawn[0]}")

    for module in network.modules():
        module.register_forward_pre_hook(enter, prepend=True)
        module.register_forward_hook(leave)
    with torch.no_grad(), kept():
        for _ in range(_NUM_PASSES - 1):
            try:
                return network(x_BD)
            except GlobalDraw:
                entered.clear()
        return network(x_BD)
