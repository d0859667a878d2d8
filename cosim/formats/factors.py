"""Factors: units, sizes and powers that a user gives with a file, all above 0."""

import math

from cosim.configuration import ConfigurationError


def check_above_0(name: str, value: float, instead: str) -> None:
    """Refuse an argument that is 0 or below, infinite or NaN.

    Args:
        instead: What to use in its place.

    Raises:
        ConfigurationError: It is.
    """
    if not 0.0 < value < math.inf:
        raise ConfigurationError(f"{name} = {value:g}: must be above 0. Use {instead}.")
