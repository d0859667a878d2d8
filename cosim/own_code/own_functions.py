"""Functions of a user's own: what they return is checked, and what they must not draw is found.

The global generators belong to all threads, so what a function drew there would depend on which came first.
It is refused, as it is of networks. Setting their state for a while, as `torch.random.fork_rng` does, is no
way out.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor

from cosim.configuration import ConfigurationError
from cosim.own_code.dropout import stream_key
from cosim.own_code.global_generators import without_draws
from cosim.values.weights import Weights

T = TypeVar("T")
GENERATOR_BITS = 63
"""A torch.Generator takes seeds that a signed whole number of 64 bits can hold."""


def generator(key: int, purpose: str) -> torch.Generator:
    """The source of what a function draws, from its beginning, on the CPU: devices draw other values."""
    return torch.Generator().manual_seed(stream_key(key, purpose) % 2**GENERATOR_BITS)


def without_shared_draws(function: str, source: str, call: Callable[[], T]) -> T:
    """Result of calling a function.

    Args:
        function: Its name.
        source: What it draws from.
        call: May be made again.

    Raises:
        ConfigurationError: It draws from a global generator.
    """
    found, drawn = without_draws(call)
    if drawn:
        raise ConfigurationError(
            f"{function} draws from {drawn[0]}, which all threads share, so the seed would not "
            f"determine the results. Use generator={source}."
        )
    return found


def kept_copies(function: str, keeps_state: bool, state: Mapping[str, Tensor] | None) -> Weights:
    """State that a function returned, with tensors of its own.

    Raises:
        ConfigurationError: It is none, or its class does not say that it keeps one.
    """
    if state is None:
        return {}
    if not keeps_state:
        raise ConfigurationError(
            f"{function} returned a state that would be lost. Set keeps_state = True in the class."
        )
    if not isinstance(state, Mapping) or not all(isinstance(values, Tensor) for values in state.values()):
        raise ConfigurationError(
            f"{function} returned a {type(state).__name__}: must be a dictionary of tensors, or None. "
            "Return one of these."
        )
    return {str(name): values.detach().clone() for name, values in state.items()}
