"""What the reproductions of Figs. 4 to 7 of the HIST journal paper share: systems, uploads, curves.

Uploads are counted in whole models: the bits that a client has sent over those of one upload of the whole
model.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import pandas as pd
from matplotlib.figure import Figure

import cosim
from analysis.plots import curves
from cosim.learning.network.named import network_of
from cosim.learning.network.submodels import NetworkShape
from scenarios.command_line.console import save_picture, save_table
from scenarios.reproduce import figures
from scenarios.reproduce.figures import Claim, show_claims

SPLITS = {"shards": "fully non-i.i.d.", "cell-iid": "cells i.i.d., clients non-i.i.d."}
DEALT = {"shards": cosim.Shards(), "cell-iid": cosim.CellIid()}


@attrs.frozen(kw_only=True)
class Options(figures.Options):
    """How much is run.

    Attributes:
        paper_scale: The learning rate of the authors' public code, 0.01 instead of 0.05, and five times the
            rounds.
    """

    paper_scale: bool = False

    def __attrs_post_init__(self) -> None:
        if self.quick and self.paper_scale:
            raise cosim.ConfigurationError("--quick and --paper-scale are two forms. Usual fix: one of them.")

    def folder(self, figure: str) -> Path:
        """Where the figure goes."""
        return super().folder(f"{figure}-paper-scale" if self.paper_scale else figure)

    def rounds(self, quick: int, full: int) -> int:
        """Global rounds in the chosen form."""
        return quick if self.quick else full * (5 if self.paper_scale else 1)


def hist_system(
    options: Options,
    *,
    num_cells: int,
    split: str,
    num_global_rounds: int,
    whole_model: bool = False,
    num_edge_rounds: int = 5,
    num_local_steps: int = 20,
    num_participants: int | None = None,
) -> cosim.System:
    """The setting of Section VI-B: HIST, or HFedAvg where every cell trains the whole model."""
    everyone = num_participants is None
    selection = cosim.Everyone() if everyone else cosim.Uniform(num_participants=num_participants)
    training = cosim.EdgeTraining(
        num_edge_rounds=num_edge_rounds,
        steps=cosim.SameSteps(num_local_steps=num_local_steps),
        selection=selection,
        local=cosim.Sgd(learning_rate=0.01 if options.paper_scale else 0.05),
    )
    protocol = cosim.HFedAvg if whole_model else cosim.Hist
    return cosim.System(
        seed=options.seed,
        num_cells=num_cells,
        data=cosim.FashionMnist(split=DEALT[split]),
        protocol=protocol(training=training),
        end=cosim.AfterRounds(num_global_rounds=num_global_rounds),
    )


def hist_and_hfedavg(
    options: Options, cells: Sequence[int], splits: Sequence[str], hfedavg_rounds: int
) -> dict[str, cosim.System]:
    """HIST beside HFedAvg for each N and split, N times the rounds (at most 6 times) for HIST."""
    return {
        f"{name} N={num_cells}, {split}": hist_system(
            options,
            num_cells=num_cells,
            split=split,
            whole_model=name == "HFedAvg",
            num_global_rounds=hfedavg_rounds * (1 if name == "HFedAvg" else min(num_cells, 6)),
        )
        for split in splits
        for num_cells in cells
        for name in ("HIST", "HFedAvg")
    }


def uploads(result: cosim.Result) -> pd.Series:
    """Whole-model uploads per client at every evaluation."""
    system = result.config["system"]
    whole_bits = (
        NetworkShape.of(network_of(system["model"])).num_values() * system["codec"]["bits_per_parameter"]
    )
    return result.evaluations["bits_per_client"] / whole_bits


def uploads_to(result: cosim.Result, accuracy: float) -> float | None:
    """Whole-model uploads per client up to an accuracy, or None where it was not reached."""
    reached = uploads(result)[result.evaluations["accuracy"] >= accuracy]
    return float(reached.iloc[0]) if len(reached) else None


def accuracy_at(result: cosim.Result, num_uploads: float) -> float:
    """Accuracy of the last evaluation within so many whole-model uploads."""
    within = result.evaluations[uploads(result) <= num_uploads * (1 + 1e-9)]
    return float(within["accuracy"].iloc[-1])


def write_figure(
    figure: str,
    options: Options,
    results: dict[str, cosim.Result],
    claims: list[Claim],
    draw: Callable[[Path], None],
) -> int:
    """CSV, PNG and the claims beside the paper's; returns the exit code."""
    folder = options.folder(figure)
    tables = [
        result.evaluations.assign(curve=label, uploads_per_client=uploads(result))
        for label, result in results.items()
    ]
    save_table(pd.concat(tables), folder / f"{figure}.csv")
    draw(folder / f"{figure}.png")
    return show_claims(figure, folder, claims)


def draw_curves(
    results: dict[str, cosim.Result],
    splits: Sequence[str],
    x: Callable[[cosim.Result], pd.Series],
    x_label: str,
    title: str,
    path: Path,
) -> None:
    """Accuracy over x of every result, a panel per split; labels are "curve, split"."""
    figure = Figure(figsize=(5.0 * len(splits), 4.2), layout="constrained")
    panels = figure.subplots(1, len(splits), squeeze=False, sharey=True)[0]
    for axes, split in zip(panels, splits, strict=True):
        lines = {
            label.removesuffix(f", {split}"): (x(result), result.evaluations["accuracy"])
            for label, result in results.items()
            if label.endswith(f", {split}")
        }
        curves(axes, lines, x_label)
        axes.set_title(title + SPLITS[split])
        axes.set_ylim(55, 90)
    save_picture(figure, path)


def global_rounds(result: cosim.Result) -> pd.Series:
    """Global rounds at every evaluation."""
    return result.evaluations["version"]


def percent(accuracy: float) -> str:
    """An accuracy as text."""
    return f"{100 * accuracy:.1f} %"


def amount(num_uploads: float | None) -> str:
    """Whole-model uploads as text."""
    return "not reached" if num_uploads is None else f"{num_uploads:.1f} uploads"
