"""Torch function: local training by a function of your own, client by client, without a class.

The function is `train(network, batches, state, rng)`:

- `network`: the client's own torch.nn.Module, in training mode, with its initial values; its final
  values are the update;
- `batches`: an iterator of (features, classes or targets), the mini-batches of plain SGD, one for each step;
- `state`: what the function returned at the client's last training, tensors by name; empty at first, and
  always without `keeps_state`;
- `rng`: a torch.Generator for all draws; it follows from the run's seed, the client and the job.

A function with a parameter of one of these names gets that, too:

- `round`: the round, from 1 (defined in `cosim.schedules.port`);
- `learning_rate`: the rule's learning rate, which may depend on the round.

It returns nothing, or, with `keeps_state`, a dictionary of tensors. It runs on the learner's threads, one
client at a time on each, so it must not change shared data::

    # mine.py
    def train(network, batches, state, rng, learning_rate):
        optimizer = torch.optim.RMSprop(network.parameters(), lr=learning_rate)
        for x, y in batches:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(x), y).backward()
            optimizer.step()

    local = cosim.training.TorchFunction(function="mine:train", learning_rate=0.01)

`batches` is read once: its steps take the client's simulated time, so a second pass is refused, and so is a
function that takes none of them.

Scope and limitations: its module must be loaded (`--import mine`), and the hash of its file is kept with a
run, as for classes. Its other numbers are in the module, not in `config.json`; a class with fields and a
method `train` has them there.
"""

import inspect
from typing import TYPE_CHECKING, Any

import attrs
from typing_extensions import override

from cosim.configuration import ConfigurationError, knob, lacks_in, own_function, part, refuse
from cosim.configuration.functions import loaded
from cosim.configuration.going_together import ONE_BY_ONE
from cosim.configuration.rules import shown
from cosim.training.port import ClientView, LocalTraining, Trainable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor


MAY_ASK = ("round", "learning_rate")
"""Parameters that a function may have besides the four."""


@part
class TorchFunction(LocalTraining):
    """Local training by a function of your own.

    Attributes:
        learning_rate: Divisor of sums over the air, and an argument of the function if it has a parameter of
            that name; nothing else uses it. [no source]
        function: module:function, called with network, batches, state and rng. [no source]
        keeps_state: True if what it returns is given to the client's next training. [no source]
    """

    function: str = knob(own_function)
    keeps_state: bool = False  # pyright: ignore[reportIncompatibleVariableOverride]

    @override
    def fit(self, system: Any) -> None:
        """Refuse a learning rate that nothing uses."""
        super().fit(system)
        usual = attrs.fields(type(self)).learning_rate.default
        if self.learning_rate == usual or lacks_in(system.uplink, ONE_BY_ONE) or not self._is_loaded:
            return  # `check` refuses a function that is not loaded
        if "learning_rate" not in self._asked(self._called()):
            rule = "has no effect: the function has no parameter learning_rate"
            fix = f"Give {self.function} a parameter learning_rate, or leave it out."
            raise refuse(type(self), "learning_rate", self.learning_rate, rule, fix)

    @override
    def check(self, learner: Trainable) -> None:
        """Refuse a name that is not a function of four arguments, before the clock starts."""
        found = self._called()
        try:
            inspect.signature(found).bind("network", "batches", "state", "rng", **self._asked(found))
        except TypeError as error:
            raise ConfigurationError(
                f"{type(self).__name__}.function = {shown(self.function)}: {error}. Write "
                f"{found.__name__}(network, batches, state, rng), with {' or '.join(MAY_ASK)} too if "
                "it needs them.",
                f"{type(self).__name__}.function",
            ) from None
        super().check(learner)

    @property
    def _is_loaded(self) -> bool:
        try:
            return callable(self._called())
        except ConfigurationError:
            return False

    def _asked(self, called: "Callable[..., Any]", round: int = 1) -> dict[str, Any]:
        """Further arguments of the function, by name."""
        offered = {"round": round, "learning_rate": self.learning_rate}
        asked = inspect.signature(called).parameters
        return {name: offered[name] for name in MAY_ASK if name in asked}

    def _called(self) -> "Callable[..., Mapping[str, Tensor] | None]":
        where = f"{type(self).__name__}.function = {shown(self.function)}"
        found = loaded(self.function, where) if ":" in self.function else None
        if not callable(found):
            raise ConfigurationError(
                f"{where}: there is no such function. Use module:function, of a module that is loaded."
            )
        return found  # type: ignore[return-value]

    @override
    def train(self, client: ClientView) -> "Mapping[str, Tensor] | None":
        batches = client.batches(client.num_steps, self.batch_size)
        called = self._called()
        asked = self._asked(called, client.round)
        state = called(client.network, batches, client.state, client.generator, **asked)
        if not batches.num_taken:
            raise ConfigurationError(
                f"{self.function} uses none of its mini-batches, so it trains on nothing. Write for x, "
                "y in batches; or use a class with a method train(self, client), which may do without "
                "them."
            )
        return state

    @property
    @override
    def train_names(self) -> tuple[str, str]:
        return self.function, "rng"
