"""Targets as typed: `--target 0.8,0.9`, `--target 80%`, `--held 2`, and in `--metric time_to_0.8_s`."""

import math
import re
from collections.abc import Sequence

from analysis.metrics import REACHED, TO_TARGET
from cosim.configuration import ConfigurationError

_LABEL = r"(?P<target>[0-9.e+-]+)(?:_held_(?P<held>\d+))?"


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


def named_in(metrics: Sequence[str]) -> tuple[tuple[float, ...], int]:
    """The targets that columns of metrics name, in turn, and for how many evaluations in a row they hold.

    Raises:
        ConfigurationError: They must hold for several numbers of evaluations.
    """
    patterns = [REACHED, *(cost.column for cost in TO_TARGET)]
    told = [
        match
        for metric in metrics
        for pattern in patterns
        if (match := re.fullmatch(re.escape(pattern).replace(r"\{\}", _LABEL), metric.strip()))
    ]
    held = {int(match["held"] or 1) for match in told}
    if len(held) > 1:
        raise ConfigurationError(
            f"--metric {','.join(metrics)}: targets must hold for one number of evaluations. Use one of them."
        )
    return tuple(dict.fromkeys(_target(match["target"]) for match in told)), held.pop() if held else 1


def _target(text: str) -> float:
    try:
        found = float(f"{text.removesuffix('%')}e-2") if text.endswith("%") else float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ConfigurationError(f"--target {text}: must be a number. Use --target 0.8, or 80%.")
    return found
