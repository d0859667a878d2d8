"""Policies: the port of the rule that selects the clients of an edge round and sets their work.

| policy | clients | steps, frequency, power |
|---|---|---|
| `ResourceAware` | Z clients of each cell | from problem (28), solved exactly or by Algorithm 2 |
| `CommonSteps` | all, or all that are able | steps that all can do, or each its most, full speed and power |
| `Unconstrained` | all | the most steps, full speed and power, no deadline, no budget |

A policy of your own is a subclass of `Policy` with a method `solver_for`, which gives the function that
solves one edge round after another.

Source: RawHFL paper, Sections IV (resource-aware) and V-C (H-FedAvg-M1, -M2, -UB).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial

import attrs
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, Port, at_least, between, knob, not_negative, part
from cosim.units import db_to_linear, dbm_to_w, w_to_dbm
from scenarios.papers.rawhfl.plans import common_steps
from scenarios.papers.rawhfl.plans.problem import Problem
from scenarios.papers.rawhfl.plans.solvers import ExactSolver, Solve, Solver


@part
class Policy(Port, ABC):
    """Rule that selects the clients of an edge round and sets their work."""

    @property
    def keeps_limits(self) -> bool:
        """True if deadline and budgets hold; otherwise no client is ever given up."""
        return True

    def num_selected_of(self, sizes: Sequence[int], num_at_once: int | None) -> int:
        """Most participants of a cell.

        Args:
            sizes: Clients of each cell.
            num_at_once: Clients of a cell that can send at the same time; None means all.

        Raises:
            ConfigurationError: More clients than there are, or than can send.
        """
        return max(sizes)

    def posed(self, problem: Problem) -> Problem:
        """Problem of every edge round with the policy's additions.

        Raises:
            ConfigurationError: No client could keep to it.
        """
        return problem

    def trusted(self, snr_per_w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Part of the known SNR at 1 W that it counts on, shape (clients,)."""
        return snr_per_w

    @abstractmethod
    def solver_for(self, sim: Simulation, cell: NDArray[np.int64]) -> Solve:
        """Function that solves one edge round after another of a run.

        Args:
            sim: Gives streams of draws.
            cell: Number of each client's cell, shape (clients,).
        """


@part
class ResourceAware(Policy):
    """Clients of each cell that cost least for their training.

    Attributes:
        solver: Solver of the problem. [RawHFL, Section IV-B: Algorithm 2]
        theta: Weight of the steps in the objective; energy has the rest. [RawHFL, Section V-A]
        num_selected: Clients Z that a cell selects; None means as many as it has resource blocks, if the
            uplink has any, and at most the clients of the smallest cell. [RawHFL, Section V]
        num_repeated: Most of them, Psi, from the last edge round; None means half of Z, or more if Z others
            would be too few. [no source]
        margin_db: Margin that a plan subtracts from the known gain. [no source]
        plans_power: True if transmit powers are planned; otherwise all send at their highest, and the plan
            has selection, steps and frequencies. [RawHFL, eq. 28: planned]
        lowest_power_dbm: Lowest transmit power that is planned; None means any. [no source]

    Raises:
        ConfigurationError: A lowest power where powers are not planned.
    """

    solver: Solver = ExactSolver()
    theta: float = knob(between(0.0, 1.0), default=0.4)
    num_selected: int | None = knob(at_least(1), default=None)
    num_repeated: int | None = knob(not_negative, default=None)
    margin_db: float = knob(between(-100.0, 100.0), default=0.0)
    plans_power: bool = True
    lowest_power_dbm: float | None = knob(between(-100.0, 100.0), default=None)

    def __attrs_post_init__(self) -> None:
        if self.lowest_power_dbm is not None and not self.plans_power:
            raise ConfigurationError(
                f"ResourceAware.lowest_power_dbm = {self.lowest_power_dbm:g}: has no effect where "
                "plans_power is false, as all send at their highest power. Leave one of them out.",
                "ResourceAware.lowest_power_dbm",
            )

    @override
    def num_selected_of(self, sizes: Sequence[int], num_at_once: int | None) -> int:
        """Number from the field, or from the resource blocks."""
        smallest = min(sizes)
        if self.num_selected is None:
            return smallest if num_at_once is None else min(num_at_once, smallest)
        if self.num_selected > smallest:
            raise ConfigurationError(
                f"ResourceAware.num_selected = {self.num_selected}: the smallest cell has {smallest} "
                f"clients. Use at most {smallest}.",
                "ResourceAware.num_selected",
            )
        if num_at_once is not None and self.num_selected > num_at_once:
            raise ConfigurationError(
                f"ResourceAware.num_selected = {self.num_selected}: a plan gives each client a "
                f"resource block of its own, but there are only {num_at_once}. Use more resource "
                "blocks, or None for one per client.",
                "ResourceAware.num_selected",
            )
        return self.num_selected

    @override
    def posed(self, problem: Problem) -> Problem:
        """Problem with the weight of steps, the lowest power, and the limit on repeated clients."""
        lowest_w = 0.0 if self.lowest_power_dbm is None else dbm_to_w(self.lowest_power_dbm)
        if lowest_w > problem.max_power_w.min():
            raise ConfigurationError(
                f"ResourceAware.lowest_power_dbm = {self.lowest_power_dbm:g}: is above the highest "
                f"power of some clients, {w_to_dbm(problem.max_power_w.min()):g} dBm. Use a lower "
                "power, or None.",
                "ResourceAware.lowest_power_dbm",
            )
        num_selected, smallest = problem.num_selected, int(np.bincount(problem.cell).min())
        default_repeated = max(num_selected // 2, 2 * num_selected - smallest)
        return attrs.evolve(
            problem,
            min_power_w=np.full(len(problem.cell), lowest_w) if self.plans_power else problem.max_power_w,
            num_repeated=default_repeated if self.num_repeated is None else self.num_repeated,
            theta=self.theta,
        )

    @override
    def trusted(self, snr_per_w: NDArray[np.float64]) -> NDArray[np.float64]:
        """SNR minus the margin, shape (clients,)."""
        return snr_per_w / db_to_linear(self.margin_db)

    @override
    def solver_for(self, sim: Simulation, cell: NDArray[np.int64]) -> Solve:
        return self.solver.solve_for(sim, cell)


@part
class CommonSteps(Policy):
    """All clients at full speed and power, with as many steps as deadline and budget allow.

    Attributes:
        own_steps: True if each client does as many steps as it can itself; otherwise all do as many as all
            can. [RawHFL, Section V-C: common]
        drop_stragglers: True if clients that cannot do one step are left out (H-FedAvg-M2); otherwise no
            client trains in an edge round in which one cannot (H-FedAvg-M1). [RawHFL, Section V-C]
    """

    own_steps: bool = False
    drop_stragglers: bool = True

    @override
    def solver_for(self, sim: Simulation, cell: NDArray[np.int64]) -> Solve:
        rule = common_steps.without_stragglers if self.drop_stragglers else common_steps.all_or_nothing
        return partial(rule, own_steps=self.own_steps)


@part
class Unconstrained(Policy):
    """All clients at full speed and power for the most steps, however long it takes (H-FedAvg-UB)."""

    @property
    @override
    def keeps_limits(self) -> bool:
        return False

    @override
    def solver_for(self, sim: Simulation, cell: NDArray[np.int64]) -> Solve:
        return common_steps.unconstrained
