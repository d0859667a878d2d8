"""Fig. 7 of the VHFL paper: success rate over the delay bound T_p, and the T_p that a success rate needs.

cosim reproduce vhfl-fig7 --quick
"""

import numpy as np
import pandas as pd

from scenarios.command_line.console import made, save_table
from scenarios.reproduce.figures import Claim, Options, show_claims
from scenarios.validate.sojourns import Options as Points
from scenarios.validate.sojourns import in_arrays, on_the_clock
from scenarios.validate.success_rate import compare, draw

__all__ = ["Options", "main"]

FIGURE = "vhfl-fig7"


def main(options: Options) -> int:
    """Simulate, draw, compare."""
    folder = made(options.folder(FIGURE))
    num_packets = 1_000_000 if options.quick else 2_000_000
    points = Points(seed=options.seed, num_packets=num_packets, num_array_packets=5 * num_packets)
    measured = pd.concat(
        [compare(points, on_the_clock, "clock"), compare(points, in_arrays, "arrays")], ignore_index=True
    )
    save_table(measured, folder / f"{FIGURE}.csv")
    draw(points, measured, folder / f"{FIGURE}.png")
    return show_claims(FIGURE, folder, claims(points, measured))


def claims(points: Points, measured: pd.DataFrame) -> list[Claim]:
    """What the paper reads off its figure."""
    num_agreeing = int((measured["verdict"] == "agrees").sum())
    worst = float((measured["estimate"] - measured["success_rate"]).abs().max())
    needed_s = [points.theory(weight).waiting_time_s(0.9) for weight in points.fast_weights]
    half = points.theory(0.5)
    gammas = (0.9, 0.99, 0.999, 0.9999)
    waits_s = [half.waiting_time_s(gamma) for gamma in gammas]
    steps_s = np.diff(waits_s)
    return [
        Claim(
            "theory fits simulation",
            f"{num_agreeing} of {len(measured)} points agree; largest difference {worst:.4f}",
            num_agreeing == len(measured),
            required=True,
        ),
        Claim(
            "a smaller alpha_1 needs a larger T_p for the same success rate",
            "T_p for 0.9: "
            + ", ".join(f"{t:.3g} s at {w:g}" for w, t in zip(points.fast_weights, needed_s, strict=True)),
            bool(np.all(np.diff(needed_s) < 0)),
            required=True,
        ),
        Claim(
            "T_p grows exponentially with the success rate (alpha_1 = 0.5)",
            "T_p for "
            + ", ".join(f"{g:g}: {t:.3g} s" for g, t in zip(gammas, waits_s, strict=True))
            + f"; a tenth of the failures costs {steps_s[-1]:.3g} s more each time, so T_p grows as the "
            "logarithm of 1 / (1 - gamma)",
            not np.allclose(steps_s, np.log(10.0) / -max(half.roots_per_s), rtol=0.02),
        ),
    ]
