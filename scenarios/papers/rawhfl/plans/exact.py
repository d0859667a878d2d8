"""Exact optimum: the best clients, steps, frequencies and powers of an edge round, to rounding.

Problem (28) with objective (29) is approximated in the paper. As its clients share only places, it decomposes
into problems of one variable.

Clients. The objective is a sum over the selected clients, and C4 to C8 concern one client each. So each
client, if selected, minimises its own value -theta L + (1 - theta) E. All L are tried.

Steps given. Only E is left, and the least E also decides the budget. Let y = L C be the cycles, t and u the
times of computing and sending, a = s ln 2 / omega, and x = a / u the efficiency, in nat/s/Hz. Then E = zeta
y^3 / (2 t^2) + u (e^x - 1) / snr_per_w + static power * (t + u), convex in (t, u), over a box (C5, C6) cut by
t + u <= deadline (C7). With m(x) = 1 + (x - 1) e^x, a second more for t or u saves zeta f^3 or m(x) /
snr_per_w joules and costs the static power.
- Without C7 the optimum is where both equal the static power, each clipped to its range. If it meets C7, it
  is the optimum.
- If not, t + u = deadline: from any point on this side of that line to that optimum, E does not rise. On the
  line E is convex, so its optimum is where both are equal, clipped to the part of the line in the box. There
  t = y (zeta snr_per_w / m(x))^(1/3). m is the integral of x e^x from 0, which is log-concave, so m is too,
  and m^(-1/3) is convex. Hence the total time, y (zeta snr_per_w / m(x))^(1/3) + a / x, is convex and falls
  in x, and Newton's method for the x that meets the deadline, started on its left, rises to it and never
  overshoots.

Places. A selection that contains a repeated client but lacks one of the cell's Psi best repeated ones gets no
worse if the two are exchanged. So the other repeated clients can be left out, and then C3 holds for any
selection: the Z clients of least value are best, or all if there are fewer.

Scope and limitations: if fewer than Z can take part, C2 fails and as many as possible do. An optimum often
meets the deadline, and may meet the budget, with equality; the rounding of sums might then exceed it, so both
are reduced by the share GUARD. Cycles, payload, bandwidth, deadline, highest frequency and highest power must
be above 0 and no lower limit above the upper; everything else may be 0, and there may be no client at all.

Usage: plan(problem)

Validation: tests/papers/rawhfl/test_exact.py, against brute force, an independent minimiser and laws.

Source: RawHFL paper, problem (28) and objective (29); the solution is derived here.
"""

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from scenarios.papers.rawhfl.plans.problem import Array, Plan, Problem

GUARD = 1e-9
"""Share of the deadline and of the budget that a plan leaves unused."""

_LAST_STEP = 1e-7
"""Relative step of Newton's method at which it ends; the next is about its square, and E is flat there."""


def plan(problem: Problem) -> Plan:
    """Optimal plan; of equal clients the one with the lower number, of equal steps the fewest."""
    part, which = _within_reach(problem)
    num_steps = np.arange(1.0, problem.max_steps + 1.0)[:, None]
    is_possible, frequency_hz, power_w, energy_j = _options(part, num_steps)
    values = np.where(is_possible, -problem.theta * num_steps + (1.0 - problem.theta) * energy_j, np.inf)
    best = values.argmin(axis=0)
    chosen = _chosen(part, values.min(axis=0))
    option = best[chosen], chosen

    planned = Plan(
        is_selected=np.zeros(problem.num_clients, dtype=np.bool_),
        num_steps=np.zeros(problem.num_clients, dtype=np.int64),
        frequency_hz=np.zeros(problem.num_clients),
        power_w=np.zeros(problem.num_clients),
    )
    selected = which[chosen]
    planned.is_selected[selected] = True
    planned.num_steps[selected] = best[chosen] + 1
    planned.frequency_hz[selected] = frequency_hz[option]
    planned.power_w[selected] = power_w[option]
    return planned


def able(problem: Problem) -> NDArray[np.bool_]:
    """Clients that can do one local round within deadline and budget, shape (clients,)."""
    part, which = _within_reach(problem)
    is_possible, *_ = _options(part, np.ones(1))
    is_able = np.zeros(problem.num_clients, dtype=np.bool_)
    is_able[which] = is_possible
    return is_able


def _within_reach(problem: Problem) -> tuple[Problem, NDArray[np.int64]]:
    """Problem without clients whose upload alone is too late, and the clients that are left."""
    fastest_efficiency = np.log1p(problem.snr_per_w * problem.max_power_w)
    which = np.flatnonzero(fastest_efficiency * _deadline_s(problem) > _send_alone_s(problem))
    arrays = {
        name: values[which]
        for name, values in attrs.asdict(problem, recurse=False).items()
        if isinstance(values, np.ndarray)
    }
    return attrs.evolve(problem, **arrays), which


def _options(problem: Problem, num_steps: Array) -> tuple[NDArray[np.bool_], Array, Array, Array]:
    """Feasibility of numbers of steps, and the frequency, power and energy that do them at least energy.

    Steps of shape (steps, 1) or (1,) give options of shape (steps, clients) or (clients,). For infeasible
    steps, the other values have no meaning.
    """
    deadline_s, alone_s = _deadline_s(problem), _send_alone_s(problem)
    slowest_hz, fastest_hz = problem.min_frequency_hz, problem.max_frequency_hz
    snr_per_w, zeta = problem.snr_per_w, problem.capacitance_j_per_hz2
    cycles = num_steps * problem.step_cycles
    fastest_s = cycles / fastest_hz
    lowest = np.log1p(snr_per_w * problem.min_power_w)
    highest = np.log1p(snr_per_w * problem.max_power_w)
    in_time = fastest_s + alone_s / highest <= deadline_s

    unhurried_hz, unhurried = _unhurried(problem, lowest, highest)
    is_unhurried = cycles <= unhurried_hz * (deadline_s - alone_s / unhurried)

    start = np.maximum(lowest, alone_s / np.maximum(deadline_s - fastest_s, alone_s / highest))
    spare_cycles = deadline_s * slowest_hz - cycles
    end = np.full(spare_cycles.shape, np.inf)
    np.divide(alone_s * slowest_hz, spare_cycles, out=end, where=spare_cycles > 0.0)
    hurried = _newton(
        cycles * np.cbrt(zeta * snr_per_w), alone_s, deadline_s, start, np.minimum(highest, end)
    )
    hurried_hz = cycles / np.maximum(deadline_s - alone_s / hurried, fastest_s)

    frequency_hz = np.where(is_unhurried, unhurried_hz, np.clip(hurried_hz, slowest_hz, fastest_hz))
    power_w = np.expm1(np.where(is_unhurried, unhurried, hurried)) / snr_per_w
    power_w = np.clip(power_w, problem.min_power_w, problem.max_power_w)
    energy_j = problem.train_j(num_steps, frequency_hz) + problem.send_j(power_w)
    return in_time & (energy_j <= problem.energy_budget_j * (1.0 - GUARD)), frequency_hz, power_w, energy_j


def _unhurried(problem: Problem, lowest: Array, highest: Array) -> tuple[Array, Array]:
    """Best frequency and efficiency without a deadline, shape (clients,).

    An efficiency at which sending alone takes longer than the deadline is replaced by the one that takes
    exactly as long: neither leaves time for computing.
    """
    static_w = problem.static_power_w
    # A processor that costs only static power runs at its highest speed, as it does at 1e-300.
    frequency_hz = np.cbrt(static_w / max(problem.capacitance_j_per_hz2, 1e-300))
    efficiency = np.clip(_send_alone_s(problem) / _deadline_s(problem), lowest, highest)
    if static_w > 0.0:
        efficiency = _newton(np.cbrt(static_w * problem.snr_per_w), 0.0, 1.0, efficiency, highest)
    return np.clip(frequency_hz, problem.min_frequency_hz, problem.max_frequency_hz), efficiency


def _newton(work: Array, alone_s: float, total_s: float, start: Array, end: Array) -> Array:
    """Efficiency x with work m(x)^(-1/3) + alone_s / x = total_s, clipped to the range from start to end."""
    x = start
    while True:
        rise = x * np.exp(x)
        # First terms of the series, always below m, if the difference is lost to rounding.
        m = np.maximum(rise - np.expm1(x), x * x * (0.5 + x / 3.0))
        compute_s, send_s = work / np.cbrt(m), alone_s / x
        step = (compute_s + send_s - total_s) / (compute_s * (rise / m) / 3.0 + send_s / x)
        previous, x = x, np.minimum(x + np.maximum(step, 0.0), end)
        if not np.any(x - previous > _LAST_STEP * x):
            return x


def _chosen(problem: Problem, value: Array) -> NDArray[np.int64]:
    """Clients to select, among clients with a finite value."""
    is_able = np.isfinite(value)
    repeated = np.flatnonzero(is_able & problem.is_repeated)
    new = np.flatnonzero(is_able & ~problem.is_repeated)
    repeated = _best_of_each_cell(problem.cell, value, repeated, problem.num_repeated)
    return _best_of_each_cell(problem.cell, value, np.concatenate([repeated, new]), problem.num_selected)


def _best_of_each_cell(
    cell: NDArray[np.int64], value: Array, which: NDArray[np.int64], limit: int
) -> NDArray[np.int64]:
    """Clients of least value among `which`, at most `limit` of each cell."""
    ranked = which[np.lexsort((which, value[which], cell[which]))]
    cells = cell[ranked]
    rank = np.arange(len(ranked)) - np.searchsorted(cells, cells)
    return ranked[rank < limit]


def _deadline_s(problem: Problem) -> float:
    return problem.deadline_s * (1.0 - GUARD)


def _send_alone_s(problem: Problem) -> float:
    """Time a of the upload at an efficiency of 1 nat/s/Hz."""
    return problem.payload_bits * math.log(2.0) / problem.bandwidth_hz
