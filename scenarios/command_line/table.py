"""`cosim table`: means with intervals, to look at or to paste; several folders are compared.

cosim table studies/bandwidth                                  # all metrics, with differences seed by seed
cosim table studies/bandwidth --format latex --metric accuracy,energy_j --target 0.8 --out table.tex
cosim table studies/a studies/b runs/c --format csv
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Literal

import attrs
import pandas as pd
import rich.table
import tyro

from analysis import tables
from analysis.alike import alike, same_in_words
from analysis.metrics import Metric, metrics
from analysis.sentences import LEVEL, remark_on_seeds, sentences
from analysis.studies import reference_of
from analysis.together import together
from cosim.configuration import ConfigurationError, did_you_mean
from cosim.files.on_disk import as_text, replace, shown
from scenarios.command_line.arguments import parse, usage
from scenarios.command_line.console import console, made, remark
from scenarios.command_line.looking import as_read, folders
from scenarios.command_line.targets import targets


@attrs.frozen(kw_only=True)
class Options:
    """Content of the table.

    Attributes:
        format: text, to look at; latex (with booktabs), csv (every number of its own) or markdown, to paste.
        metric: Column, such as accuracy, energy_j or time_to_0.8_s; several by commas. None means all.
        target: Target of the headline, for the cost of reaching it, besides a study's own targets; several by
            commas.
        held: Evaluations in a row at which a target of --target must be reached to count.
        reference: Name of the design that differences are to. None means the study's, the first that leaves
            its system as it is, or else the first.
        differences: In latex and markdown, show differences seed by seed in place of means.
        out: File to write. None means the terminal.
    """

    format: Literal["text", "latex", "csv", "markdown"] = "text"
    metric: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    target: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    held: int = 1
    reference: str | None = None
    differences: bool = False
    out: Path | None = None


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
    runs = together(paths, targets(options.target, options.held), options.held)
    remarks, complete = runs.attrs["remarks"], runs["status"] == "complete"
    if not complete.any():
        why = f": {remarks[0]}" if remarks else "."
        fix = "Use another folder, or cosim run --resume FOLDER."
        raise ConfigurationError(f"table: no run in it is complete{why} {fix}")
    reference, asked = number(runs, options.reference), columns(options.metric, metrics(runs))
    remark(remarks)
    if options.format == "text" and options.out is None:
        in_words(runs, asked, reference)
        return 0
    written = text(runs, asked, reference, options)
    if options.out is None:
        print(written, end="")
    else:
        made(options.out.parent)
        replace(options.out, lambda partial: partial.write_text(written, encoding="utf-8"))
        console.print(f"Table: {shown(options.out)}", soft_wrap=True)
    return 0


def text(runs: pd.DataFrame, asked: Collection[str], reference: int, options: Options) -> str:
    """The table in the format that is asked for; csv has every metric, even where all runs are the same."""
    if options.format == "csv":
        return tables.frame(runs, asked or metrics(runs), reference).to_csv(index=False)
    if options.format == "text":
        with console.capture() as captured:
            in_words(runs, asked, reference)
        return captured.get()
    found = tables.by_design(runs, telling(runs, asked), reference if options.differences else None)
    return tables.latex(found) if options.format == "latex" else tables.markdown(found)


def telling(runs: pd.DataFrame, asked: Collection[str]) -> Collection[str]:
    """The metrics that are asked for, or else all that are not the same in all runs."""
    same = alike(runs, metrics(runs))
    return asked or [column for column, metric in metrics(runs).items() if metric not in same]


def in_words(runs: pd.DataFrame, asked: Collection[str], reference: int) -> None:
    """Print what was found, in sentences, the table, and what is the same in all runs.

    Args:
        asked: Columns of metrics. None means all that tell designs apart.
    """
    found, same = sentences(runs), {} if asked else alike(runs, metrics(runs))
    for words in (*found, LEVEL) if found else ():
        console.print(words, soft_wrap=True)
    if told := telling(runs, asked):
        console.print(in_terminal(runs, told, reference))
    for words in filter(None, (same_in_words(same), remark_on_seeds(runs))):
        console.print(words, soft_wrap=True)


def in_terminal(runs: pd.DataFrame, chosen: Collection[str], reference: int) -> rich.table.Table:
    """Metrics of every design in the terminal, and the difference to the reference on the same seeds."""
    found = tables.by_metric(runs, chosen, reference)
    drawn = rich.table.Table(title="Means over seeds and 95 % intervals", title_justify="left")
    for head in found.head:
        drawn.add_column(head, overflow="fold")
    for place, row in enumerate(found.rows):
        is_last = place + 1 == len(found.rows) or bool(found.rows[place + 1][0])
        drawn.add_row(*row, end_section=is_last)
    return drawn


def columns(options: Sequence[str], known: dict[str, Metric]) -> list[str]:
    """The metrics of the options, in turn; none where none is given.

    Raises:
        ConfigurationError: One that there is not.
    """
    asked = [part.strip() for option in options for part in option.split(",")]
    for column in asked:
        if column not in known:
            hint = did_you_mean(column, known)
            raise ConfigurationError(f"--metric {column}: is none.{hint} Known: {', '.join(known)}.")
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
