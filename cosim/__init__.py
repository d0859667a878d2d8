"""cosim: a discrete-event network-and-learning co-simulator for wireless federated learning.

Usage::

    import cosim, models

    radio = cosim.Radio(sharing=cosim.FixedShares(bandwidth_hz=5e6))
    system = cosim.System(num_cells=2, uplink=radio)
    result = cosim.run(system, models.build(system.model))
"""

from attrs import evolve

from cosim.allocation.policies import CommonSteps, ResourceAware, Unconstrained
from cosim.codec import Codec, Uncompressed
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
from cosim.radio.fading import NoFading, Rayleigh
from cosim.radio.propagation.given_snr import GivenSnr
from cosim.radio.propagation.large_scale import LargeScale
from cosim.radio.propagation.link_budget import LinkBudget
from cosim.radio.radio import Radio
from cosim.radio.redrawn import CoherenceTime, EveryEdgeRound, EveryGlobalRound
from cosim.radio.sharing.over_the_air import OverTheAir
from cosim.radio.sharing.resource_blocks import ResourceBlocks
from cosim.radio.sharing.shares import FixedShares, RedividedShares
from cosim.results import Result
from cosim.run import run
from cosim.simulation import Dropped, Simulation
from cosim.system import System
from cosim.topology import Topology
from cosim.transmit_power import PowerRange, SamePower
from cosim.uplink import Link, SteadyUpload, Uplink, Upload
from cosim.values import PerClient, PerGroup

__all__ = [
    "Codec",
    "CoherenceTime",
    "CommonSteps",
    "Compute",
    "ConfigurationError",
    "Data",
    "Deterministic",
    "Dropped",
    "EdgeTraining",
    "Empirical",
    "Erlang",
    "EveryEdgeRound",
    "EveryGlobalRound",
    "Exponential",
    "FixedShares",
    "GivenSnr",
    "HFedAvg",
    "Hist",
    "HyperExponential",
    "LargeScale",
    "Link",
    "LinkBudget",
    "NoFading",
    "OverTheAir",
    "PerClient",
    "PerGroup",
    "PowerRange",
    "PublicNetwork",
    "Radio",
    "RawHfl",
    "Rayleigh",
    "RedividedShares",
    "ResourceAware",
    "ResourceBlocks",
    "Result",
    "SamePower",
    "Simulation",
    "SteadyUpload",
    "System",
    "Topology",
    "Traffic",
    "Uncompressed",
    "Unconstrained",
    "Uplink",
    "Upload",
    "Vhfl",
    "VideoRequests",
    "evolve",
    "run",
]
