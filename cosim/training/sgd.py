"""SGD: steps against stochastic gradients, plain or with a pull towards the initial weights.

Many clients are trained in one program (`programs/sgd.py`).

Source of the pull: Xie, Koyejo, Gupta, "Asynchronous federated optimization", arXiv 1903.03934.
"""

import math
from functools import partial
from typing import TYPE_CHECKING

from typing_extensions import override

from cosim.configuration import knob, not_negative, part
from cosim.schedules.port import Rate
from cosim.training.port import LocalTraining

if TYPE_CHECKING:
    from cosim.training.programs.program import Program


@part
class Sgd(LocalTraining):
    """Plain SGD.

    Mini-batches are cut from concatenated random permutations of the samples, so every batch is full:
    the batch that crosses the end of an epoch takes the rest from the next.

    Attributes:
        batch_size: Samples in a mini-batch. [authors' public code]
        learning_rate: Step size; the authors' public code has 0.01. [no source]
        weight_decay: Weight in the loss of half the squared length of the parameters; 0 means none. [HIST
            journal, eq. 5: none]
    """

    weight_decay: Rate = knob(not_negative, default=0.0)

    @override
    def num_gradients(self, num_steps: int) -> float | None:
        """Number of steps: each gradient counts once; weight decay is part of the loss."""
        return num_steps

    @override
    def program(self) -> "Program":
        from cosim.training.programs.descents import SgdStep
        from cosim.training.programs.sgd import SgdProgram

        return SgdProgram(partial(SgdStep, rate=self.learning_rate, decay=self.weight_decay))


@part
class Proximal(Sgd):
    """SGD on the loss plus mu / 2 times the squared distance of the weights to their initial values.

    Mini-batches are the same as in plain SGD. The term's gradient mu (w - w_start) is taken at the weights
    before the step, like the loss's.

    Attributes:
        mu: Weight of the distance; 0 means plain SGD. [FedAsync, Section 6: 0.005]
    """

    mu: Rate = knob(not_negative, default=0.005)

    @override
    def training_values(self, num_parameters: int, num_values: int) -> int:
        return num_parameters if self.mu else 0

    @override
    def num_gradients(self, num_steps: int) -> float | None:
        """Sum of a_k = (1 - eta mu)^(n - k). [Wang et al., arXiv 2007.07481]"""
        kept = 1.0 - self.learning_rate * self.mu
        return math.fsum(kept**k for k in range(num_steps)) if kept >= 0.0 else None

    @override
    def program(self) -> "Program":
        from cosim.training.programs.descents import SgdStep
        from cosim.training.programs.sgd import SgdProgram

        knobs = {"rate": self.learning_rate, "decay": self.weight_decay, "pull": self.mu}
        return SgdProgram(partial(SgdStep, **knobs))
