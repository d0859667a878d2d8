"""Fig. 6 of the VHFL paper: how many clients upload (K / N), and how many local epochs E_l they train.

cosim reproduce vhfl-fig6 --quick
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

import cosim
from scenarios.reproduce.claims import Claim, Floats, Quantity
from scenarios.reproduce.figures import Runs, run_all
from scenarios.reproduce.vhfl.figures import Options, vhfl_system, write_figure

__all__ = ["Options", "main"]

FIGURE = "vhfl-fig6"
SMALL = 1 / 4
"""The part of the clients up to which K is small. [no source]"""


def main(options: Options) -> int:
    """Run, draw, compare."""
    num_rounds = 15 if options.quick else 60
    uploads = (2, 16) if options.quick else (1, 2, 4, 8, 16)
    epochs = (1, 5) if options.quick else (1, 2, 5, 10, 20)
    base = vhfl_system(options.seed, num_rounds)
    of_uploads = {
        f"K/N = {number}/{base.num_clients}": variant(base, num_senders=number, waiting=cosim.WaitForAll())
        for number in uploads
    }
    of_epochs = {f"E_l = {number}": variant(base, num_local_epochs=number) for number in epochs}
    runs = run_all(FIGURE, of_uploads | of_epochs, options)
    by_uploads, by_epochs = list(of_uploads), list(of_epochs)
    steps = [
        names
        for number, names in zip(uploads, pairwise(by_uploads), strict=False)
        if number < SMALL * base.num_clients
    ]
    claims = [
        Claim(
            paper="while K is small, a larger K speeds up training",
            quantities=[faster(runs, *step) for step in steps],
        ),
        Claim(
            paper="while K is small, a larger K steadies training",
            quantities=[steadier(runs, *step) for step in steps],
        ),
    ]
    if not options.quick:
        effects = [faster_at_first(runs, by_uploads), steadier_at_first(runs, by_uploads)]
        claims.append(Claim(paper="if K is large enough, the effects get smaller", quantities=effects))
    claims.append(
        Claim(
            paper="convergence is faster with more local epochs",
            quantities=[faster(runs, *step) for step in pairwise(by_epochs)],
        )
    )
    if not options.quick:
        said = "the gain gets smaller as E_l keeps increasing"
        by_epoch = faster_by_epoch_at_first(runs, epochs)
        claims += [
            Claim(paper=f"{said} (here: that of a doubling)", quantities=[faster_at_first(runs, by_epochs)]),
            Claim(paper=f"{said} (here: that of one more epoch)", quantities=[by_epoch]),
        ]
    claims += [
        Claim(
            paper=f"{curves[-1]} is faster than {curves[0]}",
            quantities=[faster(runs, curves[0], curves[-1])],
            is_required=True,
            is_ours=True,
        )
        for curves in (by_uploads, by_epochs)
    ]
    panels = [("train_mse", by_uploads), ("train_mse", by_epochs)]
    return write_figure(FIGURE, options, runs, panels, claims)


def variant(system: cosim.System, **knobs: object) -> cosim.System:
    """The system with other knobs of VHFL; how many updates are needed is not asked."""
    return cosim.evolve(system, protocol=cosim.evolve(system.protocol, num_needed=None, **knobs))


def faster(runs: Runs, least: str, most: str) -> Quantity:
    """The mean training loss over the rounds, the curve with less over the one with more."""
    return Quantity(
        words=f"mean training MSE over the rounds, {least} over {most}",
        values=gain(runs, least, most),
        least=1.0,
        is_ratio=True,
    )


def steadier(runs: Runs, least: str, most: str) -> Quantity:
    """How much the training loss moves from round to round in the second half."""
    return Quantity(
        words=f"relative change from round to round, {least} less {most}",
        values=calm(runs, least, most),
        least=0.0,
        unit="points",
    )


def faster_at_first(runs: Runs, curves: Sequence[str]) -> Quantity:
    """Gain of the first doubling over the gain of the last one."""
    first, last = curves[:2], curves[-2:]
    return Quantity(
        words=f"mean training MSE, the ratio of {' to '.join(first)} over that of {' to '.join(last)}",
        values=gain(runs, *first) / gain(runs, *last),
        least=1.0,
        is_ratio=True,
    )


def faster_by_epoch_at_first(runs: Runs, epochs: Sequence[int]) -> Quantity:
    """Gain per epoch at the beginning, less the gain per epoch at the end."""
    gains = [
        100.0 * np.log(gain(runs, f"E_l = {few}", f"E_l = {many}")) / (many - few)
        for few, many in (epochs[:2], epochs[-2:])
    ]
    return Quantity(
        words=f"log of the ratio of mean training MSE, by epoch, E_l = {epochs[0]} to {epochs[1]} less "
        f"{epochs[-2]} to {epochs[-1]}",
        values=gains[0] - gains[1],
        least=0.0,
        unit="%",
    )


def steadier_at_first(runs: Runs, curves: Sequence[str]) -> Quantity:
    """Steadying by the first doubling, less the steadying by the last one."""
    first, last = curves[:2], curves[-2:]
    return Quantity(
        words=f"relative change from round to round, the fall from {' to '.join(first)} "
        f"less that from {' to '.join(last)}",
        values=calm(runs, *first) - calm(runs, *last),
        least=0.0,
        unit="points",
    )


def calm(runs: Runs, least: str, most: str) -> Floats:
    """Relative change from round to round of one curve less that of another, in points, shape (seeds,)."""
    return 100.0 * (jumps(runs[least]) - jumps(runs[most]))


def gain(runs: Runs, least: str, most: str) -> Floats:
    """Mean training loss over the rounds of one curve over that of another, shape (seeds,)."""
    of_least, of_most = (
        np.array([run.evaluations["train_mse"].mean() for run in runs[curve]]) for curve in (least, most)
    )
    return of_least / of_most


def jumps(results: Sequence[cosim.Result]) -> Floats:
    """Mean absolute relative change of the loss over the second half of the rounds, shape (seeds,)."""
    losses = [np.log(result.evaluations["train_mse"].to_numpy()) for result in results]
    return np.array([np.abs(np.diff(of_seed[len(of_seed) // 2 :])).mean() for of_seed in losses])
