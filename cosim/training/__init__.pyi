from cosim.training.local_steps import DrawnSteps, Epochs, LocalSteps, SameSteps, StepsInTime
from cosim.training.optimisers import Adam, Momentum
from cosim.training.port import LocalTraining
from cosim.training.scaffold import Scaffold
from cosim.training.sgd import Proximal, Sgd
from cosim.training.torch_function import TorchFunction

__all__ = [
    "Adam",
    "DrawnSteps",
    "Epochs",
    "LocalSteps",
    "LocalTraining",
    "Momentum",
    "Proximal",
    "SameSteps",
    "Scaffold",
    "Sgd",
    "StepsInTime",
    "TorchFunction",
]
