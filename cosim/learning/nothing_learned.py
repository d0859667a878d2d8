"""Nothing learned: what stands for a learner in a run of which only times are asked.

It knows the shape of the network and counts its operations on tensors without values; it holds no weights, no
samples, and trains nothing. So such a run needs neither the values of a network, which may lie on torch's
device "meta", nor the files of a data set.
"""

from functools import partial
from typing import Any, NoReturn

from torch import nn

from cosim.configuration import ConfigurationError
from cosim.learning.datasets import Dataset
from cosim.learning.flops import TrainingFlops, output_shape
from cosim.learning.network_check import check_outputs
from cosim.learning.pending import PendingModel
from cosim.learning.submodels import NetworkShape


class NothingLearned:
    """A network and how a sample looks.

    Args:
        network: Any module, with values or without.
        outline: A data set with at least one test sample, whose values do not matter.

    Attributes:
        shape: Parameter names and shapes, groups of units.
        flops: Operations of training.
        num_global_features: Features of a sample that only the server sees.

    Raises:
        ConfigurationError: A network that takes other samples, or gives other outputs.
    """

    def __init__(self, network: nn.Module, outline: Dataset) -> None:
        self.shape = NetworkShape.of(network)
        self.num_global_features = outline.num_global_features
        self.flops = TrainingFlops(network, self.shape, outline)
        check_outputs(network, self.shape, outline, partial(output_shape, network))

    def initial_model(self, key: int) -> PendingModel:
        """A model that nobody will read."""
        return PendingModel()

    def losses(self, model: PendingModel, samples: Any) -> NoReturn:
        """Refuse to read weights.

        Raises:
            ConfigurationError: Always.
        """
        raise ConfigurationError(
            "System.evaluate_every = None: only times are asked for, and a rule reads losses, which nobody "
            "learns. Usual fix: evaluate_every = 1, or a rule that goes without."
        )
