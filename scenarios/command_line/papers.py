"""`cosim reproduce` and `cosim validate`: what papers show and theory says, beside what is simulated."""

from cosim.configuration import ConfigurationError
from scenarios.command_line.arguments import first_word, parse
from scenarios.command_line.catalogue import ROOMS, catalogue, find

LAWS, OWN = "delay-laws", ("FILE.py:LAW", "MODULE:LAW")
"""Validation that plays laws, and what a user's law is called."""


def is_own(name: str) -> bool:
    """True if a name is that of a user's law, such as mine.py:law or package.module:Barrier."""
    return ":" in name or name.endswith(".py")


def reproduce(arguments: list[str]) -> int:
    """`cosim reproduce`."""
    return _main("reproduce", arguments)


def validate(arguments: list[str]) -> int:
    """`cosim validate`."""
    return _main("validate", arguments)


def _main(command: str, arguments: list[str]) -> int:
    name, rest = first_word(arguments)
    own = OWN if command == "validate" else ()
    known, noun = f"Known: {', '.join((*catalogue(command), *own))}", ROOMS[command].noun
    if name is None and arguments in ([], ["-h"], ["--help"]):
        print(f"usage: cosim {command} NAME [options]; --help after a name says which\n\n{known}")
        return 0
    if name is None:
        raise ConfigurationError(f"cosim {command}: needs a {noun}. Give it before any option. {known}.")
    if own and is_own(name):
        module = find(command, LAWS)
        usual = module.of_own(name)
    else:
        module = find(command, name, own)
        usual = module.Options()
    options = parse(module.Options, f"cosim {command} {name}", rest, usual, module.__doc__)
    from analysis.plots import drawing  # not before there is something to draw

    with drawing():
        return module.main(options)
