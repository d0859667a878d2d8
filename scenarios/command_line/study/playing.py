"""Playing a study: what its runs are played on, how far they have come, and what they say."""

import shlex
import sys
from collections.abc import Sequence
from functools import partial
from itertools import chain

import pandas as pd
from attrs import evolve

from analysis.studies import METRICS, compared, is_tight, metrics
from cosim import Never
from cosim.configuration import ConfigurationError
from cosim.files import place, shown
from cosim.learning.task import SUGGESTED
from cosim.running import network_of
from cosim.servers.end import Counted
from cosim.studies.designs import Design, value_at
from cosim.studies.study import Study
from cosim.system import System
from scenarios.command_line.console import console, next_free_folder, save_table
from scenarios.command_line.progress import Show, progress_of
from scenarios.command_line.study import Options, grid
from scenarios.command_line.study.executor import pool
from scenarios.command_line.study.table import frame, table


def play(
    scenario: str, base: System, options: Options, *, title: str | None = None, to_go_on: str = "cosim study"
) -> int:
    """Run what is missing, print the table; exit code 1 where runs failed.

    Args:
        title: What folder and progress call it; None: as the scenario.
        to_go_on: Command by which the study goes on when interrupted, without a folder that is chosen here.
    """
    title = title or scenario
    base = evolve(base, evaluation=Never()) if options.timing_only else base
    study = Study(base, grid(options.over), options.seeds, options.target)
    found = study.designs
    if all(design.system is None for design in found):
        raise ConfigurationError(str(found[0].error))
    for design in found:
        if design.system is not None:
            network_of(design.system)
    precision = dict(share(option, found) for option in options.precision)
    out = place(options.out) if options.out else next_free_folder("studies", title)
    most = options.max_seeds or (10 * options.seeds if precision else options.seeds)
    try:
        with (
            pool(options.executor, options.workers) as (executor, num_at_once),
            progress_of(title) as show,
        ):
            runs = study.run(
                out,
                scenario=scenario,
                data_dir=None if options.data_dir is None else place(options.data_dir),
                executor=executor,
                num_workers=options.workers,
                enough=partial(is_tight, precision=precision),
                most_seeds=most,
                listener=partial(told, show, num_at_once),
            )
    except KeyboardInterrupt:
        if (out / "study.json").is_file():
            chosen = "" if options.out else f" --out {shlex.quote(shown(out))}"
            print(f"To go on: {to_go_on}{chosen}", file=sys.stderr)
        raise
    reference = next((n for n, design in enumerate(found) if is_base(base, design)), 0)
    comparisons = compared(runs, reference)
    save_table(frame(comparisons), out / "table.csv")
    console.print(table(comparisons, metrics(runs), found[reference].name))
    failed = runs[runs["status"] != "complete"]
    for row in failed.drop_duplicates("design").itertuples():
        console.print(f"Failed: {row.name}, seed {row.seed}: {row.error}", soft_wrap=True)
    console.print(f"Study folder: {shown(out)} ({len(runs)} runs, {len(failed)} failed)", soft_wrap=True)
    return int(bool(len(failed)))


def told(show: Show, num_at_once: int, runs: pd.DataFrame, num_wanted: int) -> None:
    """Show how many runs have ended, run and have failed."""
    num_left, num_failed = (int((runs["status"] == status).sum()) for status in ("waiting", "failed"))
    played = Counted(len(runs) - num_left, num_wanted, "runs")
    show(played, f"{min(num_left, num_at_once)} running, {num_failed} failed")


def is_base(base: System, design: Design) -> bool:
    """Whether a design changes nothing."""
    try:
        return all(value_at(base, field) == value for field, value in design.values.items())
    except ConfigurationError:  # a field that only another kind of a part has
        return False


def share(option: str, asked: Sequence[Design]) -> tuple[str, float]:
    """Metric and share of a precision.

    Args:
        asked: The designs, whose tasks report metrics too.

    Raises:
        ConfigurationError: It is none.
    """
    metric, _, text = option.partition("=")
    try:
        part = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        part = 0.0
    tasks = (design.system.task for design in asked if design.system is not None)
    measured = (own.measures() for task in tasks for own in ((task,) if task else SUGGESTED))
    known = dict.fromkeys([*METRICS, *chain.from_iterable(measured)])
    if metric not in known or not 0.0 < part < 1.0:
        raise ConfigurationError(
            f"--precision {option}: must be METRIC=SHARE, one of {', '.join(known)}. "
            "Usual fix: --precision time_s=2%."
        )
    return metric, part
