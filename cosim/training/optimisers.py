"""Optimisers: local training by SGD with momentum, and by Adam.

Both are as in torch.optim, on the mini-batches of plain SGD, many clients at a time.

A client starts every training with a fresh optimiser unless the rule keeps its state. Implementations of
federated learning that make an optimiser for each round do the same, and an old direction belongs to a model
that others have moved since: a client that takes part in one round of ten would follow a gradient that is ten
rounds old. With `keeps_state` it continues where its last training ended, even if the update was dropped on
its way.

Source: torch.optim.SGD; Kingma, Ba, "Adam: a method for stochastic optimization", arXiv 1412.6980,
Algorithm 1, as torch.optim.Adam.
"""

import itertools
import math
from functools import partial
from typing import TYPE_CHECKING

from typing_extensions import override

from cosim.configuration import between, knob, not_negative, part, positive
from cosim.schedules.port import Rate
from cosim.training.port import LocalTraining
from cosim.training.sgd import Sgd
from cosim.values.submodels import NetworkShape

if TYPE_CHECKING:
    from cosim.training.programs.program import Program


@part
class Momentum(Sgd):
    """SGD along a running sum of gradients, without dampening.

    Attributes:
        momentum: Factor of the sum before the gradient is added; 0 means plain SGD. [no source]
        nesterov: True if the step is the gradient plus momentum times the sum, in place of the sum. [no
            source]
        keeps_state: True if a client continues with the sum of its last training; else it starts at 0. [no
            source]
    """

    momentum: Rate = knob(between(0.0, 1.0), default=0.9)
    nesterov: bool = False
    keeps_state: bool = False  # pyright: ignore[reportIncompatibleVariableOverride]

    @override
    def training_values(self, num_parameters: int, num_values: int) -> int:
        return num_parameters if self.momentum else 0

    @override
    def kept_values(self, shape: NetworkShape) -> int:
        return shape.num_parameters() if self.keeps_state else 0

    @override
    def num_gradients(self, num_steps: int) -> float | None:
        """Sum of a_k = 1 + b + ... + b^(n - k), with Nesterov to one power more.

        None if a client continues with a sum of old gradients. [Wang et al., arXiv 2007.07481]
        """
        if self.momentum == 0.0:
            return super().num_gradients(num_steps)
        if self.keeps_state:
            return None
        powers = itertools.accumulate(self.momentum**k for k in range(num_steps + self.nesterov))
        return math.fsum(itertools.islice(powers, int(self.nesterov), None))

    @override
    def program(self) -> "Program":
        if self.momentum == 0.0:
            return super().program()
        from cosim.training.programs.descents import MomentumStep
        from cosim.training.programs.sgd import SgdProgram

        return SgdProgram(
            partial(
                MomentumStep,
                rate=self.learning_rate,
                momentum=self.momentum,
                nesterov=self.nesterov,
                decay=self.weight_decay,
            )
        )


@part
class Adam(LocalTraining):
    """Steps along the mean gradient over the root of the mean squared gradient, both bias-corrected.

    Attributes:
        learning_rate: Step size. [Adam, Algorithm 1]
        weight_decay: Weight in the loss of half the squared length of the parameters; 0 means none. [Adam,
            Algorithm 1: none]
        beta1: Factor of the mean gradient before the next is added. [Adam, Algorithm 1]
        beta2: Factor of the mean squared gradient. [Adam, Algorithm 1]
        epsilon: Number added to the root. [Adam, Algorithm 1]
        keeps_state: True if a client continues with both means and their number of steps; else it starts at
            0. [no source]
    """

    learning_rate: Rate = knob(positive, default=0.001)
    weight_decay: Rate = knob(not_negative, default=0.0)
    beta1: float = knob(between(0.0, 0.999999), default=0.9)
    beta2: float = knob(between(0.0, 0.999999), default=0.999)
    epsilon: float = knob(positive, default=1e-8)
    keeps_state: bool = False  # pyright: ignore[reportIncompatibleVariableOverride]

    @override
    def training_values(self, num_parameters: int, num_values: int) -> int:
        return 2 * num_parameters

    @override
    def kept_values(self, shape: NetworkShape) -> int:
        return 2 * shape.num_parameters() if self.keeps_state else 0

    @override
    def program(self) -> "Program":
        from cosim.training.programs.adam import AdamStep
        from cosim.training.programs.sgd import SgdProgram

        return SgdProgram(
            partial(
                AdamStep,
                rate=self.learning_rate,
                beta1=self.beta1,
                beta2=self.beta2,
                epsilon=self.epsilon,
                decay=self.weight_decay,
            )
        )
