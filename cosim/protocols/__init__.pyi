from cosim.protocols.asynchronous.asynchronous_training import AsynchronousTraining
from cosim.protocols.asynchronous.fedasync import FedAsync
from cosim.protocols.asynchronous.fedbuff import FedBuff
from cosim.protocols.asynchronous.generalised_async import GeneralisedAsync
from cosim.protocols.asynchronous.port import Asynchronous
from cosim.protocols.asynchronous.staleness import Constant, Hinge, Polynomial, Staleness
from cosim.protocols.asynchronous.starts import (
    ConstantConcurrency,
    Dispatched,
    PoissonStarts,
    Restarts,
    Starts,
)
from cosim.protocols.asynchronous.time_triggered import TimeTriggered
from cosim.protocols.asynchronous.trainers import ClientTraining, Trainers, WholeCells
from cosim.protocols.cell_training import CellTraining
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.hfedavg import HFedAvg
from cosim.protocols.hist import Hist
from cosim.protocols.port import Protocol
from cosim.protocols.submodel_sizes import EqualSizes, Fractions, LatencyOptimal, SubmodelSizes

__all__ = [
    "Asynchronous",
    "AsynchronousTraining",
    "CellTraining",
    "ClientTraining",
    "Constant",
    "ConstantConcurrency",
    "Dispatched",
    "EdgeTraining",
    "EqualSizes",
    "FedAsync",
    "FedBuff",
    "Fractions",
    "GeneralisedAsync",
    "HFedAvg",
    "Hinge",
    "Hist",
    "LatencyOptimal",
    "PoissonStarts",
    "Polynomial",
    "Protocol",
    "Restarts",
    "Staleness",
    "Starts",
    "SubmodelSizes",
    "TimeTriggered",
    "Trainers",
    "WholeCells",
]
