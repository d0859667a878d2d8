"""`cosim list`: scenarios with their questions; other things by name.

cosim list                   # scenarios
cosim list validations       # or reproductions
cosim list laws              # the laws that cosim validate delay-laws runs
cosim list waiting           # the kinds of a part, which options and files name
cosim list --all             # everything
"""

from importlib import import_module

import attrs
from rich.table import Table

from cosim.configuration import ConfigurationError, Port
from cosim.configuration.forms import is_base
from cosim.configuration.kinds import kinds_of
from cosim.configuration.rules import did_you_mean
from cosim.doors import FOLDER, STUB, everywhere, homes
from scenarios.command_line.arguments import first_word, parse, usage
from scenarios.command_line.catalogue import ROOMS, catalogue, question
from scenarios.command_line.console import console

QUESTIONS = {f"{room.noun}s": command for command, room in ROOMS.items()}
"""Section with questions -> the command that runs its entries."""
LAWS = "laws"
PACKAGES = "packages"
PACKAGES_TITLE = "Packages: ports that an installed package brings along."


@attrs.frozen(kw_only=True)
class Options:
    """Options of the list.

    Attributes:
        all: List everything.
    """

    all: bool = False


def main(arguments: list[str]) -> int:
    """Print what the arguments name; else the scenarios, and what else may be named."""
    name, rest = first_word(arguments)
    known = [*QUESTIONS, LAWS, *rooms(), PACKAGES]
    if {"-h", "--help"} & {*arguments}:
        return usage("list", "[NAME]", Options(), ["--help"], __doc__ or "", known, {})
    options = parse(Options, "cosim list [NAME]", rest, Options()) if rest else Options()
    if name is not None and name not in known:
        raise ConfigurationError(f"nothing to list is called {name!r}.{_hint(name, known)}")
    for listed in known if options.all else [name or "scenarios"]:
        console.print(_table_of(listed))
    if name in rooms():
        console.print("\nOptions and files name a kind: cosim run quickstart --selection.kind Oort --help")
    if name is None and not options.all:
        console.print(f"\nMore: cosim list NAME, with {', '.join(known[1:])}; cosim list --all.")
    return 0


def _table_of(listed: str) -> Table:
    if listed in QUESTIONS:
        return of_questions(QUESTIONS[listed])
    return of_laws() if listed == LAWS else of_kinds(listed)


def rooms() -> list[str]:
    """Rooms that have kinds of parts."""
    with_ports = {port.relative_to(FOLDER).parts[0] for port in FOLDER.glob("*/**/port.py")}
    return [name for name in sorted(with_ports) if (FOLDER / name / STUB).is_file()]


def of_questions(command: str) -> Table:
    """Scenarios, reproductions or validations, each with the question that it asks."""
    table = Table(show_edge=False)
    table.add_column("command", no_wrap=True)
    table.add_column("question")
    for name, module in catalogue(command).items():
        table.add_row(f"cosim {command} {name}", question(module))
    return table


def of_laws() -> Table:
    """Laws that are held against the clock, and how one of the user's own is."""
    from scenarios.validate.delays.laws import (
        LAWS as OURS,
    )  # not before they are asked for: they load the engine

    table = Table(show_edge=False)
    table.add_column("command", no_wrap=True)
    table.add_column("law")
    for name, law in OURS.items():
        table.add_row(f"cosim validate delay-laws --laws {name}", law.title)
    table.add_row("cosim validate mine.py:law", "a law of your own (docs/own-laws.md)")
    return table


def of_kinds(room: str) -> Table:
    """The kinds of parts in a room, below the port of each."""
    title = _first_line(import_module(f"cosim.{room}")) if room != PACKAGES else PACKAGES_TITLE
    table = Table(title=f"\n{title}", title_justify="left", show_edge=False)
    table.add_column("kind", no_wrap=True)
    table.add_column("what it is")
    for port, kinds in (kinds_in(room) if room != PACKAGES else kinds_of_packages()).items():
        table.add_row(port.__name__, _first_line(port), style="bold")
        for kind in kinds:
            table.add_row(f"  {kind.__name__}", _first_line(kind))
        table.add_section()
    return table


def kinds_in(room: str) -> dict[type, list[type]]:
    """Port -> its kinds in a room, in the base below all rooms, and in installed packages, by their names."""
    classes = [getattr(import_module(home), name) for name, home in homes(f"cosim.{room}").items()]
    beside = [getattr(import_module(home), name) for name, home in homes("cosim").items() if _is_base(home)]
    found: dict[type, list[type]] = {}
    for cls in (*classes, *beside, *_of_packages()):
        for port in _ports_of(cls):
            if not is_base(cls) and (cls in classes or port in found):
                found.setdefault(port, []).append(cls)
    return {port: sorted(found[port], key=_name) for port in sorted(found, key=_name)}


def kinds_of_packages() -> dict[type, list[type]]:
    """Port -> its kinds, of the ports that only installed packages have."""
    ports = {port for cls in _of_packages() for port in _ports_of(cls) if not _is_ours(port)}
    return {port: kinds_of(port) for port in sorted(ports, key=_name)}


def _of_packages() -> list[type]:
    return [cls for cls in kinds_of(Port) if not _is_ours(cls)]


def _ports_of(cls: object) -> list[type]:
    return [base for base in getattr(cls, "__mro__", ()) if Port in base.__bases__]


def _is_ours(cls: type) -> bool:
    return cls.__module__.startswith("cosim.")


def _is_base(home: str) -> bool:
    return home.startswith("cosim.configuration.")


def _name(cls: type) -> str:
    return cls.__name__


def _first_line(documented: object) -> str:
    return (documented.__doc__ or "").strip().partition("\n")[0]


def _hint(name: str, known: list[str]) -> str:
    """Likely meaning, in a sentence after a space."""
    for command in ROOMS:
        if name in catalogue(command):
            return f" Use cosim {command} {name}."
    if name in (homes_of := everywhere()):
        return f" Use cosim list {homes_of[name].split('.')[1]}."
    return f"{did_you_mean(name, known)} Known: {', '.join(known)}."
