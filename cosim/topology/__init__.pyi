from cosim.topology.port import Topology
from cosim.topology.table_topology import TableTopology

__all__ = [
    "TableTopology",
    "Topology",
]
