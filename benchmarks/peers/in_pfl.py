"""pfl-research: the work by its FedAvg, in one process or in several that share the users of a cohort."""

# pyright: reportMissingImports=false

import os
import socket
import subprocess
import sys
import time
from typing import Any

from typing_extensions import override

from benchmarks.peers import work
from benchmarks.peers.entry import Asked, Told, asked, tell

RANK, ADDRESSES = "PFL_WORKER_RANK", "PFL_WORKER_ADDRESSES"


def other_processes(num_processes: int) -> list["subprocess.Popen[bytes]"]:
    """Start the other processes of a run, in which this one is the first."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    addresses = ",".join(f"localhost:{port + number}" for number in range(num_processes))
    os.environ |= {RANK: "0", ADDRESSES: addresses}
    command = [sys.executable, "-m", __spec__.name, *sys.argv[1:]]
    return [
        subprocess.Popen(command, env=os.environ | {RANK: str(number)}, stdout=subprocess.DEVNULL)
        for number in range(1, num_processes)
    ]


def learned(given: Asked) -> Told:
    """Run a work that learns."""
    import torch
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.aggregate.weighting import WeightByUser
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.data import FederatedDataset
    from pfl.data.dataset import Dataset
    from pfl.data.sampling import get_user_sampler
    from pfl.hyperparam import NNTrainHyperParams
    from pfl.internal.ops.selector import get_framework_module
    from pfl.model.pytorch import PyTorchModel
    from torch.nn.functional import cross_entropy

    from benchmarks.peers import networks

    own, samples = work.LEARNING[given.name], work.read_samples(given.name, given.samples)

    class Trained(torch.nn.Module):
        """Network with its loss."""

        def __init__(self) -> None:
            super().__init__()
            self.network = networks.network(given.name)

        @override
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.network(x)

        def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            self.train()
            return cross_entropy(self(x), y)

        def metrics(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
            return {}

    def of_user(user: int) -> Dataset:
        rows = work.rows_of(own, user)
        return Dataset((torch.from_numpy(samples.train_x[rows]), torch.from_numpy(samples.train_y[rows])))

    start_s = time.perf_counter()
    trained = Trained()
    model = PyTorchModel(trained, torch.optim.SGD, torch.optim.SGD(trained.parameters(), lr=1.0))
    users = list(range(own.num_clients))
    data = FederatedDataset(of_user, get_user_sampler("minimize_reuse", users))
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=own.num_rounds,
            evaluation_frequency=own.num_rounds + 1,
            train_cohort_size=own.num_participants,
            val_cohort_size=0,
        ),
        SimulatedBackend(training_data=data, val_data=None, postprocessors=[WeightByUser()]),
        model,
        NNTrainHyperParams(
            local_batch_size=own.batch_size,
            local_num_epochs=1,
            local_learning_rate=own.learning_rate,
        ),
        send_metrics_to_platform=False,
    )
    count = torch.tensor([networks.client_steps(given.name)])
    (count,) = get_framework_module().distributed.all_reduce([count])
    loss = networks.test_loss(trained.network, samples)
    return Told(float(count), time.perf_counter() - start_s, loss)


if __name__ == "__main__":
    given = asked()
    is_first = RANK not in os.environ
    others = other_processes(given.num_cores) if is_first and given.way == "processes" else []
    found = learned(given)
    if is_first:
        tell(found, "numpy", "torch", "pfl")
    for other in others:
        other.wait()
