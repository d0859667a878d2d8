from attrs import evolve

from cosim import client_values as client_values
from cosim import clock as clock
from cosim import codecs as codecs
from cosim import configuration as configuration
from cosim import data as data
from cosim import devices as devices
from cosim import ends as ends
from cosim import formats as formats
from cosim import links as links
from cosim import protocols as protocols
from cosim import queues as queues
from cosim import radio as radio
from cosim import records as records
from cosim import schedules as schedules
from cosim import selection as selection
from cosim import server_updates as server_updates
from cosim import studies as studies
from cosim import system as system
from cosim import tasks as tasks
from cosim import testing as testing
from cosim import topology as topology
from cosim import training as training
from cosim import units as units
from cosim import waiting as waiting
from cosim.client_values.port import PerClient, PerGroup, Values
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, knob, part
from cosim.data.arrays import Arrays
from cosim.data.pictures.digits import Digits
from cosim.data.pictures.fashion_mnist import FashionMnist
from cosim.devices.drawn_devices import DrawnDevices
from cosim.ends.after import AfterRounds, AfterSeconds, AfterTarget, AfterVersions
from cosim.ends.evaluation_times import Never
from cosim.engine.run.run import run
from cosim.links.port import CellLink, Link
from cosim.protocols.asynchronous.fedasync import FedAsync
from cosim.protocols.asynchronous.fedbuff import FedBuff
from cosim.protocols.asynchronous.trainers import ClientTraining
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.hfedavg import HFedAvg
from cosim.protocols.hist import Hist
from cosim.protocols.port import Protocol
from cosim.queues.queued_link import QueuedLink
from cosim.radio.fading import Rayleigh
from cosim.radio.propagation.given_snr import GivenSnr
from cosim.radio.radio import Radio
from cosim.radio.sharing.shares import FixedShares
from cosim.results.result import Result
from cosim.selection.port import Selection
from cosim.studies.study import Study
from cosim.system.system import System
from cosim.training.local_steps import SameSteps
from cosim.training.sgd import Sgd
from cosim.waiting.deadlines import Deadline
from cosim.waiting.port import WaitForAll

__all__ = [
    "AfterRounds",
    "AfterSeconds",
    "AfterTarget",
    "AfterVersions",
    "Arrays",
    "CellLink",
    "ClientTraining",
    "ConfigurationError",
    "Deadline",
    "Digits",
    "DrawnDevices",
    "EdgeTraining",
    "FashionMnist",
    "FedAsync",
    "FedBuff",
    "FixedShares",
    "GivenSnr",
    "HFedAvg",
    "Hist",
    "Link",
    "Never",
    "PerClient",
    "PerGroup",
    "Protocol",
    "QueuedLink",
    "Radio",
    "Rayleigh",
    "Result",
    "SameSteps",
    "Selection",
    "Sgd",
    "Simulation",
    "Study",
    "System",
    "Values",
    "WaitForAll",
    "evolve",
    "knob",
    "part",
    "run",
]
