"""Bytes that a study sends to its workers and gets back, and what workers that die cost it.

    python benchmarks/cluster.py
    python benchmarks/cluster.py --seeds 24 --workers 4 --deaths 6

First table: bytes of a run as it is sent to a worker, of its outcome, and of its folder, which comes back
with the outcome where the worker does not see the asker's disk.

Second table: studies of the scenario quickstart on a dask.distributed cluster of this machine. A worker is
killed again and again, evenly over the study, and a fresh one takes its place. Runs save a checkpoint every
0.3 s here, as they do every 15 s by default, because quickstart takes seconds and not minutes. Rounds are of
the cloud.
"""

import argparse
import logging
import pickle
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import Executor, Future
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import pandas as pd
from distributed import Client, LocalCluster
from typing_extensions import override

import cosim
from cosim.results.provenance import noted
from cosim.studies.carried import FILES
from cosim.studies.study import Study
from scenarios import fleet, hist, quickstart

WORKER = """
import os
from pathlib import Path

from cosim.engine.run import writer
from cosim.studies import order
from cosim.studies.asker import Asker


def noting(usual_result, usual_heard):
    def note(words):
        with Path({notes!r}, str(os.getpid())).open("a") as file:
            file.write(words + chr(10))

    def result_of(asked, listener):
        note("run")
        return usual_result(asked, listener)

    def heard(self, report):
        usual_heard(self, report)
        if report.version and not self.is_replaying:
            note("round")

    order._result_of, writer.RunWriter.heard = result_of, heard


if order._result_of.__name__ == "_result_of":  # dask executes this twice
    noting(order._result_of, writer.RunWriter.heard)
writer._SAVE_EVERY_WALL_S = 0.3
if not {sees_disk}:
    Asker.is_seen = lambda asker: False
"""
"""Lets a worker note what it runs and computes."""


class Weighing(Executor):
    """A worker in this process that does not see the disk, with the sizes of what it gets and gives.

    Attributes:
        sizes: Name -> bytes.
    """

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}

    @override
    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        run, packed = args
        asked = pickle.loads(packed)
        asker = attrs.evolve(asked.asker, words="another disk")
        outcome = fn(run, pickle.dumps(attrs.evolve(asked, asker=asker)))
        files = outcome[FILES]
        rest = {name: value for name, value in outcome.items() if name != FILES}
        self.sizes = {
            "sent": len(packed),
            "outcome": len(pickle.dumps(rest)),
            "folder": len(pickle.dumps(files)),
            "tables": sum(len(of) for name, of in files.items() if name.endswith(".parquet")),
            "model": sum(len(of) for name, of in files.items() if name.endswith(".npz")),
        }
        found: Future[Any] = Future()
        found.set_result(outcome)
        return found


def sizes(system: cosim.System, folder: Path) -> dict[str, int]:
    """Bytes of a run of a system."""
    weighing = Weighing()
    (status,) = Study(system, seeds=1).run(folder, executor=weighing)["status"]
    assert status == "complete"
    return weighing.sizes


def systems() -> Mapping[str, cosim.System]:
    """Systems to be weighed."""
    never = cosim.Never()
    large = cosim.evolve(fleet.system(), num_cells=10, num_clients=10_000, evaluation=never)
    return {
        "quickstart": quickstart.system(),
        "hist, timing only": cosim.evolve(hist.system(), evaluation=never),
        "fleet of 10,000": large,
    }


def deaths(
    num_seeds: int, num_workers: int, num_deaths: int, folder: Path, sees_disk: bool
) -> dict[str, int]:
    """Counts of a study whose workers die."""
    notes, preload = folder / "notes", folder / "preload.py"
    notes.mkdir(parents=True)
    preload.write_text(WORKER.format(notes=str(notes), sees_disk=sees_disk))
    at = [num_seeds * number // (num_deaths + 1) for number in range(1, num_deaths + 1)]
    with (
        LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=logging.CRITICAL) as cluster,
        Client(cluster) as client,
    ):
        of: Any = client
        address = of.scheduler.address
        workers = [worker(address, preload) for _ in range(num_workers)]

        def listener(runs: pd.DataFrame, num_wanted: int) -> None:
            if at and (runs["status"] == "complete").sum() >= at[0]:
                at.pop(0)
                workers.append(worker(address, preload))
                workers.pop(0).kill()

        try:
            study = Study(quickstart.system(), seeds=num_seeds)
            runs = study.run(folder / "s", executor=client.get_executor(pure=False), listener=listener)
        finally:
            for process in workers:
                process.kill()
    assert runs["status"].eq("complete").all(), runs["error"].tolist()
    lines = [line for path in notes.iterdir() for line in path.read_text().splitlines()]
    resumed = [run for run in (folder / "s/runs").iterdir() if "resumed" in noted(run)]
    return {
        "runs": num_seeds,
        "deaths": num_deaths - len(at),
        "runs begun": lines.count("run"),
        "from a checkpoint": len(resumed),
        "rounds": int(runs["last_version"].sum()),
        "rounds computed": lines.count("round"),
    }


def worker(address: str, preload: Path) -> "subprocess.Popen[bytes]":
    """A worker process."""
    words = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--preload", str(preload)]
    words += ["--local-directory", str(preload.parent)]
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, *words]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--deaths", type=int, default=2)
    asked = parser.parse_args()
    with TemporaryDirectory() as place:
        found = {name: sizes(own, Path(place, name)) for name, own in systems().items()}
        print(pd.DataFrame(found).T.map("{:,}".format).to_string())
        how = asked.seeds, asked.workers, asked.deaths
        killed = {
            "one disk": deaths(*how, Path(place, "one"), True),
            "no disk in common": deaths(*how, Path(place, "none"), False),
        }
        print(f"\n{asked.workers} workers")
        print(pd.DataFrame(killed).T.to_string())


if __name__ == "__main__":
    main()
