"""Command line: `cosim`.

Every field of a scenario's configuration is an option, because the options are made from its classes.
"""

import json
import os
import signal
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import attrs
import docstring_parser
import tyro
from rich.table import Table

from cosim import ConfigurationError, Result, System
from cosim.configuration import is_configuration
from cosim.results import check_version
from cosim.run import load_system
from cosim.units import unit_of
from scenarios import looking, studies
from scenarios.catalogue import REPRODUCTIONS, SCENARIOS, VALIDATIONS, find
from scenarios.console import Options, console, play
from scenarios.kinds import imported, other_kinds, with_kinds

PAPER_SCALE = "--paper-scale"

USAGE = """\
cosim: a discrete-event network-and-learning co-simulator for wireless federated learning

  cosim list                            what there is
  cosim show hist                       a scenario's whole configuration, with units and sources
  cosim run quickstart                  run a scenario; --help names every field
  cosim run hist --num-cells 2 --uplink.sharing.bandwidth-hz 5e6 --seed 7 --out runs/a
  cosim run rawhfl --paper-scale        in the paper's size, where a scenario is usually played smaller
  cosim run rawhfl --protocol.policy.kind CommonSteps    another kind of a part, in its defaults
  cosim run --config runs/a/config.json      repeat a run exactly
  cosim run --config runs/b/config.json --import rules    where a part of yours is in rules.py
  cosim run --resume runs/a             go on with a run that was stopped
  cosim study hist --over num_cells=2,4,6 --seeds 10    what if? with intervals and differences
  cosim report runs/a runs/b            runs or a study on one page, as HTML
  cosim trace runs/a                    a run as a timeline for Perfetto
  cosim reproduce hist-fig4 --quick     a paper's figure, as CSV and PNG
  cosim validate success-rate           simulation against theory; exit code 1 where they disagree
  cosim data fashion-mnist              download a data set

Exit codes: 0 done, 1 a check failed, 2 bad input, 130 interrupted.
"""


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the command `cosim`."""
    arguments = sys.argv[1:] if arguments is None else arguments
    command, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: print(f"Warning: {message}", file=sys.stderr)
        sys.exit(_exit_code(command, rest))


def _exit_code(command: str, rest: list[str]) -> int:
    try:
        if command in ("-h", "--help"):
            print(USAGE, end="")
            code = 0
        elif command in _COMMANDS:
            code = _COMMANDS[command](imported(rest))
        else:
            raise ConfigurationError(
                f"no command {command!r}. Known: {', '.join(_COMMANDS)}; see cosim --help."
            )
    except ConfigurationError as error:
        print(f"Error: {error}", file=sys.stderr)
        code = 2
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        print("Interrupted. A run folder keeps what was finished.", file=sys.stderr)
        code = 130
    return code


def _run(arguments: list[str]) -> int:
    known_network = None
    if arguments and not arguments[0].startswith("-"):
        scenario = name = arguments[0]
        arguments = arguments[1:]
        module = find("scenario", SCENARIOS, name)
        system, question = _form(name, module, PAPER_SCALE in arguments), module.__doc__
        arguments = [argument for argument in arguments if argument != PAPER_SCALE]
    elif "--config" in arguments[:1] and len(arguments) > 1:
        path, arguments = Path(arguments[1]), arguments[2:]
        scenario, system, known_network = read_config(path)
        name = scenario or path.resolve().parent.name or "run"
        question = f"The run of {path}, with any field changed."
    elif "--resume" in arguments[:1] and len(arguments) > 1:
        return _resume(Path(arguments[1]), arguments[2:])
    else:
        print(
            "usage: cosim run SCENARIO [options]\n       cosim run --config FILE [options]\n"
            "       cosim run --resume FOLDER [options]\n\n" + _names(SCENARIOS)
        )
        return 0 if arguments in ([], ["-h"], ["--help"]) else 2

    @attrs.frozen(kw_only=True)
    class Invocation:
        options: Annotated[Options, tyro.conf.arg(name="")]
        system: Annotated[System, tyro.conf.arg(name="")]

    given, (system, arguments) = system, with_kinds(system, arguments)
    invocation = _parse(
        Invocation, f"cosim run {name}", arguments, Invocation(options=Options(), system=system), question
    )
    if invocation.system.model != given.model:
        known_network = None
    return _played(
        name,
        play(
            scenario,
            invocation.system,
            invocation.options,
            title=_title(name, invocation.system),
            known_network=known_network,
        ),
    )


def _study(arguments: list[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        print(f"usage: cosim study SCENARIO --over FIELD=VALUES [options]\n\n{_names(SCENARIOS)}")
        return 0 if arguments in ([], ["-h"], ["--help"]) else 2
    name, arguments = arguments[0], arguments[1:]
    system = _form(name, find("scenario", SCENARIOS, name), PAPER_SCALE in arguments)
    system, arguments = with_kinds(system, [word for word in arguments if word != PAPER_SCALE])

    @attrs.frozen(kw_only=True)
    class Invocation:
        options: Annotated[studies.Options, tyro.conf.arg(name="")]
        system: Annotated[System, tyro.conf.arg(name="")]

    asked = Invocation(options=studies.Options(), system=system)
    invocation = _parse(Invocation, f"cosim study {name}", arguments, asked, studies.__doc__)
    title = _title(name, invocation.system)
    return studies.play(name, invocation.system, invocation.options, title=title)


def _report(arguments: list[str]) -> int:
    paths, rest = _folders(arguments)
    if not paths:
        print(f"usage: cosim report FOLDER... [options]\n\n{looking.__doc__}")
        return 0 if arguments in ([], ["-h"], ["--help"]) else 2
    asked = looking.ReportOptions()
    return looking.report(
        paths, _parse(looking.ReportOptions, "cosim report FOLDER...", rest, asked, looking.__doc__)
    )


def _trace(arguments: list[str]) -> int:
    paths, rest = _folders(arguments)
    if len(paths) != 1:
        print(f"usage: cosim trace FOLDER [options]\n\n{looking.__doc__}")
        return 0 if arguments in ([], ["-h"], ["--help"]) else 2
    asked = looking.TraceOptions()
    return looking.trace(
        paths[0], _parse(looking.TraceOptions, "cosim trace FOLDER", rest, asked, looking.__doc__)
    )


def _folders(arguments: list[str]) -> tuple[list[Path], list[str]]:
    """The folders that come first, and the options."""
    number = next((n for n, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    return [Path(word) for word in arguments[:number]], arguments[number:]


def _resume(folder: Path, arguments: list[str]) -> int:
    if not (folder / "config.json").is_file():
        raise ConfigurationError(
            f"--resume {folder}: no run is there (no config.json). Usual fix: the folder of a run that was "
            "stopped."
        )
    scenario, system, _ = read_config(folder / "config.json")
    name = scenario or folder.resolve().name
    question = f"Go on with the run in {folder}, which was stopped."
    options = _parse(Options, f"cosim run --resume {folder}", arguments, Options(), question)
    if options.out is not None:
        raise ConfigurationError(
            f"--out: a run goes on in its own folder, {folder}. Usual fix: leave it out."
        )
    return _played(name, play(scenario, system, options, title=_title(name, system), resume=folder))


def _played(name: str, result: Result) -> int:
    """What a scenario says of its own results."""
    if name in SCENARIOS and hasattr(module := find("scenario", SCENARIOS, name), "report"):
        console.print(module.report(result))
    return 0


def _form(name: str, module: ModuleType, paper_scale: bool) -> System:
    """A scenario's system, in the size that it usually has or in the paper's."""
    if not paper_scale:
        return module.system()
    if not hasattr(module, "paper_scale"):
        raise ConfigurationError(f"{PAPER_SCALE}: {name} has one size only. Usual fix: leave it out.")
    return module.paper_scale()


def _title(name: str, system: System) -> str:
    """A scenario's name, with the kinds of parts that are others than the scenario's own."""
    if name not in SCENARIOS:
        return name
    return "-".join((name, *other_kinds(find("scenario", SCENARIOS, name).system(), system)))


def read_config(path: Path) -> tuple[str | None, System, dict[str, str] | None]:
    """Scenario and system of a run's config.json, and what it says of the network; None: nothing.

    Raises:
        ConfigurationError: It is none, or holds no system that can be run.
    """
    check_version(path.parent)
    try:
        config = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"--config {path}: cannot be read as JSON ({error}). Usual fix: a run's config.json."
        ) from None
    try:
        system = load_system(config)
    except ConfigurationError as error:
        raise ConfigurationError(f"--config {path}: {error}") from None
    return config.get("scenario"), system, config.get("network")


def _show(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(f"usage: cosim show SCENARIO\n\n{_names(SCENARIOS)}")
        return 0 if arguments in ([], ["-h"], ["--help"]) else 2
    system = find("scenario", SCENARIOS, arguments[0]).system()
    table = Table(title=f"{arguments[0]}: the whole configuration", title_justify="left")
    table.add_column("field", no_wrap=True)
    for heading in ("value", "unit", "source"):
        table.add_column(heading, overflow="fold")
    for row in _rows(system, System(), ""):
        table.add_row(*row)
    console.print(table)
    console.print(system.compute.rule)
    console.print(f"What each field is: cosim run {arguments[0]} --help")
    return 0


def _rows(config: Any, default: Any, prefix: str) -> list[tuple[str, ...]]:
    """Field, value, unit and source of every field, nested ones last."""
    texts = {
        param.arg_name: param.description or ""
        for cls in reversed(type(config).__mro__)
        for param in docstring_parser.parse(cls.__doc__ or "").params
    }
    own, nested = [], []
    for attribute in attrs.fields(type(config)):
        value, usual = getattr(config, attribute.name), getattr(default, attribute.name, attribute.default)
        if is_configuration(type(value)):
            nested += _rows(
                value, usual if type(usual) is type(value) else None, f"{prefix}{attribute.name}."
            )
            continue
        source = " ".join(texts[attribute.name].split()).partition(" [")[2]
        if value != usual:
            source = "chosen in this scenario]"
        own.append(
            (prefix + attribute.name, _shown(value), unit_of(attribute.name), source.removesuffix("]"))
        )
    return own + nested


def _shown(value: Any) -> str:
    if value is None:
        return "none (off)"
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _list(arguments: list[str]) -> int:
    table = Table(show_edge=False)
    for heading in ("command", "question"):
        table.add_column(heading)
    for command, catalogue in (("run", SCENARIOS), ("reproduce", REPRODUCTIONS), ("validate", VALIDATIONS)):
        for name in catalogue:
            question = (find(command, catalogue, name).__doc__ or "").partition("\n")[0]
            table.add_row(f"cosim {command} {name}", question)
    console.print(table)
    return 0


def _reproduce(arguments: list[str]) -> int:
    return _play_study("reproduce", REPRODUCTIONS, arguments)


def _validate(arguments: list[str]) -> int:
    return _play_study("validate", VALIDATIONS, arguments)


def _play_study(command: str, catalogue: dict[str, str], arguments: list[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        print(f"usage: cosim {command} NAME [options]\n\n{_names(catalogue)}")
        return 0 if arguments in ([], ["-h"], ["--help"]) else 2
    kind = {"reproduce": "reproduction", "validate": "validation"}[command]
    module = find(kind, catalogue, arguments[0])
    program = f"cosim {command} {arguments[0]}"
    return module.main(_parse(module.Options, program, arguments[1:], module.Options(), module.__doc__))


def _data(arguments: list[str]) -> int:
    from cosim.learning.fashion_mnist import cache_folder, download

    @attrs.frozen(kw_only=True)
    class Fetch:
        """Download the four files of Fashion-MNIST, with checksums.

        Attributes:
            data_dir: Folder to put them into; none: the user's cache folder, where runs look for them.
        """

        data_dir: Path | None = None

    if arguments[:1] != ["fashion-mnist"]:
        print("usage: cosim data fashion-mnist [--data-dir FOLDER]")
        return 0 if arguments in ([], ["-h"], ["--help"]) else 2
    options = _parse(Fetch, "cosim data fashion-mnist", arguments[1:], Fetch())
    folder = options.data_dir or cache_folder()
    download(folder)
    console.print(f"Fashion-MNIST lies in {folder}")
    return 0


def _parse(
    kind: Any, program: str, arguments: list[str], default: Any, description: str | None = None
) -> Any:
    config = (tyro.conf.AvoidSubcommands,)
    return tyro.cli(
        kind, prog=program, args=arguments, default=default, description=description, config=config
    )


def _names(catalogue: dict[str, str]) -> str:
    return "Known: " + ", ".join(catalogue)


_COMMANDS = {
    "run": _run,
    "study": _study,
    "report": _report,
    "trace": _trace,
    "list": _list,
    "show": _show,
    "reproduce": _reproduce,
    "validate": _validate,
    "data": _data,
}
