"""Policies: how it is decided who trains in an edge round, and how hard.

| policy | who | steps, frequency, power |
|---|---|---|
| `ResourceAware` | Z clients of each cell | those of problem (28), solved exactly or by Algorithm 2 |
| `CommonSteps` | everyone, or everyone able | as many steps as all of them can do, full speed and power |
| `Unconstrained` | everyone | the most steps, full speed and power, no deadline, no budget |

A policy is a configuration; `solver` gives the function that solves one edge round after another.

Source: RawHFL paper, Sections IV (resource-aware) and V-C (H-FedAvg-M1, -M2, -UB).
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cosim.allocation import common_steps, exact
from cosim.allocation.problem import Plan, Problem
from cosim.configuration import at_least, between, configuration, field, not_negative, positive

Solver = Callable[[Problem], Plan]
"""Solves one edge round."""


@configuration
class ResourceAware:
    """The clients of each cell that cost least for what they train.

    Attributes:
        solver: Exact, or the paper's Algorithm 2. [RawHFL, Section IV-B: Algorithm 2]
        theta: Weight of the steps in the objective; energy has the rest. [RawHFL, Section V-A]
        num_selected: Clients Z that a cell selects; none: as many as it has resource blocks, where the uplink
            has some, and as the smallest cell has clients. [RawHFL, Section V]
        num_repeated: Most of them, Psi, from the last edge round; none: half of Z, or more where Z others
            would be too few. [no source]
        margin_db: What a plan takes off the gain that it knows. [no source]
        lowest_power_dbm: Lowest transmit power of a device; none: any. [no source]
        penalty: Weight rho of Algorithm 2's penalty. [RawHFL, Section V-A]
        num_iterations: Most iterations I of Algorithm 2. [RawHFL, Section V-A]
    """

    solver: Literal["exact", "algorithm-2"] = "exact"
    theta: float = field(between(0.0, 1.0), default=0.4)
    num_selected: int | None = field(at_least(1), default=None)
    num_repeated: int | None = field(not_negative, default=None)
    margin_db: float = field(between(-100.0, 100.0), default=0.0)
    lowest_power_dbm: float | None = field(between(-100.0, 100.0), default=None)
    penalty: float = field(positive, default=1.0)
    num_iterations: int = field(at_least(1), default=50)

    def solver_for(self, cell: NDArray[np.int64]) -> Solver:
        """Solves one edge round after another of clients in these cells."""
        if self.solver == "exact":
            return exact.plan
        # cvxpy takes half a second to import, and only this needs it
        from cosim.allocation.successive_approximation import SuccessiveApproximation

        return SuccessiveApproximation(cell, rho=self.penalty, max_iterations=self.num_iterations).plan


@configuration
class CommonSteps:
    """Everyone at full speed and power, as many steps as all can do within deadline and budget.

    Attributes:
        drop_stragglers: Whether those who cannot do one step are left out (H-FedAvg-M2); else nobody trains
            in an edge round in which somebody cannot (H-FedAvg-M1). [RawHFL, Section V-C]
    """

    drop_stragglers: bool = True

    def solver_for(self, cell: NDArray[np.int64]) -> Solver:
        """Solves one edge round after another."""
        return common_steps.without_stragglers if self.drop_stragglers else common_steps.all_or_nothing


@configuration
class Unconstrained:
    """Everyone at full speed and power for the most steps, however long it takes (H-FedAvg-UB)."""

    def solver_for(self, cell: NDArray[np.int64]) -> Solver:
        """Solves one edge round after another."""
        return common_steps.unconstrained
