"""Figures as they are shown: the claims in the terminal, table, picture and NAME.json on the disk."""

import math
import os
import platform
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from rich.table import Table

import cosim
from cosim.display.words import in_words
from cosim.files.on_disk import shown, write_json
from cosim.results.provenance import noted, provenance
from scenarios.command_line.console import console, made, save_picture, save_table
from scenarios.reproduce.claims import COMES_OUT, DOES_NOT_SHOW, TOO_NOISY, Claim, worst
from scenarios.reproduce.figures import Options, known_costs

EXIT_CODES = {COMES_OUT: 0, DOES_NOT_SHOW: 1, TOO_NOISY: 3}
"""Verdict on the required claims -> exit code; 2 is a command's that could not be carried out."""


def tell(
    figure: str,
    options: Options,
    claims: Sequence[Claim],
    table: pd.DataFrame,
    picture: Figure,
    runs: Iterable[cosim.Result] = (),
    *,
    folder: str | None = None,
    took_s: float = 0.0,
) -> int:
    """Write table, picture and claims, and print the claims beside the paper's.

    Args:
        runs: Runs that the claims are about.
        folder: Folder of several figures. None means the figure's own.
        took_s: Processor time of a figure without runs.

    Returns:
        The exit code: 1 where a required claim does not show, 3 where one is only too noisy.
    """
    out = made(options.folder(folder or figure))
    save_table(table, out / f"{figure}.csv")
    save_picture(picture, out / f"{figure}.png")
    write_json(out / f"{figure}.json", as_json(figure, options, claims, out, runs, took_s))
    console.print(claims_table(figure, options, claims))
    for words, ending in (("Table", "csv"), ("Picture", "png"), ("Claims", "json")):
        console.print(f"{words + ':':8} {shown(out / f'{figure}.{ending}')}", soft_wrap=True)
    noisy = [claim.paper for claim in claims if claim.is_required and claim.verdict == TOO_NOISY]
    verdict = worst(claim.verdict for claim in claims if claim.is_required)
    if verdict == TOO_NOISY:
        num = len(options.every_seed)
        few = f"Too noisy with {in_words('num_seeds', num)}: {'; '.join(noisy)}."
        console.print(f"{few} Use --seeds {4 * num}, which halves the intervals.", soft_wrap=True)
    return EXIT_CODES[verdict]


def claims_table(figure: str, options: Options, claims: Sequence[Claim]) -> Table:
    """Table of the paper's claims, the values found here, and the verdicts."""
    num = len(options.every_seed)
    seeds = "one seed" if num == 1 else f"{num} seeds, means with 95 % intervals"
    printed = Table(title=f"{figure}: the paper and this run; {seeds}", title_justify="left")
    for heading in ("the paper says", "here", "verdict"):
        printed.add_column(heading, overflow="fold")
    for claim in claims:
        here = "\n".join(claim.in_words)
        verdict = claim.verdict
        is_missed = claim.is_required and verdict != COMES_OUT
        said = f"(ours, not the paper's) {claim.paper}" if claim.is_ours else claim.paper
        printed.add_row(said, here, verdict.upper() if is_missed else verdict)
    return printed


def as_json(
    figure: str,
    options: Options,
    claims: Sequence[Claim],
    out: Path,
    runs: Iterable[cosim.Result],
    took_s: float = 0.0,
) -> dict[str, Any]:
    """Claims with their intervals, and processor time and commits of their runs, or of this command."""
    costs, of_runs = known_costs(out), {run.folder: run.summary for run in runs if run.folder is not None}
    folders = [folder.relative_to(out).as_posix() for folder in of_runs]
    cost_s = sum(costs.get(name, 0.0) for name in folders) if folders else took_s
    return {
        "figure": figure,
        "command": options.command(figure),
        "seeds": list(options.every_seed),
        "commits": commits_of(of_runs) or [provenance(options.seed, 1, options.device)["commit"]],
        "runs": len(folders),
        "global_rounds": sorted({summary.num_global_rounds for summary in of_runs.values()}),
        "core_hours": cost_s / 3600.0,
        "cpu": cpu(),
        "claims": claims_as_json(claims),
    }


def claims_as_json(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Claims with their intervals, and the values of every seed."""
    return [
        {
            "paper": claim.paper,
            "is_required": claim.is_required,
            "is_ours": claim.is_ours,
            "verdict": claim.verdict,
            "quantities": [
                {
                    "words": found.words,
                    "values": [_number(value) for value in quantity.values.tolist()],
                    "is_exact": quantity.is_exact,
                    "is_ratio": quantity.is_ratio,
                    "is_rare": quantity.is_rare,
                    "in_words": found.in_words,
                    "verdict": found.verdict,
                    "estimate": _number(found.interval.estimate),
                    "low": _number(found.interval.low),
                    "high": _number(found.interval.high),
                    "level": found.interval.level,
                    "least": _number(found.least),
                    "most": _number(found.most),
                    "unit": found.unit,
                }
                for quantity, found in zip(claim.quantities, claim.found, strict=True)
            ],
        }
        | ({} if claim.quantities else {"command": claim.command, "core_hours": claim.core_hours})
        for claim in claims
    ]


def commits_of(folders: Iterable[Path]) -> list[str | None]:
    """Commits that have made runs, each once, the first first; None outside a checkout."""
    origins = sorted(map(noted, folders), key=lambda origin: origin.get("started", ""))
    of_runs = (of for origin in origins for of in (origin, *origin.get("resumed", [])))
    return list(dict.fromkeys(of.get("commit") for of in of_runs))


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def cpu() -> str:
    """Model and number of the processors."""
    model = platform.processor() or platform.machine()
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{len(os.sched_getaffinity(0))} x {model}"
