"""Local training: what a client computes from a start, its samples and a key.

A rule is a configuration class and part of every update that is trained by it.

Asked: `train`, a plain torch function that the learner calls client by client, on its threads; or `program`,
which trains many clients together (`programs/program.py`), where speed matters.

Given: `ClientView`, below.

Usage::

    @part
    class Pulled(LocalTraining):
        mu: float = knob(not_negative, default=0.1)

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

Scope and limitations: the number of steps belongs to the update, not to the rule; a step has the same number
of samples at every client. No rule imports torch before it trains.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from typing_extensions import override

from cosim.configuration import (
    Ask,
    ConfigurationError,
    Port,
    at_least,
    knob,
    one_of,
    optional,
    part,
    positive,
    refuse,
    said_of,
)
from cosim.configuration.going_together import MEANS, ONE_BY_ONE
from cosim.schedules.port import Rate
from cosim.values.submodels import NetworkShape, Shapes

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from cosim.engine.probe.manner import Manner
    from cosim.training.programs.program import Program
    from cosim.values.pending import PendingModel
    from cosim.values.weights import Weights


@part
class LocalTraining(Port):
    """A rule by which clients train.

    Attributes:
        batch_size: Samples in a step, which is what a step costs the processor. [no source]
        learning_rate: Step size; what is sent over the air is divided by it. [no source]
        keeps_state: Whether what `train` returns is kept for the client's next training; a class says so.
        keeps_what_arrived: Whether it is only where the update has arrived; a class says so.
    """

    asks = (
        Ask(
            MEANS,
            "wants an edge server that takes it",
            "plain Sgd",
            "companions, or a state of what arrived",
            lambda own: own.companions is not None or own.keeps_what_arrived,
        ),
        Ask(
            ONE_BY_ONE,
            "sends something beside the model, which the noise of sums is not made for",
            "plain Sgd",
            "companions",
            lambda own: own.companions is not None,
        ),
    )

    forms = one_of(one_by_one=("train",), together=("program",))
    claims = said_of(num_gradients=("train", "program"))
    keeps_state: ClassVar[bool] = False
    keeps_what_arrived: ClassVar[bool] = False

    batch_size: int = knob(at_least(1), default=50)
    learning_rate: Rate = knob(positive, default=0.05)

    @property
    @override
    def samples_at_once(self) -> int:
        """A mini-batch."""
        return self.batch_size

    def train(self, client: "ClientView") -> "Mapping[str, Tensor] | None":
        """Train one client: the values that its network has at the end come out; returns what it keeps."""
        raise NotImplementedError

    @property
    def train_names(self) -> tuple[str, str]:
        """What `train` is called in messages, and what it draws from."""
        return f"{type(self).__name__}.train", "client.generator"

    def program(self) -> "Program":
        """How many clients are trained together, in place of `train`."""
        raise NotImplementedError

    def num_gradients(self, num_steps: int) -> float | None:
        """The number of gradients that the steps from w to y add up to; None: unknown, and `FedNova` refuses.

        That is a_1 + ... + a_n, none of them negative, where w - y = learning_rate (a_1 g_1 + ... + a_n g_n)
        with the gradients g_k of the loss at the n steps. [Wang et al., arXiv 2007.07481, eq. 3]

        It counts where no class that is more derived has a `train` or `program` of its own.
        """
        return None

    @optional
    def companions(self, shape: NetworkShape) -> Shapes:
        """What travels beside a model of a shape, by names that no tensor of a network has; zero at first."""
        ...

    @optional
    def personal_tensors(self, state: "Weights") -> "Mapping[str, Tensor]":
        """Tensors of the network that a client has in place of the global model's, by their names in it.

        Args:
            state: What `train` has returned at the client's last training; not to be changed.
        """
        ...

    def beside(self, shape: NetworkShape) -> Shapes:
        """The companions of a model of a shape; empty: it has none."""
        return {} if self.companions is None else self.companions(shape)

    def received(self, model: "PendingModel", mean: "PendingModel", share: float) -> "PendingModel":
        """What an edge server makes of the mean of updates and their companions, before its own rule steps.

        Args:
            model: Where it was.
            mean: Of the updates that have arrived.
            share: They are of all the clients of the cell.
        """
        return mean

    @override
    def fit(self, system: Any) -> None:
        """Refuse companions, and a state of what arrived, where they do not arrive as the model does.

        Also tensors of a state that is not kept.
        """
        if self.personal_tensors is not None and not self.keeps_state:
            rule = "personal_tensors reads what clients keep, and they keep nothing"
            raise refuse(type(self), "keeps_state", False, rule, "Use keeps_state = True in the class.")
        if self.companions is not None and system.codec.step is not None:
            kind, own = type(system.codec).__name__, type(self).__name__
            rule = f"{kind} moves weights by a common step, and {own} sends something else beside them"
            raise refuse("System", "codec", kind, rule, "Use Qsgd, or plain Sgd.")

    def check(self, learner: "Trainable") -> None:
        """Refuse a network that this rule cannot train, before the clock starts."""
        kind = type(self)
        if self.batch_size == 1 and learner.shape.statistics:
            raise ConfigurationError(
                f"{kind.__name__}.batch_size = 1: System.model has normalisation layers, and one sample has "
                "no variance. Use at least 2."
            )
        if self.form == "one_by_one":
            learner.try_rule(self)


class ClientView(Protocol):
    """What `train` is given of one client.

    Attributes:
        name: Of the client.
        network: Its own copy, in training mode, with the values of the start; what it holds at the end comes
            out.
        round: In which it trains, from 1 (`cosim.schedules.port`).
        num_steps: Local steps that are asked for, and paid for in simulated time.
        companions: Name -> values that travel beside the model; what they hold at the end arrives.
    """

    name: str
    network: "nn.Module"
    round: int
    num_steps: int
    companions: "Weights"

    def loss(self, outputs: "Tensor", targets: "Tensor", /) -> "Tensor":
        """Mean loss of a batch."""
        ...

    @property
    def start(self) -> "Weights":
        """Tensor name -> its values before training, its own copies."""
        ...

    @property
    def generator(self) -> "torch.Generator":
        """The source of what else is drawn; it follows from the update's key."""
        ...

    @property
    def state(self) -> "Weights":
        """Name -> what the client has kept from its last training, its own copies; empty at first."""
        ...

    def samples(self) -> "tuple[Tensor, Tensor]":
        """Features and classes or targets of all samples that the client has."""
        ...

    def batches(self, num_steps: int, batch_size: int) -> "Batches":
        """Features and classes or targets of mini-batches: those of plain SGD, the same each time."""
        ...


class Batches(Protocol):
    """Mini-batches, gone through once: they are the steps that a client pays for in simulated time.

    Attributes:
        num_taken: So far.
    """

    num_taken: int

    def __iter__(self) -> "Iterator[tuple[Tensor, Tensor]]": ...

    def __len__(self) -> int: ...


class Trainable(Protocol):
    """What `check` is given of the network that is to be trained.

    Attributes:
        shape: Parameter names and shapes, groups of units, what moves while it is trained.
        dropout: Names of the layers that drop something in training.
        manner: Whether clients can be trained together, and why not; None: nothing is trained.
    """

    shape: NetworkShape
    dropout: "tuple[str, ...]"
    manner: "Manner | None"

    def try_rule(self, rule: LocalTraining) -> None:
        """Let a rule with a train function of its own train once, on copies.

        Raises:
            ConfigurationError: It does what no rule may do.
        """
        ...
