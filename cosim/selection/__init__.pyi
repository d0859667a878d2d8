from cosim.selection.deadlines import DeadlineFeasible, FedCs
from cosim.selection.drawn import BySamples, RoundRobin, Uniform
from cosim.selection.oort import Oort
from cosim.selection.port import Everyone, Selection, SomeClients
from cosim.selection.power_of_choice import PowerOfChoice
from cosim.selection.proportional_fair import ProportionalFair

__all__ = [
    "BySamples",
    "DeadlineFeasible",
    "Everyone",
    "FedCs",
    "Oort",
    "PowerOfChoice",
    "ProportionalFair",
    "RoundRobin",
    "Selection",
    "SomeClients",
    "Uniform",
]
