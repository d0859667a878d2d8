"""Console: how a run shows itself in a terminal, and the one way in which scenarios are run.

Usage::

    if __name__ == "__main__":
        play("hist", System())
"""

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pandas as pd
import rich.console
from matplotlib.figure import Figure
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import models
from analysis.plots import overview
from cosim import ConfigurationError, Result, System, run
from cosim.files import replace
from cosim.nodes import RoundReport
from cosim.run import check_network, configuration_of

console = rich.console.Console(highlight=False)
if not console.is_terminal and "COLUMNS" not in os.environ:
    console.width = 120  # a file or pipe has no width of its own


@attrs.frozen(kw_only=True)
class Options:
    """How a run is carried out; none of these changes its results.

    Attributes:
        out: Run folder to make; none: the next free one under runs/.
        data_dir: Folder with the data set's files; none: $COSIM_DATA, the cache folder, Debian's folder.
        workers: Threads that learn; none: one per core.
        device: Where the learning is computed: cpu or cuda.
        checkpoint_every: Keep the model of an evaluation when so many global rounds have ended since the last
            one that was kept, so that a killed run loses no more, besides every 15 seconds; None: only then.
        quiet: Print the table and the folder only.
    """

    out: Path | None = None
    data_dir: Path | None = None
    workers: int | None = None
    device: str = "cpu"
    checkpoint_every: int | None = None
    quiet: bool = False


def play(
    scenario: str | None,
    system: System,
    options: Options | None = None,
    *,
    title: str | None = None,
    known_network: dict[str, str] | None = None,
    resume: Path | None = None,
) -> Result:
    """Run a system with progress, print its table, draw its picture.

    Args:
        scenario: Under which its config.json is found again; None: none.
        title: What folder, progress and table call it; None: as the scenario.
        known_network: What the config.json of the run that is repeated says of its network; None: nothing.
        resume: Folder of this very run, which was stopped and is to go on; None: a new run.
    """
    options, title = options or Options(), title or scenario or "run"
    out = resume or options.out or next_free_folder(Path("runs"), title)
    learning = network_of(system)
    check_network(known_network, configuration_of(system, learning, scenario)["network"], "--config")
    try:
        with progress_of(title, system.protocol.num_global_rounds, options.quiet) as listener:
            result = run(
                system,
                learning,
                out=out,
                scenario=scenario,
                data_dir=options.data_dir,
                num_workers=options.workers,
                device=options.device,
                listener=listener,
                resume=resume is not None,
                checkpoint_every=options.checkpoint_every,
            )
    except KeyboardInterrupt:
        if (out / "config.json").is_file():
            print(f"To go on: cosim run --resume {out}", file=sys.stderr)
        raise
    picture = out / "overview.png"
    save_picture(overview(result), picture)
    console.print(summary_table(title, result))
    if not result.evaluations.map(math.isfinite).to_numpy().all():
        console.print("The loss is not finite: training has diverged. Usual fix: a smaller learning rate.")
    console.print(f"Run folder: {out}\nPicture:    {picture}")
    return result


def network(name: str, *, values: bool = True) -> models.nn.Module:
    """The network of a name.

    Args:
        values: Whether it has any; where only times are asked for it needs none.

    Raises:
        ConfigurationError: There is none.
    """
    try:
        return models.build(name, values=values)
    except ValueError as error:
        raise ConfigurationError(f"System.model: {error}") from None
    except (RuntimeError, TypeError, MemoryError):
        raise ConfigurationError(
            f"System.model = {name!r}: too large for this machine's memory. Usual fix: smaller layers."
        ) from None


def network_of(system: System) -> models.nn.Module:
    """The network of a system by its name, without values where nothing is learned.

    Raises:
        ConfigurationError: There is none, or it is to bring weights, which a name cannot.
    """
    if system.initial_weights == "network":
        raise ConfigurationError(
            "System.initial_weights = 'network': a network by name brings no weights of its own. Usual fix: "
            "drawn, or cosim.run(system, network) with a network of yours."
        )
    return network(system.model, values=system.evaluate_every is not None)


def next_free_folder(parent: Path, name: str) -> Path:
    """`name-1`, or the first number that is not taken."""
    number = 1
    while (parent / f"{name}-{number}").exists():
        number += 1
    return parent / f"{name}-{number}"


def made(folder: Path) -> Path:
    """The folder, which is made where it is missing.

    Raises:
        ConfigurationError: It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"out = {folder}: cannot be written ({error.strerror}). Usual fix: --out with a folder of yours."
        ) from None
    return folder


def save_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, whole or not at all."""
    replace(path, lambda partial: frame.to_csv(partial, index=False))


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, whole or not at all."""
    replace(path, lambda partial: figure.savefig(partial, dpi=200, format="png"))


def summary_table(name: str, result: Result) -> Table:
    """A run in one line."""
    summary = result.summary
    share = summary.num_dropped / summary.num_updates if summary.num_updates else 0.0
    learned = "-" if summary.accuracy is None else f"{100 * summary.accuracy:.1f} %"
    if summary.test_mse is not None:
        learned = f"{summary.test_mse:.4g}"
    table = Table(
        title=f"{name}: {summary.num_global_rounds} global rounds, {summary.status}", title_justify="left"
    )
    measure = "accuracy" if summary.test_mse is None else "test MSE"
    for heading in ("simulated", measure, "energy", "dropped updates", "bits per client"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row(
        f"{summary.time_s:.4g} s",
        learned,
        f"{summary.energy_j:.4g} J",
        f"{summary.num_dropped} of {summary.num_updates} ({100 * share:.1f} %)",
        f"{summary.bits_per_client / 1e6:.4g} Mbit",
    )
    return table


@contextmanager
def progress_of(name: str, num_rounds: int, quiet: bool = False) -> Iterator[Callable[[RoundReport], None]]:
    """A listener that shows rounds, simulated time and accuracy: a bar, or ten lines where nobody watches."""
    if quiet:
        yield lambda report: None
    elif console.is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TextColumn("rounds  {task.fields[simulated]}  {task.fields[accuracy]}"),
            TimeRemainingColumn(compact=True),
        )
        with Progress(*columns, console=console) as progress:
            task = progress.add_task(name, total=num_rounds, simulated="", accuracy="")

            def advance(report: RoundReport) -> None:
                simulated, accuracy = _words(report)
                progress.update(task, completed=report.global_round, simulated=simulated, accuracy=accuracy)

            yield advance
    else:
        started = time.monotonic()

        def line(report: RoundReport) -> None:
            if report.global_round * 10 // num_rounds > (report.global_round - 1) * 10 // num_rounds:
                done = f"{name}: {report.global_round} of {num_rounds} rounds"
                print(
                    f"{done}, {', '.join(_words(report))}, {time.monotonic() - started:.0f} s",
                    file=sys.stderr,
                )

        yield line


def _words(report: RoundReport) -> tuple[str, str]:
    simulated = f"simulated {report.time_s:.4g} s"
    return (
        simulated,
        report.evaluation.headline if report.evaluation else "no evaluation",
    )
