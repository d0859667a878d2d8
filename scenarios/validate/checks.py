"""Checks: a number of a theory beside what the clock has, and wrong theories of it, for `staleness`.

An identity is compared as one number, a long-run mean by batch means.
"""

from collections.abc import Mapping

import attrs
import numpy as np

from analysis.intervals.batch_means import batch_means
from analysis.intervals.statistics import Interval
from scenarios.validate.fleets import Array

WARM_UP = 20
"""Parts of a series; the first is cut off, which is many jobs of each client."""


@attrs.frozen(kw_only=True, eq=False)
class Check:
    """A number of a theory, and what the clock has.

    Attributes:
        law: Law of staleness.
        fleet: Fleet with the times.
        quantity: Name of the quantity, as printed.
        theory: The number.
        found: One number, or a series whose long-run mean it is.
        margin: Half width at which a series decides. None means one number, which must be the same.
        wrong: Wrong theories of the same quantity, by name.
    """

    law: str
    fleet: str
    quantity: str
    theory: float
    found: Array
    margin: float | None = None
    wrong: Mapping[str, float] = attrs.field(factory=dict)

    def interval(self, level: float) -> Interval:
        """Of what the clock has."""
        if self.margin is not None:
            return batch_means(self.found, level, warm_up=len(self.found) // WARM_UP)
        (number,) = self.found
        return Interval(estimate=number, low=number, high=number, level=1.0)


def identity(law: str, fleet: str, quantity: str, theory: int, found: int, **wrong: int) -> Check:
    """A check in whole numbers."""
    wrong_by_name = {name.replace("_", " "): float(value) for name, value in wrong.items()}
    return Check(
        law=law,
        fleet=fleet,
        quantity=quantity,
        theory=float(theory),
        found=np.array([float(found)]),
        wrong=wrong_by_name,
    )
