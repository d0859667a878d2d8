"""`cosim data get`: download a data set from its authors, with checksums.

cosim data get fashion-mnist     # to the user's cache folder, where runs look for it
cosim data get cifar10 --data-dir /data/cifar10
"""

import sys
from contextlib import suppress
from pathlib import Path

import attrs
from rich.console import Console
from rich.progress import Progress, TaskID

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import did_you_mean
from scenarios.command_line.arguments import first_word, parse, usage
from scenarios.command_line.console import console


@attrs.frozen(kw_only=True)
class Options:
    """Download a data set from its authors, with checksums.

    Attributes:
        data_dir: Folder to download to. None means $COSIM_DATA, or else the user's cache folder.
    """

    data_dir: Path | None = None


def main(arguments: list[str]) -> int:
    """Download what the arguments name, unless it is here."""
    from cosim.data.pictures.sets import SETS  # not before it is needed

    name, rest = first_word(arguments)
    if name is None:
        return usage("data get", "NAME", Options(), arguments, __doc__ or "", [*SETS], {})
    if name not in SETS:
        hint = did_you_mean(name, SETS)
        raise ConfigurationError(f"no data set {name!r} to download.{hint} Known: {', '.join(SETS)}.")
    options = parse(Options, f"cosim data get {name}", rest, Options())
    known = SETS[name]
    with suppress(ConfigurationError):  # missing or wrong: that is what the download is for
        folder = known.find(options.data_dir)
        known.read(folder)
        console.print(f"{known.title} is here already, whole: {folder}")
        return 0

    from cosim.data.pictures.download import download, folder_to_fill

    folder = folder_to_fill(known, options.data_dir)
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as shown:
        download(known, folder, lambda file: _Bar(shown, shown.add_task(file)))
    console.print(f"{known.title} is whole in {folder}")
    return 0


class _Bar:
    """A bar of rich, as pooch moves one: it sets the total, and counts up."""

    def __init__(self, shown: Progress, task: TaskID) -> None:
        self.shown, self.task = shown, task

    @property
    def total(self) -> int:
        raise AttributeError("the total is told, never asked for")

    @total.setter
    def total(self, num_bytes: int) -> None:
        self.shown.update(self.task, total=num_bytes or None)

    def update(self, num_bytes: int) -> None:
        self.shown.update(self.task, advance=num_bytes)

    def reset(self) -> None:
        self.shown.update(self.task, completed=0)

    def close(self) -> None:
        """Leave the bar as it is."""
