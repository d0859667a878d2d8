"""Figs. 4 to 7 of the HIST journal paper: what their reproductions share: systems, uploads, curves.

The conference paper's figures have the same setting, with other N and H.

Uploads are counted in whole models: the bits that a client has sent over the bits of one upload of the whole
model.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import attrs
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from typing_extensions import override

import cosim
from analysis.intervals.curves import mean_curve
from analysis.intervals.statistics import difference
from analysis.plots import curves
from cosim.networks.named import network_of
from cosim.values.submodels import NetworkShape
from scenarios.reproduce import figures
from scenarios.reproduce.claims import Claim, Floats, Quantity, Reached, reached, rising
from scenarios.reproduce.figures import Runs

SPLITS = {"shards": "fully non-i.i.d.", "cell-iid": "cells i.i.d., clients non-i.i.d."}
DEALT = {"shards": cosim.data.Shards(), "cell-iid": cosim.data.CellIid()}
MEAN = "mean accuracy over the rounds"
"""Name of `mean_accuracy` in claims."""
AT_EQUAL_UPLOAD = "mean accuracy at equal upload"
"""Name of means over the levels of `at_equal_upload`."""


@attrs.frozen(kw_only=True)
class Options(figures.Options):
    """Size of the reproduction.

    Attributes:
        paper_scale: The paper's own scale, in hours: Figs. 4 to 7, and the conference paper's, with the
            learning rate of the authors' public code, 0.01 instead of 0.05, and five times the rounds. Table
            I, in days: with N = 2 as well, and to 80 %.
    """

    paper_scale: bool = False

    @override
    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.quick and self.paper_scale:
            raise cosim.ConfigurationError("--quick and --paper-scale are two forms. Use one of them.")

    @override
    def folder(self, figure: str) -> Path:
        return super().folder(f"{figure}-paper-scale" if self.paper_scale else figure)

    @property
    def splits(self) -> tuple[str, ...]:
        """Splits that the figures are run with."""
        return ("shards",) if self.quick else tuple(SPLITS)

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
    selection = (
        cosim.selection.Everyone() if everyone else cosim.selection.Uniform(num_participants=num_participants)
    )
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
    options: Options,
    cells: Sequence[int],
    splits: Sequence[str],
    hfedavg_rounds: int,
    *,
    num_local_steps: int = 20,
) -> dict[str, cosim.System]:
    """HIST beside HFedAvg for each N and split, N times the rounds (at most 6 times) for HIST."""
    return {
        f"{name} N={num_cells}, {split}": hist_system(
            options,
            num_cells=num_cells,
            split=split,
            whole_model=name == "HFedAvg",
            num_local_steps=num_local_steps,
            num_global_rounds=hfedavg_rounds * (1 if name == "HFedAvg" else min(num_cells, 6)),
        )
        for split in splits
        for num_cells in cells
        for name in ("HIST", "HFedAvg")
    }


def uploads(result: cosim.Result) -> pd.Series:
    """Whole-model uploads per client at every evaluation."""
    system = result.config["system"]
    whole_bits = _num_parameters(system["model"]) * system["codec"]["bits_per_parameter"]
    return result.evaluations["bits_per_client"] / whole_bits


@cache
def _num_parameters(model: str) -> int:
    return NetworkShape.of(network_of(model)).num_values()


def uploads_to(results: Sequence[cosim.Result], accuracy: float) -> Reached:
    """Whole-model uploads per client up to an accuracy that holds, with each seed."""
    return reached([(uploads(result), result.evaluations["accuracy"]) for result in results], accuracy)


def accuracy_at(result: cosim.Result, num_uploads: float) -> float:
    """Accuracy of the last evaluation within a number of whole-model uploads."""
    within = result.evaluations[uploads(result) <= num_uploads * (1 + 1e-9)]
    return float(within["accuracy"].iloc[-1])


def at_equal_upload(runs: Runs, cells: Sequence[int]) -> tuple[list[float], list[dict[int, Floats]]]:
    """Accuracies of HIST and of HFedAvg after as many uploads each as HFedAvg's evaluations have had.

    Args:
        runs: Runs of a split.

    Returns:
        Whole-model uploads, shape (levels,); of both, by N, accuracies in per cent, shape (seeds, levels).
    """
    levels = uploads(runs[f"HFedAvg N={cells[0]}"][0]).iloc[1:].tolist()
    of_both = [
        {
            n: 100.0
            * np.array([[accuracy_at(run, level) for level in levels] for run in runs[f"{name} N={n}"]])
            for n in cells
        }
        for name in ("HIST", "HFedAvg")
    ]
    return levels, of_both


def ahead_at_equal_upload(
    num_cells: int, words: str, levels: Sequence[float], own: Floats, other: Floats
) -> Claim:
    """HIST over HFedAvg at the levels, in the mean over them and at the last one."""
    return Claim(
        paper=f"N = {num_cells}, {words}: HIST is more accurate than HFedAvg at equal upload",
        quantities=[
            Quantity(
                words=f"{when}: HIST less HFedAvg",
                values=difference(of_hist, of_hfedavg),
                least=0.0,
                unit="points",
            )
            for when, of_hist, of_hfedavg in (
                (AT_EQUAL_UPLOAD, own.mean(axis=1), other.mean(axis=1)),
                (f"after {levels[-1]:g} uploads", own[:, -1], other[:, -1]),
            )
        ],
    )


def ever_better(paper: str, accuracies: Mapping[int, Floats], cells: Sequence[int]) -> Claim:
    """That each N is more accurate than the one before it, in the mean over the levels."""
    names, means = [f"N = {n}" for n in cells], [accuracies[n].mean(axis=1) for n in cells]
    return Claim(paper=paper, quantities=rising(AT_EQUAL_UPLOAD, names, means, "points"))


def mean_accuracy(results: Sequence[cosim.Result]) -> Floats:
    """Mean over the evaluations after training has begun, in per cent, with each seed.

    Higher where a curve rises faster.
    """
    return 100.0 * np.array([result.evaluations["accuracy"].iloc[1:].mean() for result in results])


def of_split(runs: Runs, split: str) -> Runs:
    """The designs of a split, without its name; labels are "curve, split"."""
    return {
        label.removesuffix(f", {split}"): results
        for label, results in runs.items()
        if label.endswith(f", {split}")
    }


def table_of(runs: Runs) -> pd.DataFrame:
    """All evaluations."""
    return pd.concat(
        [
            result.evaluations.assign(
                curve=label, seed=result.config["system"]["seed"], uploads_per_client=uploads(result)
            )
            for label, results in runs.items()
            for result in results
        ]
    )


def drawn(
    runs: Runs, splits: Sequence[str], x: Callable[[cosim.Result], pd.Series], x_label: str, title: str
) -> Figure:
    """Accuracy over x of every design, means over the seeds, a panel for each split."""
    figure = Figure(figsize=(5.0 * len(splits), 4.2), layout="constrained")
    panels = figure.subplots(1, len(splits), squeeze=False, sharey=True)[0]
    for axes, split in zip(panels, splits, strict=True):
        points = [
            mean_curve([(x(result), result.evaluations["accuracy"]) for result in results], is_share=True)
            for results in of_split(runs, split).values()
        ]
        named = zip(of_split(runs, split), points, strict=True)
        curves(axes, pd.concat([own.assign(curve=label) for label, own in named]), x_label)
        axes.set_title(title + SPLITS[split])
        axes.set_ylim(55, 90)
    return figure


def global_rounds(result: cosim.Result) -> pd.Series:
    """Global rounds at every evaluation."""
    return result.evaluations["version"]
