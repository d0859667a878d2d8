from cosim.queues.arrivals import Arrivals, OnOffArrivals, PoissonArrivals, TraceArrivals
from cosim.queues.disciplines import FiniteBuffer, FirstComeFirstServed, Impatient, MessagesFirst, PublicFirst
from cosim.queues.initial_work import InitialWork, NoWork, StationaryWork
from cosim.queues.paths import OwnPaths, Paths, SharedPath
from cosim.queues.port import Discipline
from cosim.queues.queued_link import QueuedLink
from cosim.queues.service import Deterministic, Empirical, Erlang, Exponential, HyperExponential, ServiceLaw

__all__ = [
    "Arrivals",
    "Deterministic",
    "Discipline",
    "Empirical",
    "Erlang",
    "Exponential",
    "FiniteBuffer",
    "FirstComeFirstServed",
    "HyperExponential",
    "Impatient",
    "InitialWork",
    "MessagesFirst",
    "NoWork",
    "OnOffArrivals",
    "OwnPaths",
    "Paths",
    "PoissonArrivals",
    "PublicFirst",
    "QueuedLink",
    "ServiceLaw",
    "SharedPath",
    "StationaryWork",
    "TraceArrivals",
]
