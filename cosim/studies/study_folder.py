"""Study folder: the study that a folder holds, by its `study.json`.

A study resumes only in a folder of the same systems, grid and targets, with the same sources of parts; other
seeds may be asked for. If the file is lost, the configurations of the runs tell the study. Runs are only
added by the version of cosim that has run the others (`cosim.results.versions`).
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import evolve

from cosim.configuration import ConfigurationError, to_dict
from cosim.display.words import in_words
from cosim.files.folders import create_folder
from cosim.files.on_disk import read_json, shown, write_json
from cosim.own_code.sources import Sources, check_sources
from cosim.results.checkpoint_file import FILE as CHECKPOINT
from cosim.results.summary import COMPLETE, SUMMARY
from cosim.results.versions import Version, listed, others_of
from cosim.studies.designs import Design
from cosim.studies.table import ASKED, RUN

SEEDS, SOURCES = "seeds", "sources"
"""Keys of `study.json` besides what was asked."""


def begin(
    folder: Path, asked: dict[str, Any], seeds: int, sources: Sources, designs: Sequence[Design]
) -> None:
    """Make the folder of a study, or check that it holds this study.

    Args:
        asked: Identity of the study.
        seeds: Seeds of each design; they may change.

    Raises:
        ConfigurationError: The folder holds something else, or cannot be written or read.
    """
    path, asked = folder / ASKED, json.loads(json.dumps(asked))
    written = asked | {SEEDS: seeds, SOURCES: sources}

    def fill(staging: Path) -> None:
        (staging / "runs").mkdir()
        write_json(staging / path.name, written)

    if _has_lost(path):
        _check_runs(path.parent, designs)
        write_json(path, written)
    if not path.exists():
        try:
            create_folder(folder, fill)
            return
        except FileExistsError:
            if not path.exists():
                raise ConfigurationError(
                    f"{shown(folder)}: exists, and is not a study. Use another --out."
                ) from None
    try:
        known = read_json(path)
    except ValueError as error:
        raise ConfigurationError(
            f"{shown(path)}: damaged ({error}). Remove it and give the same command again, which keeps "
            "the complete runs."
        ) from None
    known_sources = known.pop(SOURCES, {})
    known.pop(SEEDS, None)
    if known != asked:
        differ = ", ".join(key for key in asked | known if known.get(key) != asked.get(key))
        raise _another(folder, f"its {differ} differs")
    check_sources(known_sources, sources, shown(folder))


def check_one_version(folder: Path) -> None:
    """Refuse to add runs where the others are of another version of cosim.

    Raises:
        ConfigurationError: A run that is complete, or from whose checkpoint it would be resumed, is of one.
    """
    kept = [
        run for run in sorted(folder.glob("runs/[!.]*")) if (run / CHECKPOINT).exists() or _is_complete(run)
    ]
    if mixed := [run for run in kept if others_of([run])]:
        what = f"{len(mixed)} of its {in_words('num_runs', len(kept))} are of other code of cosim"
        here = Version.here().words
        raise ConfigurationError(
            f"{shown(folder)}: {what} ({listed(others_of(mixed))}), and this is {here}. Use a new --out, or "
            f"remove {shown(folder / 'runs')} to run all of them again."
        )


def _is_complete(run: Path) -> bool:
    with suppress(ValueError):
        return (run / SUMMARY).exists() and read_json(run / SUMMARY).get("status") == COMPLETE
    return False


def keep_seeds(folder: Path, seeds: int) -> None:
    """Save the number of seeds that each design was asked for last."""
    known = read_json(folder / ASKED)
    if known.get(SEEDS) != seeds:
        write_json(folder / ASKED, known | {SEEDS: seeds})


def _has_lost(path: Path) -> bool:
    """True if the file of a study is missing although there are runs of one."""
    runs = [run.name for run in path.parent.glob("runs/[!.]*") if run.is_dir()]  # systems leave files there
    return not path.exists() and bool(runs) and all(map(RUN.fullmatch, runs))


def _check_runs(folder: Path, designs: Sequence[Design]) -> None:
    """Refuse runs of another study if the study's file is lost."""
    for path in folder.glob("runs/[!.]*/config.json"):
        number, seed = map(int, RUN.fullmatch(path.parent.name).groups())  # type: ignore[union-attr]
        try:
            known = read_json(path).get("system")
        except ValueError:
            continue  # it is started afresh
        system = designs[number].system if number < len(designs) else None
        if system is None or known != to_dict(evolve(system, seed=seed)):
            raise _another(folder, f"its {path.parent.name} is of another configuration")


def _another(folder: Path, how: str) -> ConfigurationError:
    return ConfigurationError(f"{shown(folder)}: holds another study ({how}). Use another --out.")
