"""Fig. 8 of the RawHFL paper: distribution of a client's energy in an edge round.

Nothing is learned here; the runs are Fig. 7's, and the picture has all seeds together.

cosim reproduce rawhfl-fig8 --quick
"""

from scenarios.reproduce.claims import Claim, Quantity
from scenarios.reproduce.rawhfl.fig7 import PAPER_J, cdf, distributions, energies
from scenarios.reproduce.rawhfl.figures import NEAR, Options, write

__all__ = ["Options", "main"]

FIGURE = "rawhfl-fig8"


def main(options: Options) -> int:
    """Run, draw, compare."""
    runs, table = energies(options)
    means_j = table.groupby(["seed", "algorithm"])["energy_j"].mean().unstack()
    by_table = ", ".join(f"Z={z} {total_j / (4 * z):.3f} J" for z, total_j in PAPER_J.items())
    less = f"by less than a factor of {NEAR:g}"
    claims = [
        Claim(
            paper=said,
            quantities=[
                Quantity(
                    words=f"{words}, Z = 6 over Z = 2",
                    values=means_j[f"{name}, Z=6"].to_numpy() / means_j[f"{name}, Z=2"].to_numpy(),
                    least=1.0 / NEAR,
                    most=NEAR,
                    is_ratio=True,
                )
            ],
            is_ours=name == "exact",
        )
        for name, words, said in (
            ("RawHFL", "Algorithm 2", f"a client's energy hardly depends on Z: {by_table} (here: {less})"),
            ("exact", "optimum", f"what the optimum takes hardly depends on Z, either ({less})"),
        )
    ]
    energy_j = table.set_index(["algorithm", "seed"])["energy_j"]
    picture = cdf(energy_j, "energy of a client in an edge round (J)")
    picture.axes[0].set_ylabel("share of clients and edge rounds")
    return write(FIGURE, options, distributions(energy_j, means_j), picture, claims, runs.all)
