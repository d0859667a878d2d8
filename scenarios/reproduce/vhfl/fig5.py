"""Fig. 5 of the VHFL paper: VHFL between horizontal federated learning and cloud training.

cosim reproduce vhfl-fig5 --quick
"""

from scenarios.reproduce.claims import Claim, Quantity
from scenarios.reproduce.figures import play_all
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


def main(options: Options) -> int:
    """Run, draw, compare."""
    num_rounds = 40 if options.quick else 150
    systems = {name: make(options.seed, num_rounds) for name, make in SYSTEMS.items()}
    runs = play_all(FIGURE, systems, options)
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
    panels = [(measure, tuple(SYSTEMS)) for measure in MEASURES]
    return write_figure(FIGURE, options, runs, panels, claims)
