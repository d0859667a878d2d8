from cosim.topology.disc import Disc
from cosim.topology.port import Topology
from cosim.topology.table_topology import TableTopology

__all__ = [
    "Disc",
    "TableTopology",
    "Topology",
]
