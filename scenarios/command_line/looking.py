"""`cosim report` and `cosim trace`: pages and timelines of what happened in a run or a study.

cosim report runs/a runs/b                 # one HTML page that opens from disk
cosim report studies/bandwidth --target 0.8 --out bandwidth.html
cosim trace runs/a                         # JSON for https://ui.perfetto.dev
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import attrs
import pandas as pd
import tyro

import analysis
from analysis import chrome_trace
from analysis.remarks import remarks_on_study
from analysis.report import report as pages
from analysis.studies import reference_of
from cosim import ConfigurationError, Result
from cosim.display.words import in_words
from cosim.files.on_disk import place, shown
from scenarios.command_line.arguments import parse, usage
from scenarios.command_line.console import console, made
from scenarios.command_line.targets import targets


@attrs.frozen(kw_only=True)
class ReportOptions:
    """Content of the page.

    Attributes:
        out: HTML file to write. None means report.html in the first folder.
        global_round: Global round of the timeline. None means the first in which an update was dropped.
        target: Target of the headline metric, such as an accuracy of 0.8; the time and energy to reach it are
            reported; several by commas. None means the studies' own.
        held: Consecutive evaluations at which a target must be met to count as reached.
        title: Title of the page. None means the numbers of runs and designs.
    """

    out: Path | None = None
    global_round: int | None = None
    target: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    held: int = 1
    title: str | None = None


@attrs.frozen(kw_only=True)
class TraceOptions:
    """Destination of the trace.

    Attributes:
        out: JSON file to write. None means trace.json in the run's folder.
    """

    out: Path | None = None


def report_main(arguments: list[str]) -> int:
    """`cosim report`."""
    paths, rest = folders(arguments)
    if not paths:
        return usage("report", "FOLDER...", ReportOptions(), arguments, __doc__ or "", [], {})
    options = parse(ReportOptions, "cosim report FOLDER...", rest, ReportOptions(), __doc__)
    with as_read(paths):
        return report(paths, options)


def trace_main(arguments: list[str]) -> int:
    """`cosim trace`."""
    paths, rest = folders(arguments)
    if len(paths) != 1:
        return usage("trace", "FOLDER", TraceOptions(), arguments, __doc__ or "", [], {})
    options = parse(TraceOptions, "cosim trace FOLDER", rest, TraceOptions(), __doc__)
    with as_read(paths):
        return trace(paths[0], options)


@contextmanager
def as_read(paths: Sequence[Path]) -> Iterator[None]:
    """Say in one sentence that files are whole, and hold what no run writes, such as a text for a number.

    Raises:
        ConfigurationError: They do.
    """
    try:
        yield
    except (ConfigurationError, OSError):
        raise
    except Exception as error:  # there is hardly one that numbers of a stranger's cannot raise
        where, why = " ".join(map(shown, paths)), " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigurationError(
            f"{where}: cannot be shown, because a file says what no run writes ({why:.200}). Use the "
            "folder as its run has left it; cosim run --config runs one again."
        ) from error


def folders(arguments: list[str]) -> tuple[list[Path], list[str]]:
    """The folders that come first, and the options."""
    number = next((n for n, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    return [place(word) for word in arguments[:number]], arguments[number:]


def report(paths: list[Path], options: ReportOptions) -> int:
    """Write the page of runs and studies."""
    wanted, held = targets(options.target, options.held), options.held
    found = [runs_of(path) for path in paths]
    results = [result for one in found for _, result in one.runs]
    if not results:
        raise nothing_in("report", found)
    out = place(options.out or paths[0] / "report.html")
    remarks = [remark for one in found for remark in one.remarks]
    if not wanted:
        wanted, held, missing = targets_of_studies(paths, found)
        remarks += missing
    names = {id(result): name for one in found for name, result in one.runs if name is not None}
    try:
        html = pages.report(
            results,
            global_round=options.global_round,
            title=options.title,
            remarks=remarks,
            names=names,
            targets=wanted,
            held=held,
            reference=next((one.reference for one in found if one.reference is not None), None),
        )
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    made(out.parent)
    pages.write(html, out)
    console.print(f"Page: {shown(out)} ({in_words('num_runs', len(results))})", soft_wrap=True)
    return 0


class Found(NamedTuple):
    """Runs found in a folder.

    Attributes:
        runs: The folder's own run, or the finished runs of a study, each with its design's name; None for a
            run outside studies.
        remarks: What became of the others.
        reference: A run of the design that a study's differences are to; None outside studies.
        targets: Targets that a study was asked for.
        held: Evaluations in a row at which one must be reached to count.
        unread: Reasons why runs that have ended cannot be read.
    """

    runs: list[tuple[str | None, Result]]
    remarks: list[str]
    reference: Result | None = None
    targets: tuple[float, ...] = ()
    held: int = 1
    unread: Sequence[str] = ()


def runs_of(path: Path) -> Found:
    """The runs of a folder."""
    found = analysis.load(path)
    if not isinstance(found, pd.DataFrame):
        return Found([(None, found)], [])
    ended = found["status"] == "complete"
    remarks, by_design, unread = remarks_on_study(found), {}, list[str]()
    runs: list[tuple[str | None, Result]] = []
    for row in found[ended].itertuples():
        try:
            result = Result.load(path / str(row.folder))
        except ConfigurationError as error:
            unread.append(str(error))
            continue
        runs.append((str(row.name), result))
        by_design.setdefault(row.design, result)
    labels = [str(label).partition("_held_") for label in found.attrs["targets"]]
    return Found(
        runs=runs,
        remarks=[*remarks, *unread],
        unread=unread,
        reference=by_design.get(reference_of(found)),
        targets=tuple(float(target) for target, _, _ in labels),
        held=max((int(held) for *_, held in labels if held), default=1),
    )


def nothing_in(command: str, found: Sequence[Found]) -> ConfigurationError:
    """Error for folders without a run that can be shown, with the reason of the first that cannot be read."""
    unread = [words for one in found for words in one.unread]
    if unread:
        return ConfigurationError(f"{command}: no run can be read. {unread[0]}")
    return ConfigurationError(f"{command}: no run in it has ended. Use another folder, or wait.")


def targets_of_studies(
    paths: Sequence[Path], found: Sequence[Found]
) -> tuple[tuple[float, ...], int, list[str]]:
    """The targets of studies, for how many evaluations in a row they hold, and remarks on those left out."""
    asked = {path: one for path, one in zip(paths, found, strict=True) if one.targets}
    held = next((one.held for one in asked.values()), 1)
    remarks = [
        f"{shown(path)}: its targets are not shown; they must hold for another number of evaluations, "
        f"{one.held}, than the others, {held}. Use --target."
        for path, one in asked.items()
        if one.held != held
    ]
    same = (target for one in asked.values() if one.held == held for target in one.targets)
    return tuple(dict.fromkeys(same)), held, remarks


def trace(path: Path, options: TraceOptions) -> int:
    """Write the trace of a run."""
    result = analysis.load(path)
    if isinstance(result, pd.DataFrame):
        raise ConfigurationError(
            f"{shown(path)}: is a study. Use one of its runs, below {shown(path / 'runs')}."
        )
    out = place(options.out or path / "trace.json")
    made(out.parent)
    try:
        num_events = chrome_trace.write(result, out)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    told = f"Trace: {shown(out)} ({num_events} events); open it in https://ui.perfetto.dev"
    console.print(told, soft_wrap=True)
    return 0
