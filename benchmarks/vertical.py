"""How fast is vertical training, beside a plain loop over the clients?

Local steps per second, over all clients, of one global round of VHFL on generated cell traffic (16 clients,
E_l epochs of their samples in batches of 50), in turn in one process, so that a slow moment of the machine
falls on both:

    loop      one client after the other: autograd, an SGD step, the samples' gradients into a table,
              one backward pass through the server's part; the faster of one and of all torch threads
    learner   the same updates in cohorts, read as one mean

Medians over the repetitions.

    python benchmarks/vertical.py
"""

import argparse
import statistics
import time
from collections.abc import Sequence

import numpy as np
import torch

import models
from cosim.clock.simulation import Simulation
from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate
from scenarios.papers.vhfl import CellTraffic
from scenarios.papers.vhfl.vertical import VerticalSgd
from scenarios.papers.vhfl.vertical_program import epoch_orders

MODEL = "vertical-9-12-32-8"
BATCH_SIZE, LEARNING_RATE = 50, 0.05


def loop_s(dataset: Dataset, clients: Sequence[np.ndarray], num_epochs: int, num_threads: int) -> float:
    """Seconds of a global round by a loop over the clients."""
    network = models.build(MODEL)
    start = {name: p.detach().clone() for name, p in network.named_parameters()}
    central, local = network.get_submodule("central"), network.get_submodule("local")
    num_global = dataset.num_global_features
    x, y = torch.tensor(dataset.train_x), torch.tensor(dataset.train_y)
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    begin_s = time.perf_counter()
    for key, samples in enumerate(clients):
        network.load_state_dict(start)
        own = torch.tensor(samples)
        own_x, own_y = x[own], y[own]
        u = central(own_x[:, :num_global])
        table = torch.zeros_like(u)
        for order in epoch_orders(len(samples), num_epochs, key):
            for batch in torch.from_numpy(order).split(BATCH_SIZE):
                u_batch = u.detach()[batch].requires_grad_()
                outputs = local(torch.cat((u_batch, own_x[batch, num_global:]), 1)).squeeze(-1)
                loss = (outputs - own_y[batch]).square().mean()
                gradients = torch.autograd.grad(loss, (u_batch, *local.parameters()))
                table[batch] += gradients[0] * len(batch)
                with torch.no_grad():
                    for p, gradient in zip(local.parameters(), gradients[1:], strict=True):
                        p.sub_(gradient, alpha=LEARNING_RATE)
        torch.autograd.grad(u, list(central.parameters()), grad_outputs=table / (num_epochs * len(samples)))
    duration_s = time.perf_counter() - begin_s
    torch.set_num_threads(before)
    return duration_s


def learner_s(learner: Learner, clients: Sequence[np.ndarray], num_epochs: int) -> float:
    """Seconds of the same global round by the learner."""
    start = learner.initial_model(1)
    learner.weights(start)
    rate = LEARNING_RATE
    rule = VerticalSgd(batch_size=BATCH_SIZE, learning_rate=rate, central_learning_rate=rate)
    begin_s = time.perf_counter()
    updates = [
        PendingUpdate(
            client=f"client-{key:04d}",
            model=start,
            samples=samples,
            key=key,
            num_steps=rule.num_steps(len(samples), num_epochs),
            training=rule,
        )
        for key, samples in enumerate(clients)
    ]
    learner.weights(mean(updates, weights=[len(samples) for samples in clients]))
    return time.perf_counter() - begin_s


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--repetitions", type=int, default=7, help="timings of each way (default: 7)")
    options = parser.parse_args()
    if options.repetitions < 1:
        parser.error("--repetitions must be at least 1")
    data = CellTraffic()
    dataset = data.load(Simulation(seed=1), None)
    clients = [samples() for samples in data.held(Simulation(seed=1), dataset, (data.num_cells,))]
    learner = Learner(models.build(MODEL), dataset)
    num_threads = torch.get_num_threads()
    print(f"torch {torch.__version__}, {MODEL}, local steps per second, medians of {options.repetitions}")
    print(f"{'E_l':>4}{'loop':>9}{'learner':>9}{'learner/loop':>14}")
    for num_epochs in (1, 5):
        num_steps = num_epochs * sum(-(-len(samples) // BATCH_SIZE) for samples in clients)
        learner_s(learner, clients, num_epochs)  # the first call of a program is slower
        rates: dict[str, list[float]] = {"one": [], "all": [], "learner": []}
        for _ in range(options.repetitions):
            rates["one"].append(num_steps / loop_s(dataset, clients, num_epochs, 1))
            rates["all"].append(num_steps / loop_s(dataset, clients, num_epochs, num_threads))
            rates["learner"].append(num_steps / learner_s(learner, clients, num_epochs))
        found = {way: statistics.median(values) for way, values in rates.items()}
        loop = max(found["one"], found["all"])
        print(f"{num_epochs:4}{loop:9.0f}{found['learner']:9.0f}{found['learner'] / loop:14.1f}", flush=True)


if __name__ == "__main__":
    main()
