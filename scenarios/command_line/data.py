"""`cosim data`: data sets on this machine.

cosim data                       # the sets, and where each lies
cosim data get fashion-mnist     # download a set, with checksums
cosim data convert mahimahi lte.up --out trace.parquet    # files of other tools; --help lists the formats
"""

import importlib
from pathlib import Path

import attrs
from rich.table import Table

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import did_you_mean
from scenarios.command_line.arguments import first_word, parse, usage
from scenarios.command_line.console import console

COMMANDS = {"get": "data_get:main", "convert": "convert:main"}
"""Command after `cosim data` -> module and function here, as in `commands`."""


@attrs.frozen(kw_only=True)
class Options:
    """List the data sets, and where each lies.

    Attributes:
        data_dir: Folder to look in. None means $COSIM_DATA, the cache folder, Debian's folder.
    """

    data_dir: Path | None = None


def main(arguments: list[str]) -> int:
    """Carry out the command that the arguments name; without one, list the sets."""
    command, rest = first_word(arguments)
    if {"-h", "--help"} & {*arguments[:1]}:
        return usage("data", "[COMMAND]", Options(), ["--help"], __doc__ or "", [*COMMANDS], {})
    if command is None:
        options = parse(Options, "cosim data", rest, Options())
        console.print(listed(options.data_dir))
        console.print(
            "\nMore: cosim data get NAME downloads a set; cosim data convert reads files of other tools."
        )
        return 0
    if command not in COMMANDS:
        from cosim.data.pictures.sets import SETS

        hint = f" Use cosim data get {command}." if command in SETS else did_you_mean(command, COMMANDS)
        raise ConfigurationError(f"no command 'data {command}'.{hint} Known: {', '.join(COMMANDS)}.")
    module, _, function = COMMANDS[command].partition(":")
    return getattr(importlib.import_module(f"scenarios.command_line.{module}"), function)(rest)


def listed(data_dir: Path | None) -> Table:
    """Each published set, and the folder where it lies whole or what it lacks there."""
    from cosim.data.pictures.sets import SETS  # not before it is needed

    table = Table(show_edge=False)
    table.add_column("set", no_wrap=True)
    table.add_column("to download", no_wrap=True)
    table.add_column("on this machine")
    for name, known in SETS.items():
        try:
            folder = known.find(data_dir)
            known.read(folder)
            table.add_row(name, known.size, f"{folder}: whole")
        except ConfigurationError as fault:
            table.add_row(name, known.size, str(fault))
    return table
