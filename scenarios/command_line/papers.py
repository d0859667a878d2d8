"""`cosim reproduce` and `cosim validate`: what papers show and theory says, beside what is simulated."""

from collections.abc import Sequence

from cosim.configuration import ConfigurationError
from scenarios.command_line import reproductions
from scenarios.command_line.arguments import first_word, parse, switched
from scenarios.command_line.catalogue import ROOMS, catalogue, find

LAWS, OWN = "delay-laws", ("FILE.py:LAW", "MODULE:LAW")
"""Validation that simulates laws, and what a user's law is called."""


def is_own(name: str) -> bool:
    """True if a name is that of a user's law, such as mine.py:law or package.module:Barrier."""
    return ":" in name or name.endswith(".py")


def reproduce(arguments: list[str]) -> int:
    """`cosim reproduce`."""
    asks_for_all, rest = switched(reproductions.ALL, arguments)
    if asks_for_all:
        return reproductions.run_every(rest)
    name, rest = first_word(arguments)
    if name is None:
        return _usage("reproduce", arguments, about=reproductions.ABOUT)
    return reproductions.run_one(name, rest)


def validate(arguments: list[str]) -> int:
    """`cosim validate`."""
    name, rest = first_word(arguments)
    if name is None:
        return _usage("validate", arguments, OWN)
    if is_own(name):
        module = find("validate", LAWS)
        usual = module.of_own(name)
    else:
        module = find("validate", name, OWN)
        usual = module.Options()
    options = parse(module.Options, f"cosim validate {name}", rest, usual, module.__doc__)
    from analysis.plots import drawing  # not before there is something to draw

    with drawing():
        return module.main(options)


def _usage(command: str, arguments: list[str], others: Sequence[str] = (), about: str = "") -> int:
    """Print the known names; exit code 0 if they were asked for.

    Raises:
        ConfigurationError: Options were given.
    """
    known, noun = f"Known: {', '.join((*catalogue(command), *others))}", ROOMS[command].noun
    if arguments not in ([], ["-h"], ["--help"]):
        raise ConfigurationError(f"cosim {command}: needs a {noun}. Give it before any option. {known}.")
    lines = (f"usage: cosim {command} NAME [OPTIONS]; NAME --help lists the options", about, known)
    print("\n\n".join(filter(None, lines)))
    return 0
