"""Problem: selection, steps, CPU frequencies and transmit powers of an edge round's clients.

Problem (28) of the RawHFL paper with objective (29), for one edge round of all cells: select Z clients of
each cell, at most Psi of them from the last edge round; each selected client takes from 1 to L local rounds
and uploads within the deadline (C7) and its energy budget (C8), within its frequency and power limits (C5,
C6).

    minimise  (1 / B Z) sum over selected clients of  -theta L_u + (1 - theta) E_u

Energies are in joules and steps are counted, so theta trades steps for joules.

Scope and limitations: one resource block per selected client, so clients share only the places in their cell.
The weights alpha_b = 1 / B and alpha_u = 1 / Z stay the same if a cell has fewer than Z able clients. C3 is
given in the paper for some edge rounds only, and its text (at least Psi new ones) contradicts its formula (at
most Psi repeated); here the formula holds between any two edge rounds that follow each other.

Source: RawHFL paper, Sections III-A and IV-A, eqs. 10 to 14, 28 and 29.
"""

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@attrs.frozen(kw_only=True, eq=False)
class Problem:
    """One edge round; arrays have shape (clients,).

    Attributes:
        cell: Number of the cell, from 0.
        step_cycles: Cycles of one local round.
        min_frequency_hz: Lowest CPU frequency; 0 means no limit.
        max_frequency_hz: Highest CPU frequency.
        min_power_w: Lowest transmit power; 0 means no limit.
        max_power_w: Highest transmit power.
        snr_per_w: SNR in one resource block at a transmit power of 1 W, as the planner knows it, after the
            margin; 0 means no link.
        energy_budget_j: Energy that an edge round may cost.
        is_repeated: True if the client was selected in the last edge round.
        capacitance_j_per_hz2: Effective capacitance zeta of the processors.
        static_power_w: Power that a device draws while it trains or sends, beside computing and sending.
        payload_bits: Size s of an upload.
        bandwidth_hz: Width omega of a resource block.
        deadline_s: Length t_th of an edge round.
        max_steps: Most local rounds L.
        num_selected: Clients Z that a cell selects.
        num_repeated: Most of them, Psi, that were selected in the last edge round.
        theta: Weight of the steps, 0 to 1; the energy has 1 - theta.
    """

    cell: NDArray[np.int64]
    step_cycles: Array
    min_frequency_hz: Array
    max_frequency_hz: Array
    min_power_w: Array
    max_power_w: Array
    snr_per_w: Array
    energy_budget_j: Array
    is_repeated: NDArray[np.bool_]
    capacitance_j_per_hz2: float
    static_power_w: float
    payload_bits: int
    bandwidth_hz: float
    deadline_s: float
    max_steps: int
    num_selected: int
    num_repeated: int
    theta: float

    @property
    def num_clients(self) -> int:
        """Number of clients in all cells together."""
        return len(self.cell)

    @property
    def num_cells(self) -> int:
        """Number of cells."""
        return int(self.cell.max()) + 1

    def train_s(self, num_steps: NDArray[Any], frequency_hz: Array) -> Array:
        """Time of the local rounds (eq. 10)."""
        return num_steps * self.step_cycles / frequency_hz

    def train_j(self, num_steps: NDArray[Any], frequency_hz: Array) -> Array:
        """Energy of the local rounds (eq. 11), static power included."""
        dynamic_w = 0.5 * self.capacitance_j_per_hz2 * frequency_hz**3
        return self.train_s(num_steps, frequency_hz) * (dynamic_w + self.static_power_w)

    def send_s(self, power_w: Array) -> Array:
        """Time of the upload (eq. 12); infinite without a link or without power."""
        with np.errstate(divide="ignore"):
            return (
                self.payload_bits * math.log(2.0) / (self.bandwidth_hz * np.log1p(self.snr_per_w * power_w))
            )

    def send_j(self, power_w: Array) -> Array:
        """Energy of the upload (eq. 14), static power included; infinite without a link or without power."""
        return self.send_s(power_w) * (power_w + self.static_power_w)


@attrs.frozen(kw_only=True, eq=False)
class Plan:
    """Tasks of an edge round's clients; arrays have shape (clients,).

    Values of clients that are not selected have no meaning and are 0.

    Attributes:
        is_selected: True for each participant.
        num_steps: Local rounds, int64.
        frequency_hz: CPU frequency.
        power_w: Transmit power.
    """

    is_selected: NDArray[np.bool_]
    num_steps: NDArray[np.int64]
    frequency_hz: Array
    power_w: Array

    def energy_j(self, problem: Problem) -> Array:
        """Energy of each selected client; 0 for the others."""
        chosen, f, p = self._chosen()
        energy_j = problem.train_j(self.num_steps, f) + problem.send_j(p)
        return np.where(chosen, energy_j, 0.0)

    def duration_s(self, problem: Problem) -> Array:
        """Time until each selected client's update is through; 0 for the others."""
        chosen, f, p = self._chosen()
        return np.where(chosen, problem.train_s(self.num_steps, f) + problem.send_s(p), 0.0)

    def objective(self, problem: Problem) -> float:
        """Objective (29)."""
        terms = -problem.theta * self.num_steps + (1.0 - problem.theta) * self.energy_j(problem)
        return float(terms[self.is_selected].sum()) / (problem.num_cells * problem.num_selected)

    def violations(self, problem: Problem, tolerance: float = 1e-9) -> list[str]:
        """Constraints of (28) that the plan breaks by more than a relative tolerance, in words.

        A cell that selects fewer than Z clients breaks none: the solver decides if more were able.
        """
        on, more = self.is_selected, 1.0 + tolerance
        counts = np.bincount(problem.cell[on], minlength=problem.num_cells)
        repeats = np.bincount(problem.cell[on & problem.is_repeated], minlength=problem.num_cells)
        broken = {
            "C2: more than Z clients in a cell": counts > problem.num_selected,
            "C3: more than Psi repeated clients in a cell": repeats > problem.num_repeated,
            "C4: steps outside 1 to L": on & ((self.num_steps < 1) | (self.num_steps > problem.max_steps)),
            "C5: frequency outside its range": on
            & (
                (self.frequency_hz > problem.max_frequency_hz * more)
                | (self.frequency_hz * more < problem.min_frequency_hz)
            ),
            "C6: power outside its range": on
            & ((self.power_w > problem.max_power_w * more) | (self.power_w * more < problem.min_power_w)),
            "C7: later than the deadline": on & (self.duration_s(problem) > problem.deadline_s * more),
            "C8: beyond the energy budget": on & (self.energy_j(problem) > problem.energy_budget_j * more),
        }
        return [words for words, where in broken.items() if np.any(where)]

    def _chosen(self) -> tuple[NDArray[np.bool_], Array, Array]:
        """Selected clients, and frequencies and powers, which are 1 for the others to avoid division by 0."""
        on = self.is_selected
        return on, np.where(on, self.frequency_hz, 1.0), np.where(on, self.power_w, 1.0)


def first_allowed(problem: Problem, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The first clients in an order that C2 and C3 allow, shape (clients,).

    Args:
        order: Clients that may be selected, the first to be taken first.
    """
    left = np.full(problem.num_cells, problem.num_selected)
    repeated_left = np.full(problem.num_cells, problem.num_repeated)
    is_selected = np.zeros(problem.num_clients, dtype=np.bool_)
    for client in order:
        cell, is_repeated = problem.cell[client], problem.is_repeated[client]
        if left[cell] and (repeated_left[cell] or not is_repeated):
            is_selected[client] = True
            left[cell] -= 1
            repeated_left[cell] -= is_repeated
    return is_selected


def places(problem: Problem, able: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number of clients that each cell can select under C2 and C3, shape (cells,)."""
    new, repeated = (
        np.bincount(problem.cell[able & kind], minlength=problem.num_cells)
        for kind in (~problem.is_repeated, problem.is_repeated)
    )
    return np.minimum(problem.num_selected, new + np.minimum(repeated, problem.num_repeated))
