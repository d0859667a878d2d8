"""Fig. 7 of the VHFL paper: success rate over the delay bound T_p, and the T_p that a success rate needs.

One seed is one long run, whose intervals come from the cycles of its queues.

cosim reproduce vhfl-fig7 --quick
"""

from itertools import pairwise
from typing import ClassVar

import attrs
import numpy as np
import pandas as pd

from scenarios.command_line.console import made
from scenarios.reproduce import figures
from scenarios.reproduce.claims import Claim, Quantity
from scenarios.reproduce.shown import tell
from scenarios.validate.sojourns import Options as Points
from scenarios.validate.sojourns import in_arrays, on_the_clock
from scenarios.validate.success_rate import compare, drawn

__all__ = ["Options", "main"]

FIGURE = "vhfl-fig7"


@attrs.frozen(kw_only=True)
class Options(figures.Options):
    """How much is run."""

    full_seeds: ClassVar[int] = 1
    quick_seeds: ClassVar[int] = 1


def main(options: Options) -> int:
    """Simulate, draw, compare."""
    made(options.folder(FIGURE))
    num_packets = 1_000_000 if options.quick else 2_000_000
    of_seeds = [
        Points(seed=seed, num_packets=num_packets, num_array_packets=5 * num_packets)
        for seed in options.every_seed
    ]
    measured = pd.concat(
        [
            compare(points, play, method).assign(seed=points.seed)
            for points in of_seeds
            for play, method in ((on_the_clock, "clock"), (in_arrays, "arrays"))
        ],
        ignore_index=True,
    )
    first = measured[measured["seed"] == options.seed]
    return tell(FIGURE, options, claims(of_seeds[0], measured), measured, drawn(of_seeds[0], first))


def claims(points: Points, measured: pd.DataFrame) -> list[Claim]:
    """What the paper reads off its figure."""
    needed_s = {weight: points.theory(weight).waiting_time_s(0.9) for weight in points.fast_weights}
    half = points.theory(0.5)
    gammas = (0.9, 0.99, 0.999, 0.9999)
    waits_s = [half.waiting_time_s(gamma) for gamma in gammas]
    tenths = np.diff(waits_s) / (np.log(10.0) / -max(half.roots_per_s))
    return [
        Claim(
            paper="theory fits simulation",
            quantities=[
                Quantity(
                    words=f"of {len(measured)} points those that do not agree",
                    values=[(measured["verdict"] != "agrees").sum()],
                    most=0.5,
                    is_exact=True,
                )
            ],
            is_required=True,
        ),
        Claim(
            paper="a smaller alpha_1 needs a larger T_p for the same success rate",
            quantities=[
                Quantity(
                    words=f"T_p for 0.9, alpha_1 = {small:g} less {large:g}",
                    values=[needed_s[small] - needed_s[large]],
                    least=0.0,
                    unit="s",
                    is_exact=True,
                )
                for small, large in pairwise(sorted(needed_s))
            ],
            is_required=True,
        ),
        Claim(
            paper="T_p grows exponentially with the success rate (alpha_1 = 0.5); by theory it grows as the "
            "logarithm of 1 / (1 - gamma), so that a tenth of the failures costs the same time again",
            quantities=[
                Quantity(
                    words=f"T_p for {after:g} less that for {before:g}, over that of the logarithm",
                    values=[ratio],
                    least=1.02,
                    is_exact=True,
                )
                for (before, after), ratio in zip(pairwise(gammas), tenths, strict=True)
            ],
        ),
    ]
