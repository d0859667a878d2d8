"""Report: runs on one page that opens from disk.

Findings, what was asked, the table with intervals, the global model over time, energy and bits, what the
fields do, what a target takes, clients present, clients by kind, versions of asynchronous servers, why a
round took so long, the timeline of a round, what was sent and received, energy, dropped updates by reason,
configuration and provenance.
Runs become designs (`analysis.designs`), their rows fates and critical paths (`analysis.fates`,
`analysis.critical_path`), these become the plain data of sections, and templates lay these out (`page`,
`pictures`, `templates`).

Scope and limitations: reads run folders, runs nothing. Means, intervals, curves and what counts as wasted are
defined in the files of their sections.

Usage::

    html = report([Result.load("runs/a"), Result.load("runs/b")])
    write(html, "report.html")
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from analysis.designs import Design, designs_of, headlines
from analysis.fates import NOT_KEPT, Fates, keeps_clients, keeps_energy
from analysis.plots import DrawnStudy
from analysis.report.applied import applied
from analysis.report.asked import asked
from analysis.report.clients import clients
from analysis.report.comparing import to_targets
from analysis.report.directions import both_ways
from analysis.report.edge_rounds import edge_rounds
from analysis.report.factors import factors
from analysis.report.found import found
from analysis.report.learning import learning
from analysis.report.losses import dropped, energy
from analysis.report.numbers import numbers
from analysis.report.page import Section, page
from analysis.report.presence import presence
from analysis.report.rounds import rounds
from analysis.report.sources import configuration, provenance
from analysis.report.timelines import timelines
from cosim.files.on_disk import replace
from cosim.records.rows import Applied, Fate, Round, Span, Tally, Version
from cosim.results.result import Result

__all__ = ["NEEDED", "Section", "page", "report", "write"]

NEEDED = {
    "spans": Span._fields,
    "fates": Fate._fields,
    "plans": ("client", "edge", "is_able"),
    "rounds": Round._fields,
    "tallies": Tally._fields,
    "versions": Version._fields,
    "updates": (*Applied._fields, "sent_bits", "energy_j"),
    "clients": ("energy_j", "wait_s", "num_jobs", "num_arrived", "num_late", "num_left"),
    "evaluations": ("time_s", "version", "energy_j", "bits_per_client"),
}
"""Columns that a report is made from."""


def report(
    results: Sequence[Result],
    *,
    global_round: int | None = None,
    title: str | None = None,
    remarks: Sequence[str] = (),
    names: Mapping[int, str] | None = None,
    targets: Sequence[float] = (),
    held: int = 1,
    reference: Result | None = None,
) -> str:
    """The HTML text of runs.

    Args:
        global_round: Global round of the timeline. None means the first in which an update was dropped, or
            else the first. For runs without rounds a stretch is drawn.
        title: Title of the page. None means how many runs and designs there are.
        remarks: What else a reader must know before the numbers, such as that designs failed.
        names: Name of the design of a run, by the run's `id`. None, or no name for a run, means what differs.
        targets: Targets of the headline, such as an accuracy of 0.8.
        held: Evaluations in a row at which a target must be reached to count.
        reference: A run of the design that differences are to. None means the first design.

    Raises:
        ConfigurationError: A target that the headline cannot have.
        ValueError: There are no runs, none has that global round, or a table lacks a column.
    """
    if not results:
        raise ValueError("report: no runs. Give at least one run folder.")
    results = list({id(run): run for run in results}.values())
    for run in results:
        _check(run)
    have_run = {int(number) for run in results for number in run.rounds["global_round"]}
    if global_round is not None and global_round not in have_run:
        have = f"1 to {max(have_run)}" if have_run else "none"
        raise ValueError(f"global_round = {global_round}: no run has it; there are {have}. Use one of these.")
    designs = designs_of(results, names)
    for measure in headlines(designs).values():
        for target in targets:
            measure.check_target(target)
    against = next((own for own in designs if any(run is reference for run in own.runs)), None)
    study = DrawnStudy(designs, targets, held)
    fates = {id(run): Fates.of(run) for run in results}
    sections = [
        Section("found", "What was found", found(designs, targets, held)),
        Section("asked", "What was asked", asked(designs, remarks)),
        Section("numbers", "The numbers", numbers(designs, fates, against)),
        Section("learning", "The global model over time, energy and bits", learning(study)),
        Section("factors", "What the fields do", factors(study)),
        Section("target", "To the target", to_targets(study)),
        Section("edge-rounds", "Edge rounds, without their clients", edge_rounds(designs)),
        Section("presence", "Present clients", presence(designs)),
        Section("clients", "Clients by kind", clients(designs)),
        Section("applied", "Versions, staleness, contributions of clients", applied(designs)),
        Section("rounds", "Why a round took so long", *_of_kept(rounds, designs)),
        Section(
            "timeline",
            "Timeline of a global round",
            *_of_kept(partial(timelines, global_round=global_round), designs),
        ),
        Section("directions", "What was sent and received", both_ways(designs)),
        Section(
            "energy", "Where the energy went", *_of_kept(partial(energy, fates=fates), designs, keeps_energy)
        ),
        Section("dropped", "Dropped updates, by reason", *_of_kept(partial(dropped, fates=fates), designs)),
        Section("configuration", "Configuration", configuration(designs)),
        Section("provenance", "Provenance", provenance(designs)),
    ]
    sections = [section for section in sections if section.values is not None or section.warning]
    return page(sections, title=_title(len(results), len(designs)) if title is None else title)


def write(html: str, path: str | Path) -> None:
    """Write a page, whole or not at all.

    Raises:
        ConfigurationError: It cannot be written.
    """
    replace(Path(path), lambda partial: partial.write_text(html, encoding="utf-8", newline="\n"))


def _of_kept(
    section: Callable[[list[Design]], dict[str, Any] | None],
    designs: Sequence[Design],
    keeps: Callable[[Result], bool] = keeps_clients,
) -> tuple[dict[str, Any] | None, str]:
    """A section's values, of the designs that kept the rows it is made from, and a warning of the others."""
    known = [design for design in designs if all(map(keeps, design.counted))]
    missing = [design.name for design in designs if design not in known]
    said = f"{', '.join(missing)}: {NOT_KEPT}." if missing else ""
    return section(known) if known else None, said


def _check(run: Result) -> None:
    for name, columns in NEEDED.items():
        missing = [column for column in columns if column not in getattr(run, name)]
        if missing:
            where = run.folder or "a run without a folder"
            raise ValueError(f"{where}: the table of {name} has no column {missing[0]}. Repeat the run.")


def _title(num_runs: int, num_designs: int) -> str:
    if num_runs == 1:
        return "Report of a run"
    return f"Report of {num_runs} runs" + (f" of {num_designs} designs" if num_designs > 1 else "")
