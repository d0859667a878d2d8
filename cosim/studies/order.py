"""Order: one run of a study, as a worker gets it.

A worker without the study's disk runs it in a temporary folder and sends that back (`cosim.studies.carried`).
"""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from cosim.configuration import to_dict
from cosim.engine.run.run import run
from cosim.engine.servers.cloud import VersionReport
from cosim.engine.store.kept_model import LAST
from cosim.engine.store.run_folder import CONFIG
from cosim.files.folders import remove_folder
from cosim.files.on_disk import read_json, shown
from cosim.networks.named import Builder, Named
from cosim.results.checkpoint_file import DamagedCheckpoint
from cosim.results.result import Result
from cosim.studies.asker import Asker
from cosim.studies.carried import FILES, contents
from cosim.studies.table import outcome_of
from cosim.studies.watch import Note
from cosim.system.needs import RecordsKind
from cosim.system.remarks import Remark
from cosim.system.system import System

NETWORK = "network"
"""Key of an outcome that is no column: the identity of the run's network."""


@attrs.frozen(kw_only=True)
class Order:
    """One run, as a worker gets it.

    Attributes:
        system: The system; pickled, it brings along the modules of its classes.
        folder: Folder in which it is to be, on the asker's disk.
        asker: The process that asks for it.
        build: Builds its network; pickled, it brings along its module.
        note: File in which it reports its progress; None means that it does not.
        records: Detail of its tables.
        keep: Model that it keeps.
        device: Device of the learning: cpu or cuda.
    """

    system: System
    scenario: str | None
    folder: str
    asker: Asker
    build: Builder
    data_dir: Path | None
    targets: tuple[float, ...]
    held: int
    note: Path | None
    records: RecordsKind = "auto"
    keep: str = LAST
    device: str = "cpu"


def run_order(order: Order) -> dict[str, Any]:
    """Run one run in this process, resume it, or read it.

    Returns:
        Its row in the table, its network (`NETWORK`), its warnings, and, from a worker without the asker's
        disk, its folder (`FILES`).
    """
    if order.asker.is_seen():
        return _outcome(order)
    with TemporaryDirectory(prefix="cosim-") as place:
        folder = Path(place, Path(order.folder).name)
        return _outcome(attrs.evolve(order, folder=str(folder), note=None)) | {FILES: contents(folder)}


def _outcome(order: Order) -> dict[str, Any]:
    note = None if order.note is None else Note(order.system, order.note)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", Remark)  # the study has made them
        try:
            order.asker.check(order.system)
            result = _result_of(order, note or (lambda report: None))
        except Exception as error:
            outcome = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
        else:
            outcome = outcome_of(result, order.targets, order.held) | {NETWORK: result.config.get("network")}
        finally:
            if note is not None:
                note.over()
    return outcome | {"warnings": [str(warning.message) for warning in said]}


def _result_of(order: Order, listener: Callable[[VersionReport], None]) -> Result:
    """Run the order; a run too damaged to resume is started afresh."""
    folder = Path(order.folder)
    ask = partial(
        run,
        order.system,
        Named(order.system.model, order.build),
        out=folder,
        scenario=order.scenario,
        data_dir=order.data_dir,
        num_workers=1,
        device=order.device,
        records=order.records,
        keep=order.keep,
        resume="as found",
        listener=listener,
    )
    if folder.exists() and (why := _damage(folder / CONFIG, order)):
        _remove(folder, why)
    try:
        return ask()
    except DamagedCheckpoint as error:
        _remove(folder, error.why)
    return ask()


def _damage(path: Path, order: Order) -> str | None:
    """Reason why the config.json in a folder of this study is not the run's; None if it is."""
    try:
        known = read_json(path)
    except ValueError as error:
        return f"{shown(path)}: damaged ({error})."
    is_as_asked = known.get("system") == to_dict(order.system) and known.get("scenario") == order.scenario
    return None if is_as_asked else f"{shown(path)}: damaged (not what the study asked for)."


def _remove(folder: Path, why: str) -> None:
    warnings.warn(f"{why} The run starts again.", stacklevel=2)
    remove_folder(folder, "run")
