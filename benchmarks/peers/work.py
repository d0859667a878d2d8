"""Work: what every tool runs, said once, with nothing but numpy, so that every environment can read it.

| | clients | take part | rounds | steps of batch | network |
|---|---|---|---|---|---|
| W1 | 60 | all | 10 | 20 of 50 | 784-300-10, ReLU, no biases |
| W2 | 50 | all | 20 | 5 of 10 | LeNet-5 on pictures of 3 x 32 x 32 |
| W3 | 1,000 | 50 | 50 | 10 of 10 | 64-32-10, ReLU, no biases |

A client's steps in a round are one pass over its samples. Samples are normal around the mean of their class,
so that the loss on the test samples falls with every step and shows a step too few. Every tool begins with
the same weights, and client i holds the same rows in all of them.

W4 asks for the times of events: 100 clients with constant times, synchronous and with a buffer of 10. W5
asks for times alone, of up to 131,072 clients.
"""

import math
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SIGNAL = 0.12
"""Standard deviation of the means of classes, in each feature; that of samples around them is 1."""
NUM_CLASSES, NUM_TEST = 10, 1000


class Learning(NamedTuple):
    """Work that learns.

    Attributes:
        num_participants: Clients that take part in a round; which, is drawn where they are not all.
        num_steps: Local steps of a client in a round.
        shape: Shape of a sample.
    """

    num_clients: int
    num_participants: int
    num_rounds: int
    num_steps: int
    batch_size: int
    learning_rate: float
    shape: tuple[int, ...]

    @property
    def num_samples(self) -> int:
        """Training samples of a client."""
        return self.num_steps * self.batch_size

    @property
    def client_steps(self) -> int:
        """Local steps of all clients in all rounds."""
        return self.num_rounds * self.num_participants * self.num_steps


LEARNING = {
    "W1": Learning(60, 60, 10, 20, 50, 0.05, (784,)),
    "W2": Learning(50, 50, 20, 5, 10, 0.05, (3, 32, 32)),
    "W3": Learning(1000, 50, 50, 10, 10, 0.1, (64,)),
}


def shorten(num_rounds: int | None) -> None:
    """Give every work that learns another number of rounds, for a trial; None leaves them as they are."""
    if num_rounds is not None:
        LEARNING.update({name: own._replace(num_rounds=num_rounds) for name, own in LEARNING.items()})


SHAPES = {
    "W1": {"0.weight": (300, 784), "2.weight": (10, 300)},
    "W2": {
        "0.weight": (6, 3, 5, 5),
        "0.bias": (6,),
        "3.weight": (16, 6, 5, 5),
        "3.bias": (16,),
        "7.weight": (120, 400),
        "7.bias": (120,),
        "9.weight": (84, 120),
        "9.bias": (84,),
        "11.weight": (10, 84),
        "11.bias": (10,),
    },
    "W3": {"0.weight": (32, 64), "2.weight": (10, 32)},
}
"""Work -> name of a parameter -> its shape; of an nn.Sequential."""


class Samples(NamedTuple):
    """Samples of all clients, client after client, and of the test; float32 and int64."""

    train_x: NDArray[np.float32]
    train_y: NDArray[np.int64]
    test_x: NDArray[np.float32]
    test_y: NDArray[np.int64]


def drawn_samples(name: str) -> Samples:
    """Samples of a work that learns."""
    work, rng = LEARNING[name], np.random.default_rng(1)
    means = SIGNAL * rng.standard_normal((NUM_CLASSES, *work.shape), np.float32)

    def draw(count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        labels = rng.integers(0, NUM_CLASSES, count)
        return means[labels] + rng.standard_normal((count, *work.shape), np.float32), labels

    return Samples(*draw(work.num_clients * work.num_samples), *draw(NUM_TEST))


def write_samples(name: str, folder: Path) -> None:
    """Write the samples of a work to a folder, so that no run pays for drawing them."""
    for part, values in drawn_samples(name)._asdict().items():
        np.save(folder / f"{name}-{part}.npy", values)


def read_samples(name: str, folder: Path) -> Samples:
    """Samples of a work that were written to a folder."""
    return Samples(*(np.load(folder / f"{name}-{part}.npy") for part in Samples._fields))


def rows_of(work: Learning, client: int) -> slice:
    """The rows of the training samples that a client holds."""
    return slice(client * work.num_samples, (client + 1) * work.num_samples)


def first_weights(name: str) -> dict[str, NDArray[np.float32]]:
    """Weights with which every tool begins: uniform within one over the root of a unit's inputs."""
    rng, weights = np.random.default_rng(2), {}
    fan_in = 1
    for parameter, shape in SHAPES[name].items():
        fan_in = math.prod(shape[1:]) if len(shape) > 1 else fan_in
        bound = fan_in**-0.5
        weights[parameter] = rng.uniform(-bound, bound, shape).astype(np.float32)
    return weights


class Times(NamedTuple):
    """Work that asks for the times of events.

    Attributes:
        num_versions: Versions of the global model that are made.
        num_updates: Updates that make a version; all clients' where the server waits for them.
    """

    num_clients: int
    num_versions: int
    num_updates: int


NUM_TIMED = 100
TIMES = {"W4 rounds": Times(NUM_TIMED, 20, NUM_TIMED), "W4 buffer": Times(NUM_TIMED, 200, 10)}
FLEETS = (1_000, 8_192, 32_768, 131_072)
"""Clients of W5."""
FLEET_ROUNDS = 10


def durations_s(num_clients: int) -> NDArray[np.float64]:
    """Time that a client takes for a job, the same each time, in whole milliseconds, shape (clients,)."""
    return np.random.default_rng(3).uniform(5.0, 1000.0, num_clients).round(3)


def version_times_s(name: str) -> NDArray[np.float64]:
    """Times of the versions by arithmetic, shape (versions,).

    A round ends with its slowest client. With a buffer every client begins again when it has reported, so
    client i reports at each multiple of its time, and every num_updates-th report makes a version.
    """
    own, durations = TIMES[name], durations_s(NUM_TIMED)
    if own.num_updates == own.num_clients:
        return durations.max() * np.arange(1, own.num_versions + 1)
    num_reports = own.num_versions * own.num_updates
    reports_s = np.sort(np.outer(durations, np.arange(1, num_reports + 1)), axis=None)
    return reports_s[own.num_updates - 1 : num_reports : own.num_updates]


def flops(name: str) -> int:
    """Floating-point operations of the matrix products of a step of a network of dense layers."""
    sizes = [shape[1] for shape in SHAPES[name].values()] + [NUM_CLASSES]
    matrices = [i * o for i, o in pairwise(sizes)]
    return 2 * LEARNING[name].batch_size * (3 * sum(matrices) - matrices[0])


def fleet(num_clients: int) -> str:
    """Name of the work of a fleet of W5."""
    return f"W5 {num_clients}"


def num_clients(fleet_name: str) -> int:
    """Clients of a fleet by the name of its work."""
    return int(fleet_name.split()[1])
