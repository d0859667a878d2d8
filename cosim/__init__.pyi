from attrs import evolve

from cosim.allocation.policies import CommonSteps, Policy, ResourceAware, Unconstrained
from cosim.allocation.solvers import Algorithm2, ExactSolver, Solver
from cosim.configuration import Ask, ConfigurationError, Lack, Word
from cosim.configuration.values import PerClient, PerGroup, Values
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
from cosim.data.texts.authored_text import AuthoredText
from cosim.data.texts.newsgroups import Newsgroups20
from cosim.data.traffic.cell_traffic import CellTraffic
from cosim.data.traffic.traffic import Traffic
from cosim.data.traffic.traffic_csv import TrafficCsv
from cosim.data.videos.video_requests import VideoRequests
from cosim.devices.battery import Battery
from cosim.devices.column import Column
from cosim.devices.cycles import Cycles, CyclesPerBit, CyclesPerOperation, CyclesPerStep
from cosim.devices.device import Device, DeviceArrays
from cosim.devices.device_table import DeviceTable
from cosim.devices.devices import Devices
from cosim.devices.drawn_devices import DrawnDevices
from cosim.devices.local_steps import DrawnSteps, Epochs, LocalSteps, SameSteps, StepsInTime
from cosim.devices.mixture import Mixture
from cosim.devices.power_control import PowerControl
from cosim.devices.presence import OnOff, Presence
from cosim.devices.presence_windows import PresenceWindows
from cosim.devices.processor import Processor
from cosim.devices.training_time import (
    DrawnTime,
    ExponentialTime,
    HalfNormalTime,
    HyperExponentialTime,
    LogNormalTime,
    TrainingTime,
)
from cosim.devices.transmit_power import PowerRange, SamePower, TransmitPower
from cosim.instants import deadline_after, instant_after
from cosim.learning.codecs.codec import Codec
from cosim.learning.codecs.error_feedback import ErrorFeedback
from cosim.learning.codecs.flat import FlatCodec
from cosim.learning.codecs.half_precision import BFloat16, Float16
from cosim.learning.codecs.kept import Kept, KeptNumber, KeptShare
from cosim.learning.codecs.majority_vote import MajorityVote
from cosim.learning.codecs.qsgd import Qsgd
from cosim.learning.codecs.signs import Signs
from cosim.learning.codecs.sparse import RandomK, TopK
from cosim.learning.codecs.uncompressed import Uncompressed
from cosim.learning.local_training.local_training import LocalTraining
from cosim.learning.local_training.optimisers import Adam, Momentum
from cosim.learning.local_training.scaffold import Scaffold
from cosim.learning.local_training.sgd import Proximal, Sgd
from cosim.learning.local_training.torch_function import TorchFunction
from cosim.learning.local_training.vertical import VerticalSgd
from cosim.learning.schedules.by_round import ByRound
from cosim.learning.schedules.decays import Cosine, StepDecay
from cosim.learning.schedules.schedule import Rate, Schedule
from cosim.learning.schedules.warm_up import WarmUp
from cosim.learning.server_updates.adaptive_updates import FedAdagrad, FedAdam, FedAvgM, FedYogi
from cosim.learning.server_updates.fed_nova import FedNova
from cosim.learning.server_updates.means import Mean, MeanBySamples
from cosim.learning.server_updates.server_update import ServerUpdate
from cosim.learning.server_updates.step_from_mean import StepFromMean
from cosim.learning.tasks.classification import Classification
from cosim.learning.tasks.metric import Answers, Metric
from cosim.learning.tasks.metrics import ClassAccuracy, ClientAccuracy, MacroF1, PersonalAccuracy
from cosim.learning.tasks.next_token import NextToken
from cosim.learning.tasks.regression import Regression
from cosim.learning.tasks.task import Task
from cosim.links.carried import SteadyUpload
from cosim.links.instantaneous import Instantaneous
from cosim.links.link import CellLink, Course, KnownLink, Link
from cosim.links.machine import Machine
from cosim.links.model_codec import ModelCodec
from cosim.links.traces.dealing import Dealing, Dealt, InTurns, OwnTraces
from cosim.links.traces.past_end import HoldLast, PastEnd, RefusePastEnd, RepeatTrace
from cosim.links.traces.rate_trace import RateTrace, TracedLink
from cosim.links.upload import Upload
from cosim.protocols.asynchronous import Asynchronous
from cosim.protocols.asynchronous_training import AsynchronousTraining
from cosim.protocols.cell_training import CellTraining
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.fedasync import FedAsync
from cosim.protocols.fedbuff import FedBuff
from cosim.protocols.generalised_async import GeneralisedAsync
from cosim.protocols.hfedavg import HFedAvg
from cosim.protocols.hist import Hist
from cosim.protocols.protocol import Protocol
from cosim.protocols.raw_hfl import RawHfl
from cosim.protocols.submodel_sizes import EqualSizes, Fractions, LatencyOptimal, SubmodelSizes
from cosim.protocols.time_triggered import TimeTriggered
from cosim.protocols.trainers import Cells, Clients, Trainers
from cosim.protocols.vhfl import Vhfl
from cosim.queueing.discipline import Discipline
from cosim.queueing.disciplines import FirstComeFirstServed, Impatient, MessagesFirst, PublicFirst
from cosim.queueing.network import PublicNetwork
from cosim.queueing.paths import OwnPaths, Paths, SharedPath
from cosim.queueing.service import Deterministic, Empirical, Erlang, Exponential, HyperExponential, ServiceLaw
from cosim.queueing.start import EmptyStart, Start, StationaryStart
from cosim.radio.downlink.broadcast import Broadcast
from cosim.radio.downlink.unicast import Unicast
from cosim.radio.fading import Fading, NoFading, Rayleigh
from cosim.radio.gain_trace import GainTrace
from cosim.radio.propagation.given_snr import GivenSnr
from cosim.radio.propagation.large_scale import LargeScale
from cosim.radio.propagation.link_budget import LinkBudget
from cosim.radio.propagation.mean_snr import Propagation
from cosim.radio.propagation.noise_only import NoiseOnly
from cosim.radio.radio import Radio
from cosim.radio.redrawn import CoherenceTime, EveryEdgeRound, EveryGlobalRound
from cosim.radio.sharing.band import Sharing
from cosim.radio.sharing.over_the_air import OverTheAir
from cosim.radio.sharing.redivided import RedividedShares
from cosim.radio.sharing.resource_blocks import ResourceBlocks
from cosim.radio.sharing.shares import FixedShares
from cosim.radio.sharing.slotted_aloha import SlottedAloha
from cosim.records import Measure
from cosim.results import Result
from cosim.running import run
from cosim.selection.deadlines import DeadlineFeasible, FedCs
from cosim.selection.drawn import BySamples, RoundRobin, Uniform
from cosim.selection.oort import Oort
from cosim.selection.power_of_choice import PowerOfChoice
from cosim.selection.proportional_fair import ProportionalFair
from cosim.selection.selection import Everyone, Selection, SomeClients
from cosim.servers.asynchronous.staleness import Constant, Hinge, Polynomial, Staleness
from cosim.servers.asynchronous.starts import ConstantConcurrency, Dispatched, PoissonStarts, Restarts, Starts
from cosim.servers.end import End
from cosim.servers.ends import AfterRounds, AfterSeconds, AfterTarget, AfterUpdates, AfterVersions
from cosim.servers.evaluation_times import EvaluationTimes, EverySeconds, EveryVersions, Never
from cosim.servers.waiting import AtLeast, Deadline, FirstK, UploadDeadline, WaitForAll, Waiting
from cosim.simulation import Dropped, Simulation
from cosim.system import System
from cosim.topology.table_topology import TableTopology
from cosim.topology.topology import Topology

__all__ = [
    "Adam",
    "AfterRounds",
    "AfterSeconds",
    "AfterTarget",
    "AfterUpdates",
    "AfterVersions",
    "Algorithm2",
    "Answers",
    "Arrays",
    "Ask",
    "Asynchronous",
    "AsynchronousTraining",
    "AtLeast",
    "AuthoredText",
    "BFloat16",
    "Battery",
    "Broadcast",
    "ByRound",
    "BySamples",
    "CellIid",
    "CellLink",
    "CellTraffic",
    "CellTraining",
    "Cells",
    "Cifar10",
    "ClassAccuracy",
    "Classification",
    "ClientAccuracy",
    "Clients",
    "Codec",
    "CoherenceTime",
    "Column",
    "CommonSteps",
    "ConfigurationError",
    "Constant",
    "ConstantConcurrency",
    "Cosine",
    "Course",
    "Cycles",
    "CyclesPerBit",
    "CyclesPerOperation",
    "CyclesPerStep",
    "Data",
    "Dataset",
    "Deadline",
    "DeadlineFeasible",
    "Dealing",
    "Dealt",
    "Deterministic",
    "Device",
    "DeviceArrays",
    "DeviceTable",
    "Devices",
    "Digits",
    "Dirichlet",
    "Discipline",
    "Dispatched",
    "DrawnDevices",
    "DrawnSteps",
    "DrawnTime",
    "Dropped",
    "EdgeTraining",
    "Empirical",
    "EmptyStart",
    "End",
    "Epochs",
    "EqualSizes",
    "Erlang",
    "ErrorFeedback",
    "EvaluationTimes",
    "EveryEdgeRound",
    "EveryGlobalRound",
    "EverySeconds",
    "EveryVersions",
    "Everyone",
    "ExactSolver",
    "Exponential",
    "ExponentialTime",
    "Fading",
    "FashionMnist",
    "FedAdagrad",
    "FedAdam",
    "FedAsync",
    "FedAvgM",
    "FedBuff",
    "FedCs",
    "FedNova",
    "FedYogi",
    "FirstComeFirstServed",
    "FirstK",
    "FixedShares",
    "FlatCodec",
    "Float16",
    "Fractions",
    "GainTrace",
    "GeneralisedAsync",
    "GivenSnr",
    "HFedAvg",
    "HalfNormalTime",
    "Hinge",
    "Hist",
    "HoldLast",
    "HyperExponential",
    "HyperExponentialTime",
    "Iid",
    "Impatient",
    "InTurns",
    "Instantaneous",
    "Kept",
    "KeptNumber",
    "KeptShare",
    "KnownLink",
    "Lack",
    "LargeScale",
    "LatencyOptimal",
    "Link",
    "LinkBudget",
    "LocalSteps",
    "LocalTraining",
    "LogNormalTime",
    "Machine",
    "MacroF1",
    "MajorityVote",
    "Mean",
    "MeanBySamples",
    "Measure",
    "MessagesFirst",
    "Metric",
    "Mixture",
    "ModelCodec",
    "Momentum",
    "Natural",
    "Never",
    "Newsgroups20",
    "NextToken",
    "NoFading",
    "NoiseOnly",
    "OnOff",
    "Oort",
    "OverTheAir",
    "OwnPaths",
    "OwnTraces",
    "PastEnd",
    "Paths",
    "PerClient",
    "PerGroup",
    "PersonalAccuracy",
    "PoissonStarts",
    "Policy",
    "Polynomial",
    "PowerControl",
    "PowerOfChoice",
    "PowerRange",
    "Presence",
    "PresenceWindows",
    "Processor",
    "Propagation",
    "ProportionalFair",
    "Protocol",
    "Proximal",
    "PublicFirst",
    "PublicNetwork",
    "Qsgd",
    "Radio",
    "RandomK",
    "Rate",
    "RateTrace",
    "RawHfl",
    "Rayleigh",
    "RedividedShares",
    "RefusePastEnd",
    "Regression",
    "RepeatTrace",
    "ResourceAware",
    "ResourceBlocks",
    "Restarts",
    "Result",
    "RoundRobin",
    "SamePower",
    "SameSteps",
    "Sampled",
    "Scaffold",
    "Schedule",
    "Selection",
    "ServerUpdate",
    "ServiceLaw",
    "Sgd",
    "Shards",
    "SharedPath",
    "Sharing",
    "Signs",
    "Simulation",
    "SlottedAloha",
    "Solver",
    "SomeClients",
    "Split",
    "SplitData",
    "Staleness",
    "Start",
    "Starts",
    "StationaryStart",
    "SteadyUpload",
    "StepDecay",
    "StepFromMean",
    "StepsInTime",
    "SubmodelSizes",
    "Synthetic",
    "System",
    "TableTopology",
    "Task",
    "TimeTriggered",
    "TopK",
    "Topology",
    "TorchFunction",
    "TracedLink",
    "Traffic",
    "TrafficCsv",
    "Trainers",
    "TrainingTime",
    "TransmitPower",
    "Uncompressed",
    "Unconstrained",
    "Unicast",
    "Uniform",
    "Upload",
    "UploadDeadline",
    "Values",
    "VerticalSgd",
    "Vhfl",
    "VideoRequests",
    "WaitForAll",
    "Waiting",
    "WarmUp",
    "Word",
    "deadline_after",
    "evolve",
    "instant_after",
    "run",
]
