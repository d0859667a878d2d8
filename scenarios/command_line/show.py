"""`cosim show`: a scenario's whole configuration, with units and sources.

cosim show hist
cosim show rawhfl --policy.kind CommonSteps    # with any option of `cosim run`
cosim show mine.py:system
"""

from typing import Any

import attrs
import docstring_parser
from rich.table import Table

from cosim.configuration import KIND, is_configuration, kind_of
from cosim.units import unit_of
from scenarios.command_line.arguments import first_word, parse_with_system, usage
from scenarios.command_line.console import console
from scenarios.command_line.kinds import with_kinds
from scenarios.command_line.modules import imported
from scenarios.command_line.scenario import PAPER_SCALE, known_scenarios, scenario_of


@attrs.frozen(kw_only=True)
class Options:
    """Nothing but the configuration is asked for."""


def main(arguments: list[str]) -> int:
    """Show the configuration that the arguments describe."""
    target, arguments = first_word(arguments)
    _, arguments = imported(arguments)
    if target is None:
        return usage("show", "SCENARIO", Options(), arguments, __doc__ or "", known_scenarios())
    scenario = scenario_of(target)
    system = scenario.system(paper_scale=PAPER_SCALE in arguments)
    system, arguments = with_kinds(system, [word for word in arguments if word != PAPER_SCALE])
    _, system = parse_with_system(Options(), system, f"cosim show {target}", arguments, scenario.question)
    table = Table(title=f"{target}: the whole configuration", title_justify="left")
    table.add_column("field", no_wrap=True)
    for heading in ("value", "unit", "source"):
        table.add_column(heading, overflow="fold")
    for row in rows(system, type(system)(), ""):
        table.add_row(*row)
    console.print(table)
    console.print(system.compute.rule)
    console.print(f"What each field is: cosim run {target} --help")
    return 0


def rows(config: Any, default: Any, prefix: str) -> list[tuple[str, ...]]:
    """Field, value, unit and source of every field, nested ones last; of a part its kind, as in a file."""
    texts = described(type(config))
    own, nested = [], []
    for attribute in attrs.fields(type(config)):
        name, value = prefix + attribute.name, getattr(config, attribute.name)
        usual = getattr(default, attribute.name, attribute.default)
        source = texts.get(attribute.name, "").partition(" [")[2]
        if is_configuration(type(value)):
            is_usual = type(usual) is type(value)
            if type(value) is not attribute.type:
                nested.append(_row(f"{name}.{KIND}", kind_of(type(value)), "", source, is_usual))
            nested += rows(value, usual if is_usual else None, f"{name}.")
            continue
        own.append(_row(name, shown(value), unit_of(attribute.name), source, value == usual))
    return own + nested


def _row(name: str, value: str, unit: str, source: str, is_usual: bool) -> tuple[str, ...]:
    return name, value, unit, source.removesuffix("]") if is_usual else "chosen in this scenario"


def described(cls: type) -> dict[str, str]:
    """What the docstrings of a class and of those that it inherits from say of its fields."""
    found = {}
    for owner in reversed(cls.__mro__):
        for parameter in docstring_parser.parse(owner.__doc__ or "").params:
            found[parameter.arg_name] = " ".join((parameter.description or "").split())
    return found


def shown(value: Any) -> str:
    """A value in words."""
    if value is None:
        return "none (off)"
    if isinstance(value, tuple):
        return ", ".join(map(shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
