"""How fast do asynchronous runs learn, beside rounds and beside a loop that trains every update by itself?

Local steps per second of 1,200 jobs of 20 steps with batch 10 by 60 clients, all of them at work at any time,
read once at the end:

    rounds    HFedAvg, 20 rounds of one edge round in one cell
    fedasync  each update is mixed into the newest model, plain SGD
    fedbuff   ten updates make a version
    loop      fedasync whose model is read after each update, so that each is trained alone

where jobs last equal times, times spread 4 to 1, and exponential times. There fewer updates in flight start
from models of one level. First what the learner takes, then in brackets with the clock. The best of several
repetitions, in turn.

    python benchmarks/asynchronous.py
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from typing_extensions import override

import cosim
import models
from cosim.engine.learning.learner import Learner
from cosim.engine.run.ground import ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.protocols.port import Protocol

NUM_CLIENTS, NUM_ROUNDS, NUM_STEPS = 60, 20, 20
NETWORKS = ("relu-64-32-10", "relu-64-300-10")
LOCAL = cosim.Sgd(batch_size=10)
CLIENTS = cosim.ClientTraining(num_local_steps=NUM_STEPS, local=LOCAL)
ROUND = cosim.EdgeTraining(num_edge_rounds=1, steps=cosim.SameSteps(num_local_steps=NUM_STEPS), local=LOCAL)
PROTOCOLS: dict[str, Protocol] = {
    "rounds": cosim.HFedAvg(training=ROUND),
    "fedasync": cosim.FedAsync(training=CLIENTS),
    "fedbuff": cosim.FedBuff(training=CLIENTS),
    "loop": cosim.FedAsync(training=CLIENTS),
}


def devices(lowest_hz: float, law: cosim.devices.TrainingTime | None) -> cosim.DrawnDevices:
    """Clients whose frequencies are spread evenly in time up to 1 GHz."""
    times = np.linspace(1.0, 1e9 / lowest_hz, NUM_CLIENTS)
    frequencies = cosim.PerClient(values=tuple((1e9 / times).tolist()))
    return cosim.DrawnDevices(min_frequency_hz=frequencies, max_frequency_hz=frequencies, training_time=law)


TIMES = {
    "equal": devices(1e9, None),
    "4 to 1": devices(2.5e8, None),
    "exponential": devices(1e9, cosim.devices.ExponentialTime()),
}


class Timed(Learner):
    """A learner that says how long it has learned.

    Attributes:
        wall_s, processor_s: So long.
    """

    wall_s = processor_s = 0.0

    @override
    def compute(self, *values: Any) -> None:
        """Compute, by the clock on the wall."""
        begin_s, began_s = time.perf_counter(), time.process_time()
        super().compute(*values)
        self.wall_s += time.perf_counter() - begin_s
        self.processor_s += time.process_time() - began_s


def timed(
    way: str, network: str, of: cosim.DrawnDevices, data: Callable[[], Any]
) -> tuple[float, float, float]:
    """Seconds that learning takes, and the processor's for it, and seconds of the whole run."""
    num_updates = NUM_CLIENTS * NUM_ROUNDS
    system = cosim.System(
        num_cells=1,
        num_clients=NUM_CLIENTS,
        model=network,
        data=cosim.Digits(),
        devices=of,
        uplink=cosim.Radio(sharing=cosim.FixedShares(bandwidth_hz=1e9), fading=cosim.radio.NoFading()),
        protocol=PROTOCOLS[way],
        end=cosim.ends.AfterUpdates(num_updates=num_updates),
        evaluation=cosim.ends.EveryVersions(num_versions=num_updates + 1),
    )
    ground, learner = ground_of(system, "auto"), Timed(models.build(network), data())

    def hear(report: Any) -> None:
        if way == "loop":
            learner.compute(report.model)

    cloud = nodes_of(system, ground, learner, data)
    cloud.listener = hear
    begin_s = time.perf_counter()
    ground.sim.run(system.protocol.run(ground.sim, cloud))
    assert learner.num_local_steps == NUM_STEPS * num_updates
    return learner.wall_s, learner.processor_s, time.perf_counter() - begin_s


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--repetitions", type=int, default=5, help="timings of each way (default: 5)")
    options = parser.parse_args()
    dataset = cosim.Digits().load(cosim.Simulation(1), None)
    num_steps = NUM_STEPS * NUM_CLIENTS * NUM_ROUNDS
    print(f"{'network':16}{'times':13}{'way':10}{'steps/s':>9}{'CPU s':>7}{'/ rounds':>16}{'/ loop':>16}")
    for network in NETWORKS:
        for name, of in TIMES.items():
            found: dict[str, list[tuple[float, float, float]]] = {way: [] for way in PROTOCOLS}
            for _ in range(options.repetitions):
                for way, timings in found.items():
                    timings.append(timed(way, network, of, lambda: dataset))
            best = {way: np.min(timings, axis=0) for way, timings in found.items()}
            for way, (wall_s, processor_s, run_s) in best.items():
                told = [
                    f"{best[other][0] / wall_s:8.2f} ({best[other][2] / run_s:5.2f})"
                    for other in ("rounds", "loop")
                ]
                row = f"{network:16}{name:13}{way:10}{num_steps / wall_s:9.0f}{processor_s:7.2f}"
                print(row + "".join(f"{text:>16}" for text in told), flush=True)


if __name__ == "__main__":
    main()
