"""Fig. 5 of the VHFL paper: VHFL between horizontal federated learning and cloud training.

cosim reproduce vhfl-fig5 --quick
"""

from analysis.intervals.statistics import paired_difference, t_interval
from scenarios.reproduce.figures import Claim, Options, play_all
from scenarios.reproduce.vhfl.figures import (
    MEASURES,
    cloud_system,
    horizontal_system,
    labelled,
    last,
    seeds,
    shown,
    vhfl_system,
    write_figure,
)

__all__ = ["Options", "main"]

FIGURE = "vhfl-fig5"
SYSTEMS = {"cloud training": cloud_system, "VHFL": vhfl_system, "horizontal FL": horizontal_system}


def main(options: Options) -> int:
    """Run, draw, compare."""
    num_rounds = 40 if options.quick else 150
    systems = {
        labelled(name, seed): make(seed, num_rounds)
        for seed in seeds(options)
        for name, make in SYSTEMS.items()
    }
    results = play_all(FIGURE, systems, options)
    cloud, vhfl, horizontal = (last(results, name) for name in SYSTEMS)
    part = (horizontal - vhfl).mean() / (horizontal - cloud).mean()
    gain = paired_difference(vhfl, horizontal)
    beyond_half = t_interval(horizontal - vhfl - 0.5 * (horizontal - cloud))
    claims = [
        Claim(
            "VHFL generalises better than horizontal FL",
            f"test MSE of horizontal FL less VHFL: {shown(gain)} (95 %)",
            gain.low > 0.0,
            required=True,
        ),
        Claim(
            "the central features make up most of the distance to cloud training",
            f"{100 * part:.0f} % of it; less half of it: {shown(beyond_half)} (95 %)",
            beyond_half.low > 0.0,
            required=True,
        ),
        *(
            Claim(
                f"{words}: VHFL below horizontal FL",
                ", ".join(f"{name} {last(results, name, measure).mean():.3g}" for name in SYSTEMS),
                bool((last(results, "VHFL", measure) < last(results, "horizontal FL", measure)).all()),
            )
            for measure, words in MEASURES.items()
        ),
    ]
    panels = [(measure, tuple(SYSTEMS)) for measure in MEASURES]
    return write_figure(FIGURE, options, results, panels, claims)
