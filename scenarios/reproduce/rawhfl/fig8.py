"""Fig. 8 of the RawHFL paper: distribution of a client's energy in an edge round.

Nothing is learned here; the runs are those of Fig. 7.

cosim reproduce rawhfl-fig8 --quick
"""

from scenarios.reproduce.figures import Claim
from scenarios.reproduce.rawhfl.fig7 import PAPER_J, cdf, energies
from scenarios.reproduce.rawhfl.figures import Options, write

__all__ = ["Options", "main"]

FIGURE = "rawhfl-fig8"


def main(options: Options) -> int:
    """Run, draw, compare."""
    _, table = energies(options)
    mean_j = table.groupby("algorithm")["energy_j"].mean()
    of_paper = {z: total_j / (4 * z) for z, total_j in PAPER_J.items()}
    claims = [
        Claim(
            "a client's energy hardly depends on Z: "
            + ", ".join(f"Z={z} {energy_j:.3f} J" for z, energy_j in of_paper.items()),
            ", ".join(f"Z={z} {mean_j[f'{name}, Z={z}']:.4g} J" for z in PAPER_J) + f" ({words})",
            bool(mean_j[f"{name}, Z=6"] < 2.0 * mean_j[f"{name}, Z=2"]),
        )
        for name, words in (("RawHFL", "Algorithm 2"), ("exact", "optimum"))
    ]
    picture = cdf(table.set_index("algorithm")["energy_j"], "energy of a client in an edge round (J)")
    picture.axes[0].set_ylabel("share of clients and edge rounds")
    return write(FIGURE, options, table, picture, claims)
