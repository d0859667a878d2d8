"""Fig. 7 of the VHFL paper: success rate over the delay bound T_p, and the T_p that a success rate needs.

One seed is one long run, whose intervals come from the cycles of its queues.

cosim reproduce vhfl-fig7 --quick
"""

import math
import time
from itertools import pairwise
from typing import ClassVar

import attrs
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from scenarios.command_line.console import made
from scenarios.reproduce import figures
from scenarios.reproduce.claims import Claim, Floats, Quantity
from scenarios.reproduce.shown import tell
from scenarios.validate.sojourns import Options as Points
from scenarios.validate.sojourns import in_arrays, on_the_clock
from scenarios.validate.success_rate import compare, drawn

__all__ = ["Options", "main"]

FIGURE = "vhfl-fig7"
EQUAL = 0.5
"""alpha_1 of Fig. 7b."""
MUCH = 1.5
"""Times as long, which is much. [no source]"""
CONSTANT = 0.1
"""By which an exponential's rate may change. [no source]"""
RATES = Points().success_rates
"""Success rates over which an exponential is looked for: the rates of Fig. 7a's points."""
PLOTTED = (0.5, 0.9)
"""Success rates of Fig. 7b, from the first to the last. [no source: read off the figure]"""
EXPLAINED = 0.99
"""R^2 from which on a curve describes points. [no source]"""
TENTHS = (0.9, 0.99, 0.999, 0.9999)
"""Success rates with a tenth of the failures of the one before."""
LOGARITHM = 0.02
"""By which T_p may be off the logarithm."""


@attrs.frozen(kw_only=True)
class Options(figures.Options):
    """How much is run."""

    full_seeds: ClassVar[int] = 1
    quick_seeds: ClassVar[int] = 1


def main(options: Options) -> int:
    """Simulate, draw, compare."""
    made(options.folder(FIGURE))
    began_s = time.process_time()
    num_packets = 1_000_000 if options.quick else 2_000_000
    of_seeds = [
        Points(seed=seed, num_packets=num_packets, num_array_packets=5 * num_packets)
        for seed in options.every_seed
    ]
    measured = pd.concat(
        [
            compare(points, simulate, method).assign(seed=points.seed)
            for points in of_seeds
            for simulate, method in ((on_the_clock, "clock"), (in_arrays, "arrays"))
        ],
        ignore_index=True,
    )
    first = measured[measured["seed"] == options.seed]
    took_s = time.process_time() - began_s
    picture = drawn(of_seeds[0], first)
    return tell(FIGURE, options, claims(of_seeds[0], measured), measured, picture, took_s=took_s)


def claims(points: Points, measured: pd.DataFrame) -> list[Claim]:
    """Claims that the paper reads off its figure."""
    needed_s = {weight: waits_s(points, weight, points.success_rates) for weight in points.fast_weights}
    steps = np.diff(RATES)
    growth = np.diff(np.log(waits_s(points, EQUAL, RATES))) / steps
    tenths = np.diff(waits_s(points, EQUAL, TENTHS)) * -max(points.theory(EQUAL).roots_per_s) / math.log(10.0)
    return [
        Claim(
            paper="theory fits simulation",
            quantities=[
                Quantity(
                    words=f"of {len(measured)} points, their intervals together, those that do not agree",
                    values=[(measured["verdict"] != "agrees").sum()],
                    most=0.5,
                    is_exact=True,
                )
            ],
            is_required=True,
        ),
        Claim(
            paper="a smaller alpha_1 needs a much larger T_p for the same success rate (here: 1.5 times)",
            quantities=[
                Quantity(
                    words=f"T_p for alpha_1 = {small:g} over that for {large:g}, the least of "
                    f"{len(points.success_rates)} success rates",
                    values=[np.min(needed_s[small] / needed_s[large])],
                    least=MUCH,
                    is_exact=True,
                )
                for small, large in pairwise(sorted(needed_s))
            ],
            is_required=True,
        ),
        Claim(
            paper="T_p grows exponentially with the success rate gamma (alpha_1 = 0.5; here, as a "
            f"description of the plotted range: an exponential has R^2 of at least {EXPLAINED:g})",
            quantities=[
                Quantity(
                    words=f"R^2 of a line through log T_p over gamma, from {PLOTTED[0]:g} to {PLOTTED[1]:g}",
                    values=[of_a_line(*plotted_logs(points))],
                    least=EXPLAINED,
                    is_exact=True,
                )
            ],
        ),
        Claim(
            paper="T_p grows exponentially with the success rate gamma (alpha_1 = 0.5; here, as a law: its "
            "logarithm grows at the same rate everywhere, to 10 %)",
            quantities=[
                Quantity(
                    words=f"growth of log T_p with gamma, from {low:g} to {high:g} over from "
                    f"{RATES[0]:g} to {RATES[-1]:g}",
                    values=[ratio],
                    least=1.0 - CONSTANT,
                    most=1.0 + CONSTANT,
                    is_exact=True,
                )
                for (low, high), ratio in zip(
                    pairwise(RATES), growth / np.average(growth, weights=steps), strict=True
                )
            ],
        ),
        Claim(
            paper="for gamma near 1, T_p grows as the logarithm of 1 / (1 - gamma): a tenth of the failures "
            "costs the same time again",
            quantities=[
                Quantity(
                    words=f"T_p for {after:g} less that for {before:g}, over that of the logarithm",
                    values=[ratio],
                    least=1.0 - LOGARITHM,
                    most=1.0 + LOGARITHM,
                    is_exact=True,
                )
                for (before, after), ratio in zip(pairwise(TENTHS), tenths, strict=True)
            ],
            is_required=True,
            is_ours=True,
        ),
    ]


def plotted_logs(points: Points) -> tuple[Floats, Floats]:
    """Success rates of Fig. 7b, a hundredth apart, and the logarithm of the T_p of each, shape (rates,)."""
    rates = np.linspace(*PLOTTED, 41)
    return rates, np.log(waits_s(points, EQUAL, rates))


def of_a_line(x: Floats, y: Floats) -> float:
    """R^2 of the line of least squares: share of the variance of y that it explains, x and y (points,)."""
    return float(np.corrcoef(x, y)[0, 1] ** 2)


def waits_s(points: Points, fast_weight: float, success_rates: ArrayLike) -> Floats:
    """T_p of success rates, of their shape (rates,)."""
    theory = points.theory(fast_weight)
    return np.array([theory.waiting_time_s(float(rate)) for rate in np.asarray(success_rates)])
