"""Fig. 9c of the HIST journal paper: simulated time to 80 % for n_j clients in each of four cells.

H = 40, E = 5; processors and SNR as in Fig. 8: the first half of the cells is slow; HIST with optimised
sizes; grey levels in [0, 1] as in Fig. 9a. The quick form learns with n_j = 15 only, to 50 %, and only clocks
the others.

    cosim reproduce hist-fig9c --quick
"""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

import cosim
from scenarios.reproduce.claims import Claim, Floats, Quantity, Reached, interval_of, rising, sooner
from scenarios.reproduce.figures import to_target
from scenarios.reproduce.hist.fig8b import ROUNDING
from scenarios.reproduce.hist.fig9b import rounds
from scenarios.reproduce.hist.time_figures import (
    AIR_HFEDAVG,
    AIR_HIST,
    OMA_HIST,
    OPTIMAL,
    Options,
    draw_times,
    play_tables,
    system,
    table_of_times,
    times_to,
    timing_only,
)
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE, FOLDER = "hist-fig9c", "hist-fig9"
ALGORITHMS = (OMA_HIST, AIR_HFEDAVG, AIR_HIST)
CLIENTS = (10, 15, 20, 25, 30)


def main(options: Options) -> int:
    """Run, draw, compare."""
    learned = (15,) if options.quick else CLIENTS
    target = options.accuracy(0.5)

    def make(algorithm: str, per_cell: int, seed: int, num_global_rounds: int) -> cosim.System:
        return system(
            algorithm,
            seed,
            num_global_rounds,
            num_clients=4 * per_cell,
            sizes=OPTIMAL,
            grey_levels="positive",
        )

    tables, runs = play_tables(
        FOLDER,
        {
            f"{name}, n_j={per_cell}": to_target(
                make(name, per_cell, options.seed, rounds(name, options)), target
            )
            for per_cell in learned
            for name in ALGORITHMS
        },
        options,
    )
    times = {label: times_to(of_seeds, target) for label, of_seeds in tables.items()}
    sending_ns = {
        (name, per_cell): np.array(
            [1e9 * sending_of_clients_s(make(name, per_cell, seed, 5)) for seed in options.every_seed]
        )
        for name in ALGORITHMS
        for per_cell in CLIENTS
    }
    claims = [earliest(times, per_cell, target, required=not options.quick) for per_cell in learned]
    for name in ALGORITHMS:
        claims.append(upload_claim(name, {n: sending_ns[name, n] for n in CLIENTS}))
    picture = Figure(figsize=(9.4, 4.0), layout="constrained")
    left, right = picture.subplots(1, 2)
    lines = {name: [times[f"{name}, n_j={n}"].interval for n in learned] for name in ALGORITHMS}
    draw_times(left, learned, lines, f"simulated time to {100 * target:.3g} % (s)")
    sent = {name: [interval_of(sending_ns[name, n]) for n in CLIENTS] for name in ALGORITHMS}
    draw_times(right, CLIENTS, sent, "sending, per parameter (ns)")
    for axes in (left, right):
        axes.set_xticks(CLIENTS)
        axes.set_xlabel("clients in each cell")
    left.legend(fontsize=8)
    return tell(FIGURE, options, claims, table_of_times(times, target, options), picture, runs, folder=FOLDER)


def upload_claim(name: str, sending_ns: Mapping[int, Floats]) -> Claim:
    """Over the air an upload takes the same time for any number of clients, in shares it grows with it."""
    if name == OMA_HIST:
        names = [f"n_j = {n}" for n in sending_ns]
        growing = rising("per parameter", names, list(sending_ns.values()), "ns")
        return Claim(paper=f"{name}: it grows with n_j", quantities=growing, is_required=True)
    first, *others = sending_ns.values()
    same = [
        Quantity(
            words=f"per parameter: n_j = {n} over n_j = {CLIENTS[0]}",
            values=other / first,
            least=1.0 - ROUNDING,
            most=1.0 + ROUNDING,
            is_exact=True,
        )
        for n, other in zip(CLIENTS[1:], others, strict=True)
    ]
    return Claim(
        paper=f"{name}: an upload takes the same time for any n_j", quantities=same, is_required=True
    )


def sending_of_clients_s(system: cosim.System) -> float:
    """Mean time that a client sends for each parameter of its upload."""
    played = timing_only(system)
    spans = played.spans[played.spans["activity"] == "send"]
    spans = spans[spans["node"].str.startswith("client")]
    bits = played.uploads["payload_bits"].sum()
    return float((spans["end_s"] - spans["start_s"]).sum() / (bits / system.codec.bits(1)))


def earliest(times: Mapping[str, Reached], per_cell: int, target: float, *, required: bool) -> Claim:
    """AirComp-HIST against OMA-HIST and AirComp-HFedAvg, seed by seed."""
    own = {name: times[f"{name}, n_j={per_cell}"] for name in ALGORITHMS}
    return Claim(
        paper=f"n_j = {per_cell}: AirComp-HIST is faster than OMA-HIST and AirComp-HFedAvg",
        quantities=[
            sooner(f"{100 * target:.3g} % after, {AIR_HIST}", own[AIR_HIST], name, own[name], "s")
            for name in ALGORITHMS
            if name != AIR_HIST
        ],
        is_required=required and per_cell == 15,
    )
