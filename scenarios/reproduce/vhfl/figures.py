"""Figs. 4 to 6 of the VHFL paper: what their reproductions share: systems, seeds, curves, distances.

The paper's operator data is private; here everything runs on generated cell traffic, so numbers differ and
only the comparison counts. Every comparison is paired: the systems of one seed see the same traffic, clients
and queues, and with the same network the same initial weights.
"""

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

import cosim
from analysis.plots import style
from scenarios import vhfl
from scenarios.papers.vhfl import Vfl, Vhfl
from scenarios.reproduce import figures
from scenarios.reproduce.claims import Claim, Floats
from scenarios.reproduce.figures import Runs, every_run
from scenarios.reproduce.shown import tell

MEASURES = {
    "train_mse": "training loss (MSE)",
    "test_mse": "test MSE",
    "error_ratio": "prediction error ratio",
}


@attrs.frozen(kw_only=True)
class Options(figures.Options):
    """How much is run.

    Attributes:
        full_seeds: More than usual, since runs are short and neighbours differ little.
        quick_seeds: As many as the differences need after 40 rounds.
    """

    full_seeds: ClassVar[int] = 4 * figures.SEEDS
    quick_seeds: ClassVar[int] = 3 * figures.SEEDS


def vhfl_system(seed: int, num_global_rounds: int) -> cosim.System:
    """The scenario `vhfl`."""
    base = vhfl.system()
    return cosim.evolve(base, seed=seed, end=cosim.AfterRounds(num_global_rounds=num_global_rounds))


def horizontal_system(seed: int, num_global_rounds: int) -> cosim.System:
    """Horizontal federated learning: the same, without what the server observes."""
    return without_global_features(vhfl_system(seed, num_global_rounds))


def cloud_system(seed: int, num_global_rounds: int) -> cosim.System:
    """Cloud training: one place holds the features of all cells and of the server, and trains all at once.

    A global round has as many steps as a client of VHFL takes.
    """
    base = vhfl_system(seed, num_global_rounds)
    protocol = base.protocol
    assert isinstance(protocol, Vhfl)
    training = cosim.EdgeTraining(
        num_edge_rounds=1,
        steps=cosim.SameSteps(num_local_steps=vhfl.STEPS_PER_EPOCH * protocol.num_local_epochs),
        local=cosim.Sgd(batch_size=protocol.local.batch_size, learning_rate=protocol.local.learning_rate),
    )
    return cosim.evolve(
        base,
        num_clients=1,
        uplink=cosim.Radio(),
        data=cosim.evolve(base.data, split=cosim.data.Iid()),
        protocol=cosim.HFedAvg(training=training),
        end=cosim.AfterRounds(num_global_rounds=num_global_rounds),
    )


def vertical_system(seed: int, num_global_rounds: int) -> cosim.System:
    """Vertical federated learning: one client holds the features of all cells, the server its own.

    A global round has as many steps as one of cloud training, and an exchange for each.
    """
    cloud = cloud_system(seed, num_global_rounds)
    training = cloud.protocol.training  # type: ignore[union-attr]
    return cosim.evolve(
        cloud,
        uplink=vhfl.system().uplink,
        protocol=Vfl(num_exchanges=training.steps.num_local_steps, local=training.local),
    )


def without_global_features(system: cosim.System) -> cosim.System:
    """The same system without the server's observations."""
    data = cosim.evolve(system.data, global_features=False)
    return cosim.evolve(system, model=vhfl.HORIZONTAL, data=data)


def last(runs: Runs, curve: str, measure: str = "test_mse") -> Floats:
    """The measure after the last round of every seed of a curve, shape (seeds,)."""
    return np.array([result.evaluations[measure].iloc[-1] for result in runs[curve]])


def write_figure(
    figure: str,
    options: Options,
    runs: Runs,
    panels: Sequence[tuple[str, Sequence[str]]],
    claims: list[Claim],
) -> int:
    """CSV, PNG with a panel per measure and curves, and the claims beside the paper's; the exit code."""
    of_curves = [(curve, result) for curve, results in runs.items() for result in results]
    evaluations = [result.evaluations[["version", *MEASURES]] for _, result in of_curves]
    lengths = list(map(len, evaluations))
    table = pd.concat(evaluations).assign(
        curve=np.repeat([curve for curve, _ in of_curves], lengths),
        seed=np.repeat([result.config["system"]["seed"] for _, result in of_curves], lengths),
    )
    picture = Figure(figsize=(4.6 * len(panels), 4.0), layout="constrained")
    for axes, (measure, curves) in zip(picture.subplots(1, len(panels)), panels, strict=True):
        _draw(axes, runs, measure, curves)
    return tell(figure, options, claims, table, picture, every_run(runs))


def _draw(axes: Axes, results: Runs, measure: str, curves: Sequence[str]) -> None:
    """Geometric mean over the seeds and its 95 % t interval as a band, from the first round on."""
    for index, curve in enumerate(curves):
        runs = results[curve]
        rounds = runs[0].evaluations["version"].to_numpy()[1:]
        logs = np.log([run.evaluations[measure].to_numpy()[1:] for run in runs])
        mean = logs.mean(axis=0)
        spread = logs.std(axis=0, ddof=1) if len(runs) > 1 else 0.0
        reach = stats.t.ppf(0.975, max(len(runs) - 1, 1)) * spread / np.sqrt(len(runs))
        look = style(index, len(rounds))
        axes.plot(rounds, np.exp(mean), label=curve.replace("E_l", "$E_l$"), **look)
        band = np.exp([mean - reach, mean + reach])
        axes.fill_between(rounds, *band, color=look["color"], alpha=0.15, linewidth=0)
    axes.set_yscale("log")
    axes.set_xlabel("global rounds")
    axes.set_ylabel(MEASURES[measure])
    axes.grid(alpha=0.3, which="both")
    num = len(results[curves[0]])
    axes.legend(fontsize=8, title=f"mean of logs and 95 % interval, {num} seeds", title_fontsize=8)
