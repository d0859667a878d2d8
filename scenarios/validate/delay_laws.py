"""Does the clock keep the laws of delays that courses teach (queues, shared bands, barriers, fading)?

Closed forms, each with a scenario on the clock that keeps its conditions: packets at stations, uploads in a
band, edge rounds. Intervals respect how values hang together (cycles between empty instants, batch means,
independent values), at a level at which all together err with probability 5 % at most. What is not random
must agree to 1e-9. A law agrees where every number lies in an interval that is narrow enough, and each wrong
theory must come out as *disagrees* for one number at least; *power* is how surely a run of this length says
so. A law of your own is a class in a file (docs/own-laws.md), and goes the same way.

    cosim validate delay-laws
    cosim validate delay-laws --size 0.18 --margin 0.35     # in a quarter of a minute, with wider intervals
    cosim validate delay-laws --laws mm1 patience
    cosim validate mine.py:law                              # a law of your own: class or function
    cosim validate delay-laws --out docs --coverage docs/laws-coverage.csv       # writes docs/laws.md
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from rich.table import Table

from analysis.intervals.statistics import familywise
from analysis.laws.checks import WrongLaw, numbers_of
from analysis.laws.comparison import CLOSED_FORM, DISAGREES, Criterion, not_caught, rows
from analysis.laws.picture import drawn
from analysis.laws.port import Law
from analysis.laws.power import WANTED
from cosim.configuration import ConfigurationError, knob, not_negative, part, positive
from scenarios.command_line.console import console, made, save_picture, save_table
from scenarios.command_line.modules import what_failed
from scenarios.command_line.papers import is_own
from scenarios.validate.delays.laws import LAWS, laws_of
from scenarios.validate.delays.page import save_page
from scenarios.validate.law_clock import LawClock

__all__ = ["Options", "main"]

FAMILY_ERROR = 0.05
FOLDER = "validations"
MOST_TIMES = 1e4
"""Lengthening of a run that is still advised. [no source]"""


@part
class Options:
    """Sizes of the comparison.

    Attributes:
        laws: Names of laws, of yours as MODULE:LAW; none: all of ours. [no source]
        size: Length of the runs, as a multiple of the usual one. [no source]
        margin: Half width at which a number decides, as a part of it. [no source]
        seed: Names the draws. [no source]
        coverage: Table of `benchmarks/delay_coverage.py`, for the page; none: without. [no source]
        out: Folder of the page, its picture and its table. [no source]
    """

    laws: tuple[str, ...] = ()
    size: float = knob(positive, default=1.0)
    margin: float = knob(positive, default=0.1)
    seed: int = knob(not_negative, default=1)
    coverage: str | None = None
    out: str = f"{FOLDER}/delay-laws"

    def __attrs_post_init__(self) -> None:
        laws_of(self.laws)

    @property
    def clock(self) -> LawClock:
        """Seed and length of every law's scenario."""
        return LawClock(seed=self.seed, size=self.size)


def of_own(name: str) -> Options:
    """Options for a user's law alone."""
    file, _, law = name.removeprefix("./").partition(":")
    words = re.sub(r"\W+", "-", f"{file.removesuffix('.py')} {law}").strip("-")
    return Options(laws=(name,), out=f"{FOLDER}/{words}")


def compared(laws: Mapping[str, Law], options: Options) -> pd.DataFrame:
    """The rows of all laws; ours at the level of a whole validation, whichever are run.

    Raises:
        ConfigurationError: A user's law fails, or says nothing that can be compared.
    """
    num_numbers = 0
    for name, law in (laws if any(map(is_own, laws)) else LAWS).items():
        with _told(name):
            num_numbers += len(numbers_of(law)[0])
    criterion = Criterion(level=familywise(num_numbers, FAMILY_ERROR), margin=options.margin)
    found: list[dict[str, object]] = []
    for name, law in laws.items():
        with console.status(law.title), _told(name):
            found += rows(name, law, options.clock, criterion)
    return pd.DataFrame(found)


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Say what is wrong with a user's law in a sentence, with its name."""
    try:
        yield
    except WrongLaw as error:
        raise ConfigurationError(f"{name}: {error}") from None
    except Exception as error:
        if not is_own(name):
            raise
        raise ConfigurationError(f"{name}: {what_failed(error)}") from None


def main(options: Options) -> int:
    """Print the comparison; exit code 1 where a verdict is not what it must be."""
    laws = laws_of(options.laws)
    points = compared(laws, options)
    right, missed = points[points["theory"] == CLOSED_FORM], not_caught(points)
    console.print(_of_laws(right, laws))
    console.print(_of_wrong_theories(points, laws))
    wrong = points.loc[points["theory"] != CLOSED_FORM, ["law", "theory"]].drop_duplicates()
    console.print(f"Wrong theories caught: {len(wrong) - len(missed)} of {len(wrong)}")
    for (law, theory), (chance, times) in missed.items():
        console.print(f"Not caught: {laws[law].title}: {theory}. {_advice(chance, times, options)}")
    short = right[(right["verdict"] == "too noisy") & (right["longer"] > 1.0)]
    for row in short.to_dict("records"):
        said = f"Too noisy: {laws[row['law']].title}: {row['quantity']}."
        console.print(f"{said} {_advice(None, row['longer'], options)}")
    for row in right[right["remark"] != ""].to_dict("records"):
        console.print(f"Remark: {laws[row['law']].title}: {row['quantity']}: {row['remark']}")
    folder = made(Path(options.out))
    save_table(points, folder / "laws.csv")
    save_picture(drawn(points, {name: law.title for name, law in laws.items()}), folder / "laws.png")
    save_page(points, laws, options.coverage, folder / "laws.md")
    console.print(f"Page: {folder / 'laws.md'}")
    return int(bool(missed) or bool((right["verdict"] != "agrees").any()))


def _of_laws(right: pd.DataFrame, laws: Mapping[str, Law]) -> Table:
    """Every number, the clock's interval and the verdict."""
    table = Table(title="Laws: closed form and clock", title_justify="left")
    for heading in ("law", "quantity", "theory", "clock", "interval by", "verdict"):
        table.add_column(heading)
    for row in right.to_dict("records"):
        clock = f"{row['estimate']:.4f} [{row['low']:.4f}, {row['high']:.4f}]"
        title, quantity, verdict = laws[row["law"]].title, str(row["quantity"]), str(row["verdict"])
        table.add_row(title, quantity, f"{row['predicted']:.4f}", clock, str(row["method"]), verdict)
    return table


def _of_wrong_theories(points: pd.DataFrame, laws: Mapping[str, Law]) -> Table:
    """Every wrong theory, the quantities that contradict it, and the power of the surest one."""
    table = Table(title="Wrong theories (must disagree)", title_justify="left")
    for heading in ("law", "wrong theory", "disagrees in", "power"):
        table.add_column(heading)
    wrong = points[points["theory"] != CLOSED_FORM]
    for (law, theory), own in wrong.groupby(["law", "theory"], sort=False):
        caught = own.loc[own["verdict"] == DISAGREES, "quantity"]
        chance = f"{100.0 * own['power'].max():.0f} %"
        table.add_row(laws[str(law)].title, str(theory), ", ".join(caught) or "nothing", chance)
    return table


def _advice(chance: float | None, times: float, options: Options) -> str:
    """Power of a run, and the size that helps."""
    said = "" if chance is None else f"The power of this run is {100.0 * chance:.0f} %. "
    if not times < MOST_TIMES:
        return f"{said}No length of a run helps: use a theory that differs more, or Series for more values."
    size = float(f"{max(times, 1.1) * options.size * 1.05:.2g}")
    return f"{said}Use --size {size:g}{'' if chance is None else f', for {100 * WANTED:.0f} %'}."
