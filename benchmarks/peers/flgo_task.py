"""Task of FLGo, which makes a benchmark of this file and reads `train_data`, `test_data` and `get_model`."""

import os
from pathlib import Path

import torch
from torch.utils.data import TensorDataset

from benchmarks.peers import networks, work

NAME, SAMPLES = "PEERS_WORK", "PEERS_SAMPLES"
"""Environment variables that say which work, because FLGo copies and imports this file by itself."""

samples = work.read_samples(os.environ[NAME], Path(os.environ[SAMPLES]))
train_data = TensorDataset(torch.from_numpy(samples.train_x), torch.from_numpy(samples.train_y))
test_data = TensorDataset(torch.from_numpy(samples.test_x), torch.from_numpy(samples.test_y))


def get_model() -> torch.nn.Module:
    """Network with its first weights."""
    return networks.network(os.environ[NAME])
