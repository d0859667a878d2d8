"""Local training: what a client computes from a model, its samples and a key.

A rule is a configuration class and part of every update that is trained by it.

Asked: `train`, a plain torch function that the learner calls client by client, on its threads; or `program`,
which trains many clients together (`programs/program.py`), if speed matters.

Given: `ClientView`, below.

Usage::

    @part
    class Pulled(LocalTraining):
        mu: float = knob(not_negative, default=0.1)

        def train(self, client):
            import torch

            optimizer = torch.optim.SGD(client.network.parameters(), lr=self.learning_rate)
            for x, y in client.batches(client.num_steps, self.batch_size):
                w = client.network.named_parameters()
                pull = sum((values - client.initial[name]).square().sum() for name, values in w)
                optimizer.zero_grad()
                (client.loss(client.network(x), y) + 0.5 * self.mu * pull).backward()
                optimizer.step()

A rule with `keeps_state = True` in its class gets what it returned when the client last trained, as
`client.state`, tensors by name, empty at first: momentum, control variates, what was left out of an upload.
The client keeps a state when its training has ended in simulated time, even if its update is dropped on the
way; if the training itself is cut, it keeps the one before. The state of a dropped update is computed with
the client's next update, or at the next evaluation, since a checkpoint holds the state by then. With
`keeps_what_arrived = True` the client keeps a state only if its server takes the update in: for rules whose
server relies on its clients' states.

A rule may keep parts of the network in its state, such as a client's own last layer. They are scored by
client (`PersonalAccuracy`) if its method `personal_tensors` finds them in the state. `System.personal` keeps
layers with every rule, without a line of code.

A rule may send other tensors with the model, both ways (`companions`, by name and shape): `train` finds them
in `client.companions`, zero at first, and their final values arrive with the update. The server takes their
mean, or the result of `received`.

Scope and limitations: the number of steps belongs to the update, not to the rule; a step has the same number
of samples at every client. No rule imports torch before it trains.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

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
from cosim.schedules.port import Rate, in_round
from cosim.values.submodels import NetworkShape, Shapes

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from cosim.networks.probe.manner import Manner
    from cosim.training.programs.program import Program
    from cosim.values.pending import PendingModel
    from cosim.values.weights import Weights


@part
class LocalTraining(Port):
    """A rule by which clients train.

    Attributes:
        batch_size: Samples in a step, which determine its cost for the processor. [no source]
        learning_rate: Step size; sums over the air are divided by it. [no source]
        keeps_state: True if what `train` returns is kept for the client's next training; set in the class.
        keeps_what_arrived: True if it is kept only if the update has arrived; set in the class.
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

    def in_round(self, round: int) -> Self:
        """The rule in a round, with numbers in place of schedules (`cosim.schedules.port`)."""
        return in_round(self, round)

    @property
    @override
    def samples_at_once(self) -> int:
        """Number of samples in a mini-batch."""
        return self.batch_size

    def train(self, client: "ClientView") -> "Mapping[str, Tensor] | None":
        """Train one client: the final values of its network are the update; returns what it keeps."""
        raise NotImplementedError

    @property
    def train_names(self) -> tuple[str, str]:
        """Name of `train` for messages, and of the generator that it draws from."""
        return f"{type(self).__name__}.train", "client.generator"

    def program(self) -> "Program":
        """Program that trains many clients together, in place of `train`."""
        raise NotImplementedError

    def num_gradients(self, num_steps: int) -> float | None:
        """Number of gradients that the steps from w to y add up to; None if unknown: `FedNova` refuses it.

        This is a_1 + ... + a_n, none of them negative, where w - y = learning_rate (a_1 g_1 + ... + a_n g_n)
        with the gradients g_k of the loss at the n steps. [Wang et al., arXiv 2007.07481, eq. 3]

        It applies only if no subclass overrides `train` or `program`.
        """
        return None

    @optional
    def companions(self, shape: NetworkShape) -> Shapes:
        """Tensors sent with a model of a shape, by names that no tensor of a network has; zero at first."""
        ...

    @optional
    def personal_tensors(self, state: "Weights") -> "Mapping[str, Tensor]":
        """Tensors of the network that a client has in place of the global model's, by their names in it.

        Args:
            state: Result of `train` at the client's last training; not to be changed.
        """
        ...

    def beside(self, shape: NetworkShape) -> Shapes:
        """Companions of a model of a shape; empty if there are none."""
        return {} if self.companions is None else self.companions(shape)

    def received(self, model: "PendingModel", mean: "PendingModel", share: float) -> "PendingModel":
        """Mean that an edge server uses, from the mean of updates and companions, before its own rule steps.

        Args:
            model: The server's model before.
            mean: Mean of the updates that have arrived.
            share: Their share of all clients of the cell.
        """
        return mean

    @override
    def fit(self, system: Any) -> None:
        """Refuse companions, and a state of arrived updates, if they do not arrive as the model does.

        Also refuse personal tensors of a state that is not kept.
        """
        if self.personal_tensors is not None and not self.keeps_state:
            rule = "personal_tensors reads what clients keep, but they keep nothing"
            raise refuse(type(self), "keeps_state", False, rule, "Set keeps_state = True in the class.")
        if self.companions is not None and system.codec.step is not None:
            kind, own = type(system.codec).__name__, type(self).__name__
            rule = f"{kind} moves weights by a common step, but {own} also sends something else"
            raise refuse("System", "codec", kind, rule, "Use Qsgd, or plain Sgd.")

    def check(self, learner: "Trainable") -> None:
        """Refuse a network that this rule cannot train, before the clock starts."""
        kind = type(self)
        if self.batch_size == 1 and learner.shape.statistics:
            raise ConfigurationError(
                f"{kind.__name__}.batch_size = 1: System.model has normalisation layers, but a single "
                "sample has no variance. Use at least 2.",
                f"{kind.__name__}.batch_size",
            )
        if self.form == "one_by_one":
            learner.try_rule(self)


class ClientView(Protocol):
    """A client as `train` sees it.

    Attributes:
        name: Name of the client.
        network: Its own copy, in training mode, with its initial values; its final values are the
            update.
        round: Round in which it trains, from 1 (`cosim.schedules.port`).
        num_steps: Local steps that are asked for, and that take simulated time.
        companions: Name -> values sent with the model; their final values arrive.
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
    def initial(self) -> "Weights":
        """Tensor name -> its values before training, as copies."""
        ...

    @property
    def generator(self) -> "torch.Generator":
        """Generator of further draws, on the CPU; it follows from the update's key."""
        ...

    @property
    def state(self) -> "Weights":
        """Name -> what the client has kept from its last training, as copies; empty at first."""
        ...

    def samples(self) -> "tuple[Tensor, Tensor]":
        """Features and classes or targets of all samples that the client has."""
        ...

    def batches(self, num_steps: int, batch_size: int) -> "Batches":
        """Features and classes or targets of mini-batches: the batches of plain SGD, the same each time."""
        ...


class Batches(Protocol):
    """Mini-batches, read once: they are the steps for which a client takes simulated time.

    Attributes:
        num_taken: Number of batches taken so far.
    """

    num_taken: int

    def __iter__(self) -> "Iterator[tuple[Tensor, Tensor]]": ...

    def __len__(self) -> int: ...


class Trainable(Protocol):
    """The network to be trained, as `check` sees it.

    Attributes:
        shape: Parameter names and shapes, groups of units, tensors that change during training.
        dropout: Names of the layers that drop something in training.
        manner: Answer to whether clients can be trained together, with the reason; None if nothing is
            trained.
    """

    shape: NetworkShape
    dropout: "tuple[str, ...]"
    manner: "Manner | None"

    def try_rule(self, rule: LocalTraining) -> None:
        """Let a rule with a train function of its own train once, on copies.

        Raises:
            ConfigurationError: The function does something that no rule may do.
        """
        ...
