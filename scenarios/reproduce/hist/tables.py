"""Tables I to III of the HIST journal paper: what a client uploads until the model reaches an accuracy.

MB and GB in the paper are 2^20 and 2^30 bytes: every entry for HFedAvg is a whole multiple of ten uploads of
the whole model (Tables I and II) or of one (Table III). That is checked with the networks themselves.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pandas as pd
from matplotlib.figure import Figure
from rich.table import Table

import cosim
from analysis.plots import bars
from cosim.values.submodels import NetworkShape
from scenarios.command_line.console import console
from scenarios.reproduce.claims import Claim, Quantity, Reached, reached, sooner
from scenarios.reproduce.figures import Options, Runs, every_run, play_all, to_target
from scenarios.reproduce.hist.figures import DEALT, SPLITS
from scenarios.reproduce.hist.upload_costs import NAMES, advantage
from scenarios.reproduce.shown import tell

ROUNDING = 0.0101
"""Between an entry and the multiple that it is, at most."""

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


@attrs.frozen
class Setting:
    """Setting of a table: what is run.

    Attributes:
        base: The system of HIST; number of cells, split and rounds are replaced.
        splits: Of the data.
        cells: Numbers of cells.
        rounds: Global rounds of each algorithm and number of cells, at most.
        accuracies: To be reached.
        replaced: What stands in the place of the paper's; empty: nothing.
    """

    base: cosim.System
    splits: tuple[str, ...]
    cells: tuple[int, ...]
    rounds: Mapping[tuple[str, int], int]
    accuracies: tuple[float, ...]
    replaced: str = ""


def play(
    table: PaperTable,
    setting: Setting,
    options: Options,
    required: Sequence[str] = (),
    others: Sequence[Claim] = (),
) -> int:
    """Run, print ours beside the paper's, compare; returns the exit code.

    Args:
        required: Labels of comparisons that must come out as in the paper.
        others: What else is claimed of the table.
    """
    if setting.replaced:
        console.print(f"{table.name} --quick replaces {setting.replaced}", soft_wrap=True)
    systems = {
        label(name, num_cells, split): system(setting, name, num_cells, split)
        for split in setting.splits
        for num_cells in setting.cells
        for name in NAMES
    }
    runs = play_all(table.name, systems, options)
    entries = [
        Entry(accuracy, split, num_cells, table, setting, runs)
        for accuracy in setting.accuracies
        for split in setting.splits
        for num_cells in setting.cells
    ]
    frame = pd.DataFrame([row for entry in entries for row in entry.rows(options.every_seed)])
    console.print(shown(table, entries, len(options.every_seed)))
    claims = [grid_claim(table), *others, *(entry.claim(required) for entry in entries)]
    if {2, 4} <= set(setting.cells):
        claims += [growing(*pair) for pair in zip(entries[::2], entries[1::2], strict=True)]
    return tell(table.name, options, claims, frame, drawn(table, entries), every_run(runs))


@attrs.frozen(eq=False)
class Entry:
    """HIST and HFedAvg in one setting of a table.

    Attributes:
        accuracy: To be reached.
        runs: By label.
    """

    accuracy: float
    split: str
    num_cells: int
    table: PaperTable
    setting: Setting
    runs: Runs

    @property
    def words(self) -> str:
        """Name of the setting, in words."""
        return f"{SPLITS[self.split]}, N = {self.num_cells}, to {100 * self.accuracy:g} %"

    def uploads(self, name: str) -> Reached:
        """Uploads of an algorithm's clients when the accuracy holds, in the table's unit."""
        results = self.runs[label(name, self.num_cells, self.split)]
        unit_bits = self.table.unit_bits
        curves = [
            (run.evaluations["bits_per_client"] / unit_bits, run.evaluations["accuracy"]) for run in results
        ]
        return reached(curves, self.accuracy)

    def paper(self, name: str) -> float | None:
        """The paper's number; None where something stands in for its setting."""
        if self.setting.replaced:
            return None
        return self.table.paper(self.accuracy, self.split, self.num_cells, name)

    def rows(self, seeds: Sequence[int]) -> list[dict[str, Any]]:
        """A row for each algorithm and seed."""
        unit = self.table.unit
        return [
            {
                "accuracy": self.accuracy,
                "split": self.split,
                "num_cells": self.num_cells,
                "algorithm": name,
                "seed": seed,
                f"upload_{unit}": taken,
                f"lasted_upload_{unit}": lasted,
                f"paper_{unit}": self.paper(name),
            }
            for name, found in ((name, self.uploads(name)) for name in NAMES)
            for seed, taken, lasted in zip(seeds, found.taken, found.lasted, strict=True)
        ]

    def claim(self, required: Sequence[str]) -> Claim:
        """True if HIST needs less than HFedAvg."""
        own, other = (self.uploads(name) for name in NAMES)
        return Claim(
            paper=f"{self.words}: HIST needs less upload than HFedAvg",
            quantities=[sooner("HIST", own, "HFedAvg", other, self.table.unit)],
            is_required=label("HIST", self.num_cells, self.split) in required,
        )


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


def system(setting: Setting, name: str, num_cells: int, split: str) -> cosim.System:
    """One run: HIST, or HFedAvg where every cell trains the whole model, to the last of the accuracies."""
    base = setting.base
    kind = cosim.Hist if name == "HIST" else cosim.HFedAvg
    whole = cosim.evolve(
        base,
        num_cells=num_cells,
        data=cosim.evolve(base.data, split=DEALT[split]),
        protocol=kind(training=base.protocol.training),  # type: ignore[union-attr]
        end=cosim.AfterRounds(num_global_rounds=setting.rounds[name, num_cells]),
    )
    return to_target(whole, max(setting.accuracies))


def upload_bits(network: Any) -> int:
    """Bits of one upload of a whole network, in float32."""
    return 32 * NetworkShape.of(network).num_values()


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


def amount(value: float | None) -> str:
    """An upload as text."""
    return "-" if value is None else f"{value:.4g}"


def shown(table: PaperTable, entries: Sequence[Entry], num_seeds: int) -> Table:
    """Ours beside the paper's."""
    is_replaced = bool(entries[0].setting.replaced)
    words = "what stands in for it" if is_replaced else "one seed" if num_seeds == 1 else "means over seeds"
    printed = Table(
        title=f"{table.name}: upload per client, {table.unit}; here: {words}", title_justify="left"
    )
    for heading in ("accuracy", "split", "N", "HIST", "the paper's", "HFedAvg", "the paper's"):
        printed.add_column(heading, justify="left" if heading == "split" else "right", no_wrap=True)
    for entry in entries:
        texts = [
            text for name in NAMES for text in (entry.uploads(name).in_words(), amount(entry.paper(name)))
        ]
        printed.add_row(f"{100 * entry.accuracy:g} %", SPLITS[entry.split], str(entry.num_cells), *texts)
    return printed


def drawn(table: PaperTable, entries: Sequence[Entry]) -> Figure:
    """Bars by setting, a panel for each accuracy."""
    accuracies = list(dict.fromkeys(entry.accuracy for entry in entries))
    picture = Figure(figsize=(5.4 * len(accuracies), 4.0), layout="constrained")
    panels = picture.subplots(1, len(accuracies), squeeze=False)[0]
    for axes, accuracy in zip(panels, accuracies, strict=True):
        groups = {
            SPLITS[entry.split].replace(", ", ",\n") + f"\nN = {entry.num_cells}": {
                name: entry.uploads(name).interval for name in NAMES
            }
            for entry in entries
            if entry.accuracy == accuracy
        }
        bars(axes, groups, f"upload per client ({table.unit})")
        axes.set_title(f"to {100 * accuracy:g} %")
        axes.tick_params(axis="x", labelsize=7)
    return picture
