"""Table II of the RawHFL paper: accuracy and energy of all algorithms, v = 0.3.

cosim reproduce rawhfl-table2 --quick
"""

from scenarios.reproduce.rawhfl import tables
from scenarios.reproduce.rawhfl.figures import Options
from scenarios.reproduce.rawhfl.tables import completed

__all__ = ["Options", "completed", "main"]

PAPER = {
    "RawHFL, Z=2": 0.2994,
    "RawHFL, Z=4": 0.2998,
    "RawHFL, Z=6": 0.2991,
    "central SGD": 0.3947,
    "H-FedAvg-M1": 0.0663,
    "H-FedAvg-M2": 0.1591,
    "H-FedAvg-UB": 0.2977,
    "FedAvg-UB": 0.2964,
    "Top-Popular": 0.0978,
}
"""Test accuracy. [RawHFL, Table II]"""


def main(options: Options) -> int:
    """Run, print, compare."""
    return tables.run_table("rawhfl-table2", options, (0.3,), PAPER)
