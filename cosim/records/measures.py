"""Measures: what the values that a task reports mean, and whether they are sound and good enough."""

import math
from collections.abc import Mapping
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

from cosim.configuration import ConfigurationError


class Measure(NamedTuple):
    """Meaning of a value that a task reports.

    Attributes:
        words: Its name for a reader, with its unit, if any, in brackets.
        higher_is_better: True if higher values are better.
        is_share: True if it lies from 0 to 1, and is shown in per cent.
        can_be_nan: True if it may be nan for a sound model, like the accuracy on a class without samples; for
            any other measure, nan means that training has diverged.
    """

    words: str
    higher_is_better: bool
    is_share: bool = False
    can_be_nan: bool = False

    @property
    def label(self) -> str:
        """Words and unit, for an axis or above a column."""
        return f"{self.words} (%)" if self.is_share else self.words

    @property
    def factor(self) -> float:
        """Factor from a value to the number that is shown."""
        return 100.0 if self.is_share else 1.0

    def shown(self, value: float) -> str:
        """Value in words."""
        return f"{100 * value:.1f} %" if self.is_share else f"{value:.4g}"

    def is_as_good(self, values: Any, target: float) -> Any:
        """True if a value, or each of an array, is at least as good as a target."""
        return values >= target if self.higher_is_better else values <= target

    def is_sound(self, values: Any) -> Any:
        """True if a value, or each of an array, may come from a model that has not diverged.

        An infinitely bad value does not, and nan does not unless it `can_be_nan`.
        """
        is_sound = values > -math.inf if self.higher_is_better else values < math.inf
        return is_sound | (values != values) if self.can_be_nan else is_sound  # only nan differs from itself

    def check_target(self, target: float, where: str = "target") -> None:
        """Refuse a target that no value can have.

        Args:
            where: Name of the target, for the message.

        Raises:
            ConfigurationError: The target of a share is not between 0 and 1.
        """
        if self.is_share and not 0.0 <= target <= 1.0:
            in_percent = 10.0 <= target <= 100.0
            meant = f"Did you mean {target / 100:.15g}?" if in_percent else "Use 0.8, for 80 %."
            raise ConfigurationError(f"{where} {target:.15g}: {self.words} is a share, from 0 to 1. {meant}")


def are_sound(measures: Mapping[str, Measure], scores: Mapping[str, Any]) -> Any:
    """True if the scores of an evaluation, or in each row of columns, come from a sound model.

    A model whose training has diverged has at least one score that is not a finite number
    (`Measure.is_sound`).
    """
    return reduce(and_, (measure.is_sound(scores[column]) for column, measure in measures.items()), True)


def are_as_good(measures: Mapping[str, Measure], scores: Mapping[str, Any], target: float) -> Any:
    """True if the scores of an evaluation, or in each row of columns, reach a target of the first one.

    Scores of a model that has diverged never do (`are_sound`).
    """
    column, measure = next(iter(measures.items()))
    return measure.is_as_good(scores[column], target) & are_sound(measures, scores)
