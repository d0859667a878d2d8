"""Table IV of the RawHFL paper: accuracy and energy of all algorithms, v from 0.1 to 0.8.

cosim reproduce rawhfl-table4 --quick
"""

from scenarios.reproduce.rawhfl import tables
from scenarios.reproduce.rawhfl.figures import Options
from scenarios.reproduce.rawhfl.tables import completed

__all__ = ["Options", "completed", "main"]

PAPER = {
    "RawHFL, Z=2": 0.4485,
    "RawHFL, Z=4": 0.4485,
    "RawHFL, Z=6": 0.4484,
    "central SGD": 0.5180,
    "H-FedAvg-M1": 0.0791,
    "H-FedAvg-M2": 0.1918,
    "H-FedAvg-UB": 0.4468,
    "FedAvg-UB": 0.4457,
    "Top-Popular": 0.0916,
}
"""Test accuracy. [RawHFL, Table IV]"""


def main(options: Options) -> int:
    """Run, print, compare."""
    return tables.run_table("rawhfl-table4", options, (0.1, 0.8), PAPER)
