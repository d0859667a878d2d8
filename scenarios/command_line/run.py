"""`cosim run`: run a scenario, repeat a run from its config.json, or resume an interrupted run.

cosim run hist --num-cells 2 --bandwidth-hz 5e6 --seed 7 --out runs/a
cosim run mine.py:system --seed 7          # a scenario of your own
cosim run --config runs/a/config.json      # repeats a run; every field is an option
cosim run --resume runs/a                  # with the options of its start
"""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs
import tyro

from cosim.configuration import ConfigurationError
from cosim.files.on_disk import place, read_json, shown
from cosim.own_code.sources import changed, sources_of
from cosim.system.paths import ends_of, paths_of
from scenarios.command_line.arguments import (
    SCENARIO,
    first_word,
    one_value_of,
    parse,
    parse_with_system,
    switched,
    usage,
)
from scenarios.command_line.kinds import with_kinds
from scenarios.command_line.modules import IMPORT, imported
from scenarios.command_line.scenario import (
    FOR_SCENARIOS,
    PAPER_SCALE,
    Scenario,
    known_scenarios,
    scenario_in,
    scenario_of,
)

if TYPE_CHECKING:  # the engine is loaded when it is needed
    from cosim.results.result import Result
    from cosim.system import System

CONFIG, RESUME = "--config", "--resume"
ANYWHERE = {
    f"{CONFIG} FILE": "repeat the run of a config.json, with any field changed",
    f"{RESUME} FOLDER": "resume an interrupted run",
    **FOR_SCENARIOS,
}


@attrs.frozen(kw_only=True)
class Options:
    """How a run is carried out; none of these changes its results.

    Attributes:
        out: Run folder to make. None means the next free one under runs/.
        data_dir: Folder with the data set's files. None means $COSIM_DATA, the cache folder, Debian's folder.
        workers: Threads for learning. None means one per core, and one on a GPU.
        device: Where the learning is computed: cpu or cuda.
        checkpoint_every: Global rounds between checkpoints, in addition to one every 15 seconds; a killed run
            loses no more than that. None means every 15 seconds only.
        keep: Model that the folder keeps: last (of the last evaluation), best (by the headline metric, such
            as accuracy), or the best by a column of the evaluations, such as macro_f1.
        target: Target of the headline metric, such as an accuracy of 0.8; the time and energy to reach it are
            reported; several by commas.
        held: Consecutive evaluations at which a target must be met to count as reached.
        clock: How edge rounds run: auto, events or arrays; auto means by events up to 100,000 client-rounds,
            on arrays above where all parts can.
        records: Rows of the tables: all (every client), or rounds (a row for each edge round; on arrays
            only); auto means all, up to ten million rows.
        quiet: Print the table and the folder only.
    """

    out: Path | None = None
    data_dir: Path | None = None
    workers: int | None = None
    device: str = "cpu"
    checkpoint_every: int | None = None
    keep: str = "last"
    target: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    held: int = 1
    clock: Literal["auto", "events", "arrays"] = "auto"
    records: Literal["auto", "all", "rounds"] = "auto"
    quiet: bool = False


def main(arguments: list[str]) -> int:
    """Run what the arguments name."""
    imports, modules, arguments = imported(arguments)
    config, arguments = one_value_of(CONFIG, arguments, "runs/a/config.json")
    folder, arguments = one_value_of(RESUME, arguments, "runs/a")
    paper_scale, arguments = switched(PAPER_SCALE, arguments)
    target, arguments = first_word(arguments)
    if config is not None and folder is not None:
        raise ConfigurationError(
            f"{CONFIG} and {RESUME}: one repeats a run, the other resumes one. Use one of them."
        )
    if paper_scale and (config is not None or folder is not None):
        raise ConfigurationError(f"{PAPER_SCALE}: a run has its size already. Leave it out.")
    if target is None and config is None and folder is None:
        return usage("run", SCENARIO, Options(), arguments, __doc__ or "", known_scenarios(), ANYWHERE)
    named = None if target is None else scenario_of(target)
    named_words = ([target] if target else []) + [f"{IMPORT} {name}" for name in imports]
    to_go_on = " ".join(["cosim run", *named_words])
    modules += [] if named is None else [named.module.__name__]
    if folder is not None:
        return _resume(place(folder), named, modules, arguments, to_go_on)
    file = None if config is None else place(config)
    return _run(named, modules, paper_scale, file, arguments, to_go_on)


def _run(
    named: Scenario | None,
    modules: list[str],
    paper_scale: bool,
    file: Path | None,
    arguments: list[str],
    to_go_on: str,
) -> int:
    """A new run, of a scenario or of a config.json."""
    network_of_run = None
    if file is not None:
        written, system, network_of_run = read_config(file, CONFIG, modules)
        scenario = scenario_in(written, named, modules, file)
        name = written or file.resolve().parent.name or "run"
        question = f"The run of {shown(file)}, with any field changed."
    else:
        assert named is not None
        scenario, written, name, question = named, named.name, named.name, named.question
        system = named.system(paper_scale=paper_scale)
    given = system.model
    system, arguments = with_kinds(system, arguments)
    options, system = parse_with_system(Options(), system, f"cosim run {name}", arguments, question, ANYWHERE)
    if file is not None:
        _warn_of_changes(file, system)
    from scenarios.command_line.running import run_and_show

    result = run_and_show(
        written,
        system,
        options,
        title=name if scenario is None else scenario.title(system),
        network_of_run=network_of_run if system.model == given else None,
        to_go_on=to_go_on,
    )
    return _reported(scenario, result)


def _warn_of_changes(file: Path, system: "System") -> None:
    """Warn of files and modules that are not the ones that the run of a config.json had.

    Warns:
        UserWarning: Each of them.
    """
    from cosim.results.provenance import noted

    for words in changed(noted(file.parent).get("sources"), sources_of(system)):
        again = "Restore that file to repeat the run"
        warnings.warn(f"{CONFIG} {shown(file)}: its run had another {words}. {again}.", stacklevel=2)


def _resume(
    folder: Path, named: Scenario | None, modules: list[str], arguments: list[str], to_go_on: str
) -> int:
    """Resume an interrupted run, with the options of its start."""
    file = folder / "config.json"
    if not file.is_file():
        raise ConfigurationError(
            f"{RESUME} {shown(folder)}: is not a run folder (no config.json). Use the folder of an "
            "interrupted run."
        )
    written, system, _ = read_config(file, RESUME, modules)
    scenario = scenario_in(written, named, modules, file)
    _check_keeps_fields(system, arguments, file)
    question = f"Resume the interrupted run in {shown(folder)}, with the options of its start."
    options = parse(Options, f"cosim run {RESUME} {shown(folder)}", arguments, started_with(folder), question)
    if options.out is not None:
        raise ConfigurationError(f"--out: a run resumes in its own folder, {shown(folder)}. Leave it out.")
    from scenarios.command_line.running import run_and_show

    title = (written or folder.resolve().name) if scenario is None else scenario.title(system)
    options = attrs.evolve(options, out=folder)
    return _reported(
        scenario, run_and_show(written, system, options, title=title, resume=True, to_go_on=to_go_on)
    )


def _check_keeps_fields(system: "System", arguments: list[str], file: Path) -> None:
    """Refuse fields of a system for a run that resumes.

    Raises:
        ConfigurationError: Names the command that repeats it with others.
    """
    ends = {
        f"--{end.replace('_', '-')}" for end in ends_of(paths_of(system)) if end not in paths_of(Options())
    }
    for option in (word.partition("=")[0] for word in arguments):
        if option in ends:
            raise ConfigurationError(
                f"{option}: a resumed run keeps its fields. Leave it out; for another run, use "
                f"cosim run {CONFIG} {shown(file)} with any field changed."
            )


def _reported(scenario: Scenario | None, result: "Result") -> int:
    if scenario is not None:
        scenario.print_report(result)
    return 0


def started_with(folder: Path) -> Options:
    """The options with which the run of a folder was started, as far as they are stored."""
    from cosim.results.provenance import noted

    found = noted(folder).get("started_with")
    kinds = {"data_dir": str, "workers": int, "device": str, "checkpoint_every": int, "keep": str}
    known: dict[str, Any] = {
        name: found[name]
        for name, kind in kinds.items()
        if isinstance(found, dict) and type(found.get(name)) is kind
    }
    options = Options(**known)
    return attrs.evolve(options, data_dir=Path(options.data_dir) if options.data_dir else None)


def read_config(
    path: Path, option: str, modules: list[str]
) -> "tuple[str | None, System, dict[str, Any] | None]":
    """Scenario and system of a run's config.json, and its entry on the network, or None.

    Args:
        option: The option that names the file, for the message.
        modules: Modules that the user has named, whose functions it may name.

    Raises:
        ConfigurationError: It is none, or holds no system that can be run.
    """
    from cosim.results.provenance import check_version
    from cosim.system.loading import load_system

    check_version(path.parent)
    try:
        config = read_json(path)
    except ValueError as error:
        raise ConfigurationError(
            f"{option} {shown(path)}: cannot be read as JSON ({error}). Use a run's config.json."
        ) from None
    try:
        system = load_system(config, modules)
    except ConfigurationError as error:
        raise ConfigurationError(f"{option} {shown(path)}: {error}") from None
    return config.get("scenario"), system, config.get("network")
