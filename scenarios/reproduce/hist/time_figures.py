"""Figs. 8 and 9 of the HIST journal paper: what their reproductions share: systems, seeds, time to a target.

Learning rate 0.01 (the paper: none given), as in the authors' public code: noise of the air reaches the model
through it. Comparisons are paired: the algorithms of one seed have the same data, processors and channels.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import attrs
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from typing_extensions import override

import cosim
from analysis.intervals.curves import mean_curve
from analysis.plots import style
from scenarios.reproduce import figures
from scenarios.reproduce.claims import Floats, Reached, interval_of, reached
from scenarios.reproduce.figures import every_run, num_rounds, run_all

GreyLevels = Literal["symmetric", "positive"]
EQUAL, OPTIMAL = cosim.protocols.EqualSizes(), cosim.protocols.LatencyOptimal()
OMA_HIST, OMA_HFEDAVG = "OMA-HIST", "OMA-HFedAvg"
AIR_HIST, AIR_HFEDAVG = "AirComp-HIST", "AirComp-HFedAvg"


@attrs.frozen(kw_only=True)
class Options(figures.Options):
    """How much is run.

    Attributes:
        num_global_rounds: Global rounds; none: as the figure needs, fewer in the quick form.
        target: Accuracy that is to be reached and held for two evaluations; none: 0.8 as in the paper, less
            in the quick form.
    """

    num_global_rounds: int | None = None
    target: float | None = None

    @override
    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        figures.at_least({"num_global_rounds": 1}, self)
        if self.target is not None and not 0.0 < self.target < 1.0:
            raise cosim.ConfigurationError(
                f"--target {self.target:g}: must lie between 0 and 1. Use 0.8, as in the paper."
            )

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
    sizes: cosim.protocols.SubmodelSizes = EQUAL,
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
        fading = cosim.Rayleigh(redrawn=cosim.radio.EveryEdgeRound())
        radio = cosim.evolve(radio, sharing=cosim.radio.OverTheAir(), fading=fading)
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


Tables = dict[str, list[pd.DataFrame]]
"""Evaluations by design, one table for each seed."""


def run_tables(
    folder: str, systems: Mapping[str, cosim.System], options: Options
) -> tuple[Tables, list[cosim.Result]]:
    """Evaluations of every design with every seed, and the runs that they are of."""
    labels = {label: f"{label}, {lasting(system)}" for label, system in systems.items()}
    runs = run_all(folder, {labels[label]: system for label, system in systems.items()}, options)
    tables = {label: [run.evaluations for run in runs[labels[label]]] for label in systems}
    return tables, every_run(runs)


def at_snr(algorithm: str, snr_db: int) -> str:
    """Name of an algorithm's runs at an SNR in Fig. 9."""
    return f"{algorithm}, {snr_db} dB"


def lasting(system: cosim.System) -> str:
    """Length of a system's runs, in their name."""
    most = f"K={num_rounds(system)}"
    return f"{most} or {system.end.target:g}" if isinstance(system.end, cosim.AfterTarget) else most


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


def times_to(tables: Sequence[pd.DataFrame], target: float) -> Reached:
    """Simulated time to an accuracy that holds, with each seed."""
    return reached([(of_seed["time_s"], of_seed["accuracy"]) for of_seed in tables], target)


def table_of(tables: Tables, options: Options) -> pd.DataFrame:
    """All evaluations."""
    return pd.concat(
        [
            evaluations.assign(curve=label, seed=seed)
            for label, of_seeds in tables.items()
            for seed, evaluations in zip(options.every_seed, of_seeds, strict=True)
        ]
    )


def table_of_times(times: Mapping[str, Reached], target: float, options: Options) -> pd.DataFrame:
    """Time of every seed to the target, infinite where it missed, and how long it lasted."""
    return pd.DataFrame(
        [
            {"curve": label, "seed": seed, "target": target, "time_s": taken_s, "lasted_time_s": lasted_s}
            for label, of_seeds in times.items()
            for seed, taken_s, lasted_s in zip(
                options.every_seed, of_seeds.taken, of_seeds.lasted, strict=True
            )
        ]
    )


def times_in(table: pd.DataFrame) -> dict[str, Reached]:
    """Times of `table_of_times`, by curve; curves that were only clocked have none."""
    timed = table.dropna(subset=["time_s"]).groupby("curve", sort=False)
    return {
        str(curve): Reached(rows["time_s"].to_numpy(), rows["lasted_time_s"].to_numpy())
        for curve, rows in timed
    }


def points_of(tables: Tables, x: str) -> pd.DataFrame:
    """Mean accuracies over the seeds at every value of a column, with intervals (`analysis.plots.curves`)."""
    return pd.concat(
        [
            mean_curve([(of_seed[x], of_seed["accuracy"]) for of_seed in of_seeds], is_share=True).assign(
                curve=label
            )
            for label, of_seeds in tables.items()
        ]
    )


def draw_times(axes: Axes, x: Sequence[float], times: Mapping[str, Sequence[Floats]], y_label: str) -> None:
    """Geometric means with their intervals, on a logarithmic scale; targets that a seed missed are left out.

    Args:
        times: Line -> for each x the times with each seed, infinite where it missed.
    """
    for index, (label, of_line) in enumerate(times.items()):
        known = {at: np.log(own) for at, own in zip(x, of_line, strict=True) if np.isfinite(own).all()}
        found = [interval_of(logs) for logs in known.values()]
        low, mean, high = np.exp([[of.low, of.estimate, of.high] for of in found]).reshape(-1, 3).T
        axes.errorbar(
            list(known), mean, [mean - low, high - mean], capsize=2.5, label=label, **style(index, 12)
        )
    axes.set_yscale("log")
    axes.set_ylabel(y_label)
    axes.grid(alpha=0.3, which="both")


def drawn_as(options: Options) -> str:
    """Content of `draw_times`, for a legend."""
    num = len(options.every_seed)
    return f"geometric mean and 95 % interval, {num} seeds" if num > 1 else "one seed"
