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
    "Arrays",
    "CellIid",
    "CellTraffic",
    "Cifar10",
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
    "Exponential",
    "FashionMnist",
    "HFedAvg",
    "Hist",
    "HyperExponential",
    "Iid",
    "LargeScale",
    "Natural",
    "Newsgroups20",
    "PublicNetwork",
    "Radio",
    "RawHfl",
    "ResourceAware",
    "Result",
    "Sampled",
    "Shards",
    "Simulation",
    "Split",
    "SplitData",
    "Synthetic",
    "System",
    "Topology",
    "Traffic",
    "TrafficCsv",
    "Unconstrained",
    "Vhfl",
    "VideoRequests",
    "evolve",
    "run",
]
