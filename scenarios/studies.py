"""`cosim study`: many designs of a scenario with the same seeds, and what each one changes.

cosim study hist --over uplink.sharing.bandwidth_hz=5e6,10e6 --over num_cells=2,4 --seeds 10 --out studies/bw
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import attrs
import pandas as pd
import tyro
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from analysis.statistics import Interval
from analysis.studies import METRICS, Comparison, compared, is_tight
from cosim import ConfigurationError, System, evolve
from cosim.designs import Design, value_at
from cosim.learning.workers import num_cores
from cosim.study import Study
from scenarios.console import console, network, network_of, next_free_folder, save_table


@attrs.frozen(kw_only=True)
class Options:
    """How a study is carried out.

    Attributes:
        over: A field and its values, such as num_cells=2,4; again for another field: every combination is a
            design. A list of lists in JSON where a value is itself a list.
        seeds: Seeds of each design, from --seed on.
        out: Study folder, new or of this very study; none: the next free one under studies/.
        timing_only: Run the clock without learning.
        target: Accuracy for time and energy to a target; none: none.
        precision: A metric and the half width of its interval that is enough, such as time_s=2%; designs get
            more seeds until it is reached.
        max_seeds: Seeds that a design gets at most, where --precision asks for more; none: 10 times --seeds.
        executor: processes of this machine, or dask (a cluster of this machine), or dask=tcp://HOST:PORT.
        workers: Runs at a time; none: one per core.
        data_dir: Folder with the data set's files; none: the usual places.
    """

    over: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    seeds: int = 5
    out: Path | None = None
    timing_only: bool = False
    target: float | None = None
    precision: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    max_seeds: int | None = None
    executor: str = "processes"
    workers: int | None = None
    data_dir: Path | None = None


def play(scenario: str, base: System, options: Options, *, title: str | None = None) -> int:
    """Run what is missing, print the table; exit code 1 where runs failed.

    Args:
        title: What folder and progress call it; None: as the scenario.
    """
    title = title or scenario
    base = evolve(base, evaluate_every=None) if options.timing_only else base
    study = Study(base, grid(options.over), options.seeds, options.target)
    found = study.designs
    if all(design.system is None for design in found):
        raise ConfigurationError(str(found[0].error))
    for design in found:
        if design.system is not None:
            network_of(design.system)
    precision = dict(map(share, options.precision))
    out = options.out or next_free_folder(Path("studies"), title)
    most = options.max_seeds or (10 * options.seeds if precision else options.seeds)
    with (
        pool(options.executor, options.workers) as (executor, num_at_once),
        progress(title, num_at_once) as listener,
    ):
        runs = study.run(
            out,
            partial(network, values=base.evaluate_every is not None or "evaluate_every" in study.grid),
            scenario=scenario,
            data_dir=None if options.data_dir is None else options.data_dir.resolve(),
            executor=executor,
            num_workers=options.workers,
            enough=partial(is_tight, precision=precision),
            most_seeds=most,
            listener=listener,
        )
    reference = next((n for n, design in enumerate(found) if is_base(base, design)), 0)
    comparisons = compared(runs, reference)
    save_table(frame(comparisons), out / "table.csv")
    console.print(table(comparisons, found[reference].name))
    failed = runs[runs["status"] != "complete"]
    for row in failed.drop_duplicates("design").itertuples():
        console.print(f"Failed: {row.name}, seed {row.seed}: {row.error}", soft_wrap=True)
    console.print(f"Study folder: {out} ({len(runs)} runs, {len(failed)} failed)")
    return int(bool(len(failed)))


def grid(over: Sequence[str]) -> dict[str, list[Any]]:
    """Fields and values of the options.

    Raises:
        ConfigurationError: One without a field or values, or a field given twice.
    """
    found: dict[str, list[Any]] = {}
    for option in over:
        field, equals, text = option.partition("=")
        field = field.strip().replace("-", "_")
        if not (field and equals and text.strip()):
            raise ConfigurationError(
                f"--over {option}: must be FIELD=VALUE,VALUE. Usual fix: --over num_cells=2,4."
            )
        if field in found:
            raise ConfigurationError(
                f"--over {option}: {field} is given twice. Usual fix: all values at once."
            )
        found[field] = json_list(text) or [value(part) for part in text.split(",")]
    return found


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


def is_base(base: System, design: Design) -> bool:
    """Whether a design changes nothing."""
    try:
        return all(value_at(base, field) == value for field, value in design.values.items())
    except ConfigurationError:  # a field that only another kind of a part has
        return False


def share(option: str) -> tuple[str, float]:
    """Metric and share of a precision.

    Raises:
        ConfigurationError: It is none.
    """
    metric, _, text = option.partition("=")
    try:
        found = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        found = 0.0
    if metric not in METRICS or not 0.0 < found < 1.0:
        raise ConfigurationError(
            f"--precision {option}: must be METRIC=SHARE, one of {', '.join(METRICS)}. "
            "Usual fix: --precision time_s=2%."
        )
    return metric, found


@contextmanager
def pool(executor: str, workers: int | None) -> Iterator[tuple[Executor | None, int]]:
    """What runs go to (None: processes of this machine), and how many it plays at a time.

    Raises:
        ConfigurationError: There is no such executor, or it cannot be reached.
    """
    kind, _, address = executor.partition("=")
    if kind == "processes" and not address:
        yield None, workers or num_cores()
        return
    if kind != "dask":
        raise ConfigurationError(
            f"--executor {executor}: must be processes, dask or dask=ADDRESS. Usual fix: leave it out."
        )
    try:
        from distributed import Client  # type: ignore[import-not-found]
    except ModuleNotFoundError:
        raise ConfigurationError(
            "--executor dask: needs dask.distributed. Usual fix: pip install 'cosim[cluster]'."
        ) from None
    try:
        client = Client(address, timeout=10) if address else Client(n_workers=workers, threads_per_worker=1)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"--executor {executor}: no scheduler answers there ({error}). Usual fix: start one and give its "
            "address."
        ) from None
    with client:
        yield client.get_executor(pure=False), sum(client.nthreads().values())  # type: ignore[union-attr]


@contextmanager
def progress(scenario: str, num_at_once: int) -> Iterator[Callable[[pd.DataFrame, int], None]]:
    """A listener that shows runs: a bar, or a line for each run where nobody watches."""
    started = time.monotonic()

    def counts(runs: pd.DataFrame) -> tuple[int, str]:
        """Runs that have ended, and words on the others and on those that failed."""
        num_left, num_failed = ((runs["status"] == status).sum() for status in ("waiting", "failed"))
        return len(runs) - int(num_left), f"{min(num_left, num_at_once)} running, {num_failed} failed"

    if console.is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TextColumn("runs, {task.fields[others]}"),
            TimeRemainingColumn(compact=True),
        )
        with Progress(*columns, console=console) as bar:
            task = bar.add_task(scenario, total=None, others="")

            def advance(runs: pd.DataFrame, num_wanted: int) -> None:
                done, others = counts(runs)
                bar.update(task, total=num_wanted, completed=done, others=others)

            yield advance
    else:

        def line(runs: pd.DataFrame, num_wanted: int) -> None:
            done, others = counts(runs)
            wall_s = time.monotonic() - started
            print(f"{scenario}: {done} of {num_wanted} runs, {others}, {wall_s:.0f} s")

        yield line


def words(interval: Interval) -> str:
    """Mean and ends."""
    if interval.low == interval.high:
        return f"{interval.estimate:.4g}"
    return f"{interval.estimate:.4g} [{interval.low:.4g}, {interval.high:.4g}]"


def table(comparisons: Sequence[Comparison], reference: str) -> Table:
    """Every metric of every design, and the difference to the reference on the same seeds."""
    shown = Table(title="Mean over seeds and 95 % interval", title_justify="left")
    for heading in ("", "design", "mean", f"difference to {reference}, seed by seed"):
        shown.add_column(heading, overflow="fold")
    for metric in METRICS:
        own = [row for row in comparisons if row.metric == metric]
        for row in own:
            difference = words(row.difference) if row.difference else "-"
            cells = (METRICS[metric] if row is own[0] else "", row.name, words(row.value), difference)
            shown.add_row(*cells, end_section=row is own[-1])
    return shown


def frame(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """The same as a table with numbers."""
    rows = []
    for row in comparisons:
        values = {"mean": row.value.estimate, "low": row.value.low, "high": row.value.high}
        if row.difference is not None:
            found = row.difference
            values |= {"difference": found.estimate, "difference_low": found.low}
            values |= {"difference_high": found.high}
        own = {"design": row.design, "name": row.name, "metric": row.metric, "num_runs": row.num_runs}
        rows.append(own | values)
    return pd.DataFrame(rows)
