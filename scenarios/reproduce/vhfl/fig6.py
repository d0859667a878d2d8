"""Fig. 6 of the VHFL paper: how many clients upload (K / N), and how many local epochs E_l they train.

cosim reproduce vhfl-fig6 --quick
"""

import numpy as np

import cosim
from analysis.intervals.statistics import paired_difference
from scenarios.reproduce.figures import Claim, Options, play_all
from scenarios.reproduce.vhfl.figures import (
    curve_of,
    labelled,
    of_curve,
    seeds,
    shown,
    vhfl_system,
    write_figure,
)

__all__ = ["Options", "main"]

FIGURE = "vhfl-fig6"


def main(options: Options) -> int:
    """Run, draw, compare."""
    num_rounds = 15 if options.quick else 60
    uploads = (2, 16) if options.quick else (1, 2, 4, 8, 16)
    epochs = (1, 5) if options.quick else (1, 2, 5, 10, 20)
    systems = {}
    for seed in seeds(options):
        base = vhfl_system(seed, num_rounds)
        for number in uploads:
            system = variant(base, num_senders=number, waiting=cosim.WaitForAll())
            systems[labelled(f"K/N = {number}/{base.num_clients}", seed)] = system
        for number in epochs:
            systems[labelled(f"E_l = {number}", seed)] = variant(base, num_local_epochs=number)
    results = play_all(FIGURE, systems, options)
    curves = list(dict.fromkeys(map(curve_of, results)))
    by_uploads, by_epochs = curves[: len(uploads)], curves[len(uploads) :]
    claims = [
        claim("a larger K speeds up training", results, by_uploads),
        claim("convergence is faster with more local epochs", results, by_epochs),
        steadier(results, by_uploads),
    ]
    panels = [("train_mse", by_uploads), ("train_mse", by_epochs)]
    return write_figure(FIGURE, options, results, panels, claims)


def variant(system: cosim.System, **knobs: object) -> cosim.System:
    """The system with other knobs of VHFL; how many updates are needed is not asked."""
    return cosim.evolve(system, protocol=cosim.evolve(system.protocol, num_needed=None, **knobs))


def claim(words: str, results: dict[str, cosim.Result], curves: list[str]) -> Claim:
    """The mean training loss over the rounds, the curve with most against the one with least."""
    least, most = (mean_loss(results, curve) for curve in (curves[0], curves[-1]))
    gain = paired_difference(most, least)
    return Claim(
        words,
        f"mean training MSE over the rounds, {curves[0]} less {curves[-1]}: {shown(gain)} (95 %)",
        gain.low > 0.0,
        required=True,
    )


def steadier(results: dict[str, cosim.Result], curves: list[str]) -> Claim:
    """How much the training loss moves from round to round in the second half."""
    jumps = {curve: float(np.mean([jump(result) for result in of_curve(results, curve)])) for curve in curves}
    return Claim(
        "and steadies it",
        "relative change from round to round: "
        + ", ".join(f"{curve} {100 * change:.1f} %" for curve, change in jumps.items()),
        jumps[curves[0]] > jumps[curves[-1]],
    )


def mean_loss(results: dict[str, cosim.Result], curve: str) -> np.ndarray:
    """Mean over the rounds of every seed, shape (seeds,)."""
    return np.array([result.evaluations["train_mse"].mean() for result in of_curve(results, curve)])


def jump(result: cosim.Result) -> float:
    """Mean absolute relative change of the training loss over the second half of the rounds."""
    losses = result.evaluations["train_mse"].to_numpy()
    return float(np.abs(np.diff(np.log(losses[len(losses) // 2 :]))).mean())
