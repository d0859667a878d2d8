"""How fast does the learner play an asynchronous run, beside as many updates in rounds?

Client updates per second, 600 of 20 steps with batch 10 by 30 clients, read once at the end:

    rounds     20 rounds; a round's model is the mean of its 30 updates
    fedasync   each update is mixed into the newest model, and its client goes on from there

Both are 20 levels of 30 trainings; what FedAsync costs more is 600 models in place of 20. Medians over the
repetitions, in turn.

    python benchmarks/asynchronous.py
"""

import argparse
import statistics
import time
from collections.abc import Sequence

import numpy as np

import cosim
import models
from cosim.learning.graph.combinations import mean
from cosim.learning.graph.pending import PendingModel, PendingUpdate
from cosim.learning.learner import Learner
from cosim.learning.local_training import Sgd
from cosim.learning.network.submodels import NetworkShape
from cosim.learning.network.weights import Weights

NUM_CLIENTS, NUM_ROUNDS, SHARE = 30, 20, 0.1
NETWORKS = ("relu-64-32-10", "relu-64-300-10")


class Mixed(PendingModel):
    """(1 - SHARE) times a model plus SHARE times an update."""

    def combine(self, shape: NetworkShape, models: Sequence[Weights], update_sum: Weights | None) -> Weights:
        assert update_sum is not None
        return {name: (1.0 - SHARE) * values + update_sum[name] for name, values in models[0].items()}


def an_update(start: PendingModel, client: int, key: int) -> PendingUpdate:
    """Twenty steps on forty digits."""
    samples = np.arange(40 * client, 40 * (client + 1))
    work = {"num_steps": 20, "training": Sgd(batch_size=10, learning_rate=0.05)}
    return PendingUpdate(client=f"client{client:02}", start=start, samples=samples, key=key, **work)


def rounds(model: PendingModel) -> PendingModel:
    """The model after all rounds."""
    for i in range(NUM_ROUNDS):
        model = mean([an_update(model, client, i) for client in range(NUM_CLIENTS)])
    return model


def fedasync(model: PendingModel) -> PendingModel:
    """The model after as many updates, arriving one after the other."""
    updates = [an_update(model, client, 0) for client in range(NUM_CLIENTS)]
    for i in range(NUM_ROUNDS):
        for client in range(NUM_CLIENTS):
            model = Mixed([model], [updates[client]], [SHARE])
            updates[client] = an_update(model, client, i + 1)
    return model


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--repetitions", type=int, default=7, help="timings of each way (default: 7)")
    options = parser.parse_args()
    print(f"{'network':18}{'rounds':>10}{'fedasync':>10}{'fedasync/rounds':>17}")
    for name in NETWORKS:
        learner = Learner(models.build(name), cosim.Digits().load(cosim.Simulation(1), None))
        durations_s: dict[str, list[float]] = {"rounds": [], "fedasync": []}
        for repetition in range(1 + options.repetitions):
            for way in (rounds, fedasync):
                model = way(learner.initial_model(key=1))
                begin_s = time.perf_counter()
                learner.weights(model)
                if repetition:
                    durations_s[way.__name__].append(time.perf_counter() - begin_s)
        rates = [NUM_ROUNDS * NUM_CLIENTS / statistics.median(d) for d in durations_s.values()]
        print(f"{name:18}{rates[0]:10.0f}{rates[1]:10.0f}{rates[1] / rates[0]:17.2f}", flush=True)


if __name__ == "__main__":
    main()
