"""`cosim table`: means with intervals, for the terminal or for a paper; compares several folders.

cosim table studies/bandwidth                                  # all metrics, with differences seed by seed
cosim table studies/bandwidth --format latex --metric accuracy,energy_j --target 0.8 --out table.tex
cosim table studies/bandwidth --metric time_to_0.8_s --rows protocol.kind --columns bandwidth_hz
cosim table studies/a studies/b runs/c --format csv

| format | for |
|---|---|
| text | a terminal |
| latex | a paper: a float with caption and label; its preamble needs booktabs and siunitx |
| markdown, html | a page |
| csv | a program: all numbers, unrounded, in the units of the columns' names |

Numbers are rounded to two significant digits of their intervals. A number is bold if it is better than all
others beside it, by the interval of each difference on the same seeds. Metrics that are equal in all designs
are printed once, or left out if they are zero.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Literal

import attrs
import pandas as pd
import rich.table
import tyro
from rich.text import Text

from analysis.alike import alike, same_in_words
from analysis.metrics import Metric, metrics
from analysis.sentences import LEVEL, remark_on_seeds, sentences
from analysis.studies import reference_of
from analysis.tables.captions import captioned, opened
from analysis.tables.cells import Cell, Number, text_of
from analysis.tables.contents import Table, by_design, by_metric, frame
from analysis.tables.latex import is_too_wide, latex
from analysis.tables.markdown import markdown
from analysis.tables.page import page_table
from analysis.tables.pivots import pivot_frame, pivoted
from analysis.together import together
from cosim.configuration import ConfigurationError
from cosim.configuration.rules import did_you_mean
from cosim.files.on_disk import as_text, replace, shown
from scenarios.command_line.arguments import parse, usage
from scenarios.command_line.console import console, made, remark
from scenarios.command_line.looking import as_read, folders
from scenarios.command_line.targets import targets

WRITTEN = {"latex": latex, "markdown": markdown, "html": page_table}
"""Format -> the text of a table in it."""


@attrs.frozen(kw_only=True)
class Options:
    """Content of the table.

    Attributes:
        format: One of the formats above.
        metric: Column, such as accuracy, energy_j or time_to_0.8_s; several by commas. None means all.
        target: Target of the headline metric, in addition to a study's own; the time and energy to reach it
            are reported; several by commas.
        held: Consecutive evaluations at which a target of --target must be met to count as reached.
        rows: Fields whose values are the rows, such as protocol.kind; several by commas. With --columns,
            other fields that differ also make rows. None means a row for each design.
        columns: Fields whose values are the columns, such as bandwidth_hz; several by commas. None means all
            fields that are not in --rows.
        reference: Name of the design with which others are compared. None means the study's reference: the
            first design that changes nothing, or else the first.
        differences: In latex, markdown and html, show differences seed by seed instead of means.
        caption: First sentence of the caption. None means a sentence on what the table shows.
        label: LaTeX label of the table. None means the name of the first folder.
        out: File to write. None means the terminal.
    """

    format: Literal["text", "latex", "csv", "markdown", "html"] = "text"
    metric: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    target: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    held: int = 1
    rows: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    columns: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    reference: str | None = None
    differences: bool = False
    caption: str | None = None
    label: str | None = None
    out: Path | None = None

    @property
    def is_pivot(self) -> bool:
        """True if fields make its rows or its columns."""
        return bool(self.rows or self.columns)


def main(arguments: list[str]) -> int:
    """`cosim table`."""
    paths, rest = folders(arguments)
    if not paths:
        return usage("table", "FOLDER...", Options(), arguments, __doc__ or "", [], {})
    options = parse(Options, "cosim table FOLDER...", rest, Options(), __doc__)
    with as_read(paths):
        return table(paths, options)


def table(paths: Sequence[Path], options: Options) -> int:
    """Print or write the table of studies and runs."""
    _check(options)
    runs = together(paths, targets(options.target, options.held), options.held)
    remarks, complete = runs.attrs["remarks"], runs["status"] == "complete"
    if not complete.any():
        why = f": {remarks[0]}" if remarks else "."
        fix = "Use another folder, or cosim run --resume FOLDER."
        raise ConfigurationError(f"table: no run in it is complete{why} {fix}")
    reference, asked = number(runs, options.reference), columns(options.metric, metrics(runs))
    remark([*remarks, *filter(None, [remark_on_seeds(runs)])])
    label = options.label or as_text(paths[0].resolve().name)
    try:
        if options.format == "text" and options.out is None:
            in_words(runs, asked, reference, options)
            return 0
        written = text(runs, asked, reference, options, label)
    except ValueError as error:  # of --rows and --columns
        raise ConfigurationError(str(error)) from None
    if options.out is None:
        print(written, end="")
    else:
        made(options.out.parent)
        replace(options.out, lambda partial: partial.write_text(written, encoding="utf-8"))
        console.print(f"Table: {shown(options.out)}", soft_wrap=True)
    return 0


def contents(
    runs: pd.DataFrame, asked: Collection[str], reference: int, options: Options, label: str = ""
) -> Table:
    """Rows and columns as asked for, with a caption.

    Args:
        asked: Columns of metrics. Empty means all that tell designs apart.
    """
    same = {} if asked else alike(runs, metrics(runs))
    chosen = asked or [column for column, metric in metrics(runs).items() if metric not in same]
    if options.is_pivot:
        found = pivoted(runs, chosen, _listed(options.rows), _listed(options.columns))
    elif options.format == "text":
        found = by_metric(runs, chosen, reference)
    else:
        found = by_design(runs, chosen, reference if options.differences else None)
    lead = opened(options.caption or "")
    return captioned(found, runs, chosen, lead=lead, label=label, same=same_in_words(same))


def text(
    runs: pd.DataFrame, asked: Collection[str], reference: int, options: Options, label: str = ""
) -> str:
    """The table in the format that is asked for; csv has every metric, even where all runs are the same."""
    if options.format == "csv":
        chosen, fields = asked or metrics(runs), (_listed(options.rows), _listed(options.columns))
        found = pivot_frame(runs, chosen, *fields) if options.is_pivot else frame(runs, chosen, reference)
        return found.to_csv(index=False)
    if options.format != "text":
        found = contents(runs, asked, reference, options, label)
        if options.format == "latex" and is_too_wide(found):
            remark(["The table is wider than a page of two columns. Use fewer --metric, or --rows."])
        return WRITTEN[options.format](found)
    with console.capture() as captured:
        in_words(runs, asked, reference, options)
    return captured.get()


def in_words(
    runs: pd.DataFrame, asked: Collection[str], reference: int, options: Options | None = None
) -> None:
    """Print what was found, in sentences, and the table; `asked` as for `contents`."""
    if found := sentences(runs):
        for words in (*found, LEVEL):
            console.print(words, soft_wrap=True)
    shown_as = contents(runs, asked, reference, options or Options())
    if shown_as.rows:
        console.print(drawn(shown_as))
    console.print(shown_as.caption, soft_wrap=True)


def drawn(found: Table) -> rich.table.Table:
    """The table in the terminal."""
    shown_as = rich.table.Table()
    for head in found.head:
        shown_as.add_column(Text(head), overflow="fold")
    for place, row in enumerate(found.rows):
        begins_next = place + 1 == len(found.rows) or bool(found.rows[place + 1][0])
        shown_as.add_row(*map(_said, row), end_section=begins_next and found.head[0] == "")
    return shown_as


def _said(cell: Cell) -> Text:
    return Text(text_of(cell), style="bold" if isinstance(cell, Number) and cell.is_best else "")


def _listed(options: Sequence[str]) -> list[str]:
    """Words of an option that takes several by commas, or comes several times."""
    return [part.strip() for option in options for part in option.split(",")]


def _check(options: Options) -> None:
    """Refuse what would have no effect.

    Raises:
        ConfigurationError: Differences of a pivot, or a caption of csv.
    """
    if options.is_pivot and (options.differences or options.reference is not None):
        option = "--differences" if options.differences else "--reference"
        raise ConfigurationError(
            f"{option}: a table by --rows and --columns has no differences. Leave it out."
        )
    if options.format == "csv" and options.caption is not None:
        raise ConfigurationError("--caption: csv has none. Use --format latex, or leave it out.")
    if options.format != "latex" and options.label is not None:
        raise ConfigurationError("--label: only LaTeX has one. Use --format latex, or leave it out.")


def columns(options: Sequence[str], known: dict[str, Metric]) -> list[str]:
    """The metrics of the options, in turn; none where none is given.

    Raises:
        ConfigurationError: One that there is not.
    """
    asked = _listed(options)
    for column in asked:
        if column not in known:
            hint = did_you_mean(column, known)
            raise ConfigurationError(f"--metric {column}: unknown metric.{hint} Known: {', '.join(known)}.")
    return asked


def number(runs: pd.DataFrame, name: str | None) -> int:
    """The number of the design of a name; without one, of the first that has complete runs.

    Raises:
        ConfigurationError: There is none, or none of its runs is complete.
    """
    if name is None:
        return reference_of(runs)
    names = {str(name): int(design) for design, name in runs[["design", "name"]].to_numpy()}
    complete = list(map(str, runs.loc[runs["status"] == "complete", "name"].unique()))
    name = as_text(name)
    if name not in complete:
        why = "none of its runs is complete" if name in names else "no such design"
        raise ConfigurationError(f"--reference {name}: {why}. Known: {', '.join(complete)}.")
    return names[name]
