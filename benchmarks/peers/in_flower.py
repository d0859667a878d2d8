"""Flower: the work by its FedAvg and its Simulation Engine, with a worker process of Ray on each core."""

# pyright: reportMissingImports=false

import os
import time
from typing import Any

import torch

from benchmarks.peers import networks, work
from benchmarks.peers.entry import Asked, Told, asked, tell


def learned(given: Asked) -> Told:
    """Run a work that learns."""
    os.environ |= {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    from flwr.app import ArrayRecord, ConfigRecord, Context
    from flwr.serverapp import Grid, ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation

    from benchmarks.peers.flower_client import app

    own, network = work.LEARNING[given.name], networks.network(given.name)
    client_steps: list[float] = []

    def counted(contents: list[Any], weighted_by: str) -> Any:
        client_steps.extend(own["metrics"]["client-steps"] for own in contents)
        return contents[0]["metrics"]

    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        strategy = FedAvg(
            fraction_train=own.num_participants / own.num_clients,
            fraction_evaluate=0.0,
            min_train_nodes=own.num_participants,
            min_available_nodes=own.num_clients,
            train_metrics_aggr_fn=counted,
        )
        found = strategy.start(
            grid=grid,
            initial_arrays=ArrayRecord(network.state_dict()),
            num_rounds=own.num_rounds,
            train_config=ConfigRecord({"name": given.name, "samples": str(given.samples)}),
        )
        network.load_state_dict(found.arrays.to_torch_state_dict())

    torch.set_num_threads(given.num_cores)
    start_s = time.perf_counter()
    run_simulation(
        server_app=server,
        client_app=app,
        num_supernodes=own.num_clients,
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0},
            "init_args": {"num_cpus": given.num_cores},
        },
    )
    inside_s = time.perf_counter() - start_s
    loss = networks.test_loss(network, work.read_samples(given.name, given.samples))
    return Told(sum(client_steps), inside_s, loss)


if __name__ == "__main__":
    tell(learned(asked()), "numpy", "torch", "flwr", "ray")
