"""FLGo: the work by its FedAvg, from a task of its own; on several cores with a thread for each."""

# pyright: reportMissingImports=false

import importlib
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.peers import networks, work
from benchmarks.peers.entry import Asked, Told, asked, tell


def task(own: work.Learning) -> str:
    """Folder of the task, in the folder of the process."""
    import flgo
    from flgo.benchmark.partition import BasicPartitioner
    from flgo.benchmark.toolkits.cv.classification import FromDatasetPipe

    class Blocks(BasicPartitioner):
        """Equal parts in the order of the data set."""

        def __call__(self, data: Any) -> list[list[int]]:
            rows = [work.rows_of(own, client) for client in range(own.num_clients)]
            return [list(range(part.start, part.stop)) for part in rows]

    # torch refuses a Subset that overrides __getitem__ alone; this is what its message advises
    FromDatasetPipe.TaskDataset.__getitems__ = lambda self, places: [self[place] for place in places]
    file = Path(__file__).with_name("flgo_task.py")
    benchmark = importlib.import_module(flgo.gen_benchmark_from_file("peers_benchmark", str(file)))
    return flgo.gen_task_by_(benchmark, Blocks(), task_path="peers_task")


def learned(given: Asked) -> Told:
    """Run a work that learns."""
    os.environ |= {"PEERS_WORK": given.name, "PEERS_SAMPLES": str(given.samples)}
    import flgo
    from flgo.algorithm import fedavg

    own = work.LEARNING[given.name]
    options = {
        "num_rounds": own.num_rounds,
        "num_epochs": 1,
        "batch_size": own.batch_size,
        "learning_rate": own.learning_rate,
        "proportion": own.num_participants / own.num_clients,
        "sample": "full" if own.num_participants == own.num_clients else "uniform",
        "aggregate": "uniform",
        "train_holdout": 0.0,
        "test_holdout": 0.0,
        "eval_interval": 0,
        "no_log_console": True,
        "no_tqdm": True,
        "num_parallels": given.num_cores,
        "parallel_type": "t",
    }
    start_s = time.perf_counter()
    runner = flgo.init(task(own), fedavg, options)
    runner.run()
    inside_s = time.perf_counter() - start_s
    loss = networks.test_loss(runner.model, work.read_samples(given.name, given.samples))
    return Told(networks.client_steps(given.name), inside_s, loss)


if __name__ == "__main__":
    tell(learned(asked()), "numpy", "torch", "flgo")
