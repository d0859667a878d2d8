"""Local training: what a client computes from a start, its samples and a key.

A rule is a configuration class and part of every update that is trained by it. One of your own is a class
with a method `train`, a plain torch function that the learner calls client by client, on its threads
(`programs/client_by_client.py` says what it is given)::

    @configuration
    class Pulled(LocalTraining):
        mu: float = field(not_negative, default=0.1)

        def train(self, client):
            import torch

            optimizer = torch.optim.SGD(client.network.parameters(), lr=self.learning_rate)
            for x, y in client.batches(client.num_steps, self.batch_size):
                pull = sum((p - client.start[n]).square().sum() for n, p in client.network.named_parameters())
                optimizer.zero_grad()
                (client.loss(client.network(x), y) + 0.5 * self.mu * pull).backward()
                optimizer.step()

A rule with `keeps_state = True` in its class gets what it returned when the client last trained, as
`client.state`, tensors by name, empty at first: momentum, control variates, what was left out of an upload.
The client keeps a state when its training has ended in simulated time, also where its update is dropped on
the way; where the training itself is cut, it keeps the one before. What a dropped update has left is computed
with the client's next update, or at the next evaluation, since a checkpoint holds what is kept by then. With
`keeps_what_arrived = True` the client keeps a state only where its server takes the update in: for rules
whose server counts on what its clients hold.

What a rule with a state keeps of the network by hand, such as a client's own last layer, is scored by client
(`PersonalAccuracy`) where its method `personal_tensors` finds it in the state. Without a line of code
`System.personal` keeps layers with every rule.

A rule may let other tensors travel beside the model, both ways (`companions`, by name and shape): `train`
finds them in `client.companions`, zero at first, and what they hold at the end arrives with the update. The
server takes their mean, or what `received` makes of it.

Where speed matters a rule has a method `program` instead, and its program trains many clients together
(`programs/program.py`). Of two such methods the one of the more derived class counts, that of a mixin too.

Scope and limitations: the number of steps belongs to the update, not to the rule; a step has the same number
of samples at every client. No rule imports torch before it trains.
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from cosim.configuration import (
    ConfigurationError,
    Port,
    at_least,
    configuration,
    field,
    not_negative,
    positive,
    refuse,
    stand_for,
)
from cosim.learning.network.submodels import NetworkShape, Shapes
from cosim.learning.schedules.schedule import Rate

if TYPE_CHECKING:
    from torch import Tensor

    from cosim.learning.graph.pending import PendingModel
    from cosim.learning.learner import Learner
    from cosim.learning.network.weights import Weights
    from cosim.learning.programs.client_by_client import ClientView
    from cosim.learning.programs.program import Program


@configuration
class LocalTraining(Port):
    """A rule by which clients train.

    Attributes:
        batch_size: Samples in a step, which is what a step costs the processor. [no source]
        learning_rate: Step size; what is sent over the air is divided by it. [no source]
        keeps_state: Whether what `train` returns is kept for the client's next training; a class says so.
        keeps_what_arrived: Whether it is only where the update has arrived; a class says so.
    """

    shortcuts = stand_for(program=("train",), num_gradients=("train", "program"))
    keeps_state: ClassVar[bool] = False
    keeps_what_arrived: ClassVar[bool] = False

    batch_size: int = field(at_least(1), default=50)
    learning_rate: Rate = field(positive, default=0.05)

    @property
    def samples_at_once(self) -> int:
        """A mini-batch."""
        return self.batch_size

    def train(self, client: "ClientView") -> "Mapping[str, Tensor] | None":
        """Train one client: the values that its network has at the end come out; returns what it keeps."""
        raise NotImplementedError

    def program(self) -> "Program":
        """How updates are trained: each by `train`, unless a class knows better."""
        from cosim.learning.programs.client_by_client import ClientByClient

        return ClientByClient(f"{type(self).__name__}.train", "client.generator")

    def num_gradients(self, num_steps: int) -> float | None:
        """The number of gradients that the steps from w to y add up to; None: unknown, and `FedNova` refuses.

        That is a_1 + ... + a_n, none of them negative, where w - y = learning_rate (a_1 g_1 + ... + a_n g_n)
        with the gradients g_k of the loss at the n steps. [Wang et al., arXiv 2007.07481, eq. 3]

        It counts where no class that is more derived has a `train` or `program` of its own.
        """
        return None

    def companions(self, shape: NetworkShape) -> Shapes:
        """What travels beside a model of a shape, by names that no tensor of a network has; zero at first."""
        return {}

    def personal_tensors(self, state: "Weights") -> "Mapping[str, Tensor]":
        """Tensors of the network that a client has in place of the global model's, by their names in it.

        Args:
            state: What `train` has returned at the client's last training; not to be changed.
        """
        return {}

    @property
    def keeps_tensors(self) -> bool:
        """Whether its state holds such tensors."""
        return type(self).personal_tensors is not LocalTraining.personal_tensors

    def received(self, model: "PendingModel", mean: "PendingModel", share: float) -> "PendingModel":
        """What an edge server makes of the mean of updates and their companions, before its own rule steps.

        Args:
            model: Where it was.
            mean: Of the updates that have arrived.
            share: They are of all the clients of the cell.
        """
        return mean

    def fit(self, system: Any) -> None:
        """Refuse companions, and a state of what arrived, where they do not arrive as the model does.

        Also tensors of a state that is not kept.
        """
        if self.keeps_tensors and not self.keeps_state:
            rule = "personal_tensors reads what clients keep, and they keep nothing"
            raise refuse(type(self), "keeps_state", False, rule, "keeps_state = True in the class")
        accompanies = type(self).companions is not LocalTraining.companions
        if (accompanies or self.keeps_what_arrived) and not system.protocol.takes_sums:
            kind, own = type(system.protocol).__name__, type(self).__name__
            rule = f"{own} wants an edge server that takes the mean of what arrives, and here none does"
            raise refuse("System", "protocol", kind, rule, "HFedAvg with EdgeTraining, or plain Sgd")
        if accompanies and system.uplink.adds_up:
            kind, own = type(system.uplink).__name__, type(self).__name__
            rule = f"the noise of sums is that of gradients, and {own} sends something else beside the model"
            raise refuse("System", "uplink", kind, rule, "a sharing that sends bits, as FixedShares")
        if accompanies and system.codec.step is not None:
            kind, own = type(system.codec).__name__, type(self).__name__
            rule = f"{kind} moves weights by a common step, and {own} sends something else beside them"
            raise refuse("System", "codec", kind, rule, "Qsgd, or plain Sgd")

    def check(self, learner: "Learner") -> None:
        """Refuse a network that this rule cannot train, before the clock starts."""
        kind = type(self)
        if kind.program is LocalTraining.program and kind.train is LocalTraining.train:
            raise ConfigurationError(
                f"{kind.__name__}: a local training without `train` and `program` trains nothing. Usual fix: "
                "a method train(self, client)."
            )
        if self.batch_size == 1 and learner.shape.statistics:
            raise ConfigurationError(
                f"{kind.__name__}.batch_size = 1: System.model has normalisation layers, and one sample has "
                "no variance. Usual fix: at least 2."
            )
        if kind.program is LocalTraining.program:
            learner.try_rule(self)


@configuration
class Sgd(LocalTraining):
    """Plain SGD.

    Mini-batches are cut from random permutations of the samples laid back to back, so every batch is full:
    the batch that crosses the end of an epoch takes the rest from the next.

    Attributes:
        batch_size: Samples in a mini-batch. [authors' public code]
        learning_rate: Step size; the authors' public code has 0.01. [no source]
        weight_decay: What half the squared length of the parameters weighs in the loss; 0: nothing. [HIST
            journal, eq. 5: none]
    """

    weight_decay: Rate = field(not_negative, default=0.0)

    def num_gradients(self, num_steps: int) -> float | None:
        """Each once; weight decay is part of the loss."""
        return num_steps

    def program(self) -> "Program":
        """Many clients in one program."""
        from cosim.learning.programs.sgd import SgdProgram
        from cosim.learning.programs.steps import SgdStep

        return SgdProgram(partial(SgdStep, rate=self.learning_rate, decay=self.weight_decay))


@configuration
class Proximal(Sgd):
    """SGD on the loss plus mu / 2 times the squared distance of the weights to their start.

    Mini-batches are those of plain SGD. The term's gradient mu (w - w_start) is taken at the weights before
    the step, as the loss's.

    Attributes:
        mu: Weight of the distance; 0: plain SGD. [FedAsync, Section 6: 0.005]
    """

    mu: Rate = field(not_negative, default=0.005)

    def training_values(self, num_parameters: int, num_values: int) -> int:
        """Where it started."""
        return num_parameters if self.mu else 0

    def num_gradients(self, num_steps: int) -> float | None:
        """a_k = (1 - eta mu)^(n - k). [Wang et al., arXiv 2007.07481]"""
        kept = 1.0 - self.learning_rate * self.mu
        return math.fsum(kept**k for k in range(num_steps)) if kept >= 0.0 else None

    def program(self) -> "Program":
        """Many clients in one program."""
        from cosim.learning.programs.sgd import SgdProgram
        from cosim.learning.programs.steps import SgdStep

        knobs = {"rate": self.learning_rate, "decay": self.weight_decay, "pull": self.mu}
        return SgdProgram(partial(SgdStep, **knobs))
