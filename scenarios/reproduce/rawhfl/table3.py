"""Table III of the RawHFL paper: accuracy and energy of all algorithms, v = 0.7.

cosim reproduce rawhfl-table3 --quick
"""

from scenarios.reproduce.rawhfl import tables
from scenarios.reproduce.rawhfl.figures import Options
from scenarios.reproduce.rawhfl.tables import completed

__all__ = ["Options", "completed", "main"]

PAPER = {
    "RawHFL, Z=2": 0.7013,
    "RawHFL, Z=4": 0.7013,
    "RawHFL, Z=6": 0.7013,
    "central SGD": 0.7013,
    "H-FedAvg-M1": 0.1289,
    "H-FedAvg-M2": 0.3483,
    "H-FedAvg-UB": 0.7013,
    "FedAvg-UB": 0.7013,
    "Top-Popular": 0.0591,
}
"""Test accuracy. [RawHFL, Table III]"""


def main(options: Options) -> int:
    """Run, print, compare."""
    return tables.run_table("rawhfl-table3", options, (0.7,), PAPER)
