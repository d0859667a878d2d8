"""Fig. 4 of the VHFL paper: cloud training with and without what the server observes.

Beside it vertical federated learning alone (eqs. 6 to 9): one client holds the features of all cells, the
server its own, and they exchange outputs and gradients in every step of cloud training.

cosim reproduce vhfl-fig4 --quick
"""

import numpy as np

from scenarios.reproduce.claims import Claim, Quantity
from scenarios.reproduce.figures import run_all
from scenarios.reproduce.vhfl.figures import (
    Options,
    cloud_system,
    last,
    vertical_system,
    without_global_features,
    write_figure,
)

__all__ = ["Options", "main"]

FIGURE = "vhfl-fig4"
WITH, WITHOUT, VERTICAL = "with global features", "without global features", "vertical FL"
SAME = 1.1
"""Factor, up or down, within which a loss is the same. [no source]"""


def main(options: Options) -> int:
    """Run, draw, compare."""
    num_rounds = 40 if options.quick else 150
    cloud = cloud_system(options.seed, num_rounds)
    systems = {WITH: cloud, WITHOUT: without_global_features(cloud)}
    systems[VERTICAL] = vertical_system(options.seed, num_rounds)
    runs = run_all(FIGURE, systems, options)

    def ratio(measure: str, least: float) -> Quantity:
        values = np.log(last(runs, WITHOUT, measure) / last(runs, WITH, measure))
        words = "log of the MSE without them over that with them"
        return Quantity(words=words, values=values, least=np.log(least))

    claims = [
        Claim(
            paper="cloud training with the central features is clearly better (here: the test MSE without "
            "them is at least 1.3 times that with them, whose log is 0.262)",
            quantities=[ratio("test_mse", 1.3)],
            is_required=True,
        ),
        Claim(paper="and its training loss is lower", quantities=[ratio("train_mse", 1.0)], is_ours=True),
        Claim(
            paper="vertical FL, in which no features are gathered, ends where cloud training with them ends "
            f"(within a factor of {SAME:g})",
            quantities=[
                Quantity(
                    words=f"{words} of vertical FL over that of cloud training",
                    values=last(runs, VERTICAL, measure) / last(runs, WITH, measure),
                    least=1.0 / SAME,
                    most=SAME,
                    is_ratio=True,
                )
                for measure, words in (("train_mse", "training loss"), ("test_mse", "test MSE"))
            ],
            is_ours=True,
        ),
    ]
    panels = [(measure, tuple(systems)) for measure in ("train_mse", "test_mse")]
    return write_figure(FIGURE, options, runs, panels, claims)
