from cosim.queues.arrivals import Arrivals, OnOffArrivals, PoissonArrivals, TraceArrivals
from cosim.queues.disciplines import FiniteBuffer, FirstComeFirstServed, Impatient, MessagesFirst, PublicFirst
from cosim.queues.paths import OwnPaths, Paths, SharedPath
from cosim.queues.port import Discipline
from cosim.queues.public_network import PublicNetwork
from cosim.queues.service import Deterministic, Empirical, Erlang, Exponential, HyperExponential, ServiceLaw
from cosim.queues.start import EmptyStart, Start, StationaryStart

__all__ = [
    "Arrivals",
    "Deterministic",
    "Discipline",
    "Empirical",
    "EmptyStart",
    "Erlang",
    "Exponential",
    "FiniteBuffer",
    "FirstComeFirstServed",
    "HyperExponential",
    "Impatient",
    "MessagesFirst",
    "OnOffArrivals",
    "OwnPaths",
    "Paths",
    "PoissonArrivals",
    "PublicFirst",
    "PublicNetwork",
    "ServiceLaw",
    "SharedPath",
    "Start",
    "StationaryStart",
    "TraceArrivals",
]
