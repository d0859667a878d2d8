"""Does the clock keep the laws of delays that courses teach (queues, shared bands, barriers, fading)?

Sixteen closed forms, each with a scenario on the clock that keeps its conditions: packets at stations,
uploads in a band, edge rounds. Intervals respect how values hang together (cycles between empty instants,
batch means, independent values), at a level at which all together err with probability 5 % at most. What is
not random must agree to 1e-9. A law agrees where every number lies in an interval that is narrow enough, and
each wrong theory must come out as *disagrees* for one number at least.

    cosim validate delay-laws
    cosim validate delay-laws --quick                       # in a quarter of a minute, with wider intervals
    cosim validate delay-laws --laws mm1 patience
    cosim validate delay-laws --out docs --coverage docs/laws-coverage.csv       # writes docs/laws.md
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
from rich.table import Table

from analysis.intervals.statistics import familywise
from cosim.configuration import knob, not_negative, part
from scenarios.command_line.console import console, made, save_picture, save_table
from scenarios.validate.delays.law import Law
from scenarios.validate.delays.laws import LAWS, laws_of
from scenarios.validate.delays.page import CLOSED_FORM, drawn, save_page

__all__ = ["Options", "main"]

FAMILY_ERROR = 0.05
MARGIN, QUICK_MARGIN = 0.1, 0.35
"""Half width at which a number decides, as a part of it."""
QUICK_SIZE = 0.18


@part
class Options:
    """Sizes of the comparison.

    Attributes:
        laws: Names of laws; none: all. [no source]
        quick: Short runs, and wider intervals that decide. [no source]
        seed: Names the draws. [no source]
        coverage: Table of `benchmarks/delay_coverage.py`, for the page; none: without. [no source]
        out: Folder of the page, its picture and its table. [no source]
    """

    laws: tuple[str, ...] = ()
    quick: bool = False
    seed: int = knob(not_negative, default=1)
    coverage: str | None = None
    out: str = "validations/delay-laws"

    def __attrs_post_init__(self) -> None:
        laws_of(self.laws)

    @property
    def size(self) -> float:
        """Length of a run, in full ones."""
        return QUICK_SIZE if self.quick else 1.0

    @property
    def margin(self) -> float:
        """Half width at which a number decides, as a part of it."""
        return QUICK_MARGIN if self.quick else MARGIN


def rows(law: Law, options: Options, level: float) -> Iterator[dict[str, object]]:
    """Rows of each number: the closed form's, and the wrong theories'."""
    theory, found = law.predict(), law.simulate(options.seed, options.size)
    intervals = law.compare(found, level)
    for quantity, number in theory.items():
        interval = intervals[quantity]
        wrong = {name: numbers[quantity] for name, numbers in law.wrong().items() if quantity in numbers}
        for name, predicted in {CLOSED_FORM: number, **wrong}.items():
            margin = options.margin * number if name == CLOSED_FORM else None
            yield {
                "law": law.name,
                "quantity": quantity,
                "theory": name,
                "predicted": predicted,
                "estimate": interval.estimate,
                "low": interval.low,
                "high": interval.high,
                "method": found[quantity].method,
                "verdict": interval.verdict(predicted, margin),
            }


def compared(laws: Sequence[Law], options: Options) -> pd.DataFrame:
    """The rows of all laws; every interval at the level of a whole validation."""
    level = familywise(sum(len(law.predict()) for law in LAWS.values()), FAMILY_ERROR)
    found: list[dict[str, object]] = []
    for law in laws:
        with console.status(law.title):
            found += rows(law, options, level)
    return pd.DataFrame(found)


def not_caught(points: pd.DataFrame) -> list[tuple[str, str]]:
    """Wrong theories, by law and name, that disagree with no number."""
    wrong = points[points["theory"] != CLOSED_FORM]
    caught = (wrong["verdict"] == "disagrees").groupby([wrong["law"], wrong["theory"]], sort=False).any()
    return [(str(law), str(theory)) for law, theory in caught.index[~caught]]


def main(options: Options) -> int:
    """Print the comparison; exit code 1 where a verdict is not what it must be."""
    points = compared(laws_of(options.laws), options)
    table = Table(title="Laws of delays: closed form and clock", title_justify="left")
    for heading in ("law", "quantity", "theory", "clock", "interval by", "verdict"):
        table.add_column(heading)
    right = points[points["theory"] == CLOSED_FORM]
    for row in right.to_dict("records"):
        clock = f"{row['estimate']:.4f} [{row['low']:.4f}, {row['high']:.4f}]"
        title, quantity, verdict = LAWS[row["law"]].title, str(row["quantity"]), str(row["verdict"])
        table.add_row(title, quantity, f"{row['predicted']:.4f}", clock, str(row["method"]), verdict)
    console.print(table)
    missed = not_caught(points)
    wrong = points.loc[points["theory"] != CLOSED_FORM, ["law", "theory"]].drop_duplicates()
    console.print(f"Wrong theories caught: {len(wrong) - len(missed)} of {len(wrong)}")
    for law, theory in missed:
        console.print(f"Not caught: {LAWS[law].title}: {theory}")
    folder = made(Path(options.out))
    save_table(points, folder / "laws.csv")
    save_picture(drawn(points), folder / "laws.png")
    save_page(points, options.coverage, folder / "laws.md")
    console.print(f"Page: {folder / 'laws.md'}")
    return int(bool(missed) or bool((right["verdict"] != "agrees").any()))
