"""Fig. 5 of the VHFL paper: VHFL beside horizontal federated learning and cloud training.

The quick form has 40 rounds of 150, too few to tell the end of a fall.

cosim reproduce vhfl-fig5 --quick
"""

import numpy as np

from scenarios.reproduce.claims import Claim, Floats, Quantity, Reached, reached
from scenarios.reproduce.figures import Runs, run_all
from scenarios.reproduce.vhfl.figures import (
    MEASURES,
    Options,
    cloud_system,
    horizontal_system,
    last,
    vhfl_system,
    write_figure,
)

__all__ = ["Options", "main"]

FIGURE = "vhfl-fig5"
SYSTEMS = {"cloud training": cloud_system, "VHFL": vhfl_system, "horizontal FL": horizontal_system}
MOST = (0.9, 0.95, 0.98)
"""Of the fall of horizontal FL's training loss, at whose end it may be said to have converged. [no source]"""
SIMILAR = 2.0
"""Times as many rounds, up or down, that are a similar speed. [no source]"""
END = 10
"""Rounds whose mean loss is where training ends. [no source]"""


def main(options: Options) -> int:
    """Run, draw, compare."""
    num_rounds = 40 if options.quick else 150
    systems = {name: make(options.seed, num_rounds) for name, make in SYSTEMS.items()}
    runs = run_all(FIGURE, systems, options)
    cloud, vhfl, horizontal = (last(runs, name) for name in SYSTEMS)
    claims = [
        Claim(
            paper="VHFL generalises better than horizontal FL",
            quantities=[
                Quantity(words="test MSE of horizontal FL less VHFL", values=horizontal - vhfl, least=0.0)
            ],
            is_required=True,
        ),
        Claim(
            paper="the central features make up most of the distance to cloud training",
            quantities=[
                Quantity(
                    words="test MSE that VHFL gains, less half of the distance",
                    values=horizontal - vhfl - 0.5 * (horizontal - cloud),
                    least=0.0,
                )
            ],
            is_required=True,
            is_ours=True,
        ),
        *(
            Claim(
                paper=f"{words}: VHFL below horizontal FL",
                quantities=[
                    Quantity(
                        words="horizontal FL less VHFL",
                        values=last(runs, "horizontal FL", measure) - last(runs, "VHFL", measure),
                        least=0.0,
                    )
                ],
            )
            for measure, words in MEASURES.items()
            if measure != "test_mse"  # the first claim's
        ),
    ]
    claims += [
        Claim(
            paper="VHFL converges at a similar speed as horizontal FL (here: to the same training loss, at "
            f"which {100 * most:g} % of horizontal FL's fall is behind it, within a factor of {SIMILAR:g})",
            quantities=[
                Quantity(
                    words="rounds that VHFL takes over those of horizontal FL",
                    values=known(converged(runs, "VHFL", most))
                    / known(converged(runs, "horizontal FL", most)),
                    least=1.0 / SIMILAR,
                    most=SIMILAR,
                    is_ratio=True,
                )
            ],
        )
        for most in (MOST[:-1] if options.quick else MOST)
    ]
    panels = [(measure, tuple(SYSTEMS)) for measure in MEASURES]
    return write_figure(FIGURE, options, runs, panels, claims)


def known(found: Reached) -> Floats:
    """Rounds with each seed, at least one; not known where one missed, shape (seeds,)."""
    return np.where(np.isfinite(found.taken), np.maximum(found.taken, 1.0), np.nan)


def converged(runs: Runs, curve: str, most: float) -> Reached:
    """Rounds until a curve has the training loss at which most of horizontal FL's fall is behind it.

    With each seed that fall is from its own start to its own end, and the loss is the same for all curves.
    """
    falls = []
    for run, horizontal in zip(runs[curve], runs["horizontal FL"], strict=True):
        losses, others = (of.evaluations["train_mse"].to_numpy() for of in (run, horizontal))
        end = others[-END:].mean()
        falls.append((run.evaluations["version"], (others[0] - losses) / (others[0] - end)))
    return reached(falls, most)
