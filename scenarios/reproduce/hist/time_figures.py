"""What the reproductions of Figs. 8 and 9 of the HIST journal paper share: systems, seeds, time to a target.

Learning rate 0.01 (the paper: none given), as in the authors' public code: noise of the air reaches the model
through it. Comparisons are paired: the algorithms of one seed have the same data, processors and channels.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import attrs
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

import cosim
from analysis.intervals.statistics import t_interval
from scenarios.command_line.console import made, save_picture, save_table
from scenarios.reproduce import figures
from scenarios.reproduce.figures import Claim, num_rounds, play_all, show_claims

Floats = NDArray[np.float64]
GreyLevels = Literal["symmetric", "positive"]
EQUAL, OPTIMAL = cosim.EqualSizes(), cosim.LatencyOptimal()
OMA_HIST, OMA_HFEDAVG = "OMA-HIST", "OMA-HFedAvg"
AIR_HIST, AIR_HFEDAVG = "AirComp-HIST", "AirComp-HFedAvg"


@attrs.frozen(kw_only=True)
class Options(figures.Options):
    """How much is run.

    Attributes:
        seeds: Seeds, one after another from --seed on.
        num_global_rounds: Global rounds; none: as the figure needs, fewer in the quick form.
        target: Accuracy that is to be reached; none: 0.8 as in the paper, less in the quick form.
    """

    seeds: int = 1
    num_global_rounds: int | None = None
    target: float | None = None

    def __attrs_post_init__(self) -> None:
        for name, value in (("seeds", self.seeds), ("num-global-rounds", self.num_global_rounds)):
            if value is not None and value < 1:
                raise cosim.ConfigurationError(
                    f"--{name} {value}: must be at least 1. Usual fix: leave it out."
                )
        if self.target is not None and not 0.0 < self.target < 1.0:
            raise cosim.ConfigurationError(
                f"--target {self.target:g}: must lie between 0 and 1. Usual fix: 0.8, as in the paper."
            )

    @property
    def every_seed(self) -> range:
        """The seeds that are run."""
        return range(self.seed, self.seed + self.seeds)

    def rounds(self, quick: int, full: int) -> int:
        """Global rounds in the chosen form."""
        return self.num_global_rounds or (quick if self.quick else full)

    def accuracy(self, quick: float) -> float:
        """The target in the chosen form."""
        return self.target or (quick if self.quick else 0.8)


def system(
    algorithm: str,
    seed: int,
    num_global_rounds: int,
    *,
    num_cells: int = 4,
    num_clients: int = 60,
    num_local_steps: int = 40,
    sizes: cosim.SubmodelSizes = EQUAL,
    snr_db: tuple[float, ...] = (30.0, 40.0),
    alike: bool = False,
    grey_levels: GreyLevels = "symmetric",
) -> cosim.System:
    """The setting of Sections VI-C and VI-D.

    Args:
        sizes: Submodel sizes of HIST.
        alike: Processors of 2 to 4 GHz in all cells (Fig. 9b), not of 1 to 2 GHz in the first half.
    """
    training = cosim.EdgeTraining(
        steps=cosim.SameSteps(num_local_steps=num_local_steps), local=cosim.Sgd(learning_rate=0.01)
    )
    radio = cosim.Radio(link=cosim.GivenSnr(snr_db=cosim.PerGroup(values=snr_db)))
    if algorithm in (AIR_HIST, AIR_HFEDAVG):
        fading = cosim.Rayleigh(redrawn=cosim.EveryEdgeRound())
        radio = cosim.evolve(radio, sharing=cosim.OverTheAir(), fading=fading)
    if algorithm in (OMA_HIST, AIR_HIST):
        protocol = cosim.Hist(training=training, submodel_sizes=sizes)
    else:
        protocol = cosim.HFedAvg(training=training)
    devices = cosim.DrawnDevices()
    if alike:
        slowest_hz, fastest_hz = cosim.PerGroup(values=(2e9,)), cosim.PerGroup(values=(4e9,))
        devices = cosim.evolve(devices, min_frequency_hz=slowest_hz, max_frequency_hz=fastest_hz)
    return cosim.System(
        seed=seed,
        num_cells=num_cells,
        num_clients=num_clients,
        data=cosim.FashionMnist(grey_levels=grey_levels),
        devices=devices,
        uplink=radio,
        protocol=protocol,
        end=cosim.AfterRounds(num_global_rounds=num_global_rounds),
    )


Runs = dict[str, list[pd.DataFrame]]
"""Evaluations by label, one table for each seed."""


def play_seeds(folder: str, systems: Mapping[str, Callable[[int], cosim.System]], options: Options) -> Runs:
    """Run every label with every seed, what has not been run yet."""
    labels = {
        f"{label}, K={num_rounds(make(seed))}, seed {seed}": make(seed)
        for label, make in systems.items()
        for seed in options.every_seed
    }
    results = iter(play_all(folder, labels, options).values())
    return {label: [next(results).evaluations for _ in options.every_seed] for label in systems}


def at_other_times(learned: Sequence[pd.DataFrame], systems: Sequence[cosim.System]) -> list[pd.DataFrame]:
    """The same learning at the times of other networks, one for each seed.

    Exact where nothing is dropped and sizes do not depend on the network: then weights do not depend on time.
    """
    retimed = []
    for evaluations, other in zip(learned, systems, strict=True):
        ends_s = np.concatenate([[0.0], np.cumsum(round_durations_s(other))])
        retimed.append(evaluations.assign(time_s=ends_s[evaluations["version"].to_numpy()]))
    return retimed


def timing_only(system: cosim.System) -> cosim.Result:
    """The clock without learning."""
    return cosim.run(cosim.evolve(system, evaluation=cosim.Never()), num_workers=1)


def round_durations_s(system: cosim.System) -> Floats:
    """How long each global round takes, shape (rounds,)."""
    rounds = timing_only(system).rounds
    whole = rounds[rounds["level"] == "global"]
    return (whole["end_s"] - whole["start_s"]).to_numpy()


def time_to_s(evaluations: pd.DataFrame, target: float) -> float:
    """Simulated time at which the accuracy was first reached; infinity where it was not."""
    reached = evaluations[evaluations["accuracy"] >= target]
    return float(reached["time_s"].iloc[0]) if len(reached) else np.inf


def is_earlier(own: Sequence[pd.DataFrame], others: Sequence[pd.DataFrame], target: float) -> bool:
    """Whether, with every seed, the target was reached before the others had reached it.

    Others that have not reached it must have been followed for longer.
    """
    return all(
        time_to_s(mine, target) < min(time_to_s(other, target), float(other["time_s"].iloc[-1]) + 1e-12)
        for mine, other in zip(own, others, strict=True)
    )


def times_to_s(runs: Sequence[pd.DataFrame], target: float) -> Floats:
    """The same for every seed, shape (seeds,)."""
    return np.array([time_to_s(evaluations, target) for evaluations in runs])


def over_seeds(values: Floats, unit: str = "", scale: float = 1.0, digits: int = 3) -> str:
    """The mean over seeds with its 95 % t interval, where there are several."""
    if not np.isfinite(values).all():
        return "not reached" + (f" by {np.isinf(values).sum()} of {len(values)}" if len(values) > 1 else "")
    values = scale * values
    if len(values) < 2 or np.ptp(values) == 0.0:
        return f"{values.mean():.{digits}g}{unit}"
    interval = t_interval(values)
    low, high = interval.low, interval.high
    return f"{interval.estimate:.{digits}g} [{low:.{digits}g}, {high:.{digits}g}]{unit}"


def table_of(runs: Runs, options: Options) -> pd.DataFrame:
    """All evaluations."""
    return pd.concat(
        [
            evaluations.assign(curve=label, seed=seed)
            for label, tables in runs.items()
            for seed, evaluations in zip(options.every_seed, tables, strict=True)
        ]
    )


def mean_curve(runs: Sequence[pd.DataFrame], column: str) -> Floats:
    """A column of the evaluations, mean over seeds, shape (evaluations,)."""
    return np.mean([evaluations[column].to_numpy() for evaluations in runs], axis=0)


def write(
    figure: str, folder: str, options: Options, table: pd.DataFrame, picture: Figure, claims: Sequence[Claim]
) -> int:
    """CSV, PNG, and the claims beside the paper's; the exit code."""
    path = made(options.folder(folder))
    save_table(table, path / f"{figure}.csv")
    save_picture(picture, path / f"{figure}.png")
    return show_claims(figure, path, claims)
