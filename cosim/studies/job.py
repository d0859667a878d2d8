"""Job: one run of a study, as a worker is asked for it."""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from cosim.configuration import to_dict
from cosim.engine.networks.named import Builder, Named
from cosim.engine.run.needs import RecordsKind
from cosim.engine.run.run import run
from cosim.engine.servers.cloud import VersionReport
from cosim.engine.store.checkpoint import DamagedCheckpoint
from cosim.engine.store.kept_model import LAST
from cosim.engine.store.results import Result
from cosim.engine.store.run_folder import CONFIG
from cosim.files.folders import remove_folder
from cosim.files.on_disk import read_json, shown
from cosim.studies.table import outcome_of
from cosim.studies.watch import Note
from cosim.system import System

NETWORK = "network"
"""What of an outcome is no column: by what the network of the run is known again."""


@attrs.frozen(kw_only=True)
class Job:
    """One run, as a worker is asked for it.

    Attributes:
        system: Pickled, it brings along the modules of the classes that it is made of.
        build: Builds its network; pickled, it brings along its module.
        note: Where it leaves how far it is; None: nowhere.
        records: What its tables tell.
        keep: Which model it keeps.
        device: Where the learning is computed: cpu or cuda.
    """

    system: System
    scenario: str | None
    folder: str
    build: Builder
    data_dir: Path | None
    targets: tuple[float, ...]
    held: int
    note: Path | None
    records: RecordsKind = "auto"
    keep: str = LAST
    device: str = "cpu"


def play(job: Job) -> dict[str, Any]:
    """Play one run in this process, or go on with it, or read it.

    Returns:
        Its row in the table, its network (`NETWORK`), and its warnings.
    """
    note = None if job.note is None else Note(job.system, job.note)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        try:
            result = _played(job, note or (lambda report: None))
        except Exception as error:
            outcome = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
        else:
            outcome = outcome_of(result, job.targets, job.held) | {NETWORK: result.config.get("network")}
        finally:
            if note is not None:
                note.over()
    return outcome | {"warnings": [str(warning.message) for warning in said]}


def _played(job: Job, listener: Callable[[VersionReport], None]) -> Result:
    """The run; one that is so damaged that it cannot go on is begun anew."""
    folder = Path(job.folder)
    ask = partial(
        run,
        job.system,
        Named(job.system.model, job.build),
        out=folder,
        scenario=job.scenario,
        data_dir=job.data_dir,
        num_workers=1,
        device=job.device,
        records=job.records,
        keep=job.keep,
        resume="as found",
        listener=listener,
    )
    if folder.exists() and (why := _damage(folder / CONFIG, job)):
        _remove(folder, why)
    try:
        return ask()
    except DamagedCheckpoint as error:
        _remove(folder, error.why)
    return ask()


def _damage(path: Path, job: Job) -> str | None:
    """Why the config.json in a folder of this very study is not that of the run; None where it is."""
    try:
        known = read_json(path)
    except ValueError as error:
        return f"{shown(path)}: damaged ({error})."
    is_as_asked = known.get("system") == to_dict(job.system) and known.get("scenario") == job.scenario
    return None if is_as_asked else f"{shown(path)}: damaged (not what the study asked for)."


def _remove(folder: Path, why: str) -> None:
    warnings.warn(f"{why} The run is begun anew.", stacklevel=2)
    remove_folder(folder, "run")
