"""Adaptive updates: server momentum, and steps scaled by second moments, parameter by parameter.

With x the server's model, d the mean of the arrived updates minus x, eta the learning rate::

    FedAvgM      m <- beta m + d                       x <- x + eta m
    FedAdagrad   m <- beta1 m + (1 - beta1) d          x <- x + eta m / (sqrt(v) + tau)
                 v <- v + d^2
    FedAdam      likewise, with v <- beta2 v + (1 - beta2) d^2
    FedYogi      likewise, with v <- v - (1 - beta2) d^2 sign(v - d^2)

m begins at 0 and v at tau^2; neither is bias-corrected.

Scope and limitations: a server keeps m and v in float32, one or two models more. A cell whose part of the
model changes keeps none (HIST). m and v do not change in a round in which nothing arrives.

Validation: tests/server_updates/test_adaptive_updates.py, by hand; momentum 0 and rate 1 is the mean, bit for
bit; tests/server_updates/test_adaptive_learning.py: FedAdam beats FedAvg on badly scaled features, and only
there.

Source: Reddi et al., "Adaptive federated optimization", ICLR 2021 (arXiv 2003.00295), Algorithm 2; momentum:
Hsu, Qi, Brown, "Measuring the effects of non-identical data distribution for federated visual
classification", 2019 (arXiv 1909.06335), Section 4.3.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING

from typing_extensions import override

from cosim.configuration import below, knob, not_negative, part, positive
from cosim.schedules.port import Rate
from cosim.server_updates.port import ServerView
from cosim.server_updates.step_from_mean import StepFromMean

if TYPE_CHECKING:
    from torch import Tensor

    from cosim.values.weights import Weights


@part
class FedAvgM(StepFromMean):
    """Server momentum.

    Attributes:
        momentum: Share beta of a step that carries over into the next. [Hsu et al., Section 4.3]
        learning_rate: Step size eta. [Hsu et al.: 1]
    """

    momentum: Rate = knob(not_negative, below(1.0), default=0.9)
    learning_rate: Rate = knob(positive, default=1.0)

    @override
    def step(self, server: ServerView) -> "Weights":
        """Move the model and return m; with eta = 1 the model is the mean plus beta times the last m."""
        velocity = {}
        for name, mean in server.mean.items():
            model, kept = server.model[name], server.state.get(name)
            velocity[name] = mean - model
            server.model[name] = model.lerp(mean, self.learning_rate)
            if kept is not None:
                velocity[name] += self.momentum * kept
                server.model[name] += self.learning_rate * self.momentum * kept
        return velocity


@part
class Adaptive(StepFromMean):
    """Base of the rules that divide a step by the root of a second moment.

    Attributes:
        learning_rate: Step size eta. [no source: Reddi et al. tune it]
        beta1: Share of the first moment that is kept. [Reddi et al., Section 5: 0.9; 0 for FedAdagrad]
        adaptivity: tau, added to the root; a smaller value adapts more. [Reddi et al., Section 5.3: 1e-3]
    """

    learning_rate: Rate = knob(positive, default=0.03)
    beta1: float = knob(not_negative, below(1.0), default=0.9)
    adaptivity: float = knob(positive, default=1e-3)

    @abstractmethod
    def second_moment(self, kept: "Tensor", square: "Tensor") -> "Tensor":
        """Next v from the last and d^2, parameter by parameter."""

    @override
    def step(self, server: ServerView) -> "Weights":
        """Move the model and return m and v."""
        state = {}
        for name, mean in server.mean.items():
            change, first, second = mean - server.model[name], f"first {name}", f"second {name}"
            before = server.state.get(second)
            before = change.new_full(change.shape, self.adaptivity**2) if before is None else before
            state[first] = (1.0 - self.beta1) * change
            if first in server.state:
                state[first] += self.beta1 * server.state[first]
            state[second] = self.second_moment(before, change.square())
            server.model[name] += self.learning_rate * state[first] / (state[second].sqrt() + self.adaptivity)
        return state


@part
class FedAdagrad(Adaptive):
    """Steps divided by the root of the sum of all squares."""

    beta1: float = knob(not_negative, below(1.0), default=0.0)

    @override
    def second_moment(self, kept: "Tensor", square: "Tensor") -> "Tensor":
        return kept + square


@part
class FedAdam(Adaptive):
    """Steps divided by the root of a running mean of squares.

    Attributes:
        beta2: Share of the second moment that is kept. [Reddi et al., Section 5: 0.99]
    """

    beta2: float = knob(not_negative, below(1.0), default=0.99)

    @override
    def second_moment(self, kept: "Tensor", square: "Tensor") -> "Tensor":
        return self.beta2 * kept + (1.0 - self.beta2) * square


@part
class FedYogi(Adaptive):
    """Steps divided by the root of a second moment that moves towards squares by no more than their size.

    Attributes:
        beta2: 1 minus the share by which a square moves the second moment. [Reddi et al., Section 5: 0.99]
    """

    beta2: float = knob(not_negative, below(1.0), default=0.99)

    @override
    def second_moment(self, kept: "Tensor", square: "Tensor") -> "Tensor":
        return kept - (1.0 - self.beta2) * square * (kept - square).sign()
