"""`cosim init`: write a small folder to start from, which runs as it is.

cosim init my_study    # a scenario, a part of your own with its tests, a study over seeds, a notebook
"""

import re
import shlex
from functools import partial
from pathlib import Path
from shutil import copyfile

import attrs

from cosim.configuration import ConfigurationError
from cosim.files.folders import create_folder
from cosim.files.on_disk import place, replace, shown
from scenarios.command_line.arguments import first_word, parse, usage
from scenarios.command_line.console import console

TEMPLATE = Path(__file__).parents[1] / "init"
"""The folder that is copied."""
_README = "README.md"


@attrs.frozen(kw_only=True)
class Options:
    """A folder is all that is asked for."""


def main(arguments: list[str]) -> int:
    """Write the folder that the arguments name, and say what to type next."""
    name, rest = first_word(arguments)
    if name is None:
        return usage("init", "FOLDER", Options(), arguments, __doc__ or "", [], {})
    parse(Options, f"cosim init {name}", rest, Options(), __doc__)
    folder = place(name)
    if folder == Path.cwd():
        raise ConfigurationError(f"{name}: is the folder that you are in. Use the name of a new one.")
    try:
        create_folder(folder, fill)
    except FileExistsError:
        raise ConfigurationError(f"{shown(folder)}: exists already. Use another name.") from None
    console.print(f"{shown(folder)}: a scenario, a part of your own with its tests, a study, a notebook\n")
    console.print(f"  cd {shlex.quote(name)}")
    for line in commands():
        console.print(f"  {line}")
    return 0


def fill(folder: Path) -> None:
    """Write the files of the template into a folder."""
    for file in sorted(TEMPLATE.iterdir()):
        if file.is_file():
            replace(folder / file.name, partial(copyfile, file))


def commands() -> list[str]:
    """Commands of the template's README, line by line."""
    readme = (TEMPLATE / _README).read_text(encoding="utf-8")
    found = re.search(r"```sh\n(.*?)```", readme, re.DOTALL)
    return found[1].splitlines() if found else []
