"""loop: a plain PyTorch loop over the clients, with nothing around it."""

import time

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from benchmarks.peers import networks, work
from benchmarks.peers.entry import Asked, Told, asked, tell


def learned(given: Asked) -> Told:
    """Run a work that learns: one client after the other, then the mean."""
    own, samples = work.LEARNING[given.name], work.read_samples(given.name, given.samples)
    start_s = time.perf_counter()
    x, y = torch.from_numpy(samples.train_x), torch.from_numpy(samples.train_y)
    network, rng = networks.network(given.name), np.random.default_rng(4)
    model = {name: values.clone() for name, values in network.state_dict().items()}
    for _ in range(own.num_rounds):
        total = {name: torch.zeros_like(values) for name, values in model.items()}
        for client in rng.choice(own.num_clients, own.num_participants, replace=False):
            network.load_state_dict(model)
            optimizer = torch.optim.SGD(network.parameters(), lr=own.learning_rate)
            rows = work.rows_of(own, int(client))
            order = torch.from_numpy(rng.permutation(np.arange(rows.start, rows.stop)))
            for batch in order.split(own.batch_size):
                optimizer.zero_grad()
                cross_entropy(network(x[batch]), y[batch]).backward()
                optimizer.step()
            for name, values in network.state_dict().items():
                total[name] += values / own.num_participants
        model = total
    network.load_state_dict(model)
    loss = networks.test_loss(network, samples)
    return Told(networks.client_steps(given.name), time.perf_counter() - start_s, loss)


if __name__ == "__main__":
    tell(learned(asked()), "numpy", "torch")
