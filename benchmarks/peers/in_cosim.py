"""cosim: the work as a user of cosim would write it, and runs it (`cosim.run`)."""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn
from typing_extensions import override

import cosim
from benchmarks.peers import networks, work
from benchmarks.peers.entry import Asked, Told, asked, tell
from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import part
from cosim.data.dataset import Dataset
from cosim.data.splits.port import Samples, Split
from cosim.devices.training_time import TrainingTime
from cosim.jobs.job import Job


@part
class Blocks(Split):
    """Equal parts in the order of the data set."""

    @override
    def deal(self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]) -> Sequence[Samples]:
        return np.split(np.arange(dataset.num_sample_numbers), sum(cell_sizes))


@part
class Profile(TrainingTime):
    """The constant times of W4."""

    @override
    def training_s(
        self, sim: Simulation, clients: Numbers, job: Job, planned_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return work.durations_s(work.NUM_TIMED)[clients.numbers]


def _arrays(name: str, folder: Path) -> tuple[Any, Any]:
    found = work.read_samples(name, folder)
    return (found.train_x, found.train_y), (found.test_x, found.test_y)


w1, w2, w3 = (partial(_arrays, name) for name in work.LEARNING)


def system(name: str) -> cosim.System:
    """System of a work that learns: plain federated averaging, with the radio and the devices by default."""
    own = work.LEARNING[name]
    is_drawn = own.num_participants < own.num_clients
    training = cosim.EdgeTraining(
        num_edge_rounds=1,
        steps=cosim.SameSteps(num_local_steps=own.num_steps),
        local=cosim.Sgd(batch_size=own.batch_size, learning_rate=own.learning_rate),
        selection=cosim.selection.Uniform(num_participants=own.num_participants)
        if is_drawn
        else cosim.selection.Everyone(),
    )
    return cosim.System(
        num_cells=1,
        num_clients=own.num_clients,
        initial_weights="network",
        data=cosim.data.Arrays(source=f"{__name__}:{name.lower()}", split=Blocks()),
        protocol=cosim.HFedAvg(training=training),
        end=cosim.AfterRounds(num_global_rounds=own.num_rounds),
        evaluation=cosim.ends.EveryVersions(num_versions=own.num_rounds),
    )


def network(name: str) -> Any:
    """Network of a work that learns, which declares its layers if they have ReLU between."""
    found: Any = networks.network(name, nn.Sequential)
    if name != "W2":
        first, last = work.SHAPES[name]
        found.relu_layers = ((first, None), (last, None))
    return found


def learned(name: str, samples: Path) -> Told:
    """Run a work that learns."""
    heard_s: list[float] = []  # from the first version of the global model on: without reading and checks
    result = cosim.run(
        system(name), network(name), data_dir=samples, listener=lambda _: heard_s.append(time.perf_counter())
    )
    inside_s = time.perf_counter() - heard_s[0]
    client_steps = result.summary.num_updates * work.LEARNING[name].num_steps
    return Told(client_steps, inside_s, result.summary.scores["loss_nats"])


def fleet(num_clients: int) -> Told:
    """Run the rounds of a fleet without learning, with the radio and the devices by default."""
    own = cosim.System(
        num_cells=1,
        num_clients=num_clients,
        model="relu-12-8-4",
        data=cosim.data.Synthetic(split=cosim.data.Sampled()),
        protocol=cosim.HFedAvg(training=cosim.EdgeTraining(num_edge_rounds=1)),
        end=cosim.AfterRounds(num_global_rounds=work.FLEET_ROUNDS),
        evaluation=cosim.Never(),
    )
    start_s = time.perf_counter()
    result = cosim.run(own)
    return Told(result.summary.num_updates, time.perf_counter() - start_s)


def timed(name: str) -> Told:
    """Times of versions by the constant profile, synchronous or with a buffer."""
    own, is_buffered = work.TIMES[name], name == "W4 buffer"
    system = cosim.System(
        num_cells=1,
        num_clients=own.num_clients,
        model="relu-12-8-4",
        data=cosim.data.Synthetic(split=cosim.data.Sampled()),
        devices=cosim.DrawnDevices(training_time=Profile()),
        uplink=cosim.links.Instantaneous(),
        protocol=cosim.FedBuff(num_updates=own.num_updates)
        if is_buffered
        else cosim.HFedAvg(training=cosim.EdgeTraining(num_edge_rounds=1)),
        end=cosim.ends.AfterVersions(num_versions=own.num_versions)
        if is_buffered
        else cosim.AfterRounds(num_global_rounds=own.num_versions),
        evaluation=cosim.Never(),
    )
    start_s = time.perf_counter()
    result = cosim.run(system)
    inside_s = time.perf_counter() - start_s
    if is_buffered:
        times_s = result.tables["versions"].query("version > 0")["time_s"]
    else:
        times_s = result.tables["rounds"].query("level == 'global'")["end_s"]
    return Told(result.summary.num_updates, inside_s, times_s=tuple(times_s))


def result_of(given: Asked) -> Told:
    """Run a work of any kind."""
    if given.name in work.LEARNING:
        return learned(given.name, given.samples)
    return timed(given.name) if given.name in work.TIMES else fleet(work.num_clients(given.name))


if __name__ == "__main__":
    tell(result_of(asked()), "numpy", "torch", "simpy")
