"""Kept figures: how long a command takes, by what docs/results has of it.

A figure is kept with the command that has made it and the processor time of its runs. Other seeds of the same
command take as long each.
"""

import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from cosim.display.progress import duration
from cosim.display.words import in_words
from cosim.engine.learning.workers import num_cores
from cosim.files.on_disk import read_json
from scenarios.reproduce.figures import Options
from scenarios.results import FOLDER

_OF_SEEDS = ("--seed", "--seeds")


def core_hours(name: str, options: Options, folder: Path = FOLDER) -> float | None:
    """Processor time that a figure takes; None if no figure of this command is kept."""
    wanted = _without_seeds(options.command(name))
    for path in sorted(folder.glob(f"{name}*.json")):
        told = read_json(path)
        if _without_seeds(told["command"]) == wanted:
            return told["core_hours"] * len(options.every_seed) / len(told["seeds"])
    return None


def _without_seeds(command: str) -> list[str]:
    words = shlex.split(command)
    pairs = zip(["", *words], words, strict=False)
    return [word for before, word in pairs if before not in _OF_SEEDS and word not in _OF_SEEDS]


def expected(asked: Mapping[str, Options]) -> Iterator[str]:
    """How long figures take, in a sentence for what is kept and one for what is not.

    Args:
        asked: Options by figure, of one command.
    """
    hours = {name: core_hours(name, options) for name, options in asked.items()}
    if known := {name: own for name, own in hours.items() if own is not None}:
        options, total = asked[next(iter(known))], sum(known.values())
        words = f"{_named(known)}: about {total:.2g} core-hours, as kept in docs/results"
        if options.executor == "processes":
            num = options.workers or num_cores()
            words += f", or {duration(3600.0 * total / num)} on {in_words('num_cores', num)}"
        yield f"{words}; finished runs are not repeated."
    if unknown := hours.keys() - known.keys():
        yield f"{', '.join(sorted(unknown))}: how long is not kept in docs/results; the progress tells it."


def _named(figures: Collection[str]) -> str:
    return next(iter(figures)) if len(figures) == 1 else f"{len(figures)} figures"
