"""Fig. 4 of the VHFL paper: cloud training with and without what the server observes.

cosim reproduce vhfl-fig4 --quick
"""

import numpy as np

from analysis.intervals.statistics import t_interval
from scenarios.reproduce.figures import Claim, Options, play_all
from scenarios.reproduce.vhfl.figures import (
    cloud_system,
    labelled,
    last,
    seeds,
    shown,
    without_global_features,
    write_figure,
)

__all__ = ["Options", "main"]

FIGURE = "vhfl-fig4"
WITH, WITHOUT = "with global features", "without global features"


def main(options: Options) -> int:
    """Run, draw, compare."""
    num_rounds = 40 if options.quick else 150
    systems = {}
    for seed in seeds(options):
        cloud = cloud_system(seed, num_rounds)
        systems[labelled(WITH, seed)] = cloud
        systems[labelled(WITHOUT, seed)] = without_global_features(cloud)
    results = play_all(FIGURE, systems, options)
    ratio = t_interval(np.log(last(results, WITHOUT) / last(results, WITH)))
    low, middle, high = np.exp([ratio.low, ratio.estimate, ratio.high])
    claims = [
        Claim(
            "cloud training with the central features is clearly better",
            f"test MSE without over with them: {middle:.3g} [{low:.3g}, {high:.3g}] (95 %), at least 1.3",
            low >= 1.3,
            required=True,
        ),
        Claim(
            "and its training loss is lower",
            "training MSE: "
            + ", ".join(
                f"{name} {shown(t_interval(last(results, name, 'train_mse')))}" for name in (WITH, WITHOUT)
            ),
            bool((last(results, WITH, "train_mse") < last(results, WITHOUT, "train_mse")).all()),
        ),
    ]
    panels = [(measure, (WITH, WITHOUT)) for measure in ("train_mse", "test_mse")]
    return write_figure(FIGURE, options, results, panels, claims)
