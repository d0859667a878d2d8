"""Playing: how a run shows itself in a terminal, whoever asks for it."""

import math
import sys
from pathlib import Path
from typing import Any, Literal

import attrs
from rich.table import Table

from analysis.plots import overview
from cosim.results import Result
from cosim.running import check_network, configuration_of, network_of, run
from cosim.servers.cloud import VersionReport
from cosim.system import System
from scenarios.command_line.console import console, next_free_folder, save_picture
from scenarios.command_line.progress import progress_of
from scenarios.command_line.run import Options


def play(
    scenario: str | None,
    system: System,
    options: Options | None = None,
    *,
    title: str | None = None,
    known_network: dict[str, str] | None = None,
    resume: bool = False,
    to_go_on: str = "cosim run",
) -> Result:
    """Run a system with progress, print its table, draw its picture.

    Args:
        scenario: Under which its config.json is found again; None: none.
        title: What folder, progress and table call it; None: as the scenario.
        known_network: What the config.json of the run that is repeated says of its network; None: nothing.
        resume: Go on with the run in `options.out`, which was stopped.
        to_go_on: Command by which the run goes on when it is interrupted, without --resume.
    """
    options, title = options or Options(), title or scenario or "run"
    out = options.out or next_free_folder(Path("runs"), title)
    network = network_of(system)
    check_network(known_network, configuration_of(system, network, scenario)["network"], "--config")
    try:
        result = played(title, scenario, system, attrs.evolve(options, out=out), network, resume=resume)
    except KeyboardInterrupt:
        if (out / "config.json").is_file():
            print(f"To go on: {to_go_on} --resume {out}", file=sys.stderr)
        raise
    picture = out / "overview.png"
    save_picture(overview(result), picture)
    console.print(summary_table(title, result))
    if not result.evaluations.map(math.isfinite).to_numpy().all():
        console.print("The loss is not finite: training has diverged. Usual fix: a smaller learning rate.")
    console.print(f"Run folder: {out}\nPicture:    {picture}")
    return result


def played(
    title: str,
    scenario: str | None,
    system: System,
    options: Options,
    network: Any = None,
    *,
    resume: bool | Literal["as found"] = False,
) -> Result:
    """The result of a system, with progress on the way."""
    with progress_of(title, options.quiet) as show:

        def ended(report: VersionReport) -> None:
            reached = report.evaluation.headline if report.evaluation else "no evaluation"
            words = f"simulated {report.progress.time_s:.4g} s, {reached}"
            show(system.end.counted(report.progress), words)

        return run(
            system,
            network,
            out=options.out,
            scenario=scenario,
            data_dir=options.data_dir,
            num_workers=options.workers,
            device=options.device,
            listener=ended,
            resume=resume,
            checkpoint_every=options.checkpoint_every,
            clock=options.clock,
        )


def summary_table(name: str, result: Result) -> Table:
    """A run in one line."""
    summary = result.summary
    share = summary.num_dropped / summary.num_updates if summary.num_updates else 0.0
    told = {"simulated": f"{summary.time_s:.4g} s"}
    if summary.headline is not None:
        column, measure = summary.headline
        told[measure.words] = measure.shown(summary.scores[column])
    told |= {
        "energy": f"{summary.energy_j:.4g} J",
        "dropped updates": f"{summary.num_dropped} of {summary.num_updates} ({100 * share:.1f} %)",
        "bits per client": f"{summary.bits_per_client / 1e6:.4g} Mbit",
    }
    table = Table(
        title=f"{name}: {summary.num_global_rounds} global rounds, {summary.status}", title_justify="left"
    )
    for heading in told:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row(*told.values())
    return table
