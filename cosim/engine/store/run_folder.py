"""Run folder: the run that it holds, its status, and the state from which it resumes.

A run is resumed only in a folder with a run of exactly the same configuration, network and sources. Damaged
tables are made again, since a run can be repeated; a damaged checkpoint is refused.
"""

import math
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cosim.configuration import ConfigurationError
from cosim.engine.store.checkpoint import Checkpoint, keep_in
from cosim.files.folders import alone_in, create_folder
from cosim.files.on_disk import read_json, shown, typed, write_json
from cosim.own_code.sources import Sources, check_sources
from cosim.results.checkpoint_file import FILE, damaged
from cosim.results.provenance import FILE as PROVENANCE
from cosim.results.provenance import check_version, noted
from cosim.results.result import Result
from cosim.results.summary import COMPLETE, SUMMARY, summary_of
from cosim.results.unreadable import Unreadable
from cosim.results.versions import Version, others_of

if TYPE_CHECKING:
    from cosim.engine.learning.learner import Learner

CONFIG = "config.json"


def create(folder: Path, config: dict[str, Any], origin: dict[str, Any], alone: ExitStack) -> None:
    """Make a run folder.

    Args:
        alone: Keeps other processes from running it meanwhile.

    Raises:
        ConfigurationError: It exists, or cannot be written.
    """

    def fill(staging: Path) -> None:
        write_json(staging / CONFIG, config)
        write_json(staging / PROVENANCE, origin)

    try:
        if folder.exists():
            raise FileExistsError
        create_folder(folder, fill)
    except FileExistsError:
        raise ConfigurationError(
            f"out = {shown(folder)}: exists, and runs are not overwritten. Use another --out, remove "
            "the folder, or resume a stopped run: cosim run --resume."
        ) from None
    alone.enter_context(alone_in(folder, "run"))


def found_in(
    folder: Path | None,
    config: dict[str, Any],
    sources: Sources,
    keep: str,
    alone: ExitStack,
    as_found: bool,
) -> Result | Checkpoint | None:
    """The finished run in this folder, or the checkpoint to resume from; None to start afresh.

    Args:
        keep: Which model the run is to keep.
        alone: Keeps other processes from running it meanwhile.
        as_found: True to take a run that is finished, and to wait for a process that runs it.

    Raises:
        ConfigurationError: There is no such run, it is of another configuration or of other sources, keeps
            another model, is finished, another process is running it, or its checkpoint is damaged or of
            other code of cosim.
    """
    if folder is None or not (folder / CONFIG).exists():
        where = "None" if folder is None else shown(folder)
        raise ConfigurationError(f"resume: {where} holds no run. Give the folder of a stopped run as out.")
    _check_is_of(folder, config, sources)
    alone.enter_context(alone_in(folder, "run", waits=as_found))
    kept = keep_in(folder)
    if kept not in (None, keep):
        raise ConfigurationError(
            f"run: keep = {keep!r}: the run in {shown(folder)} keeps {kept!r}. Use keep={kept!r}, or "
            "another folder."
        )
    if (found := complete_in(folder)) is None:
        _check_code(folder)
        return Checkpoint.load(folder)
    if not as_found:
        raise ConfigurationError(f"resume: the run in {shown(folder)} is complete. Use another folder.")
    return found


def complete_in(folder: Path) -> Result | None:
    """The run of a folder; None if it is unfinished, or one of its files is damaged.

    Warns:
        UserWarning: A file is damaged, so that the run has to be repeated.
    """
    try:
        if not (folder / SUMMARY).exists() or summary_of(folder)[0].status != COMPLETE:
            return None
        return Result.load(folder)
    except Unreadable as error:
        why = error.why
    except ValueError as error:
        why = f"{shown(folder / SUMMARY)}: damaged ({error})."
    warnings.warn(f"{why} The run is simulated again.", stacklevel=2)
    return None


def _check_is_of(folder: Path, config: dict[str, Any], sources: Sources) -> None:
    """Refuse a folder with a run of another configuration, or of parts whose source was another."""
    check_version(folder)
    try:
        written = read_json(folder / CONFIG)
    except ValueError as error:
        raise ConfigurationError(
            f"resume: {shown(folder / CONFIG)}: damaged ({error}). Remove the folder, and start the "
            "run again."
        ) from None
    if written != {name: value for name, value in config.items() if name in written or name != "network"}:
        check_network(written.get("network"), config["network"], f"resume: {shown(folder)}")
        raise ConfigurationError(
            f"resume: {shown(folder)} holds a run of another configuration. Use its own config.json, "
            "or another folder."
        )
    check_sources(noted(folder).get("sources"), sources, f"resume: {shown(folder)}")


def _check_code(folder: Path) -> None:
    """Refuse to go on with a checkpoint of another version of cosim."""
    if (folder / FILE).exists() and (others := others_of([folder])):
        words = " and ".join(version.words for version in others)
        raise ConfigurationError(
            f"resume: {shown(folder)}: its checkpoint is of other code of cosim, {words}, and this is "
            f"{Version.here().words}. Use cosim run --config {typed(folder / CONFIG)} to run it from its "
            "beginning, or the code that has begun it."
        )


def check_fits(checkpoint: Checkpoint, learner: "Learner", folder: Path) -> None:
    """Refuse an intact checkpoint of another network or task, or with scores of another model.

    Raises:
        ConfigurationError: It is one.
    """
    for each in (checkpoint.weights, checkpoint.learned):
        if {name: values.shape for name, values in each.items()} != learner.shape.tensors:
            raise damaged(folder / FILE, "its weights are those of another network")
    score = checkpoint.evaluation_of(checkpoint.version)
    if any(list(row.measures) != list(learner.measures) for row in checkpoint.evaluations):
        raise damaged(folder / FILE, "its evaluations are those of another task")
    if not all(np.isfinite(values).all() for values in checkpoint.weights.values()):
        found = learner.evaluate(learner.stored_model(checkpoint.weights))
        if [*map(math.isfinite, found.values())] != [*map(math.isfinite, score.scores.values())]:
            raise damaged(folder / FILE, "it has weights that are not finite, and an evaluation that is")


def check_samples(found: str | None, folder: Path) -> None:
    """Refuse a user's own samples that differ from the samples with which a run began.

    Args:
        found: Hash of the samples at hand. None means that they are not a user's own.
    """
    noted_hash = noted(folder).get("samples")
    if found is not None and noted_hash is not None and found != noted_hash:
        raise ConfigurationError(
            f"resume: {shown(folder)}: was started with other samples than its data gives now. Restore "
            "the data, or use another folder."
        )


def check_network(wanted: dict[str, str] | None, found: dict[str, str], where: str) -> None:
    """Refuse a network that is not the one of a run, or has other weights of its own.

    Args:
        wanted: What the run's config.json says of it. None means nothing.
        found: What `configuration_of` says of the one at hand.
        where: Whose run it is.
    """
    if not isinstance(wanted, dict) or not _differ_in(wanted, found):
        return
    differs = {"weights": "the same network with other weights of its own", "structure": "built otherwise"}
    how = next((word for name, word in differs.items() if _differ_in(wanted, found) == {name}), "another")
    raise ConfigurationError(
        f"{where}: that run has the network {wanted.get('class')}, this one {found['class']} ({how}). "
        "Run it from the program that builds its network."
    )


def _differ_in(wanted: dict[str, str], found: dict[str, str]) -> set[str]:
    return {name for name in wanted | found if wanted.get(name) != found.get(name)}
