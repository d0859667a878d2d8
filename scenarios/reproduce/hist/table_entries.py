"""Entries of Tables I to III of the HIST journal paper, and what is claimed of them.

MB and GB in the paper are 2^20 and 2^30 bytes: every entry for HFedAvg is a whole multiple of ten uploads of
the whole model (Tables I and II) or of one (Table III). That is checked with the networks themselves.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import attrs
import numpy as np
import pandas as pd

from scenarios.reproduce.claims import Claim, Floats, Quantity, Reached, sooner
from scenarios.reproduce.hist.figures import SPLITS
from scenarios.reproduce.hist.upload_costs import NAMES, advantage

ROUNDING = 0.0101
"""Between an entry and the multiple that it is, at most."""
WITHIN = 1.25
"""Factor within which an entry, or a ratio of two, is the paper's. [no source]"""

Entries = Mapping[str, tuple[float, ...]]
"""Split -> the paper's numbers: HIST and HFedAvg for N = 2, then for N = 4."""


@attrs.frozen(kw_only=True)
class PaperTable:
    """One table of the paper.

    Attributes:
        name: Under which it is reproduced.
        entries: Accuracy -> the paper's numbers.
        unit: "MB" or "GB".
        multiple: Of which the entries for HFedAvg are multiples, in the unit and rounded as the paper's.
        multiple_bits: The bits that it is.
        multiple_words: What it is.
    """

    name: str
    entries: Mapping[float, Entries]
    unit: str
    multiple: float
    multiple_bits: int
    multiple_words: str

    @property
    def unit_bits(self) -> int:
        """Bits in one of the unit."""
        return 8 * 2 ** {"MB": 20, "GB": 30}[self.unit]

    def paper(self, accuracy: float, split: str, num_cells: int, name: str) -> float | None:
        """The paper's number, or None where it has none."""
        numbers = self.entries.get(accuracy, {}).get(split)
        return None if numbers is None else numbers[2 * (2, 4).index(num_cells) + NAMES.index(name)]


@attrs.frozen(eq=False)
class Entry:
    """HIST and HFedAvg in one setting of a table.

    Attributes:
        accuracy: To be reached.
        is_replaced: True if data or network replace the paper's.
        rows: Of the whole table.
    """

    accuracy: float
    split: str
    num_cells: int
    table: PaperTable
    is_replaced: bool
    rows: pd.DataFrame

    @property
    def words(self) -> str:
        """Name of the setting, in words."""
        return f"{SPLITS[self.split]}, N = {self.num_cells}, to {100 * self.accuracy:g} %"

    def uploads(self, name: str) -> Reached:
        """Uploads of an algorithm's clients when the accuracy holds, in the table's unit."""
        own = self.rows[
            np.isclose(self.rows["accuracy"], self.accuracy)
            & (self.rows["split"] == self.split)
            & (self.rows["num_cells"] == self.num_cells)
            & (self.rows["algorithm"] == name)
        ]
        unit = self.table.unit
        return Reached(own[f"upload_{unit}"].to_numpy(), own[f"lasted_upload_{unit}"].to_numpy())

    def paper(self, name: str) -> float | None:
        """The paper's number; None if its setting is replaced."""
        if self.is_replaced:
            return None
        return self.table.paper(self.accuracy, self.split, self.num_cells, name)

    def as_the_paper(self) -> list[Claim]:
        """That both algorithms need what the paper has, where it has a number."""
        numbers = {name: self.paper(name) for name in NAMES}
        return [
            Claim(
                paper=f"{self.words}: {name} needs {number:.4g} {self.table.unit} {near()}",
                quantities=[
                    Quantity(
                        words=f"{name} over the paper's",
                        values=known(self.uploads(name).taken / number),
                        least=1.0 / WITHIN,
                        most=WITHIN,
                        unit="times",
                        is_ratio=True,
                    )
                ],
            )
            for name, number in numbers.items()
            if number is not None
        ]

    def claim(self, required: Sequence[str]) -> Claim:
        """That HIST needs less than HFedAvg."""
        own, other = (self.uploads(name) for name in NAMES)
        return Claim(
            paper=f"{self.words}: HIST needs less upload than HFedAvg",
            quantities=[sooner("HIST", own, "HFedAvg", other, self.table.unit)],
            is_required=label("HIST", self.num_cells, self.split) in required,
        )


def near() -> str:
    """Words for how close to the paper's number is the same."""
    return f"(here: within a factor of {WITHIN:g})"


def known(values: Floats) -> Floats:
    """Values that are known; nothing for the ones of a run that missed."""
    return np.where(np.isfinite(values) & (values > 0.0), values, np.nan)


def gaps(own: Entry, other: Entry) -> list[Claim]:
    """That an entry is as many times as large as that of the other split as in the paper."""
    claims = []
    for name in NAMES:
        numbers = own.paper(name), other.paper(name)
        if numbers[0] is None or numbers[1] is None:
            continue
        gap = numbers[0] / numbers[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = known(own.uploads(name).taken / other.uploads(name).taken)
        claims.append(
            Claim(
                paper=f"N = {own.num_cells}, to {100 * own.accuracy:g} %: {name} needs {gap:.3g} times as "
                f"much where cells differ as well {near()}",
                quantities=[
                    Quantity(
                        words=f"{SPLITS[own.split]} over {SPLITS[other.split]}",
                        values=found,
                        least=gap / WITHIN,
                        most=gap * WITHIN,
                        unit="times",
                        is_ratio=True,
                    )
                ],
            )
        )
    return claims


def growing(few: Entry, many: Entry) -> Claim:
    """True if HIST's advantage grows with the cells."""
    costs = {
        label(name, entry.num_cells, few.split): entry.uploads(name)
        for entry in (few, many)
        for name in NAMES
    }
    return Claim(
        paper=f"{SPLITS[few.split]}, to {100 * few.accuracy:g} %: HIST's advantage grows from N = 2 to 4",
        quantities=[advantage(costs, (few.num_cells, many.num_cells), few.split)],
    )


def label(name: str, num_cells: int, split: str) -> str:
    """Name of a run."""
    return f"{name} N={num_cells}, {split}"


def usual_claims(entries: Sequence[Entry], required: Sequence[str] = ()) -> list[Claim]:
    """That HIST needs less; that entries, and the gaps between splits, are the paper's; that gains grow.

    Args:
        required: Labels of comparisons that must come out as in the paper.
    """
    claims = [entry.claim(required) for entry in entries]
    claims += [claim for entry in entries for claim in entry.as_the_paper()]
    by_split = sorted(entries, key=lambda entry: (entry.accuracy, entry.num_cells))
    for own, other in pairwise(by_split):
        if (own.accuracy, own.num_cells) == (other.accuracy, other.num_cells):
            claims += gaps(own, other)
    for few, many in pairwise(entries):
        if (few.accuracy, few.split, few.num_cells, many.num_cells) == (many.accuracy, many.split, 2, 4):
            claims.append(growing(few, many))
    return claims


def grid_claim(table: PaperTable) -> Claim:
    """True if the entries are whole multiples, and what they are multiples of is what it should be."""
    exact = table.multiple_bits / table.unit_bits
    entries = [
        numbers[place]
        for entries in table.entries.values()
        for numbers in entries.values()
        for place in (1, 3)
    ]
    return Claim(
        paper=f"HFedAvg's entries are multiples of {table.multiple_words}",
        quantities=[
            Quantity(
                words="what they are multiples of",
                values=[exact],
                least=0.995 * table.multiple,
                most=1.005 * table.multiple,
                unit=table.unit,
                is_exact=True,
            ),
            no_multiples(entries, table.multiple, table.unit),
        ],
        is_ours=True,
    )


def no_multiples(entries: Sequence[float], step: float, unit: str) -> Quantity:
    """How many entries are no multiples of a step, to the rounding of both; none may be."""
    off = [abs(entry - round(entry / step) * step) > ROUNDING for entry in entries]
    return Quantity(
        words=f"of {len(entries)} entries those that are no multiple of {step:.4g} {unit} to 0.01",
        values=[sum(off)],
        most=0.5,
        is_exact=True,
    )
