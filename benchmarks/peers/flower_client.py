"""Client of Flower: it trains on its own samples, which each of Flower's worker processes reads once."""

# pyright: reportMissingImports=false

from functools import cache
from pathlib import Path
from typing import Any

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from torch.nn.functional import cross_entropy

from benchmarks.peers import networks, work

app = ClientApp()
read_samples = cache(work.read_samples)


@app.train()
def train(message: Message, context: Context) -> Message:
    """Take the steps of a round."""
    config: Any = message.content["config"]
    name, arrays = config["name"], message.content["arrays"]
    own, samples = work.LEARNING[name], read_samples(name, Path(config["samples"]))
    rows = work.rows_of(own, int(context.node_config["partition-id"]))
    x, y = torch.from_numpy(samples.train_x[rows]), torch.from_numpy(samples.train_y[rows])
    network, before = networks.network(name), networks.client_steps(name)
    network.load_state_dict(arrays.to_torch_state_dict())
    optimizer = torch.optim.SGD(network.parameters(), lr=own.learning_rate)
    for batch in torch.randperm(own.num_samples).split(own.batch_size):
        optimizer.zero_grad()
        cross_entropy(network(x[batch]), y[batch]).backward()
        optimizer.step()
    taken = {"num-examples": own.num_samples, "client-steps": networks.client_steps(name) - before}
    content = RecordDict({"arrays": ArrayRecord(network.state_dict()), "metrics": MetricRecord(taken)})
    return Message(content=content, reply_to=message)
