"""Functions of a user's own: what they return is checked, and what they must not draw is found.

torch's and numpy's global generators belong to all threads, so what a function drew there would depend on who
came first. It is refused, as it is of networks. Setting their state for a while, as `torch.random.fork_rng`
does, is no way out, and Python's `random` is not watched. Another thread of the process that draws meanwhile
is taken for the function.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from cosim.configuration import ConfigurationError
from cosim.learning.network.dropout import stream_key
from cosim.learning.network.weights import Weights
from cosim.learning.probe.draws import generator_states

GENERATOR_BITS = 63
"""A torch.Generator takes seeds that a signed whole number of 64 bits can hold."""


def generator(key: int, purpose: str, device: torch.device) -> torch.Generator:
    """The source of what a function draws, from its beginning."""
    return torch.Generator(device).manual_seed(stream_key(key, purpose) % 2**GENERATOR_BITS)


@contextmanager
def no_shared_draws(function: str, source: str) -> Iterator[None]:
    """Refuse draws from global generators while this lasts.

    Args:
        function: Whose they would be.
        source: What it draws from instead.

    Raises:
        ConfigurationError: There was one.
    """
    before = generator_states()
    yield
    drawn = [name for name, state in generator_states().items() if state != before[name]]
    if drawn:
        raise ConfigurationError(
            f"{function} draws from {drawn[0]}, which all threads share, so results would not be those of "
            f"the seed. Usual fix: generator={source}."
        )


def kept_copies(function: str, keeps_state: bool, state: Mapping[str, Tensor] | None) -> Weights:
    """The state that a function returned, its tensors nobody else's from now on.

    Raises:
        ConfigurationError: It is none, or its class does not say that it keeps one.
    """
    if state is None:
        return {}
    if not keeps_state:
        raise ConfigurationError(
            f"{function} returned a state, and nobody would keep it. Usual fix: keeps_state = True in the "
            "class."
        )
    if not isinstance(state, Mapping) or not all(isinstance(values, Tensor) for values in state.values()):
        raise ConfigurationError(
            f"{function} returned a {type(state).__name__}: must be a dictionary of tensors, or None."
        )
    return {str(name): values.detach().clone() for name, values in state.items()}
