"""cosim: a discrete-event network-and-learning co-simulator for wireless federated learning.

Usage::

    import cosim, models

    system = cosim.System(num_cells=2, radio=cosim.Radio(bandwidth_hz=5e6))
    result = cosim.run(system, models.build(system.model))
"""

from attrs import evolve

from cosim.allocation.policies import CommonSteps, ResourceAware, Unconstrained
from cosim.compute import Compute
from cosim.configuration import ConfigurationError
from cosim.learning.data import Data
from cosim.learning.local_training import LocalTraining, Sgd
from cosim.learning.server_update import Mean, MeanBySamples, ServerUpdate
from cosim.learning.traffic import Traffic
from cosim.learning.vertical import VerticalSgd
from cosim.learning.video_requests import VideoRequests
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.hfedavg import HFedAvg
from cosim.protocols.hist import Hist
from cosim.protocols.raw_hfl import RawHfl
from cosim.protocols.vhfl import Vhfl
from cosim.queueing.network import PublicNetwork
from cosim.queueing.service import Deterministic, Empirical, Erlang, Exponential, HyperExponential
from cosim.radio.large_scale import LargeScale
from cosim.radio.over_the_air import AirComp
from cosim.radio.uplink import Radio
from cosim.results import Result
from cosim.run import run
from cosim.simulation import Dropped, Simulation
from cosim.system import System
from cosim.topology import Topology

__all__ = [
    "AirComp",
    "CommonSteps",
    "Compute",
    "ConfigurationError",
    "Data",
    "Deterministic",
    "Dropped",
    "EdgeTraining",
    "Empirical",
    "Erlang",
    "Exponential",
    "HFedAvg",
    "Hist",
    "HyperExponential",
    "LargeScale",
    "LocalTraining",
    "Mean",
    "MeanBySamples",
    "PublicNetwork",
    "Radio",
    "RawHfl",
    "ResourceAware",
    "Result",
    "ServerUpdate",
    "Sgd",
    "Simulation",
    "System",
    "Topology",
    "Traffic",
    "Unconstrained",
    "VerticalSgd",
    "Vhfl",
    "VideoRequests",
    "evolve",
    "run",
]
