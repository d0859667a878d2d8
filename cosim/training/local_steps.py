"""Local steps: the port of the number of steps that each client of a cell takes in an edge round.

Cycles, time and energy follow from them. Updates with different numbers of steps are best combined by
`FedNova`.

Usage::

    @part
    class Ramp(LocalSteps):
        \"\"\"One step in the first round, and one more in each.\"\"\"

        def of_clients(self, sim, clients, job, batch_size, step_s):
            return np.full(len(clients), 1 + job.number)

Scope and limitations: numbers of steps are known when a round begins. A rule must answer the same when asked
twice.

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
    """Number of steps of each client in an edge round: one for all, or each its own.

    A plain number holds for all.
    """

    @classmethod
    def of_number(cls, number: float) -> "SameSteps":
        """The same number for all clients."""
        return SameSteps(num_local_steps=number)  # type: ignore[arg-type]

    forms = one_of(same=("of_all",), numbers=("of_clients",))

    @property
    def of_all(self) -> int | None:
        """Steps that every client takes in every round; None means that each has its own."""
        return None

    def of_clients(
        self, sim: Simulation, clients: Clients, job: Job, batch_size: int, step_s: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Steps of some clients, each at least one, shape (clients,).

        Args:
            job: The round.
            batch_size: Samples in a step.
            step_s: Planned duration of a step of each client, shape (clients,).
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
        return self.num_local_steps


@part
class Epochs(LocalSteps):
    """Steps that see all samples of a client, a number of times.

    Attributes:
        num_epochs: Number of passes over the samples. [McMahan et al., arXiv 1602.05629, Algorithm 1: E]
    """

    num_epochs: int = knob(at_least(1), default=1)

    @override
    def of_clients(
        self, sim: Simulation, clients: Clients, job: Job, batch_size: int, step_s: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Steps from the number of each client's samples; asks every client for them, shape (clients,)."""
        num_samples = np.array([len(client.samples) for client in clients], dtype=np.int64)
        return -(-self.num_epochs * num_samples // batch_size)


@part
class DrawnSteps(LocalSteps):
    """A number drawn uniformly for each client and round.

    Attributes:
        range_of_steps: Lowest and highest number of steps. [no source; Wang et al., arXiv 2007.07481, Section
            6: 2 to 5 epochs]
    """

    range_of_steps: tuple[int, ...] = knob(one_or_range, at_least(1), default=(4, 20))

    @override
    def of_clients(
        self, sim: Simulation, clients: Clients, job: Job, batch_size: int, step_s: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Draws by each client's number and the job's, shape (clients,)."""
        return sim.of_client(clients.names, "local steps", self.draw, job.number)

    def draw(self, rng: np.random.Generator, num: int) -> NDArray[np.int64]:
        """Steps of a number of clients, shape (num,)."""
        return rng.integers(self.range_of_steps[0], self.range_of_steps[-1], size=num, endpoint=True)


@part
class StepsInTime(LocalSteps):
    """Most steps that a client is planned to finish in a time, at least one.

    Attributes:
        training_s: Time for the steps. [no source]
    """

    training_s: float = knob(positive, default=0.1)

    @override
    def of_clients(
        self, sim: Simulation, clients: Clients, job: Job, batch_size: int, step_s: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        return np.maximum(1, most_whole(self.training_s / step_s))
