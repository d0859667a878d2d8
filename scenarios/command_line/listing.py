"""`cosim list`: every scenario, reproduction and validation, and the question that it asks."""

from rich.table import Table

from cosim.configuration import ConfigurationError
from scenarios.command_line.catalogue import ROOMS, catalogue, question
from scenarios.command_line.console import console


def main(arguments: list[str]) -> int:
    """Print them, scenarios first."""
    if arguments in (["-h"], ["--help"]):
        print(f"usage: cosim list\n\n{__doc__}")
        return 0
    if arguments:
        raise ConfigurationError(f"cosim list: knows no {arguments[0]}. Leave it out.")
    table = Table(show_edge=False)
    for heading in ("command", "question"):
        table.add_column(heading)
    for command in ROOMS:
        for name, module in catalogue(command).items():
            table.add_row(f"cosim {command} {name}", question(module))
        table.add_section()
    console.print(table)
    return 0
