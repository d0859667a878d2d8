"""Fig. 8 of the RawHFL paper: distribution of a client's energy in an edge round.

Nothing is learned here; the runs are those of Fig. 7.

cosim reproduce rawhfl-fig8 --quick
"""

from scenarios.reproduce.claims import Claim, Quantity
from scenarios.reproduce.rawhfl.fig7 import NEAR, PAPER_J, cdf, energies, quantiles
from scenarios.reproduce.rawhfl.figures import Options, write

__all__ = ["Options", "main"]

FIGURE = "rawhfl-fig8"


def main(options: Options) -> int:
    """Run, draw, compare."""
    runs, table = energies(options)
    means_j = table.groupby(["algorithm", "seed"])["energy_j"].mean()
    of_paper = {z: total_j / (4 * z) for z, total_j in PAPER_J.items()}
    claims = [
        Claim(
            paper="a client's energy hardly depends on Z; by Table II "
            + ", ".join(f"Z={z} {energy_j:.3f} J" for z, energy_j in of_paper.items())
            + " (here: by less than a factor of 1.5)",
            quantities=[
                Quantity(
                    words=f"{words}, Z = 6 over Z = 2",
                    values=means_j[f"{name}, Z=6"].to_numpy() / means_j[f"{name}, Z=2"].to_numpy(),
                    least=1.0 / NEAR,
                    most=NEAR,
                )
            ],
            is_ours=name == "exact",
        )
        for name, words in (("RawHFL", "Algorithm 2"), ("exact", "optimum"))
    ]
    energy_j = table.set_index("algorithm")["energy_j"]
    picture = cdf(energy_j, "energy of a client in an edge round (J)")
    picture.axes[0].set_ylabel("share of clients and edge rounds")
    return write(FIGURE, options, quantiles(energy_j), picture, claims, runs.all)
