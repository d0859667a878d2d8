"""Networks as people have them train as in a plain loop of torch: same batches, the mean by hand."""

import numpy as np
import pytest
import torch
from equal import tensors_of
from ordinary_networks import NETWORKS, NUM_TRAINING, TASKS, updates_of

from cosim.engine.learning.learner import Learner
from cosim.engine.learning.workers import one_torch_thread
from cosim.own_code.dropout import keyed_dropout
from cosim.training.programs.sgd_steps import mini_batches
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean

NUM_CLIENTS, NUM_ROUNDS, NUM_STEPS, BATCH_SIZE, RATE = 6, 2, 2, 4, 0.1
SAMPLES = [np.arange(client, NUM_TRAINING, NUM_CLIENTS) for client in range(NUM_CLIENTS)]


def trained(learner):
    """Weights of the mean after the rounds."""
    model = learner.initial_model(1)
    first = learner.weights(model)
    rule = Sgd(batch_size=BATCH_SIZE, learning_rate=RATE)
    for key in range(NUM_ROUNDS):
        model = mean(updates_of(model, key, rule, NUM_STEPS, NUM_CLIENTS))
    return first, learner.weights(model), learner.evaluate(model)


def by_hand(network, task, data, start):
    """The same by a loop of torch."""
    x, y = torch.tensor(data.train_x), torch.tensor(data.train_y)
    for key in range(NUM_ROUNDS):
        ends = []
        for c, of in enumerate(SAMPLES):
            set_values(network, start)
            optimizer = torch.optim.SGD([p for p in network.parameters() if p.requires_grad], lr=RATE)
            with keyed_dropout(network.train(), 100 * key + c):
                for batch in mini_batches(of, NUM_STEPS, BATCH_SIZE, 100 * key + c):
                    optimizer.zero_grad()
                    task.loss(network(x[batch]), y[batch]).backward()
                    optimizer.step()
            values = tensors_of(network)
            ends.append({name: values[name].detach().numpy().copy() for name in start})
        start = {name: np.mean([end[name] for end in ends], 0, np.float64) for name in start}
    set_values(network, start)
    with torch.no_grad():
        x, y = torch.tensor(data.test_x), torch.tensor(data.test_y)
        sums = task.sums(network.eval()(x), y)
    return start, {name: float(value) for name, value in sums.items()}


def set_values(network, values):
    own = tensors_of(network)
    with torch.no_grad():
        for name, array in values.items():
            own[name].copy_(torch.tensor(array))


@pytest.mark.parametrize("name", NETWORKS)
def test_an_ordinary_network_trains_as_in_a_plain_loop(name):
    make, data, how = NETWORKS[name]
    torch.manual_seed(1)
    network = make()
    learner = Learner(network, data, num_workers=2, brings_weights=True, task=TASKS.get(name))
    assert learner.manner is not None
    assert how in learner.manner.why
    with one_torch_thread():
        start, found, scores = trained(learner)
        expected, sums = by_hand(network, learner.task, data, start)
    assert found.keys() == expected.keys()
    for tensor, values in expected.items():
        moved = np.abs(values - start[tensor]).max()
        np.testing.assert_allclose(found[tensor], values, rtol=0, atol=2e-4 * moved + 1e-6, err_msg=tensor)
    sums |= {"num_samples": len(data.test_y)}
    headline, value = next(iter(learner.task.scores(sums, sums).items()))
    np.testing.assert_allclose(scores[headline], value, rtol=1e-4)
