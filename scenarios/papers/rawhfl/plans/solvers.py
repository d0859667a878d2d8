"""Solvers: the port of the method for problem (28) of the resource-aware policy.

Usage::

    @part
    class Rounded(Solver):
        \"\"\"Even numbers of steps.\"\"\"

        def solve_for(self, sim, cell):
            return lambda problem: halved(exact.plan(problem))

Source: RawHFL paper, Section IV-B.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import Port, at_least, knob, part, positive
from scenarios.papers.rawhfl.plans import exact
from scenarios.papers.rawhfl.plans.initial_selections import EqualShares, InitialSelection
from scenarios.papers.rawhfl.plans.problem import Plan, Problem

Solve = Callable[[Problem], Plan]
"""Function that solves one edge round."""


@part
class Solver(Port, ABC):
    """Method for problem (28)."""

    @abstractmethod
    def solve_for(self, sim: Simulation, cell: NDArray[np.int64]) -> Solve:
        """Function that solves one edge round after another of a run; arguments as `Policy.solver_for`."""


@part
class ExactSolver(Solver):
    """Exact optimum."""

    @override
    def solve_for(self, sim: Simulation, cell: NDArray[np.int64]) -> Solve:
        return exact.plan


@part
class Algorithm2(Solver):
    """Successive approximation, Algorithm 2 of the paper.

    Attributes:
        penalty: Weight rho of its penalty. [RawHFL, Section V-A]
        num_iterations: Most iterations I. [RawHFL, Section V-A]
        initial_selection: Selection in its initial point. [no source: not said]
    """

    penalty: float = knob(positive, default=1.0)
    num_iterations: int = knob(at_least(1), default=50)
    initial_selection: InitialSelection = EqualShares()

    @override
    def solve_for(self, sim: Simulation, cell: NDArray[np.int64]) -> Solve:
        # cvxpy takes half a second to import, and only this needs it
        from scenarios.papers.rawhfl.plans.successive_approximation import SuccessiveApproximation

        return SuccessiveApproximation(
            cell,
            rho=self.penalty,
            max_iterations=self.num_iterations,
            selection=self.initial_selection.selection_for(sim),
        ).plan
