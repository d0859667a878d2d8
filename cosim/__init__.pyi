from attrs import evolve

from cosim.allocation.policies import CommonSteps, ResourceAware, Unconstrained
from cosim.compute import Compute
from cosim.configuration import ConfigurationError
from cosim.learning.data import Data
from cosim.learning.traffic import Traffic
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
from cosim.running import run
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
    "PublicNetwork",
    "Radio",
    "RawHfl",
    "ResourceAware",
    "Result",
    "Simulation",
    "System",
    "Topology",
    "Traffic",
    "Unconstrained",
    "Vhfl",
    "VideoRequests",
    "evolve",
    "run",
]
