from attrs import evolve

from cosim.clock.instants import deadline_after, instant_after
from cosim.clock.simulation import Dropped, Simulation
from cosim.codecs.error_feedback import ErrorFeedback
from cosim.codecs.flat import FlatCodec
from cosim.codecs.half_precision import BFloat16, Float16
from cosim.codecs.kept import Kept, KeptNumber, KeptShare
from cosim.codecs.model_codec import ModelCodec
from cosim.codecs.port import Codec
from cosim.codecs.qsgd import Qsgd
from cosim.codecs.signs import Signs
from cosim.codecs.sparse import RandomK, TopK
from cosim.codecs.uncompressed import Uncompressed
from cosim.configuration import Ask, ConfigurationError, Lack, Word
from cosim.configuration.client_values import PerClient, PerGroup, Values
from cosim.data.arrays import Arrays
from cosim.data.dataset import Dataset
from cosim.data.pictures.cifar10 import Cifar10
from cosim.data.pictures.digits import Digits
from cosim.data.pictures.fashion_mnist import FashionMnist
from cosim.data.port import Data
from cosim.data.split_data import SplitData
from cosim.data.splits.dirichlet import Dirichlet
from cosim.data.splits.iid import Iid
from cosim.data.splits.natural import Natural
from cosim.data.splits.port import Split
from cosim.data.splits.sampled import Sampled
from cosim.data.splits.shards import CellIid, Shards
from cosim.data.synthetic import Synthetic
from cosim.data.texts.authored_text import AuthoredText
from cosim.data.texts.newsgroups import Newsgroups20
from cosim.devices.battery import Battery
from cosim.devices.column import Column
from cosim.devices.cycles import Cycles, CyclesPerBit, CyclesPerOperation, CyclesPerStep
from cosim.devices.device import Device, DeviceArrays
from cosim.devices.device_table import DeviceTable
from cosim.devices.drawn_devices import DrawnDevices
from cosim.devices.mixture import Mixture
from cosim.devices.port import Devices
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
from cosim.ends.after import AfterRounds, AfterSeconds, AfterTarget, AfterUpdates, AfterVersions
from cosim.ends.evaluation_times import EvaluationTimes, EverySeconds, EveryVersions, Never
from cosim.ends.port import End
from cosim.engine.run.run import run
from cosim.engine.store.results import Result
from cosim.links.carried import SteadyUpload
from cosim.links.instantaneous import Instantaneous
from cosim.links.machine import Machine
from cosim.links.port import CellLink, Course, KnownLink, Link
from cosim.links.traces.dealing import Dealing, Dealt, InTurns, OwnTraces
from cosim.links.traces.past_end import HoldLast, PastEnd, RefusePastEnd, RepeatTrace
from cosim.links.traces.rate_trace import RateTrace, TracedLink
from cosim.links.upload import Upload
from cosim.papers.rawhfl.plans.port import CommonSteps, Policy, ResourceAware, Unconstrained
from cosim.papers.rawhfl.plans.solvers import Algorithm2, ExactSolver, Solver
from cosim.papers.rawhfl.raw_hfl import RawHfl
from cosim.papers.rawhfl.videos.video_requests import VideoRequests
from cosim.papers.vhfl.traffic.cell_traffic import CellTraffic
from cosim.papers.vhfl.traffic.traffic import Traffic
from cosim.papers.vhfl.traffic.traffic_csv import TrafficCsv
from cosim.papers.vhfl.vertical import VerticalSgd
from cosim.papers.vhfl.vhfl import Vhfl
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
from cosim.protocols.asynchronous.trainers import Cells, Clients, Trainers
from cosim.protocols.cell_training import CellTraining
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.hfedavg import HFedAvg
from cosim.protocols.hist import Hist
from cosim.protocols.port import Protocol
from cosim.protocols.submodel_sizes import EqualSizes, Fractions, LatencyOptimal, SubmodelSizes
from cosim.queues.disciplines import FirstComeFirstServed, Impatient, MessagesFirst, PublicFirst
from cosim.queues.paths import OwnPaths, Paths, SharedPath
from cosim.queues.port import Discipline
from cosim.queues.public_network import PublicNetwork
from cosim.queues.service import Deterministic, Empirical, Erlang, Exponential, HyperExponential, ServiceLaw
from cosim.queues.start import EmptyStart, Start, StationaryStart
from cosim.radio.downlink.broadcast import Broadcast
from cosim.radio.downlink.unicast import Unicast
from cosim.radio.fading import Fading, NoFading, Rayleigh
from cosim.radio.gain_trace import GainTrace
from cosim.radio.propagation.given_snr import GivenSnr
from cosim.radio.propagation.large_scale import LargeScale
from cosim.radio.propagation.link_budget import LinkBudget
from cosim.radio.propagation.noise_only import NoiseOnly
from cosim.radio.propagation.port import Propagation
from cosim.radio.radio import Radio
from cosim.radio.redrawn import CoherenceTime, EveryEdgeRound, EveryGlobalRound
from cosim.radio.sharing.over_the_air import OverTheAir
from cosim.radio.sharing.port import Sharing
from cosim.radio.sharing.redivided import RedividedShares
from cosim.radio.sharing.resource_blocks import ResourceBlocks
from cosim.radio.sharing.shares import FixedShares
from cosim.radio.sharing.slotted_aloha import SlottedAloha
from cosim.records.rows import Measure
from cosim.schedules.by_round import ByRound
from cosim.schedules.decays import Cosine, StepDecay
from cosim.schedules.port import Rate, Schedule
from cosim.schedules.warm_up import WarmUp
from cosim.selection.deadlines import DeadlineFeasible, FedCs
from cosim.selection.drawn import BySamples, RoundRobin, Uniform
from cosim.selection.oort import Oort
from cosim.selection.port import Everyone, Selection, SomeClients
from cosim.selection.power_of_choice import PowerOfChoice
from cosim.selection.proportional_fair import ProportionalFair
from cosim.server_updates.adaptive_updates import FedAdagrad, FedAdam, FedAvgM, FedYogi
from cosim.server_updates.fed_nova import FedNova
from cosim.server_updates.majority_vote import MajorityVote
from cosim.server_updates.means import Mean, MeanBySamples
from cosim.server_updates.port import ServerUpdate
from cosim.server_updates.step_from_mean import StepFromMean
from cosim.system import System
from cosim.tasks.classification import Classification
from cosim.tasks.metric import Answers, Metric
from cosim.tasks.metrics import ClassAccuracy, ClientAccuracy, MacroF1, PersonalAccuracy
from cosim.tasks.next_token import NextToken
from cosim.tasks.port import Task
from cosim.tasks.regression import Regression
from cosim.topology.port import Topology
from cosim.topology.table_topology import TableTopology
from cosim.training.local_steps import DrawnSteps, Epochs, LocalSteps, SameSteps, StepsInTime
from cosim.training.optimisers import Adam, Momentum
from cosim.training.port import LocalTraining
from cosim.training.scaffold import Scaffold
from cosim.training.sgd import Proximal, Sgd
from cosim.training.torch_function import TorchFunction
from cosim.waiting.counts import AtLeast, FirstK
from cosim.waiting.deadlines import Deadline, UploadDeadline
from cosim.waiting.port import WaitForAll, Waiting

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
