"""HIST on Fashion-MNIST: what does training a 1/N-th of the model cost and bring?

60 clients in 4 cells, slow clients in the first half of the cells, two shards of data each. The defaults come
from the HIST journal paper, Section VI.

    cosim run hist
    cosim run hist --num-cells 2 --uplink.sharing.bandwidth-hz 5e6 --seed 7 --out runs/a
"""

from cosim import System


def system() -> System:
    """The configuration."""
    return System()
