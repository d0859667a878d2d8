"""Policies: how it is decided who trains in an edge round, and how hard.

| policy | who | steps, frequency, power |
|---|---|---|
| `ResourceAware` | Z clients of each cell | those of problem (28), solved exactly or by Algorithm 2 |
| `CommonSteps` | everyone, or everyone able | as many steps as all of them can do, full speed and power |
| `Unconstrained` | everyone | the most steps, full speed and power, no deadline, no budget |

A policy of one's own is a subclass of `Policy` with a method `solver_for`, which gives the function that
solves one edge round after another.

Source: RawHFL paper, Sections IV (resource-aware) and V-C (H-FedAvg-M1, -M2, -UB).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.configuration import ConfigurationError, Port, at_least, between, knob, not_negative, part
from cosim.units import db_to_linear, dbm_to_w, w_to_dbm
from scenarios.papers.rawhfl.plans import common_steps
from scenarios.papers.rawhfl.plans.problem import Problem
from scenarios.papers.rawhfl.plans.solvers import ExactSolver, Solve, Solver


@part
class Policy(Port, ABC):
    """Decides who trains in an edge round, and how hard."""

    @property
    def keeps_limits(self) -> bool:
        """Whether deadline and budgets hold; else nothing is ever given up."""
        return True

    def num_selected_of(self, sizes: Sequence[int], num_at_once: int | None) -> int:
        """How many clients of a cell take part at most.

        Args:
            sizes: Clients of each cell.
            num_at_once: Clients of a cell that can send at the same time; None: all.

        Raises:
            ConfigurationError: More than there are, or than can send.
        """
        return max(sizes)

    def posed(self, problem: Problem) -> Problem:
        """The problem of every edge round with what the policy adds to it.

        Raises:
            ConfigurationError: Nobody could keep to it.
        """
        return problem

    def trusted(self, snr_per_w: NDArray[np.float64]) -> NDArray[np.float64]:
        """What it counts on of the SNR that it knows at 1 W, shape (clients,)."""
        return snr_per_w

    @abstractmethod
    def solver_for(self, cell: NDArray[np.int64]) -> Solve:
        """Solves one edge round after another of clients in these cells, shape (clients,)."""


@part
class ResourceAware(Policy):
    """The clients of each cell that cost least for what they train.

    Attributes:
        solver: How the problem is solved. [RawHFL, Section IV-B: Algorithm 2]
        theta: Weight of the steps in the objective; energy has the rest. [RawHFL, Section V-A]
        num_selected: Clients Z that a cell selects; none: as many as it has resource blocks, where the uplink
            has some, and as the smallest cell has clients. [RawHFL, Section V]
        num_repeated: Most of them, Psi, from the last edge round; none: half of Z, or more where Z others
            would be too few. [no source]
        margin_db: What a plan takes off the gain that it knows. [no source]
        lowest_power_dbm: Lowest transmit power of a device; none: any. [no source]
    """

    solver: Solver = ExactSolver()
    theta: float = knob(between(0.0, 1.0), default=0.4)
    num_selected: int | None = knob(at_least(1), default=None)
    num_repeated: int | None = knob(not_negative, default=None)
    margin_db: float = knob(between(-100.0, 100.0), default=0.0)
    lowest_power_dbm: float | None = knob(between(-100.0, 100.0), default=None)

    @override
    def num_selected_of(self, sizes: Sequence[int], num_at_once: int | None) -> int:
        """As many as it says, or as have a resource block."""
        smallest = min(sizes)
        if self.num_selected is None:
            return smallest if num_at_once is None else min(num_at_once, smallest)
        if self.num_selected > smallest:
            raise ConfigurationError(
                f"ResourceAware.num_selected = {self.num_selected}: the smallest cell has {smallest} "
                f"clients. Use at most {smallest}."
            )
        if num_at_once is not None and self.num_selected > num_at_once:
            raise ConfigurationError(
                f"ResourceAware.num_selected = {self.num_selected}: a plan gives each client a resource "
                f"block to itself, and only {num_at_once} can send at once. Use more resource blocks, "
                "or none for as many as there are."
            )
        return self.num_selected

    @override
    def posed(self, problem: Problem) -> Problem:
        """With its weight of steps, its lowest power, and how many may be selected again."""
        lowest_w = 0.0 if self.lowest_power_dbm is None else dbm_to_w(self.lowest_power_dbm)
        if lowest_w > problem.max_power_w.min():
            raise ConfigurationError(
                f"ResourceAware.lowest_power_dbm = {self.lowest_power_dbm:g}: above the highest power of "
                f"some clients, {w_to_dbm(problem.max_power_w.min()):g} dBm. Use a lower one, or none."
            )
        num_selected, smallest = problem.num_selected, int(np.bincount(problem.cell).min())
        default_repeated = max(num_selected // 2, 2 * num_selected - smallest)
        return attrs.evolve(
            problem,
            min_power_w=np.full(len(problem.cell), lowest_w),
            num_repeated=default_repeated if self.num_repeated is None else self.num_repeated,
            theta=self.theta,
        )

    @override
    def trusted(self, snr_per_w: NDArray[np.float64]) -> NDArray[np.float64]:
        """The margin taken off."""
        return snr_per_w / db_to_linear(self.margin_db)

    @override
    def solver_for(self, cell: NDArray[np.int64]) -> Solve:
        """Solves one edge round after another of clients in these cells."""
        return self.solver.solve_for(cell)


@part
class CommonSteps(Policy):
    """Everyone at full speed and power, as many steps as all can do within deadline and budget.

    Attributes:
        drop_stragglers: Whether those who cannot do one step are left out (H-FedAvg-M2); else nobody trains
            in an edge round in which somebody cannot (H-FedAvg-M1). [RawHFL, Section V-C]
    """

    drop_stragglers: bool = True

    @override
    def solver_for(self, cell: NDArray[np.int64]) -> Solve:
        """Solves one edge round after another."""
        return common_steps.without_stragglers if self.drop_stragglers else common_steps.all_or_nothing


@part
class Unconstrained(Policy):
    """Everyone at full speed and power for the most steps, however long it takes (H-FedAvg-UB)."""

    @property
    @override
    def keeps_limits(self) -> bool:
        """No deadline, no budget."""
        return False

    @override
    def solver_for(self, cell: NDArray[np.int64]) -> Solve:
        """Solves one edge round after another."""
        return common_steps.unconstrained
