from cosim.queues.disciplines import FirstComeFirstServed, Impatient, MessagesFirst, PublicFirst
from cosim.queues.paths import OwnPaths, Paths, SharedPath
from cosim.queues.port import Discipline
from cosim.queues.public_network import PublicNetwork
from cosim.queues.service import Deterministic, Empirical, Erlang, Exponential, HyperExponential, ServiceLaw
from cosim.queues.start import EmptyStart, Start, StationaryStart

__all__ = [
    "Deterministic",
    "Discipline",
    "Empirical",
    "EmptyStart",
    "Erlang",
    "Exponential",
    "FirstComeFirstServed",
    "HyperExponential",
    "Impatient",
    "MessagesFirst",
    "OwnPaths",
    "Paths",
    "PublicFirst",
    "PublicNetwork",
    "ServiceLaw",
    "SharedPath",
    "Start",
    "StationaryStart",
]
