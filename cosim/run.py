"""Run: one system from its configuration to its tables.

Everything is checked before the clock starts and before a folder is made. The tables and a checkpoint of the
global model are saved when the run ends, when it is interrupted (Ctrl-C), and now and then between, so that a
stopped run goes on where it was.

Usage::

    result = run(System(), models.build("relu-784-300-10"), out="runs/a")
    print(result.summary)
    run(System(), models.build("relu-784-300-10"), out="runs/a", resume=True)  # had it been stopped
"""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cosim.checkpoint import Checkpoint
from cosim.configuration import ConfigurationError, from_dict, to_dict
from cosim.learning.learner import Learner
from cosim.learning.workers import num_cores
from cosim.nodes import RoundReport
from cosim.provenance import provenance
from cosim.results import Result, add_provenance, create_folder
from cosim.simulation import Simulation
from cosim.system import System

_SAVE_EVERY_WALL_S = 15.0


def run(
    system: System,
    network: Any,
    *,
    out: str | Path | None = None,
    scenario: str | None = None,
    data_dir: str | Path | None = None,
    num_workers: int | None = None,
    device: str = "cpu",
    listener: Callable[[RoundReport], None] = lambda report: None,
    shuffle_ties: int | None = None,
    resume: bool = False,
) -> Result:
    """Play a system to its end.

    Args:
        network: The torch.nn.Module that is trained; its weights are drawn anew from the seed.
        out: Run folder to make; None keeps the tables in memory only.
        scenario: Name under which `cosim run --config` finds the network again.
        data_dir: Folder of the data set's files; None looks in the usual places.
        num_workers: Threads that learn; None: one per available core. The results do not depend on it.
        device: "cpu" or "cuda".
        listener: Hears of every global round as it ends.
        shuffle_ties: Puts simultaneous events into a random order; the results do not depend on it.
        resume: Go on with the run of this very configuration that was stopped in `out`.

    Raises:
        ConfigurationError: Anything that cannot be run, before the clock starts.
    """
    config = {"scenario": scenario, "system": to_dict(system)}
    sim = Simulation(system.seed, shuffle_ties=shuffle_ties)
    dataset = system.data.load(sim, None if data_dir is None else Path(data_dir))
    num_workers = num_cores() if num_workers is None else num_workers
    learner = Learner(network, dataset, device=device, num_workers=num_workers)
    folder = None if out is None else Path(out)
    known = stopped_run(folder, config) if resume else None
    replayed = known.global_round if known else -1
    saved = time.monotonic()
    evaluated: RoundReport | None = None

    def result(status: str) -> Result:
        return Result.of(sim.trace, config, system.num_clients, status, folder)

    def save(status: str) -> Result:
        if folder is not None and evaluated is not None:
            Checkpoint(
                global_round=evaluated.global_round,
                weights=learner.weights(evaluated.model),
                evaluations=sim.trace.evaluations,
            ).save(folder)
        tables = result(status)
        tables.save()
        return tables

    def heard(report: RoundReport) -> None:
        nonlocal saved, evaluated
        if report.global_round >= replayed:
            evaluated = report if report.evaluation else evaluated
            if time.monotonic() - saved > _SAVE_EVERY_WALL_S:
                save("running")
                saved = time.monotonic()
        listener(report)

    cloud = system.build(sim, learner, dataset, heard, known)
    origin = provenance(system.seed, num_workers, device)
    if folder is not None and resume:
        add_provenance(folder, origin)
    elif folder is not None:
        create_folder(folder, config, origin)
    status = "failed"
    try:
        sim.run(system.protocol.play(sim, cloud))
        status = "complete"
    except KeyboardInterrupt:
        status = "interrupted"
        raise
    finally:
        final = save(status)
    return final


def stopped_run(folder: Path | None, config: dict[str, Any]) -> Checkpoint | None:
    """The checkpoint of a stopped run, None where it has none yet.

    Raises:
        ConfigurationError: There is no such run, it is of another configuration, or it is complete.
    """
    if folder is None or not (folder / "config.json").exists():
        raise ConfigurationError(
            f"resume: {folder} holds no run. Usual fix: out with the folder of a stopped run."
        )
    if json.loads((folder / "config.json").read_text()) != config:
        raise ConfigurationError(
            f"resume: {folder} holds a run of another configuration. Usual fix: its own config.json."
        )
    if (folder / "summary.json").exists() and Result.load(folder).summary.status == "complete":
        raise ConfigurationError(f"resume: the run in {folder} is complete. Usual fix: another folder.")
    return Checkpoint.load(folder)


def load_system(config: dict[str, Any]) -> System:
    """The system of a config.json.

    Raises:
        ConfigurationError: It is none.
    """
    fix = "Usual fix: give the config.json of a run folder."
    if not isinstance(config, dict) or "system" not in config:
        raise ConfigurationError(f"no 'system' in it. {fix}")
    if unknown := sorted(config.keys() - {"scenario", "system"}):
        raise ConfigurationError(
            f"unknown {', '.join(map(repr, unknown))} beside 'scenario' and 'system'. {fix}"
        )
    scenario = config.get("scenario")
    if scenario is not None and not (isinstance(scenario, str) and re.fullmatch(r"[A-Za-z0-9_-]+", scenario)):
        raise ConfigurationError(f"scenario = {scenario!r:.80}: must be a scenario's name, or null. {fix}")
    return from_dict(System, config["system"])
