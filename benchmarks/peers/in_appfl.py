"""APPFL: its simulation in virtual time (`appfl.vsim`), which trains one client after the other.

For W4 clients and server train nothing. Work that learns is done by its agents for simulations, its trainer
and its FedAvg, without its option `optimize_memory`, which collects garbage several times for each client.
"""

# pyright: reportMissingImports=false

import logging
import time
from typing import Any

from benchmarks.peers import work
from benchmarks.peers.entry import Asked, Told, asked, tell


class Client:
    """A client as the event loop sees it: a step of one second, times the factor of its profile."""

    def __init__(self, number: int) -> None:
        self._number = number

    def get_id(self) -> str:
        """Name of the client."""
        return str(self._number)

    def load_parameters(self, params: Any) -> None:
        """Take no model."""

    def train(self) -> None:
        """Train nothing."""

    def get_parameters(self) -> tuple[dict[str, Any], dict[str, float]]:
        """No model, and how long a step takes."""
        return {}, {"current_local_steps": 1, "compute_second_per_step": 1.0}


class Server:
    """A server as the event loop sees it, which is its own scheduler: it counts updates.

    Args:
        num_reports: Reports with which the run ends.
    """

    num_clients = 0

    def __init__(self, num_reports: int) -> None:
        self.scheduler, self._num_reports, self._num_left = self, num_reports, num_reports

    def set_num_clients(self, num_clients: int) -> None:
        """Take the number of reports of a round."""
        self.num_clients = num_clients

    def get_num_global_epochs(self) -> int:
        """Reports so far."""
        return self._num_reports - self._num_left

    def get_parameters(self, **_: Any) -> dict[str, Any]:
        """No model."""
        return {}

    def global_update(self, **_: Any) -> dict[str, Any]:
        """Count a report."""
        self._num_left -= 1
        return {}

    def training_finished(self) -> bool:
        """True if all reports have come."""
        return self._num_left <= 0


def timed(name: str) -> Told:
    """Times of versions by the constant profile, synchronous or with a buffer."""
    from appfl.vsim import AsyncSimDriver, ClientProfile, SyncSimDriver

    own, is_buffered = work.TIMES[name], name == "W4 buffer"
    clients = [Client(number) for number in range(own.num_clients)]
    durations_s = work.durations_s(own.num_clients)
    profiles = {
        client.get_id(): ClientProfile(compute_factor=float(own_s), bandwidth=0.0)
        for client, own_s in zip(clients, durations_s, strict=True)
    }
    server, logger = Server(own.num_versions * own.num_updates), logging.getLogger("peers")
    start_s = time.perf_counter()
    if is_buffered:
        driver = AsyncSimDriver(server, clients, profiles, own.num_clients, logger, base_step_time=1.0)
    else:
        driver = SyncSimDriver(
            server,
            clients,
            profiles,
            own.num_clients,
            logger,
            base_step_time=1.0,
            target_rounds=own.num_versions,
        )
    driver.run()
    times_s = [row["vtime"] for row in driver.history]
    times_s = times_s[own.num_updates - 1 :: own.num_updates] if is_buffered else times_s
    return Told(server.get_num_global_epochs(), time.perf_counter() - start_s, times_s=tuple(times_s))


def operators_of_torchvision() -> Any:
    """Make torchvision importable, as APPFL's agents need it, though PyPI's is not built for a torch of CPUs.

    Its import ends where it names operators that it lacks. This defines the names, and nothing here calls
    them; the caller keeps what is returned as long as they are needed.
    """
    import torch

    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        names = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            names.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        return names


def learned(given: Asked) -> Told:
    """Run a work that learns: synchronous rounds, of which each client's takes a second of virtual time."""
    _kept = operators_of_torchvision()
    import torch
    from appfl.agent import SimClientAgent, SimServerAgent
    from appfl.vsim import ClientProfile, SyncSimDriver
    from torch.utils.data import TensorDataset

    from benchmarks.peers import networks

    own, samples = work.LEARNING[given.name], work.read_samples(given.name, given.samples)
    sparing = {"optimize_memory": False}
    logs = {"logging_output_dirname": "output", "logging_output_filename": ""}

    class TrainingClient(SimClientAgent):
        """Client that begins with the weights of the work."""

        def _load_model(self) -> None:
            self.model = networks.network(given.name)

        def _load_metric(self) -> None:
            self.metric = lambda truth, scores: (scores.argmax(1) == truth).mean()

    class AveragingServer(SimServerAgent):
        """Server that begins with the same."""

        def _load_model(self) -> None:
            self.model = networks.network(given.name)

    training = {
        "trainer": "VanillaTrainer",
        "mode": "step",
        "num_local_steps": own.num_steps,
        "optim": "SGD",
        "optim_args": {"lr": own.learning_rate},
        "loss_fn": "CrossEntropyLoss",
        "train_batch_size": own.batch_size,
        "do_validation": False,
    }
    serving = {
        "num_clients": own.num_clients,
        "num_global_epochs": own.num_rounds,
        "scheduler": "SyncScheduler",
        "scheduler_kwargs": dict(sparing),
        "aggregator": "FedAvgAggregator",
        "aggregator_kwargs": sparing | {"client_weights_mode": "equal"},
    }

    def client(number: int) -> TrainingClient:
        rows = work.rows_of(own, number)
        held = TensorDataset(torch.from_numpy(samples.train_x[rows]), torch.from_numpy(samples.train_y[rows]))
        return TrainingClient({"train_configs": training | sparing | logs} | sparing, str(number), held)

    start_s = time.perf_counter()
    clients = [client(number) for number in range(own.num_clients)]
    server = AveragingServer(
        {"client_configs": {"train_configs": training}, "server_configs": serving | sparing | logs}
    )
    profiles = {agent.get_id(): ClientProfile(compute_factor=1.0, bandwidth=0.0) for agent in clients}
    how = {"base_step_time": 1.0 / own.num_steps, "target_rounds": own.num_rounds}
    SyncSimDriver(server, clients, profiles, own.num_participants, logging.getLogger("peers"), **how).run()
    loss = networks.test_loss(server.model, samples)
    return Told(networks.client_steps(given.name), time.perf_counter() - start_s, loss)


if __name__ == "__main__":
    given = asked()
    tell(learned(given) if given.name in work.LEARNING else timed(given.name), "numpy", "torch", "appfl")
