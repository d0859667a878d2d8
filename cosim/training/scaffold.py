"""SCAFFOLD: local training with steps corrected for the difference of a client's gradients from the mean.

A client keeps a control variate c_i, about its mean gradient, and the server one for all, c. A local step is
y <- y - eta (g - c_i + c). After H steps from x the client has c_i+ = c_i - c + (x - y) / (H eta) (option II
of the paper) and sends y and the change of its variate beside it. The server takes the mean of the models
that arrived, and c <- c + (1 / N) times the sum of the changes that arrived, where N counts all clients. So
c stays the mean of the c_i as the server knows them: a client whose update is lost keeps the c_i that it had.

In a hierarchy each edge server does this with the clients of its cell; the cloud takes the mean of the cells'
variates as it does of their models, which with cells of one size is c of all clients. Both ways carry twice
the model, over the backhaul as well.

Scope and limitations: the variates have no entries for running statistics, nor for personal tensors
(`System.personal`), which take plain steps. They weigh clients equally, even if a server weighs models by
samples; that weighted mean covers only the arrived models. The server's global rate belongs to its own rule
(`ServerUpdate`), which moves the model and not the variate. A codec treats both alike, and does not change
the client's own variate. With weight decay, g includes it. Not for sums over the air, where the noise is in
units of accumulated gradients; not for HIST, whose cells change units; not for servers that take updates one
by one.

Source: Karimireddy et al., "SCAFFOLD: stochastic controlled averaging for federated learning", arXiv
1910.06378, Algorithm 1, option II, with global step size 1.

Validation: tests/training/test_scaffold.py.
"""

import math
from functools import partial
from typing import TYPE_CHECKING

from typing_extensions import override

from cosim.configuration import part
from cosim.training.companions import CompanionsHeldBack
from cosim.training.sgd import Sgd
from cosim.values.pending import PendingModel
from cosim.values.submodels import NetworkShape, Shapes

if TYPE_CHECKING:
    from cosim.training.programs.program import Program


@part
class Scaffold(Sgd):
    """SGD with control variates of the client and of the server."""

    keeps_state = True
    keeps_what_arrived = True

    @override
    def companions(self, shape: NetworkShape) -> Shapes:
        own = shape.personal
        return {f"variate {name}": size for name, size in shape.parameters.items() if name not in own}

    @override
    def training_values(self, num_parameters: int, num_values: int) -> int:
        return 2 * num_parameters

    @override
    def kept_values(self, shape: NetworkShape) -> int:
        return sum(map(math.prod, self.companions(shape).values()))

    @override
    def received(self, model: PendingModel, mean: PendingModel, share: float) -> PendingModel:
        """Mean of the models; for the variate, the mean change of the arrived clients, times their share."""
        return mean if share == 1.0 else CompanionsHeldBack(model, mean, share)

    @override
    def program(self) -> "Program":
        from cosim.training.programs.sgd import SgdProgram
        from cosim.training.programs.variates import VariateStep

        return SgdProgram(partial(VariateStep, rate=self.learning_rate, decay=self.weight_decay))
