"""Initial selections: the port of the selection in Algorithm 2's initial point, which the paper leaves open.

| kind | selection |
|---|---|
| `EqualShares` | every able client in part, so that the first program chooses the cheapest |
| `RandomSelection` | as many clients of each cell as it selects, drawn again in every edge round |

With the paper's penalty rho = 1 an initial selection of whole clients decides, as an exchange of two costs 2
and gains at most 1.3 where four clients of each cell are selected; with two it gains up to 2.6, and a few are
made. `cosim reproduce rawhfl-energies` has both beside the paper's energies.

Source: RawHFL paper, Algorithm 2, whose inputs are some initial feasible points.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import Port, part
from scenarios.papers.rawhfl.plans.problem import Array, Problem, first_allowed, places

Selection = Callable[[Problem, NDArray[np.bool_]], Array]
"""Indicators x of an edge round's problem, given which clients are able; both of shape (clients,). They are 0
for all that are not."""


@part
class InitialSelection(Port, ABC):
    """Selection in the initial point of Algorithm 2."""

    @abstractmethod
    def selection_for(self, sim: Simulation) -> Selection:
        """Function that gives one edge round after another of a run its first selection.

        Args:
            sim: Gives streams of draws.
        """


@part
class EqualShares(InitialSelection):
    """The same part of every able client of a cell, together as many as it selects."""

    @override
    def selection_for(self, sim: Simulation) -> Selection:
        return equal_shares


@part
class RandomSelection(InitialSelection):
    """Able clients drawn uniformly, as many of each cell as it selects, within the limit on repeated ones."""

    @override
    def selection_for(self, sim: Simulation) -> Selection:
        rng = sim.stream("cloud", "start of Algorithm 2")

        def drawn(problem: Problem, able: NDArray[np.bool_]) -> Array:
            order = rng.permutation(problem.num_clients)
            return first_allowed(problem, order[able[order]]).astype(float)

        return drawn


def equal_shares(problem: Problem, able: NDArray[np.bool_]) -> Array:
    """Equal indicators in each cell, which may break C3 until the first program is solved."""
    x = places(problem, able) / np.maximum(np.bincount(problem.cell[able], minlength=problem.num_cells), 1)
    return np.where(able, x[problem.cell], 0.0)
