"""Fig. 9c of the HIST journal paper: simulated time to 80 % for n_j clients in each of four cells.

H = 40, E = 5; processors and SNR as in Fig. 8: the first half of the cells is slow; HIST with optimised
sizes; grey levels in [0, 1] as in Fig. 9a. The quick form learns with n_j = 15 only, to 60 %, and only clocks
the others.

    cosim reproduce hist-fig9c --quick
"""

from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import cosim
from analysis.plots import style
from scenarios.reproduce.figures import Claim
from scenarios.reproduce.hist.fig9b import rounds
from scenarios.reproduce.hist.time_figures import (
    AIR_HFEDAVG,
    AIR_HIST,
    OMA_HIST,
    OPTIMAL,
    Options,
    Runs,
    is_earlier,
    over_seeds,
    play_seeds,
    system,
    times_to_s,
    timing_only,
    write,
)

__all__ = ["Options", "main"]

FIGURE, FOLDER = "hist-fig9c", "hist-fig9"
ALGORITHMS = (OMA_HIST, AIR_HFEDAVG, AIR_HIST)
CLIENTS = (10, 15, 20, 25, 30)


def main(options: Options) -> int:
    """Run, draw, compare."""
    learned = (15,) if options.quick else CLIENTS
    target = options.accuracy(0.6)

    def make(algorithm: str, per_cell: int, seed: int, num_global_rounds: int | None = None) -> cosim.System:
        return system(
            algorithm,
            seed,
            num_global_rounds or rounds(algorithm, options),
            num_clients=4 * per_cell,
            sizes=OPTIMAL,
            grey_levels="positive",
        )

    runs = play_seeds(
        FOLDER,
        {
            f"{name}, n_j={per_cell}": lambda seed, name=name, per_cell=per_cell: make(name, per_cell, seed)
            for per_cell in learned
            for name in ALGORITHMS
        },
        options,
    )
    time_s = {
        (name, per_cell): times_to_s(runs[f"{name}, n_j={per_cell}"], target)
        for per_cell in learned
        for name in ALGORITHMS
    }
    sending_s = {
        (name, per_cell): np.array(
            [sending_of_clients_s(make(name, per_cell, seed, 5)) for seed in options.every_seed]
        )
        for name in ALGORITHMS
        for per_cell in CLIENTS
    }
    claims = [earliest(runs, per_cell, target) for per_cell in learned]
    for name in ALGORITHMS:
        means = [sending_s[name, per_cell].mean() for per_cell in CLIENTS]
        is_air = name != OMA_HIST
        claims.append(
            Claim(
                f"{name}: an upload takes the same time for any n_j"
                if is_air
                else f"{name}: it grows with n_j",
                "per parameter "
                + ", ".join(f"n_j={n} {1e9 * mean:.4g} ns" for n, mean in zip(CLIENTS, means, strict=True)),
                bool(np.ptp(means) <= 1e-9 * means[0] if is_air else all(b > a for a, b in pairwise(means))),
                required=True,
            )
        )
    picture = Figure(figsize=(9.4, 4.0), layout="constrained")
    left, right = picture.subplots(1, 2)
    for index, name in enumerate(ALGORITHMS):
        means = np.array([time_s[name, per_cell].mean() for per_cell in learned])
        look = style(index, 12)
        left.semilogy(learned, np.where(np.isfinite(means), means, np.nan), label=name, **look)
        right.semilogy(CLIENTS, [1e9 * sending_s[name, n].mean() for n in CLIENTS], label=name, **look)
    left.set_ylabel(f"simulated time to {100 * target:.3g} % (s)")
    right.set_ylabel("sending, per parameter (ns)")
    for axes in (left, right):
        axes.set_xticks(CLIENTS)
        axes.set_xlabel("clients in each cell")
        axes.grid(alpha=0.3, which="both")
    left.legend(fontsize=8)
    table = pd.DataFrame(
        [
            {"curve": name, "clients_per_cell": n, "seed": seed, "target": target, "time_s": value}
            for (name, n), values in time_s.items()
            for seed, value in zip(options.every_seed, values, strict=True)
        ]
    )
    return write(FIGURE, FOLDER, options, table, picture, claims)


def sending_of_clients_s(system: cosim.System) -> float:
    """Mean time that a client sends for each parameter of its upload."""
    played = timing_only(system)
    spans = played.spans[played.spans["activity"] == "send"]
    spans = spans[spans["node"].str.startswith("client")]
    bits = played.uploads["payload_bits"].sum()
    return float((spans["end_s"] - spans["start_s"]).sum() / (bits / system.codec.bits(1)))


def earliest(runs: Runs, per_cell: int, target: float) -> Claim:
    """AirComp-HIST against OMA-HIST and AirComp-HFedAvg, seed by seed."""
    played = {name: runs[f"{name}, n_j={per_cell}"] for name in ALGORITHMS}
    return Claim(
        f"n_j = {per_cell}: AirComp-HIST is faster than OMA-HIST and AirComp-HFedAvg",
        f"to {100 * target:.3g} % "
        + ", ".join(f"{name} {over_seeds(times_to_s(own, target), ' s')}" for name, own in played.items()),
        all(is_earlier(played[AIR_HIST], played[name], target) for name in ALGORITHMS if name != AIR_HIST),
        required=per_cell == 15,
    )
