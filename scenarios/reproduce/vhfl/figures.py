"""What the reproductions of Figs. 4 to 6 of the VHFL paper share: systems, seeds, curves, distances.

The paper's operator data is private; here everything runs on generated cell traffic, so numbers differ and
only the comparison counts. Every comparison is paired: the systems of one seed see the same traffic, clients
and queues, and those with the same network the same initial weights.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

import cosim
from analysis.intervals.statistics import Interval
from analysis.plots import style
from scenarios import vhfl
from scenarios.command_line.console import save_picture, save_table
from scenarios.reproduce.figures import Claim, Options, show_claims

NUM_SEEDS = 5
MEASURES = {
    "train_mse": "training loss (MSE)",
    "test_mse": "test MSE",
    "error_ratio": "prediction error ratio",
}


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
    assert isinstance(protocol, cosim.Vhfl)
    training = cosim.EdgeTraining(
        num_edge_rounds=1,
        steps=cosim.SameSteps(num_local_steps=vhfl.STEPS_PER_EPOCH * protocol.num_local_epochs),
        local=cosim.Sgd(batch_size=protocol.local.batch_size, learning_rate=protocol.local.learning_rate),
    )
    return cosim.evolve(
        base,
        num_clients=1,
        uplink=cosim.Radio(),
        data=cosim.evolve(base.data, split=cosim.Iid()),
        protocol=cosim.HFedAvg(training=training),
        end=cosim.AfterRounds(num_global_rounds=num_global_rounds),
    )


def without_global_features(system: cosim.System) -> cosim.System:
    """The same system where nobody has the server's observations."""
    data = cosim.evolve(system.data, global_features=False)
    return cosim.evolve(system, model=vhfl.HORIZONTAL, data=data)


def seeds(options: Options) -> range:
    """The seeds that are paired."""
    return range(options.seed, options.seed + NUM_SEEDS)


def last(results: dict[str, cosim.Result], curve: str, measure: str = "test_mse") -> np.ndarray:
    """The measure after the last round of every seed of a curve, shape (seeds,)."""
    return np.array([r.evaluations[measure].iloc[-1] for r in of_curve(results, curve)])


def of_curve(results: dict[str, cosim.Result], curve: str) -> list[cosim.Result]:
    """The results of all seeds of a curve; labels are "curve, seed 1"."""
    return [result for label, result in results.items() if curve_of(label) == curve]


def curve_of(label: str) -> str:
    """The curve that a run belongs to."""
    return label.rpartition(", seed ")[0]


def labelled(curve: str, seed: int) -> str:
    """The label of one run."""
    return f"{curve}, seed {seed}"


def write_figure(
    figure: str,
    options: Options,
    results: dict[str, cosim.Result],
    panels: Sequence[tuple[str, Sequence[str]]],
    claims: list[Claim],
) -> int:
    """CSV, PNG with a panel per measure and curves, and the claims beside the paper's; the exit code."""
    folder = options.folder(figure)
    tables = [
        result.evaluations.assign(curve=curve_of(label), seed=result.config["system"]["seed"])
        for label, result in results.items()
    ]
    save_table(pd.concat(tables), folder / f"{figure}.csv")
    picture = Figure(figsize=(4.6 * len(panels), 4.0), layout="constrained")
    for axes, (measure, curves) in zip(picture.subplots(1, len(panels)), panels, strict=True):
        _draw(axes, results, measure, curves)
    save_picture(picture, folder / f"{figure}.png")
    return show_claims(figure, folder, claims)


def _draw(axes: Axes, results: dict[str, cosim.Result], measure: str, curves: Sequence[str]) -> None:
    """Geometric mean over the seeds and its 95 % t interval as a band, from the first round on."""
    for index, curve in enumerate(curves):
        runs = of_curve(results, curve)
        rounds = runs[0].evaluations["version"].to_numpy()[1:]
        logs = np.log([run.evaluations[measure].to_numpy()[1:] for run in runs])
        mean = logs.mean(axis=0)
        reach = stats.t.ppf(0.975, len(runs) - 1) * logs.std(axis=0, ddof=1) / np.sqrt(len(runs))
        look = style(index, len(rounds))
        axes.plot(rounds, np.exp(mean), label=curve.replace("E_l", "$E_l$"), **look)
        band = np.exp([mean - reach, mean + reach])
        axes.fill_between(rounds, *band, color=look["color"], alpha=0.15, linewidth=0)
    axes.set_yscale("log")
    axes.set_xlabel("global rounds")
    axes.set_ylabel(MEASURES[measure])
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8, title=f"mean of logs and 95 % interval, {NUM_SEEDS} seeds", title_fontsize=8)


def shown(interval: Interval, digits: int = 3) -> str:
    """An interval as text."""
    return f"{interval.estimate:.{digits}g} [{interval.low:.{digits}g}, {interval.high:.{digits}g}]"
