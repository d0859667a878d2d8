"""Targets as typed: `--target 0.8,0.9`, `--target 80%`."""

import math
from collections.abc import Sequence

from cosim.configuration import ConfigurationError


def targets(options: Sequence[str]) -> tuple[float, ...]:
    """The targets of the options, in turn.

    Raises:
        ConfigurationError: One that is no number.
    """
    return tuple(_target(part.strip()) for option in options for part in option.split(","))


def _target(text: str) -> float:
    try:
        found = float(f"{text.removesuffix('%')}e-2") if text.endswith("%") else float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ConfigurationError(f"--target {text}: must be a number. Usual fix: --target 0.8, or 80%.")
    return found
