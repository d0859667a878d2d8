from cosim.server_updates.adaptive_updates import FedAdagrad, FedAdam, FedAvgM, FedYogi
from cosim.server_updates.fed_nova import FedNova
from cosim.server_updates.majority_vote import MajorityVote
from cosim.server_updates.means import Mean, MeanBySamples
from cosim.server_updates.port import ServerUpdate
from cosim.server_updates.step_from_mean import StepFromMean

__all__ = [
    "FedAdagrad",
    "FedAdam",
    "FedAvgM",
    "FedNova",
    "FedYogi",
    "MajorityVote",
    "Mean",
    "MeanBySamples",
    "ServerUpdate",
    "StepFromMean",
]
