"""Tables I to III of the HIST journal paper: what a client uploads until the model reaches an accuracy."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

import attrs
import pandas as pd
from matplotlib.figure import Figure
from rich.table import Table

import cosim
from analysis.plots import bars
from cosim.values.submodels import NetworkShape
from scenarios.command_line.console import console
from scenarios.reproduce.claims import Claim, reached
from scenarios.reproduce.figures import Options, Runs, every_run, run_all, to_target
from scenarios.reproduce.hist.figures import DEALT, SPLITS
from scenarios.reproduce.hist.table_entries import Entry, PaperTable, label
from scenarios.reproduce.hist.upload_costs import NAMES
from scenarios.reproduce.shown import tell

Asked = TypeVar("Asked", bound=Options)


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


def run_table(
    table: PaperTable,
    setting: Setting,
    options: Asked,
    claims_in: Callable[[pd.DataFrame, Asked], Sequence[Claim]],
) -> int:
    """Run, print ours beside the paper's, compare; returns the exit code.

    Args:
        claims_in: The table's claims, by its rows.
    """
    if setting.replaced:
        console.print(f"{table.name} --quick replaces {setting.replaced}", soft_wrap=True)
    systems = {
        label(name, num_cells, split): system(setting, name, num_cells, split)
        for split in setting.splits
        for num_cells in setting.cells
        for name in NAMES
    }
    runs = run_all(table.name, systems, options)
    frame = rows_of(table, setting, runs, options.every_seed)
    entries = entries_of(table, setting, frame)
    console.print(shown(table, entries, len(options.every_seed)))
    claims = claims_in(frame, options)
    return tell(table.name, options, claims, frame, drawn(table, entries), every_run(runs))


def rows_of(table: PaperTable, setting: Setting, runs: Runs, seeds: Sequence[int]) -> pd.DataFrame:
    """A row for each entry, algorithm and seed: uploads of a client until the accuracy holds.

    Args:
        runs: By label.
    """
    rows = []
    for accuracy, split, num_cells in settings_of(setting):
        for name in NAMES:
            curves = [
                (run.evaluations["bits_per_client"] / table.unit_bits, run.evaluations["accuracy"])
                for run in runs[label(name, num_cells, split)]
            ]
            found = reached(curves, accuracy)
            paper = None if setting.replaced else table.paper(accuracy, split, num_cells, name)
            rows += [
                {
                    "accuracy": accuracy,
                    "split": split,
                    "num_cells": num_cells,
                    "algorithm": name,
                    "seed": seed,
                    f"upload_{table.unit}": taken,
                    f"lasted_upload_{table.unit}": lasted,
                    f"paper_{table.unit}": paper,
                }
                for seed, taken, lasted in zip(seeds, found.taken, found.lasted, strict=True)
            ]
    return pd.DataFrame(rows)


def settings_of(setting: Setting) -> list[tuple[float, str, int]]:
    """Accuracy, split and number of cells of every entry that is run."""
    return list(product(setting.accuracies, setting.splits, setting.cells))


def entries_of(table: PaperTable, setting: Setting, frame: pd.DataFrame) -> list[Entry]:
    """The entries that are in the rows of a table."""
    return [Entry(*own, table, bool(setting.replaced), frame) for own in settings_of(setting)]


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


def amount(value: float | None) -> str:
    """An upload as text."""
    return "-" if value is None else f"{value:.4g}"


def shown(table: PaperTable, entries: Sequence[Entry], num_seeds: int) -> Table:
    """Ours beside the paper's."""
    is_replaced = entries[0].is_replaced
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
