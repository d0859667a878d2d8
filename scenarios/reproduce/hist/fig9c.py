"""Fig. 9c of the HIST journal paper: simulated time to 80 % for n_j clients in each of four cells.

H = 40, E = 5; processors and SNR as in Fig. 8: the first half of the cells is slow; HIST with optimised
sizes; grey levels in [0, 1] as in Fig. 9a. Beside the time to 80 % stands what the paper explains it by: how
long a client sends, for each parameter of its upload. The full form takes 2 cores an estimated four
hours; --num-clients-per-cell learns with some n_j and only clocks the others, and what it cannot tell stands
there as not run. The quick form learns with 15, to 50 %.

    cosim reproduce hist-fig9c --quick
    cosim reproduce hist-fig9c --num-clients-per-cell 10 15 20
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import attrs
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from typing_extensions import override

import cosim
from scenarios.reproduce.claims import Claim, Floats, Quantity, Reached, sooner
from scenarios.reproduce.figures import to_target
from scenarios.reproduce.hist import time_figures
from scenarios.reproduce.hist.fig8b import ROUNDING
from scenarios.reproduce.hist.fig9b import rounds
from scenarios.reproduce.hist.time_figures import (
    AIR_HFEDAVG,
    AIR_HIST,
    OMA_HIST,
    OPTIMAL,
    draw_times,
    drawn_as,
    run_tables,
    system,
    table_of_times,
    times_in,
    times_to,
    timing_only,
)
from scenarios.reproduce.shown import tell

__all__ = ["Options", "main"]

FIGURE, FOLDER = "hist-fig9c", "hist-fig9"
ALGORITHMS = (OMA_HIST, AIR_HFEDAVG, AIR_HIST)
CLIENTS = (10, 15, 20, 25, 30)
FULL_CORE_HOURS = 8.0
"""Of the full form with five seeds: 3.6 were taken by 10, 15 and 20 clients in a cell, 45 of its 100."""
SLIGHTER = "the fluctuation of the AirComp-assisted algorithms with n_j is slighter"
LINEAR = 0.05
"""By which sending times may be off proportion, at most. [no source]"""


@attrs.frozen(kw_only=True)
class Options(time_figures.Options):
    """How much is run.

    Attributes:
        num_clients_per_cell: Clients in each cell with which is learned, of 10, 15, 20, 25 and 30; the others
            are only clocked. None means all, in the quick form 15.
    """

    num_clients_per_cell: tuple[int, ...] | None = None

    @override
    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        asked = self.num_clients_per_cell
        if asked is not None and (not asked or not set(asked) <= set(CLIENTS)):
            words = " ".join(map(str, asked))
            raise cosim.ConfigurationError(
                f"--num-clients-per-cell {words}: must be some of {', '.join(map(str, CLIENTS))}. "
                "Use 10 15 20."
            )

    @property
    def learned(self) -> tuple[int, ...]:
        """Clients in each cell with which is learned, from few to many."""
        asked = self.num_clients_per_cell or ((15,) if self.quick else CLIENTS)
        return tuple(sorted(set(asked)))


def main(options: Options) -> int:
    """Run, draw, compare."""
    learned = options.learned
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

    tables, runs = run_tables(
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
    picture = Figure(figsize=(9.4, 4.0), layout="constrained")
    left, right = picture.subplots(1, 2)
    lines = {name: [times[f"{name}, n_j={n}"].taken for n in learned] for name in ALGORITHMS}
    draw_times(left, learned, lines, f"simulated time to {100 * target:.3g} % (s)")
    sent = {name: [sending_ns[name, n] for n in CLIENTS] for name in ALGORITHMS}
    draw_times(right, CLIENTS, sent, "sending, per parameter (ns)")
    left.set_xticks(learned)
    right.set_xticks(CLIENTS)
    for axes in (left, right):
        axes.set_xlabel("clients in each cell")
    picture.legend(
        *left.get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(ALGORITHMS),
        fontsize=8,
        title=drawn_as(options),
        title_fontsize=8,
    )
    sent_ns = pd.DataFrame(
        [
            {"curve": f"{name}, n_j={n}", "seed": seed, "sending_ns_per_parameter": of_seed}
            for (name, n), of_seeds in sending_ns.items()
            for seed, of_seed in zip(options.every_seed, of_seeds, strict=True)
        ]
    )
    table = sent_ns.merge(table_of_times(times, target, options), how="left", on=["curve", "seed"])
    return tell(FIGURE, options, claims_in(table, options), table, picture, runs, folder=FOLDER)


def claims_in(table: pd.DataFrame, options: Options) -> list[Claim]:
    """The claims, by what the figure's table holds; in the full form also the ones that it cannot tell."""
    times, learned = times_in(table), options.learned
    target = options.accuracy(0.5)
    claims = [earliest(times, per_cell, target, required=not options.quick) for per_cell in learned]
    few, *_, many = CLIENTS
    of_more = [
        (OMA_HIST, "the training latency trends upward with n_j", (few, many)),
        (AIR_HIST, "the training latency falls from n_j = 10 to 20", (20, 15, 10)),
        (AIR_HIST, "the training latency rises beyond n_j = 25", (25, 30)),
    ]
    for name, words, clients in of_more:
        if set(clients) <= set(learned):
            claims.append(trend(times, name, words, clients))
        elif not options.quick:
            claims.append(not_run(f"{name}: {words}"))
    if learned == CLIENTS:
        claims.append(fluctuation(times))
    elif not options.quick:
        claims.append(not_run(SLIGHTER))
    sent_ns = table.groupby("curve")["sending_ns_per_parameter"]
    for name in ALGORITHMS:
        own_ns = {n: sent_ns.get_group(f"{name}, n_j={n}").to_numpy() for n in CLIENTS}
        claims.append(upload_claim(name, own_ns))
    return claims


def not_run(paper: str) -> Claim:
    """Claim that needs more numbers of clients than were run."""
    return Claim(paper=paper, command=f"cosim reproduce {FIGURE}", core_hours=FULL_CORE_HOURS)


def trend(times: Mapping[str, Reached], name: str, words: str, clients: Sequence[int]) -> Claim:
    """That each number of clients takes longer than the one before it."""
    own = {f"n_j = {n}": times[f"{name}, n_j={n}"] for n in clients}
    return Claim(
        paper=f"{name}: {words}",
        quantities=[sooner(fast, own[fast], slow, own[slow], "s") for fast, slow in pairwise(own)],
    )


def fluctuation(times: Mapping[str, Reached]) -> Claim:
    """Claim that times over the air are closer together than in shares; unknown if a run missed it."""
    taken_s = {name: np.array([times[f"{name}, n_j={n}"].taken for n in CLIENTS]) for name in ALGORITHMS}
    swing = {
        name: np.where(np.isfinite(own).all(axis=0), own.max(axis=0) / own.min(axis=0), np.nan)
        for name, own in taken_s.items()
    }
    return Claim(
        paper=SLIGHTER,
        quantities=[
            Quantity(
                words=f"longest over shortest time, {OMA_HIST} over {name}",
                values=swing[OMA_HIST] / swing[name],
                least=1.0,
                is_ratio=True,
            )
            for name in (AIR_HFEDAVG, AIR_HIST)
        ],
    )


def upload_claim(name: str, sending_ns: Mapping[int, Floats]) -> Claim:
    """Over the air an upload takes the same time for any number of clients, in shares it grows with it."""
    is_shared = name == OMA_HIST
    within = LINEAR if is_shared else ROUNDING
    few, *others = sending_ns
    return Claim(
        paper=f"{name}: the communication latency grows linearly with n_j (here: in proportion, to 5 %)"
        if is_shared
        else f"{name}: the latency of a round is independent of n_j (here: what sending takes of it)",
        quantities=[
            Quantity(
                words=f"sending time per parameter{' and client' * is_shared}: n_j = {n} over n_j = {few}",
                values=sending_ns[n] / sending_ns[few] * (few / n if is_shared else 1.0),
                least=1.0 - within,
                most=1.0 + within,
                is_exact=not is_shared,
            )
            for n in others
        ],
        is_required=True,
    )


def sending_of_clients_s(system: cosim.System) -> float:
    """Mean time that a client sends for each parameter of its upload."""
    timed = timing_only(system)
    spans = timed.spans[timed.spans["activity"] == "send"]
    spans = spans[spans["node"].str.startswith("client")]
    bits = timed.uploads["payload_bits"].sum()
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
