from cosim.schedules.by_round import ByRound
from cosim.schedules.decays import Cosine, StepDecay
from cosim.schedules.port import Rate, Schedule
from cosim.schedules.warm_up import WarmUp

__all__ = [
    "ByRound",
    "Cosine",
    "Rate",
    "Schedule",
    "StepDecay",
    "WarmUp",
]
