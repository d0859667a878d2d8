"""Learned: the laws of what a run has learned."""

import numpy as np

from cosim.results.result import Result
from cosim.testing.laws.broken import broken

NOT_A_NUMBER = "a division by 0 or a logarithm of 0, or a step that is too large"


def weights_are_numbers(result: Result) -> None:
    """Learned weights are finite.

    Raises:
        BrokenLaw: The first value that is not.
    """
    for name, values in (result.learned or {}).items():
        if not np.isfinite(values).all():
            where = f"{(~np.isfinite(values)).sum()} of {values.size} weights {name} are no finite number"
            raise broken("weights", where, NOT_A_NUMBER)
