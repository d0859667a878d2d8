"""Running a study: the executor of its runs, how far they have come, and what they say."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from attrs import evolve

from analysis.metrics import MEASURES, TO_TARGET, metrics
from analysis.studies import is_tight, reference_of
from analysis.tables.contents import frame
from analysis.together import together
from cosim import AfterSeconds, Never, WaitForAll
from cosim.configuration import ConfigurationError, asks_in
from cosim.configuration.going_together import GLOBAL_ROUNDS
from cosim.configuration.kinds import kind_of
from cosim.display.progress import say
from cosim.display.words import in_words
from cosim.files.on_disk import place, shown, typed
from cosim.networks.of_run import network_of
from cosim.studies.designs import Design, check_typed
from cosim.studies.study import Study
from cosim.studies.table import target_label
from cosim.studies.targets import task_of
from cosim.system import System
from cosim.system.changes import value_at
from cosim.system.heavy_tails import remark_on_times
from cosim.system.paths import paths_of
from scenarios.command_line.console import console, next_free_folder, save_table
from scenarios.command_line.executor import pool
from scenarios.command_line.study import Options, grid, systems
from scenarios.command_line.table import in_words as table_in_words
from scenarios.command_line.targets import targets


def run_and_show(
    scenario: str, base: System, options: Options, *, title: str | None = None, to_go_on: str = "cosim study"
) -> int:
    """Run what is missing, print the table; exit code 1 where runs failed.

    Args:
        title: Name of it in folder and progress. None means the scenario's name.
        to_go_on: Command that resumes the study when interrupted, without a folder that is chosen here.
    """
    title = title or scenario
    study = asked(base, options)
    found = study.designs
    if all(design.system is None for design in found):
        raise ConfigurationError(str(found[0].error))
    check_end(base, options, found)
    check_typed(study.systems, found)
    for design in found:
        if design.system is not None:
            network_of(design.system)
    data_dir = None if options.data_dir is None else place(options.data_dir)
    labels = [target_label(target, study.held) for target in study.targets]
    precision = dict(share(option, found, data_dir, labels) for option in options.precision)
    out = place(options.out) if options.out else next_free_folder("studies", title)
    most = options.max_seeds or (10 * options.seeds if precision else options.seeds)
    try:
        with pool(options.executor, options.workers) as (executor, num_at_once):
            study.run(
                out,
                scenario=scenario,
                data_dir=data_dir,
                executor=executor,
                num_workers=num_at_once,
                enough=partial(is_tight, precision=precision),
                most_seeds=most,
                progress=title,
                records=options.records,
                keep=options.keep,
            )
    except KeyboardInterrupt:
        if (out / "study.json").is_file():
            chosen = "" if options.out else f" --out {typed(out)}"
            say(f"To resume: {to_go_on}{chosen}")
        raise
    runs = together([out])
    reference = reference_of(runs)
    save_table(frame(runs, metrics(runs), reference), out / "table.csv")
    table_in_words(runs, (), reference)
    for name, own in runs[runs["status"] == "complete"].groupby("name", sort=False):
        if (own["num_updates"] > 0).all() and (own["num_dropped"] == own["num_updates"]).all():
            console.print(f"{name}: every update was dropped. Use a longer wait.", soft_wrap=True)
        if num_diverged := own["is_diverged"].sum():
            words = f"training has diverged in {num_diverged} of {in_words('num_runs', len(own))}"
            console.print(f"{name}: {words}. Use a smaller learning rate.", soft_wrap=True)
    for design in found:
        if design.system is not None and (remark := remark_on_times(design.system)):
            console.print(f"{design.name}: {remark}", soft_wrap=True)
    failed = runs[runs["status"] != "complete"]
    for row in failed.drop_duplicates("design").itertuples():
        console.print(f"Failed: {row.name}, seed {row.seed}: {row.error}", soft_wrap=True)
    num_runs = in_words("num_runs", len(runs))
    console.print(f"Study folder: {shown(out)} ({num_runs}, {len(failed)} failed)", soft_wrap=True)
    return int(bool(len(failed)))


def asked(base: System, options: Options) -> Study:
    """The study that the options describe.

    Raises:
        ConfigurationError: They do not describe one.
    """
    base = evolve(base, evaluation=Never()) if options.timing_only else base
    wanted = targets(options.target, options.held)
    return Study(systems(base, options.design), grid(options.over), options.seeds, wanted, options.held)


def check_end(base: System, options: Options, found: Sequence[Design]) -> None:
    """Refuse protocols without global rounds beside others, under an end that counts them.

    Raises:
        ConfigurationError: Which designs these are, and the words that mend it.
    """
    if not asks_in(base.end, GLOBAL_ROUNDS) or all(design.system is not None for design in found):
        return
    try:
        timed = asked(evolve(base, end=AfterSeconds()), options).designs
    except ConfigurationError:  # the study varies the end itself
        return
    names = [own.name for own, other in zip(found, timed, strict=True) if own.system is None and other.system]
    if not names:
        return
    words = "--end.kind AfterSeconds --end.duration-s 3"
    if base.evaluation.learns and not options.timing_only:
        words += " --evaluation.kind EverySeconds --evaluation.interval-s 0.1"
    for path in paths_of(base):
        if path.endswith("waiting.kind") and value_at(base, path) != kind_of(WaitForAll):
            words += f" --{path.replace('_', '-')} WaitForAll"
    raise ConfigurationError(
        f"{', '.join(names)}: they have no global rounds, which {type(base.end).__name__} counts. "
        f"Use an end that all designs share, such as {words}."
    )


def share(
    option: str, asked: Sequence[Design], data_dir: Path | None, labels: Sequence[str] = ()
) -> tuple[str, float]:
    """Metric and share of a precision.

    Args:
        asked: The designs, whose tasks report metrics too, where they learn.
        data_dir: Folder of the data set's files. None means the usual places.
        labels: Targets of the study, as columns call them.

    Raises:
        ConfigurationError: It is none, or of a metric that no design has.
    """
    metric, _, text = option.partition("=")
    try:
        part = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        part = 0.0
    known = dict.fromkeys([*MEASURES, *(cost.column.format(label) for label in labels for cost in TO_TARGET)])
    if metric not in known:
        seen: list[object] = []
        for system in (own.system for own in asked if own.system is not None):
            key = (system.task, system.data)
            if system.evaluation.learns and key not in seen:
                seen.append(key)
                known |= dict.fromkeys(task_of(system, data_dir).measures())
    if metric not in known or not 0.0 < part < 1.0:
        raise ConfigurationError(
            f"--precision {option}: must be METRIC=SHARE, one of {', '.join(known)}. "
            "Use --precision time_s=2%."
        )
    return metric, part
