"""Successive approximation: the paper's plan of an edge round, by a sequence of linear programs.

Algorithm 2 of the RawHFL paper for problem (40). Selection x and steps L are relaxed, the penalty rho (x -
x^2) is added to the objective, and time, energy and penalty are replaced by their first-order terms around
the last point (36 to 39), which gives a linear program. Its solution is the next point, until the objective
moves by no more than the precision or I programs are solved. Then the clients with the largest x of each cell
are selected, and their steps rounded down.

Scope and limitations: the solution is local and depends on the initial point. In the paper's setting the
first selection of whole clients stays, that of the initial point or of the first program: with rho = 1 each
exchange of two clients costs 2 from then on and gains at most (theta L_max + (1 - theta) e_bd) / (B Z), 1.3
for Z = 4. Clients whose feasible f and P fall between the points of its grid take no part. `exact` has the
optimum; `benchmarks/allocation.py` compares.

(40) alone does not converge: 1 / f and 1 / log(1 + g P) are convex, so by their tangents, training at 0 Hz
takes only twice as long as now, and the first solution misses the deadline by a factor of a thousand. Hence:

- Bounded steps: f and P at most double or halve; after a refused step of a client the factor's distance from
  1 halves.
- Feasible points: if a solution is late, f and P are raised; if it is then still late, or beyond the budget,
  steps are cut. A client's step is refused if less than one local round is left or its part of the objective
  has grown. So the next program always has a solution: the last steps, f and P are feasible in it.
- The initial point, which the paper leaves open, has the highest speeds and powers (`initial_point`); its
  selection is a part of its own (`initial_selections`).

Usage::

    planner = SuccessiveApproximation(cell)
    plan = planner.plan(problem)

The program is built once for the cells and filled with each problem's numbers; no plan depends on the
problems before it.

Validation: tests/papers/rawhfl/test_successive_approximation.py (differences, (40) in full, the exact
solution).

Source: RawHFL paper, Section IV-B, eqs. 30 to 40 and Algorithm 2.
"""

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from scenarios.papers.rawhfl.plans.initial_selections import Selection, equal_shares
from scenarios.papers.rawhfl.plans.linear_program import MARGIN, LinearProgram, Point
from scenarios.papers.rawhfl.plans.problem import Array, Plan, Problem, first_allowed

GRID = 24
"""Number of frequencies, and of powers for each, in the search for the initial point."""

ALMOST = 1e-3
"""Distance from whole steps attributed to the solver, with a margin: 2e-6 on average for 4,800 clients."""

PART = 1e-6
"""Relaxed indicator up to which a client has no part in a solution, so that Lbar / x has no meaning."""


class SuccessiveApproximation:
    """Algorithm 2, for problems with the same cells.

    Args:
        cell: Number of each client's cell, from 0, shape (clients,).
        rho: Weight of the penalty on indicators other than 0 and 1, 0 or above. [RawHFL paper, Section V-A]
        max_iterations: Most programs I that are solved. [RawHFL paper, Section V-A]
        precision: Change of the objective, in its own unit, up to which the iteration ends. [no source]
        selection: Indicators x of the initial point.

    Attributes:
        num_programs: Programs that were solved for the last plan.
    """

    def __init__(
        self,
        cell: NDArray[np.int64],
        *,
        rho: float = 1.0,
        max_iterations: int = 50,
        precision: float = 1e-3,
        selection: Selection = equal_shares,
    ) -> None:
        self._cell, self._program, self._selection = cell, LinearProgram(cell), selection
        self._rho, self._max_iterations, self._precision = rho, max_iterations, precision
        self.num_programs = 0

    @property
    def size(self) -> tuple[int, int]:
        """Number of variables and of constraints of a program."""
        return self._program.size

    def plan(self, problem: Problem) -> Plan:
        """Plan that keeps every constraint; in each cell Z clients, or all that can take part.

        Raises:
            ConfigurationError: The problem has other cells than the planner.
        """
        if not np.array_equal(problem.cell, self._cell):
            raise ConfigurationError(
                "Problem.cell differs from the cells that SuccessiveApproximation was made for: its "
                "program is built for given cells. Make a planner for each topology."
            )
        point, last = initial_point(problem, self._selection), math.inf
        # Without a link there are no finite coefficients, and the client takes no part in any case.
        problem = attrs.evolve(problem, snr_per_w=np.where(problem.snr_per_w > 0.0, problem.snr_per_w, 1.0))
        factor = np.full(problem.num_clients, 2.0)
        for num_programs in range(1, self._max_iterations + 1):
            self.num_programs = num_programs
            found = self._program.solution(problem, point, factor, self._rho)
            if found is None:
                break
            point, is_refused = stepped(problem, point, found)
            factor[is_refused] = 1.0 + (factor[is_refused] - 1.0) / 2.0
            value = self._objective(problem, point)
            if abs(last - value) <= self._precision:
                break
            last = value
        return rounded(problem, point)

    def _objective(self, problem: Problem, point: Point) -> float:
        """Objective (35)."""
        x = point.selection
        cost = x @ point.cost(problem) / (problem.num_cells * problem.num_selected)
        return float(cost + self._rho * x @ (1.0 - x))


def initial_point(problem: Problem, selection: Selection = equal_shares) -> Point:
    """Initial point: a selection, the highest f and then P at which a local round fits, all steps that fit.

    f and P come from `GRID` times `GRID` points, evenly spaced in their logarithms, from the values that just
    meet the deadline to the highest. Unequal x favour some clients by rho; equal ones may break C3, which the
    next point keeps.
    """
    one, share = np.ones(problem.num_clients), np.linspace(0.0, 1.0, GRID)[:, None]
    rest_s = problem.deadline_s * (1.0 - 2.0 * MARGIN) - problem.send_s(problem.max_power_w)
    slowest_hz = problem.max_frequency_hz.copy()
    np.divide(problem.step_cycles, rest_s, out=slowest_hz, where=rest_s > 0.0)
    slowest_hz = np.clip(slowest_hz, problem.min_frequency_hz, problem.max_frequency_hz)
    f = problem.max_frequency_hz ** (1.0 - share) * slowest_hz**share
    softest_w = np.clip(_enough_power_w(problem, one, f), problem.min_power_w, problem.max_power_w)
    p = problem.max_power_w ** (1.0 - share[:, None]) * softest_w ** share[:, None]
    fits = _most_steps(problem, f, p) >= 1.0
    by_frequency = fits.any(axis=0).argmax(axis=0)
    client = np.arange(problem.num_clients)
    by_power = fits[:, by_frequency, client].argmax(axis=0)
    able = fits[by_power, by_frequency, client]
    f, p = f[by_frequency, client], p[by_power, by_frequency, client]
    return Point(
        selection=selection(problem, able),
        num_steps=np.where(able, np.minimum(_most_steps(problem, f, p), problem.max_steps), 0.0),
        frequency_hz=f,
        power_w=p,
    )


def stepped(problem: Problem, point: Point, found: Array) -> tuple[Point, NDArray[np.bool_]]:
    """Point after a solution of the program, and the clients whose steps were refused.

    Clients that have no part in the solution keep their steps, f and P.
    """
    x, total_steps, by_frequency, by_power = found
    has_part = x > PART
    num_steps = np.where(has_part, total_steps / np.where(has_part, x, 1.0), point.num_steps)
    aim = mended(
        problem,
        Point(
            selection=x,
            num_steps=np.clip(num_steps, 1.0, problem.max_steps),
            frequency_hz=point.frequency_hz * (1.0 + by_frequency),
            power_w=point.power_w * (1.0 + by_power),
        ),
    )
    goes = has_part & (aim.num_steps >= 1.0) & (aim.cost(problem) <= point.cost(problem))
    return Point(
        selection=x,
        num_steps=np.where(goes, aim.num_steps, point.num_steps),
        frequency_hz=np.where(goes, aim.frequency_hz, point.frequency_hz),
        power_w=np.where(goes, aim.power_w, point.power_w),
    ), has_part & ~goes


def mended(problem: Problem, point: Point) -> Point:
    """Point with f and P raised to meet the deadline, and steps reduced to fit deadline and budget.

    Training and sending become faster by the same factor, unless f or P reaches its highest value.
    """
    deadline_s = problem.deadline_s * (1.0 - 2.0 * MARGIN)
    n, f, p = point.num_steps, point.frequency_hz, point.power_w
    f = f * np.maximum(1.0, (problem.train_s(n, f) + problem.send_s(p)) / deadline_s)
    f = np.minimum(f, problem.max_frequency_hz)
    p = np.clip(_enough_power_w(problem, n, f), p, problem.max_power_w)
    rest_s = deadline_s - problem.send_s(p)
    least_hz = problem.max_frequency_hz.copy()
    np.divide(n * problem.step_cycles, rest_s, out=least_hz, where=rest_s > 0.0)
    f = np.clip(least_hz, f, problem.max_frequency_hz)
    return attrs.evolve(point, num_steps=np.minimum(n, _most_steps(problem, f, p)), frequency_hz=f, power_w=p)


def rounded(problem: Problem, point: Point) -> Plan:
    """Plan next to a feasible point: the largest x that C2 and C3 allow, whole steps.

    Steps within the solver's precision below a whole number count as that number.
    """
    order = np.argsort(-point.selection, kind="stable")
    is_selected = first_allowed(problem, order[point.num_steps[order] > 0.0])
    whole = mended(problem, attrs.evolve(point, num_steps=np.floor(point.num_steps + ALMOST)))
    return Plan(
        is_selected=is_selected,
        num_steps=np.where(is_selected, np.floor(whole.num_steps), 0.0).astype(np.int64),
        frequency_hz=np.where(is_selected, whole.frequency_hz, 0.0),
        power_w=np.where(is_selected, whole.power_w, 0.0),
    )


def _enough_power_w(problem: Problem, num_steps: Array, frequency_hz: Array) -> Array:
    """Power at which the upload fits into the time that training leaves (12); infinite if there is none."""
    rest_s = problem.deadline_s * (1.0 - 2.0 * MARGIN) - problem.train_s(num_steps, frequency_hz)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        power_w = (
            np.expm1(problem.payload_bits * math.log(2.0) / (problem.bandwidth_hz * rest_s))
            / problem.snr_per_w
        )
    return np.where((rest_s > 0.0) & (problem.snr_per_w > 0.0), power_w, math.inf)


def _most_steps(problem: Problem, frequency_hz: Array, power_w: Array) -> Array:
    """Steps that deadline and budget allow; below 1 if not one, or not even the upload."""
    one = np.ones(problem.num_clients)
    rest_s = problem.deadline_s * (1.0 - MARGIN) - problem.send_s(power_w)
    rest_j = problem.energy_budget_j * (1.0 - MARGIN) - problem.send_j(power_w)
    steps_by_time = rest_s / problem.train_s(one, frequency_hz)
    train_j = problem.train_j(one, frequency_hz)
    steps_by_energy = np.where(rest_j >= 0.0, np.inf, 0.0)
    np.divide(rest_j, train_j, out=steps_by_energy, where=train_j > 0.0)
    return np.maximum(np.minimum(steps_by_time, steps_by_energy), 0.0)
