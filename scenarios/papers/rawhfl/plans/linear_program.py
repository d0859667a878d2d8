"""Linear program: problem (40) of the RawHFL paper around a point, one step of Algorithm 2.

Time and energy of a client that is selected with x and takes L local rounds are replaced by their first-order
terms in x, Lbar = x L, f and P (36 to 39), and so is the penalty on x; the rest is linear.

The paper prints (or its scan shows) beta for theta in (35) and (36); in (37) a last factor with numerator and
denominator exchanged; in (39) a product with log(1 + g P)^2, where the derivative of 1 / log(1 + g P) is -g /
((1 + g P) log(1 + g P)^2). `first_order` has the derivatives, including the static power. Of (40b), (31),
(32) and 1 <= L <= L_max are left out: (32) follows from (31), L does not occur elsewhere, and with (30) and x
from 0 to 1 every L from Lbar + (1 - x) to Lbar + (1 - x) L_max satisfies them.

Source: RawHFL paper, Section IV-B, eqs. 30 to 40.
"""

import warnings
from typing import NamedTuple

import attrs
import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scenarios.papers.rawhfl.plans.problem import Array, Problem, places

MARGIN = 1e-9
"""Share of the deadline and of the budget that plans leave unused, against rounding."""


@attrs.frozen(kw_only=True, eq=False)
class Point:
    """A point of the relaxed problem; arrays have shape (clients,).

    Attributes:
        selection: Relaxed indicators x, 0 to 1.
        num_steps: Local rounds L of a client if it is selected, from 1; 0 for one that cannot take part.
        frequency_hz: CPU frequency.
        power_w: Transmit power.
    """

    selection: Array
    num_steps: Array
    frequency_hz: Array
    power_w: Array

    def cost(self, problem: Problem) -> Array:
        """Contribution of each client to the objective (29) if selected, without the weight 1 / (B Z)."""
        energy_j = problem.train_j(self.num_steps, self.frequency_hz) + problem.send_j(self.power_w)
        return -problem.theta * self.num_steps + (1.0 - problem.theta) * energy_j


class FirstOrder(NamedTuple):
    """Coefficients of x, of Lbar = x L and of the relative changes of f and P, shape (4, clients)."""

    time_s: Array
    energy_j: Array


def first_order(problem: Problem, point: Point) -> FirstOrder:
    """Time and energy of the clients, times x, around a point (36 to 39).

    There are no constants: time and energy are linear in x and Lbar, so without a change of f and P the first
    coefficients give their values.
    """
    x, f, p = point.selection, point.frequency_hz, point.power_w
    total_steps, one = x * point.num_steps, np.ones_like(x)
    step_s, step_j = problem.train_s(one, f), problem.train_j(one, f)
    send_s, send_j = problem.send_s(p), problem.send_j(p)
    snr = problem.snr_per_w * p
    by_frequency_j = total_steps * (2.0 * step_j - 3.0 * problem.static_power_w * step_s)
    decline = snr / ((1.0 + snr) * np.log1p(snr))
    return FirstOrder(
        time_s=np.array([send_s, step_s, -total_steps * step_s, -x * send_s * decline]),
        energy_j=np.array([send_j, step_j, by_frequency_j, x * (send_s * p - send_j * decline)]),
    )


class LinearProgram:
    """Problem (40) around a point, built once and filled with numbers for each solution.

    Its variables are x, Lbar / L_max and the relative changes of f and P; constraints are relative to
    deadline and budget.

    Args:
        cell: Number of each client's cell, from 0, shape (clients,).
    """

    def __init__(self, cell: NDArray[np.int64]) -> None:
        shape = (4, len(cell))
        members = cp.Constant(sparse.csr_array((np.ones(len(cell)), (cell, np.arange(len(cell))))))
        self._variables = cp.Variable(shape)
        self._cost, self._time, self._energy = (cp.Parameter(shape) for _ in range(3))
        self._lowest, self._highest = (cp.Parameter(shape) for _ in range(2))
        self._fewest_steps, self._num_repeated = cp.Parameter(), cp.Parameter()
        self._num_selected, self._is_repeated = cp.Parameter(int(cell.max()) + 1), cp.Parameter(len(cell))
        x, steps = self._variables[0], self._variables[1]
        self._program = cp.Problem(
            cp.Minimize(cp.sum(cp.multiply(self._cost, self._variables))),
            [
                self._variables >= self._lowest,
                self._variables <= self._highest,
                members @ x == self._num_selected,
                members @ cp.multiply(self._is_repeated, x) <= self._num_repeated,
                steps >= self._fewest_steps * x,
                steps <= x,
                cp.sum(cp.multiply(self._time, self._variables), axis=0) <= x,
                cp.sum(cp.multiply(self._energy, self._variables), axis=0) <= x,
            ],
        )

    @property
    def size(self) -> tuple[int, int]:
        """Number of its variables, and of its constraints; each end of a range is one."""
        size = self._program.size_metrics
        return size.num_scalar_variables, size.num_scalar_eq_constr + size.num_scalar_leq_constr

    def solution(self, problem: Problem, point: Point, factor: Array, rho: float) -> Array | None:
        """Best x, Lbar and relative changes of f and P, shape (4, clients); None if the solver fails.

        Args:
            problem: The edge round.
            point: Point around which time, energy and penalty are linearised.
            factor: Largest change of f and P, as a factor, shape (clients,).
            rho: Weight of the penalty.
        """
        able, weight = point.num_steps > 0, 1.0 / (problem.num_cells * problem.num_selected)
        time_s, energy_j = first_order(problem, point)
        cost = weight * (1.0 - problem.theta) * energy_j
        cost[0] += rho * (1.0 - 2.0 * point.selection)
        cost[1] -= weight * problem.theta
        unit = np.array([[1.0], [problem.max_steps], [1.0], [1.0]])
        limit_s = problem.deadline_s * (1.0 - MARGIN)
        limit_j = np.where(able, problem.energy_budget_j, 1.0) * (1.0 - MARGIN)
        self._cost.value = np.where(able, cost * unit, 0.0)
        self._time.value = np.where(able, time_s * unit / limit_s, 0.0)
        self._energy.value = np.where(able, energy_j * unit / limit_j, 0.0)
        now = np.array([point.frequency_hz, point.power_w])
        lowest = np.array([problem.min_frequency_hz, problem.min_power_w]) / now
        highest = np.array([problem.max_frequency_hz, problem.max_power_w]) / now
        lowest = np.minimum(np.maximum(lowest, 1.0 / factor) - 1.0, 0.0)
        highest = np.maximum(np.minimum(highest, factor) - 1.0, 0.0)
        self._lowest.value = np.vstack([np.zeros_like(lowest), lowest])
        self._highest.value = np.vstack([able, able, highest])
        self._fewest_steps.value = 1.0 / problem.max_steps
        self._num_selected.value = places(problem, able)
        self._num_repeated.value = problem.num_repeated
        self._is_repeated.value = problem.is_repeated.astype(float)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            try:
                self._program.solve(solver=cp.CLARABEL, warm_start=False)
            except cp.SolverError:
                return None
        found = self._variables.value
        if found is None or not np.isfinite(found).all():
            return None
        return np.clip(found, self._lowest.value, self._highest.value) * unit
