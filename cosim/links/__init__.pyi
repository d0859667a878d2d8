from cosim.links.carried import SteadyUpload
from cosim.links.given_rates import GivenRates
from cosim.links.instantaneous import Instantaneous
from cosim.links.machine import Machine
from cosim.links.port import CellLink, Course, KnownLink, Link
from cosim.links.traces.dealing import Dealing, Dealt, InTurns, OwnTraces
from cosim.links.traces.past_end import HoldLast, PastEnd, RefusePastEnd, RepeatTrace
from cosim.links.traces.rate_trace import RateTrace, TracedLink
from cosim.links.upload import Upload

__all__ = [
    "CellLink",
    "Course",
    "Dealing",
    "Dealt",
    "GivenRates",
    "HoldLast",
    "InTurns",
    "Instantaneous",
    "KnownLink",
    "Link",
    "Machine",
    "OwnTraces",
    "PastEnd",
    "RateTrace",
    "RefusePastEnd",
    "RepeatTrace",
    "SteadyUpload",
    "TracedLink",
    "Upload",
]
