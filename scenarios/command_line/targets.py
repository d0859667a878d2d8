"""Targets as typed: `--target 0.8,0.9`, `--target 80%`, `--held 2`."""

import math
from collections.abc import Sequence

from cosim.configuration import ConfigurationError


def targets(options: Sequence[str], held: int) -> tuple[float, ...]:
    """The targets of the options, in turn.

    Args:
        held: The evaluations in a row that are asked for.

    Raises:
        ConfigurationError: One that is no number, or a `held` that can be of no target.
    """
    if held < 1:
        raise ConfigurationError(f"--held {held}: must be at least 1. Leave it out, for 1.")
    if held > 1 and not options:
        raise ConfigurationError(f"--held {held}: there is no target. Use --target 0.8.")
    return tuple(dict.fromkeys(_target(part.strip()) for option in options for part in option.split(",")))


def _target(text: str) -> float:
    try:
        found = float(f"{text.removesuffix('%')}e-2") if text.endswith("%") else float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ConfigurationError(f"--target {text}: must be a number. Use --target 0.8, or 80%.")
    return found
