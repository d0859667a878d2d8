"""Job: one run of a study, as a worker is asked for it."""

import warnings
from pathlib import Path
from typing import Any

import attrs

from cosim.learning.network.named import Builder
from cosim.running import network_of, run
from cosim.studies.table import outcome_of
from cosim.studies.watch import Note
from cosim.system import System


@attrs.frozen(kw_only=True)
class Job:
    """One run, as a worker is asked for it.

    Attributes:
        system: Pickled, it brings along the modules of the classes that it is made of.
        build: Builds its network; pickled, it brings along its module.
        note: Where it leaves how far it is; None: nowhere.
    """

    system: System
    scenario: str | None
    folder: str
    build: Builder
    data_dir: Path | None
    targets: tuple[float, ...]
    held: int
    note: Path | None


def play(job: Job) -> dict[str, Any]:
    """Play one run in this process, or go on with it, or read it; its row in the table, and its warnings."""
    note = None if job.note is None else Note(job.system, job.note)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        try:
            result = run(
                job.system,
                network_of(job.system, job.build),
                out=job.folder,
                scenario=job.scenario,
                data_dir=job.data_dir,
                num_workers=1,
                resume="as found",
                listener=note or (lambda report: None),
            )
        except Exception as error:
            outcome = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
        else:
            outcome = outcome_of(result, job.targets, job.held)
        finally:
            if note is not None:
                note.over()
    return outcome | {"warnings": [str(warning.message) for warning in said]}
