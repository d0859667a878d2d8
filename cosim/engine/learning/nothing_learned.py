"""Nothing learned: the learner of a timing-only run.

It knows the shapes of the network and counts its operations on tensors without values; it has no weights and
no samples, and trains nothing. So such a run needs neither the values of a network, which may be on torch's
device "meta", nor the files of a data set; only a network whose forward pass looks at values is built with
values.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn

import numpy as np
from torch import nn
from typing_extensions import override

from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.engine.learning.learner import Learner
from cosim.networks.fingerprint import once
from cosim.networks.flops import outputs_without_values
from cosim.networks.probe.network import check_outputs, is_known_to_fit
from cosim.networks.ready import check_shapes
from cosim.tasks.port import Task
from cosim.tasks.suggested import task_for
from cosim.training.port import LocalTraining
from cosim.values.pending import PendingModel, PendingValue
from cosim.values.weights import lacks_values, own_copy


class NothingLearned(Learner):
    """A learner that refuses to compute.

    Args:
        network: Any module, with values or without.
        outline: A data set with at least one test sample, whose values do not matter.
        task: What would be minimised. None means what the targets suggest.
        personal: Parts of the network that clients would keep to themselves.
        with_values: Builds the network with values, where its forward pass looks at them.

    Raises:
        ConfigurationError: A task that the data set does not suit; a network that takes other samples, or
            gives other outputs.
    """

    def __init__(
        self,
        network: nn.Module,
        outline: Dataset,
        task: Task | None = None,
        personal: Sequence[str] = (),
        with_values: Callable[[], nn.Module] | None = None,
    ) -> None:
        check_shapes(network)
        self._device = "cpu"
        self.task = task_for(task, outline)
        self.task.check(outline)
        try:
            self._know(own_copy(network), outline, personal)  # other threads may use the network itself
        except ConfigurationError:
            if with_values is None or not lacks_values(network):
                raise
            self._know(with_values(), outline, personal)

    @override
    def _know(self, network: nn.Module, dataset: Dataset, personal: Sequence[str]) -> None:
        super()._know(network, dataset, personal)
        if is_known_to_fit(network, dataset, self.task):
            return  # a pass without values imports torch's compiler, which takes as long as torch itself
        is_text = dataset.test_x.dtype == np.int64  # its groups are the ones in the files
        outputs = partial(outputs_without_values, network)
        once(check_outputs, network, self.shape, dataset, self.task, outputs, not is_text)

    manner = None

    @override
    def try_rule(self, rule: LocalTraining) -> None:
        return

    @override
    def initial_model(self, key: int) -> PendingModel:
        """A model that will never be read."""
        return PendingModel()

    @override
    def compute(self, *values: PendingValue) -> NoReturn:
        raise ConfigurationError(
            "System.evaluation = Never: nothing is learned, but a rule reads weights, for instance "
            "because it asks for losses. Use EveryVersions, or a rule that does not read them.",
            "System.evaluation",
        )
