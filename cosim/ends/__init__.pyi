from cosim.ends.after import AfterRounds, AfterSeconds, AfterTarget, AfterUpdates, AfterVersions
from cosim.ends.evaluation_times import EvaluationTimes, EverySeconds, EveryVersions, Never
from cosim.ends.port import End

__all__ = [
    "AfterRounds",
    "AfterSeconds",
    "AfterTarget",
    "AfterUpdates",
    "AfterVersions",
    "End",
    "EvaluationTimes",
    "EverySeconds",
    "EveryVersions",
    "Never",
]
