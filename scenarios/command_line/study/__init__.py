"""`cosim study`: many designs of a scenario with the same seeds, and what each one changes.

cosim study hist --over bandwidth_hz=5e6,10e6,20e6 --over num_cells=2,4 --seeds 10 --out studies/bw
cosim study hist --design "HIST:" --design "FedAvg: protocol.kind=HFedAvg; num_edge_rounds=1" --target 0.7
cosim study mine.py:system --over protocol.kind=Hist,mine:Rested
"""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs
import tyro

from cosim.configuration import ConfigurationError
from scenarios.command_line.arguments import SCENARIO, first_word, parse_with_system, switched, usage
from scenarios.command_line.kinds import with_kinds
from scenarios.command_line.modules import imported
from scenarios.command_line.scenario import FOR_SCENARIOS, PAPER_SCALE, known_scenarios, scenario_of

if TYPE_CHECKING:  # the engine is loaded when it is needed
    from cosim.system import System


@attrs.frozen(kw_only=True)
class Options:
    """How a study is carried out.

    Attributes:
        over: A field and its values, such as bandwidth_hz=5e6,10e6. Repeat it for other fields: each
            combination of values is a design. If a value is itself a list, give a JSON list of lists.
        design: A named design and its changes, such as "FedAvg: protocol.kind=HFedAvg; num_cells=2"; a name
            alone means the scenario unchanged. Repeat it for other designs. With --over, each design is
            combined with all values.
        seeds: Number of seeds for each design, counted up from --seed.
        out: Study folder: a new one, or that of the same study, to complete it. None means the next free
            one under studies/.
        timing_only: Run the clock without learning.
        target: Target of the headline metric, such as an accuracy of 0.8; the time and energy to reach it are
            reported; several by commas.
        held: Consecutive evaluations at which a target must be met to count as reached.
        precision: A metric and the wanted half-width of its interval, such as time_s=2%; designs get more
            seeds until all intervals are as narrow.
        max_seeds: Largest number of seeds for a design with --precision. None means 10 times --seeds.
        executor: processes (on this machine), dask (a cluster on this machine), or dask=tcp://HOST:PORT.
        workers: Runs at a time. None means one per core.
        data_dir: Folder with the data set's files. None means $COSIM_DATA, the cache folder, Debian's folder.
        records: Rows of the runs' tables: all (every client), or rounds (a row for each edge round; on arrays
            only); auto means all, up to ten million rows a run.
        keep: Model that each run keeps: last (of the last evaluation), best (by the headline metric, such as
            accuracy), or the best by a column of the evaluations, such as macro_f1.
    """

    over: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    design: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    seeds: int = 5
    out: Path | None = None
    timing_only: bool = False
    target: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    held: int = 1
    precision: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    max_seeds: int | None = None
    executor: str = "processes"
    workers: int | None = None
    data_dir: Path | None = None
    records: Literal["auto", "all", "rounds"] = "auto"
    keep: str = "last"


def main(arguments: list[str]) -> int:
    """Run the study that the arguments describe; exit code 1 if runs failed."""
    to_go_on = shlex.join(["cosim", "study", *arguments])
    _, _, arguments = imported(arguments)
    paper_scale, arguments = switched(PAPER_SCALE, arguments)
    target, arguments = first_word(arguments)
    if target is None:
        return usage("study", SCENARIO, Options(), arguments, __doc__ or "", known_scenarios(), FOR_SCENARIOS)
    scenario = scenario_of(target)
    system = scenario.system(paper_scale=paper_scale)
    system, arguments = with_kinds(system, arguments)
    options, system = parse_with_system(
        Options(), system, f"cosim study {target}", arguments, __doc__, FOR_SCENARIOS
    )
    from scenarios.command_line.study.running import run_and_show  # not before it is needed

    return run_and_show(scenario.name, system, options, title=scenario.title(system), to_go_on=to_go_on)


def grid(over: Sequence[str]) -> dict[str, list[Any]]:
    """Fields and values of the options.

    Raises:
        ConfigurationError: An option lacks a field or values, or a field is given twice.
    """
    found: dict[str, list[Any]] = {}
    for option in over:
        field, equals, text = option.partition("=")
        field = field.strip().replace("-", "_")
        if not (field and equals and text.strip()):
            raise ConfigurationError(f"--over {option}: must be FIELD=VALUE,VALUE. Use --over num_cells=2,4.")
        if field in found:
            raise ConfigurationError(f"--over {option}: {field} is given twice. Use all values at once.")
        found[field] = json_list(text) or [value(part) for part in text.split(",")]
    return found


def systems(base: "System", designs: Sequence[str]) -> "dict[str, System]":
    """The systems of the options by their names; the base alone without any.

    Raises:
        ConfigurationError: One without a name, with what is no field and value, or that breaks a rule; or a
            name given twice.
    """
    from cosim.studies.designs import BASE
    from cosim.system.changes import changed

    found: dict[str, System] = {}
    for option in designs:
        name, colon, changes = option.partition(":")
        name, where = name.strip(), f'--design "{option:.200}"'
        values: dict[str, Any] = {}
        for change in filter(str.strip, (changes if colon or "=" not in name else option).split(";")):
            field, equals, text = change.partition("=")
            if not (colon and name and field.strip() and equals and text.strip()):
                raise ConfigurationError(
                    f"{where}: must be NAME: FIELD=VALUE; FIELD=VALUE. Use "
                    '--design "FedAvg: protocol.kind=HFedAvg".'
                )
            values[field.strip().replace("-", "_")] = value(text)
        if not name or name in found:
            rule = "is given twice" if name else "has no name"
            raise ConfigurationError(f'{where}: {rule}. Use --design "NAME: FIELD=VALUE".')
        try:
            found[name] = changed(base, values)
        except ConfigurationError as error:
            raise ConfigurationError(f"{where}: {error}") from None
    return found or {BASE: base}


def json_list(text: str) -> list[Any] | None:
    """The items of a list of lists, or None where the text is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, list) else None


def value(text: str) -> Any:
    """A number, true, false or null; else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return None if text.strip().lower() == "none" else text.strip()
