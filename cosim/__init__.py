"""cosim: a discrete-event network-and-learning co-simulator for wireless federated learning.

Usage::

    import cosim, models

    system = cosim.System(num_cells=2, radio=cosim.Radio(bandwidth_hz=5e6))
    result = cosim.run(system, models.build(system.model))
"""

from attrs import evolve

from cosim.compute import Compute
from cosim.configuration import ConfigurationError
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.hfedavg import HFedAvg
from cosim.protocols.hist import Hist
from cosim.radio.large_scale import LargeScale
from cosim.radio.uplink import Radio
from cosim.results import Result
from cosim.run import run
from cosim.simulation import Dropped, Simulation
from cosim.system import Data, System
from cosim.topology import Topology

__all__ = [
    "Compute",
    "ConfigurationError",
    "Data",
    "Dropped",
    "EdgeTraining",
    "HFedAvg",
    "Hist",
    "LargeScale",
    "Radio",
    "Result",
    "Simulation",
    "System",
    "Topology",
    "evolve",
    "run",
]
