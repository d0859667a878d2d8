"""Common steps: the baselines in which all participants train and send at full speed and power.

H-FedAvg-M1 takes the most steps that every client can do within its deadline and budget, and no client trains
in an edge round in which one cannot do a step. H-FedAvg-M2 first drops such clients. H-FedAvg-UB lets every
client do all steps, at any cost. With steps of their own, clients of M1 and M2 do the most that each can,
which is how the paper's energies of M2 come out, though not what its text says: `cosim reproduce
rawhfl-energies`.

Scope and limitations: all clients take part, so the number of places and the limit on repeated clients (C2,
C3) have no effect. The paper gives no frequencies and powers of the baselines; here they are the highest.
Deadline and budget are reduced by GUARD, as for the exact optimum.

Usage: without_stragglers(problem)

Source: RawHFL paper, Section V-C.
"""

import numpy as np
from numpy.typing import NDArray

from scenarios.papers.rawhfl.plans.exact import GUARD
from scenarios.papers.rawhfl.plans.problem import Plan, Problem


def all_or_nothing(problem: Problem, *, own_steps: bool = False) -> Plan:
    """H-FedAvg-M1: the most steps that all clients of all cells can do; if that is 0, no client trains.

    Args:
        own_steps: True if each client does the most steps that it can itself.
    """
    most_steps = most_steps_of(problem)
    all_can = np.full(problem.num_clients, bool(most_steps.all()))
    return _plan(problem, all_can, _steps(problem, most_steps, all_can, own_steps))


def without_stragglers(problem: Problem, *, own_steps: bool = False) -> Plan:
    """H-FedAvg-M2: clients that can do a step do the most steps that all of them can; arguments as above."""
    most_steps = most_steps_of(problem)
    is_selected = most_steps > 0
    return _plan(problem, is_selected, _steps(problem, most_steps, is_selected, own_steps))


def unconstrained(problem: Problem) -> Plan:
    """H-FedAvg-UB: all clients do all steps, however late and costly, except clients without a link."""
    return _plan(problem, np.isfinite(problem.send_s(problem.max_power_w)), problem.max_steps)


def most_steps_of(problem: Problem) -> NDArray[np.int64]:
    """Most steps that each client can do at its highest frequency and power, shape (clients,); 0 if none."""
    num_steps = np.arange(1.0, problem.max_steps + 1.0)[:, None]
    frequency_hz, power_w = problem.max_frequency_hz, problem.max_power_w
    duration_s = problem.train_s(num_steps, frequency_hz) + problem.send_s(power_w)
    energy_j = problem.train_j(num_steps, frequency_hz) + problem.send_j(power_w)
    is_possible = (duration_s <= problem.deadline_s * (1.0 - GUARD)) & (
        energy_j <= problem.energy_budget_j * (1.0 - GUARD)
    )
    return is_possible.sum(axis=0)


def _steps(
    problem: Problem, most_steps: NDArray[np.int64], is_selected: NDArray[np.bool_], own_steps: bool
) -> int | NDArray[np.int64]:
    if own_steps:
        return most_steps
    return int(most_steps[is_selected].min(initial=problem.max_steps))


def _plan(problem: Problem, is_selected: NDArray[np.bool_], num_steps: int | NDArray[np.int64]) -> Plan:
    return Plan(
        is_selected=is_selected,
        num_steps=np.where(is_selected, num_steps, 0),
        frequency_hz=np.where(is_selected, problem.max_frequency_hz, 0.0),
        power_w=np.where(is_selected, problem.max_power_w, 0.0),
    )
