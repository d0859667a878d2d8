"""`cosim show`: a scenario's whole configuration, with units and sources.

cosim show hist
cosim show rawhfl --policy.kind CommonSteps    # with any option of `cosim run`
cosim show mine.py:system
"""

from typing import Any, NamedTuple

import attrs
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from cosim.client_values.port import Values
from cosim.configuration import Port
from cosim.configuration.field_types import options_of
from cosim.configuration.kinds import kind_of
from cosim.system.other_kinds import other_kinds_of
from cosim.units import unit_of
from scenarios.command_line.arguments import SCENARIO, first_word, parse_with_system, switched, usage
from scenarios.command_line.console import console
from scenarios.command_line.described import described
from scenarios.command_line.kinds import with_kinds
from scenarios.command_line.modules import imported
from scenarios.command_line.scenario import FOR_SCENARIOS, PAPER_SCALE, known_scenarios, scenario_of


@attrs.frozen(kw_only=True)
class Options:
    """Nothing but the configuration is asked for."""


def main(arguments: list[str]) -> int:
    """Show the configuration that the arguments describe."""
    _, _, arguments = imported(arguments)
    paper_scale, arguments = switched(PAPER_SCALE, arguments)
    target, arguments = first_word(arguments)
    if target is None:
        return usage("show", SCENARIO, Options(), arguments, __doc__ or "", known_scenarios(), FOR_SCENARIOS)
    scenario = scenario_of(target)
    own = scenario.system(paper_scale=paper_scale)
    system, rest = with_kinds(own, arguments)
    if arguments:
        program = f"cosim show {target}"
        _, system = parse_with_system(Options(), system, program, rest, scenario.question, FOR_SCENARIOS)
    question = (scenario.question or "").partition("\n")[0]
    console.print(page(f"{target}: {question}", rows(system, own, type(system)())))
    console.print(system.cycles.rule)
    console.print(f"Options go by these paths, or their ends. What each field is: cosim run {target} --help")
    return 0


class Row(NamedTuple):
    """A field, or the kind of a part and what else it may be."""

    path: str
    value: str
    unit: str
    source: str
    others: str = ""


def page(title: str, found: list[Row]) -> Table:
    """The rows as a table, a paragraph for each part of the system."""
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("field", no_wrap=True)
    for heading in ("value", "unit", "source"):
        table.add_column(heading, overflow="fold")
    parts, before = {row.path.partition(".")[0] for row in found if "." in row.path}, ""
    for row in found:
        part = row.path.partition(".")[0]
        if part in parts and part != before:
            table.add_section()
        before = part
        source = Text(row.source)
        if row.others:
            source.append(f"{row.source and chr(10)}also {row.others}", style="dim")
        table.add_row(row.path, row.value, row.unit, source)
    return table


def rows(
    config: Any, own: Any, usual: Any, prefix: str = "", unit: str | None = None, source: str | None = None
) -> list[Row]:
    """Fields of a configuration, then its parts, each with its fields.

    Args:
        own: The scenario's value.
        usual: The default, where it is of the same class; else None.
        unit: Unit of all fields. None means that each has its own.
        source: Source of all fields, likewise.
    """
    texts = described(type(config))
    fields, parts = [], []
    for attribute in attrs.fields(type(config)):
        name, options = attribute.name, options_of(attribute.type)
        value, chosen, default = (getattr(of, name, attribute.default) for of in (config, own, usual))
        said = texts.get(name, "").partition(" [")[2].removesuffix("]")
        if not options or isinstance(value, float):
            origin = _origin(value, chosen, default, said if source is None else source)
            fields.append(Row(prefix + name, shown(value), unit_of(name) if unit is None else unit, origin))
            continue
        kind = shown(None) if value is None else kind_of(type(value))
        others = ", ".join(other_kinds_of(name, value, options))
        of_values = isinstance(value, Values)
        origin = "" if of_values else _origin(type(value), type(chosen), type(default), said)
        if value is None or isinstance(value, Port) or others:
            parts.append(Row(prefix + name, kind, "", origin, others))
        if value is not None:
            usual_part = default if type(default) is type(value) else None
            of_all = (unit_of(name), said) if of_values else (None, None)
            parts += rows(value, chosen, usual_part, f"{prefix}{name}.", of_all[0], of_all[1])
    return fields + parts


def _origin(value: Any, own: Any, usual: Any, source: str) -> str:
    """Source of a default value; of any other, where it was chosen."""
    if value == usual:
        return source
    return "chosen in this scenario" if value == own else "chosen here"


def shown(value: Any) -> str:
    """A value in words."""
    if value is None:
        return "none (off)"
    if isinstance(value, tuple):
        return ", ".join(map(shown, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
