"""Local steps: the port of how many steps each client of a cell takes in an edge round.

Cycles, time and energy follow from them. Updates of different steps go best with `FedNova`.

Usage::

    @part
    class Ramp(LocalSteps):
        \"\"\"As many as the round's number.\"\"\"

        def of_clients(self, sim, clients, job, batch_size, step_s):
            return np.full(len(clients), 1 + job.number)

Scope and limitations: numbers of steps are known when a round begins. A rule asked twice says the same.

Validation: tests/training/test_local_steps.py.
"""

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import Port, at_least, knob, one_of, one_or_range, part, positive
from cosim.jobs.cell import Clients
from cosim.jobs.job import Job
from cosim.units import most_whole


@part
class LocalSteps(Port):
    """How many steps each client takes in an edge round: one number for all, or each its own.

    A plain number is that of all.
    """

    @classmethod
    def of_number(cls, number: float) -> "SameSteps":
        """The same number for all clients."""
        return SameSteps(num_local_steps=number)  # type: ignore[arg-type]

    forms = one_of(same=("of_all",), numbers=("of_clients",))

    @property
    def of_all(self) -> int | None:
        """Steps that every client takes in every round; None: each its own."""
        return None

    def of_clients(
        self, sim: Simulation, clients: Clients, job: Job, batch_size: int, step_s: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Steps of some clients, each at least one, shape (clients,).

        Args:
            job: Whose round it is.
            batch_size: Samples in a step.
            step_s: How long a step of each is planned to take, shape (clients,).
        """
        return np.full(len(clients), self.of_all)


@part
class SameSteps(LocalSteps):
    """The same number for all.

    Attributes:
        num_local_steps: Local steps H in an edge round. [HIST journal, Section VI-B]
    """

    num_local_steps: int = knob(at_least(1), default=20)

    @property
    @override
    def of_all(self) -> int:
        """That number."""
        return self.num_local_steps


@part
class Epochs(LocalSteps):
    """As many as it takes to see all samples that a client has at this instant.

    Attributes:
        num_epochs: How often. [McMahan et al., arXiv 1602.05629, Algorithm 1: E]
    """

    num_epochs: int = knob(at_least(1), default=1)

    @override
    def of_clients(
        self, sim: Simulation, clients: Clients, job: Job, batch_size: int, step_s: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """By its own samples; asks every client for them."""
        num_samples = np.array([len(client.samples) for client in clients], dtype=np.int64)
        return -(-self.num_epochs * num_samples // batch_size)


@part
class DrawnSteps(LocalSteps):
    """A number drawn uniformly for each client and round.

    Attributes:
        range_of_steps: Lowest and highest. [no source; Wang et al., arXiv 2007.07481, Section 6: 2 to 5
            epochs]
    """

    range_of_steps: tuple[int, ...] = knob(one_or_range, at_least(1), default=(4, 20))

    @override
    def of_clients(
        self, sim: Simulation, clients: Clients, job: Job, batch_size: int, step_s: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """As the client's own number and the job's determine it."""
        return sim.of_clients(clients.names, "local steps", self.draw, job.number)

    def draw(self, rng: np.random.Generator, num: int) -> NDArray[np.int64]:
        """Steps of so many clients."""
        return rng.integers(self.range_of_steps[0], self.range_of_steps[-1], size=num, endpoint=True)


@part
class StepsInTime(LocalSteps):
    """As many as a client is planned to do in a time, at least one.

    Attributes:
        training_s: That time. [no source]
    """

    training_s: float = knob(positive, default=0.1)

    @override
    def of_clients(
        self, sim: Simulation, clients: Clients, job: Job, batch_size: int, step_s: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """By the time of a step."""
        return np.maximum(1, most_whole(self.training_s / step_s))
