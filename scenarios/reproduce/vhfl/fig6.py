"""Fig. 6 of the VHFL paper: how many clients upload (K / N), and how many local epochs E_l they train.

cosim reproduce vhfl-fig6 --quick
"""

from collections.abc import Sequence

import numpy as np

import cosim
from scenarios.reproduce.claims import Claim, Floats, Quantity
from scenarios.reproduce.figures import Runs, play_all
from scenarios.reproduce.vhfl.figures import Options, vhfl_system, write_figure

__all__ = ["Options", "main"]

FIGURE = "vhfl-fig6"


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
    runs = play_all(FIGURE, of_uploads | of_epochs, options)
    by_uploads, by_epochs = list(of_uploads), list(of_epochs)
    of_k = [faster("a larger K speeds up training", runs, by_uploads), steadier(runs, by_uploads)]
    of_e_l = [faster("convergence is faster with more local epochs", runs, by_epochs)]
    if not options.quick:
        of_k.append(less_and_less("if K is large enough, the effects get smaller", runs, by_uploads))
        of_e_l.append(less_and_less("the gain gets smaller as E_l keeps increasing", runs, by_epochs))
    panels = [("train_mse", by_uploads), ("train_mse", by_epochs)]
    return write_figure(FIGURE, options, runs, panels, of_k + of_e_l)


def variant(system: cosim.System, **knobs: object) -> cosim.System:
    """The system with other knobs of VHFL; how many updates are needed is not asked."""
    return cosim.evolve(system, protocol=cosim.evolve(system.protocol, num_needed=None, **knobs))


def faster(words: str, runs: Runs, curves: Sequence[str]) -> Claim:
    """The mean training loss over the rounds, the curve with least over the one with most."""
    return Claim(
        paper=words,
        quantities=[
            Quantity(
                words=f"mean training MSE over the rounds, {curves[0]} over {curves[-1]}",
                values=gain(runs, curves[0], curves[-1]),
                least=1.0,
                is_ratio=True,
            )
        ],
        is_required=True,
    )


def less_and_less(words: str, runs: Runs, curves: Sequence[str]) -> Claim:
    """What the first doubling gains over what the last one does."""
    first, last = curves[:2], curves[-2:]
    return Claim(
        paper=words,
        quantities=[
            Quantity(
                words=f"that ratio of {' to '.join(first)} over that of {' to '.join(last)}",
                values=gain(runs, *first) / gain(runs, *last),
                least=1.0,
                is_ratio=True,
            )
        ],
    )


def steadier(runs: Runs, curves: Sequence[str]) -> Claim:
    """How much the training loss moves from round to round in the second half."""
    least, most = curves[0], curves[-1]
    return Claim(
        paper="a larger K steadies training",
        quantities=[
            Quantity(
                words=f"relative change from round to round, {least} less {most}",
                values=100.0 * (jumps(runs[least]) - jumps(runs[most])),
                least=0.0,
                unit="points",
            )
        ],
    )


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
