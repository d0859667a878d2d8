"""Study folder: which study it holds, as its `study.json` says.

A study goes on only in a folder of the same systems, grid and targets, whose parts have the same sources; it
may be asked for other seeds. Where the file is lost, the configurations of the runs say whose they are.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from cosim.configuration import ConfigurationError, to_dict
from cosim.files.folders import create_folder
from cosim.files.on_disk import read_json, shown, write_json
from cosim.files.sources import Sources, check_sources
from cosim.studies.designs import Design
from cosim.studies.table import ASKED, RUN

SEEDS, SOURCES = "seeds", "sources"
"""What `study.json` says besides what was asked."""


def begin(
    folder: Path, asked: dict[str, Any], seeds: int, sources: Sources, designs: Sequence[Design]
) -> None:
    """Make the folder of a study, or see that it is of this very one.

    Args:
        asked: By what the study is known again.
        seeds: Of each design; they may change.

    Raises:
        ConfigurationError: It holds something else, or cannot be written or read.
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
                    f"{shown(folder)}: is there already, and no study. Use another --out."
                ) from None
    try:
        known = read_json(path)
    except ValueError as error:
        raise ConfigurationError(
            f"{shown(path)}: damaged ({error}). Remove it and give the same command again, which "
            "keeps the runs that are whole."
        ) from None
    known_sources = known.pop(SOURCES, {})
    known.pop(SEEDS, None)
    if known != asked:
        differ = ", ".join(key for key in asked | known if known.get(key) != asked.get(key))
        raise _another(folder, f"its {differ} differs")
    check_sources(known_sources, sources, shown(folder))


def keep_seeds(folder: Path, seeds: int) -> None:
    """Write down how many seeds each design was asked for last."""
    known = read_json(folder / ASKED)
    if known.get(SEEDS) != seeds:
        write_json(folder / ASKED, known | {SEEDS: seeds})


def _has_lost(path: Path) -> bool:
    """Whether the file of a study is missing where there are runs of one."""
    runs = [run.name for run in path.parent.glob("runs/*")]
    return not path.exists() and bool(runs) and all(map(RUN.fullmatch, runs))


def _check_runs(folder: Path, designs: Sequence[Design]) -> None:
    """Refuse runs of another study, whose file is lost."""
    for path in folder.glob("runs/*/config.json"):
        number, seed = map(int, RUN.fullmatch(path.parent.name).groups())  # type: ignore[union-attr]
        try:
            known = read_json(path).get("system")
        except ValueError:
            continue  # it is begun anew
        system = designs[number].system if number < len(designs) else None
        if system is None or known != to_dict(evolve(system, seed=seed)):
            raise _another(folder, f"its {path.parent.name} is of another configuration")


def _another(folder: Path, how: str) -> ConfigurationError:
    return ConfigurationError(f"{shown(folder)}: holds another study ({how}). Use another --out.")
