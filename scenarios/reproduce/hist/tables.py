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
from cosim.learning.network.submodels import NetworkShape
from scenarios.command_line.console import console, save_picture, save_table
from scenarios.reproduce import figures
from scenarios.reproduce.figures import Claim, play_all, show_claims
from scenarios.reproduce.hist.figures import DEALT, SPLITS

NAMES = ("HIST", "HFedAvg")

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
    """What is run of a table.

    Attributes:
        base: The system of HIST; number of cells, split and rounds are replaced.
        splits: Of the data.
        cells: Numbers of cells.
        rounds: Global rounds of each algorithm and number of cells.
        accuracies: To be reached.
        replaced: What stands in the place of the paper's; empty: nothing.
    """

    base: cosim.System
    splits: tuple[str, ...]
    cells: tuple[int, ...]
    rounds: Mapping[tuple[str, int], int]
    accuracies: tuple[float, ...]
    replaced: str = ""


def play(table: PaperTable, setting: Setting, options: figures.Options, required: Sequence[str] = ()) -> int:
    """Run, print ours beside the paper's, compare; returns the exit code.

    Args:
        required: Labels of comparisons that must come out as in the paper.
    """
    if setting.replaced:
        console.print(f"{table.name} --quick replaces {setting.replaced}", soft_wrap=True)
    systems = {
        label(name, num_cells, split): system(setting, name, num_cells, split)
        for split in setting.splits
        for num_cells in setting.cells
        for name in NAMES
    }
    results = play_all(table.name, systems, options)
    rows = []
    for accuracy in setting.accuracies:
        for split in setting.splits:
            for num_cells in setting.cells:
                for name in NAMES:
                    bits = bits_to(results[label(name, num_cells, split)], accuracy)
                    ours = None if bits is None else bits / table.unit_bits
                    paper = None if setting.replaced else table.paper(accuracy, split, num_cells, name)
                    rows.append((accuracy, split, num_cells, name, ours, paper))
    columns = ["accuracy", "split", "num_cells", "algorithm", f"upload_{table.unit}", f"paper_{table.unit}"]
    frame = pd.DataFrame(rows, columns=columns)
    folder = options.folder(table.name)
    save_table(frame, folder / f"{table.name}.csv")
    save_picture(drawn(table, frame), folder / f"{table.name}.png")
    console.print(shown(table, frame, bool(setting.replaced)))
    claims = [grid_claim(table), *(claim(table, rows, required) for rows in pairs(frame))]
    return show_claims(table.name, folder, claims)


def label(name: str, num_cells: int, split: str) -> str:
    """What a run is called."""
    return f"{name} N={num_cells}, {split}"


def system(setting: Setting, name: str, num_cells: int, split: str) -> cosim.System:
    """One run: HIST, or HFedAvg where every cell trains the whole model."""
    base = setting.base
    kind = cosim.Hist if name == "HIST" else cosim.HFedAvg
    return cosim.evolve(
        base,
        num_cells=num_cells,
        data=cosim.evolve(base.data, split=DEALT[split]),
        protocol=kind(training=base.protocol.training),  # type: ignore[union-attr]
        end=cosim.AfterRounds(num_global_rounds=setting.rounds[name, num_cells]),
    )


def bits_to(result: cosim.Result, accuracy: float) -> float | None:
    """Bits that a client has sent when the model is evaluated at an accuracy first; None: it never was."""
    reached = result.evaluations[result.evaluations["accuracy"] >= accuracy]
    return float(reached["bits_per_client"].iloc[0]) if len(reached) else None


def upload_bits(network: Any) -> int:
    """Bits of one upload of a whole network, in float32."""
    return 32 * NetworkShape.of(network).num_values()


def grid_claim(table: PaperTable) -> Claim:
    """Whether the entries are whole multiples, and what they are multiples of is what it should be."""
    exact = table.multiple_bits / table.unit_bits
    entries = [
        numbers[place]
        for entries in table.entries.values()
        for numbers in entries.values()
        for place in (1, 3)
    ]
    off = [entry for entry in entries if abs(entry - round(entry / table.multiple) * table.multiple) > 0.0101]
    words = f"that is {exact:.4f} {table.unit}; of {len(entries)} entries {len(entries) - len(off)} are"
    words += ", all but " + ", ".join(map(str, off)) if off else ""
    is_right = abs(exact - table.multiple) < 0.005 * table.multiple
    return Claim(f"HFedAvg's entries are multiples of {table.multiple_words}", words, is_right and not off)


def pairs(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """HIST and HFedAvg of one setting."""
    return [rows for _, rows in frame.groupby(["accuracy", "split", "num_cells"], sort=False)]


def claim(table: PaperTable, rows: pd.DataFrame, required: Sequence[str]) -> Claim:
    """Whether HIST needs less than HFedAvg."""
    accuracy, split, num_cells = rows.iloc[0][["accuracy", "split", "num_cells"]]
    hist, hfedavg = rows[f"upload_{table.unit}"]
    less = pd.notna(hist) and (pd.isna(hfedavg) or hist < hfedavg)
    words = f"{SPLITS[split]}, N = {num_cells}, to {100 * accuracy:g} %"
    return Claim(
        f"{words}: HIST needs less upload than HFedAvg",
        f"{amount(hist)} against {amount(hfedavg)} {table.unit}",
        bool(less),
        required=label("HIST", num_cells, split) in required,
    )


def amount(value: float | None) -> str:
    """An upload as text."""
    return "not reached" if value is None or pd.isna(value) else f"{value:.4g}"


def shown(table: PaperTable, frame: pd.DataFrame, is_replaced: bool) -> Table:
    """Ours beside the paper's."""
    words = "what stands in for it" if is_replaced else "one seed"
    printed = Table(
        title=f"{table.name}: upload per client, {table.unit}; here: {words}", title_justify="left"
    )
    for heading in ("accuracy", "split", "N", "HIST", "the paper's", "HFedAvg", "the paper's"):
        printed.add_column(heading, justify="left" if heading == "split" else "right", no_wrap=True)
    for rows in pairs(frame):
        accuracy, split, num_cells = rows.iloc[0][["accuracy", "split", "num_cells"]]
        values = rows[[f"upload_{table.unit}", f"paper_{table.unit}"]].to_numpy().ravel()
        texts = ["-" if column % 2 and pd.isna(v) else amount(v) for column, v in enumerate(values)]
        printed.add_row(f"{100 * accuracy:g} %", SPLITS[split], str(num_cells), *texts)
    return printed


def drawn(table: PaperTable, frame: pd.DataFrame) -> Figure:
    """Bars by setting, a panel for each accuracy."""
    accuracies = list(dict.fromkeys(frame["accuracy"]))
    picture = Figure(figsize=(5.4 * len(accuracies), 4.0), layout="constrained")
    panels = picture.subplots(1, len(accuracies), squeeze=False)[0]
    for axes, accuracy in zip(panels, accuracies, strict=True):
        groups: dict[str, dict[str, float | None]] = {}
        for row in frame[frame["accuracy"] == accuracy].itertuples(index=False):
            _, split, num_cells, name, ours, _ = row
            words = SPLITS[split].replace(", ", ",\n")
            group = groups.setdefault(f"{words}\nN = {num_cells}", {})
            group[name] = None if pd.isna(ours) else ours
        bars(axes, groups, f"upload per client ({table.unit})")
        axes.set_title(f"to {100 * accuracy:g} %")
        axes.tick_params(axis="x", labelsize=7)
    return picture
