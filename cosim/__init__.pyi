from attrs import evolve

from cosim.allocation.policies import CommonSteps, Policy, ResourceAware, Unconstrained
from cosim.configuration import ConfigurationError
from cosim.configuration.values import PerClient, PerGroup
from cosim.data.arrays import Arrays
from cosim.data.data import Data
from cosim.data.dataset import Dataset
from cosim.data.pictures.cifar10 import Cifar10
from cosim.data.pictures.digits import Digits
from cosim.data.pictures.fashion_mnist import FashionMnist
from cosim.data.split_data import SplitData
from cosim.data.splits.dirichlet import Dirichlet
from cosim.data.splits.iid import Iid
from cosim.data.splits.natural import Natural
from cosim.data.splits.sampled import Sampled
from cosim.data.splits.shards import CellIid, Shards
from cosim.data.splits.split import Split
from cosim.data.synthetic import Synthetic
from cosim.data.texts.newsgroups import Newsgroups20
from cosim.data.traffic.cell_traffic import CellTraffic
from cosim.data.traffic.traffic import Traffic
from cosim.data.traffic.traffic_csv import TrafficCsv
from cosim.data.videos.video_requests import VideoRequests
from cosim.devices.compute import Compute
from cosim.devices.transmit_power import PowerRange, SamePower
from cosim.learning.local_training import LocalTraining, Sgd
from cosim.learning.server_update import Mean, MeanBySamples, ServerUpdate
from cosim.learning.task import Classification, Regression, Task
from cosim.learning.vertical import VerticalSgd
from cosim.links.codec import Codec, Uncompressed
from cosim.links.uplink import KnownLink, Link, SteadyUpload, Uplink, Upload
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.hfedavg import HFedAvg
from cosim.protocols.hist import Hist
from cosim.protocols.protocol import Protocol
from cosim.protocols.raw_hfl import RawHfl
from cosim.protocols.vhfl import Vhfl
from cosim.queueing.network import PublicNetwork
from cosim.queueing.service import Deterministic, Empirical, Erlang, Exponential, HyperExponential, ServiceLaw
from cosim.radio.fading import NoFading, Rayleigh
from cosim.radio.propagation.given_snr import GivenSnr
from cosim.radio.propagation.large_scale import LargeScale
from cosim.radio.propagation.link_budget import LinkBudget
from cosim.radio.radio import Radio
from cosim.radio.redrawn import CoherenceTime, EveryEdgeRound, EveryGlobalRound
from cosim.radio.sharing.over_the_air import OverTheAir
from cosim.radio.sharing.resource_blocks import ResourceBlocks
from cosim.radio.sharing.shares import FixedShares, RedividedShares
from cosim.records import Measure
from cosim.results import Result
from cosim.running import run
from cosim.simulation import Dropped, Simulation
from cosim.system import System
from cosim.topology.topology import Topology

__all__ = [
    "Arrays",
    "CellIid",
    "CellTraffic",
    "Cifar10",
    "Classification",
    "Codec",
    "CoherenceTime",
    "CommonSteps",
    "Compute",
    "ConfigurationError",
    "Data",
    "Dataset",
    "Deterministic",
    "Digits",
    "Dirichlet",
    "Dropped",
    "EdgeTraining",
    "Empirical",
    "Erlang",
    "EveryEdgeRound",
    "EveryGlobalRound",
    "Exponential",
    "FashionMnist",
    "FixedShares",
    "GivenSnr",
    "HFedAvg",
    "Hist",
    "HyperExponential",
    "Iid",
    "KnownLink",
    "LargeScale",
    "Link",
    "LinkBudget",
    "LocalTraining",
    "Mean",
    "MeanBySamples",
    "Measure",
    "Natural",
    "Newsgroups20",
    "NoFading",
    "OverTheAir",
    "PerClient",
    "PerGroup",
    "Policy",
    "PowerRange",
    "Protocol",
    "PublicNetwork",
    "Radio",
    "RawHfl",
    "Rayleigh",
    "RedividedShares",
    "Regression",
    "ResourceAware",
    "ResourceBlocks",
    "Result",
    "SamePower",
    "Sampled",
    "ServerUpdate",
    "ServiceLaw",
    "Sgd",
    "Shards",
    "Simulation",
    "Split",
    "SplitData",
    "SteadyUpload",
    "Synthetic",
    "System",
    "Task",
    "Topology",
    "Traffic",
    "TrafficCsv",
    "Uncompressed",
    "Unconstrained",
    "Uplink",
    "Upload",
    "VerticalSgd",
    "Vhfl",
    "VideoRequests",
    "evolve",
    "run",
]
