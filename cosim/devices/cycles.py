"""Cycles: the port of what a local step costs a client's processor.

By the step or by the bits of its mini-batch, whatever the network; a step on a part then costs its share of
the trained parameters (HIST journal, Section IV-A). Or by the floating-point operations of the training.

A client's cost is asked whenever it is given a job, at that instant and for that job: in an edge round when
the round begins, else when its own job does. So a cost may follow the clock. What plans or selects asks as
well, when it plans; what is asked twice at one instant must be the same.

Scope and limitations: a mini-batch counts as full, also where a client has fewer samples left. Operations all
cost the same, and memory costs nothing. The steps of a job all cost what the first does.

Usage::

    cost = CyclesPerBit(cycles_per_bit=(30.0,)).of_client(sim, "client-0000")
    cost(LocalStep(batch_size=32, fraction=1.0, sample_flops=count))
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import (
    HELPERS,
    ConfigurationError,
    Port,
    at_least,
    configuration,
    field,
    one_or_range,
    positive,
    stand_for,
)
from cosim.configuration.values import in_range
from cosim.draws import Numbers, uniforms
from cosim.simulation import Simulation


class LocalStep(NamedTuple):
    """What a client trains in a local step.

    Attributes:
        batch_size: Samples of its mini-batch.
        fraction: Its part of the model's trained parameters.
        sample_flops: Counts the floating-point operations of training it on one sample, when asked.
    """

    batch_size: int
    fraction: float
    sample_flops: Callable[[], int]


StepCost = Callable[[LocalStep], float]
"""Cycles of a local step of one client."""

StepCosts = Callable[[LocalStep], NDArray[np.float64]]
"""Those of many, shape (clients,)."""


@configuration
class Cycles(Port, ABC):
    """What a local step costs a client's processor."""

    shortcuts = stand_for(of_clients=("of_client", HELPERS))

    @property
    def in_parameters(self) -> bool:
        """Whether a part costs its share of the trained parameters; plans of sizes count on it."""
        return False

    @property
    def rule(self) -> str:
        """What decides the cycles of a local step, in one sentence."""
        return f"A local step takes the cycles of {type(self).__name__}."

    @abstractmethod
    def of_client(self, sim: Simulation, client: str) -> StepCost:
        """What gives the cost of a client's steps, at the instant at which it is asked.

        It is made at most once for each client of a simulation, and asked for every job.
        """

    def of_clients(self, sim: Simulation, clients: Numbers) -> StepCosts | None:
        """The costs of many clients' steps, to the last bit those of `of_client`.

        None: nobody has written them for arrays.
        """
        return None


@configuration
class CyclesPerStep(Cycles):
    """As many cycles for a step on the whole model, whatever the network and the mini-batch.

    Attributes:
        step_cycles: Cycles of one local step on the whole model. [HIST journal, Section VI-C]
    """

    step_cycles: float = field(positive, default=1e6)

    @property
    def in_parameters(self) -> bool:
        """A part costs its share."""
        return True

    @property
    def rule(self) -> str:
        """What decides the cycles of a local step, in one sentence."""
        return _whatever_the_network(f"{self.step_cycles:g} cycles", "step_cycles")

    def of_client(self, sim: Simulation, client: str) -> StepCost:
        """The same for everybody."""
        return lambda step: self.step_cycles * step.fraction

    def of_clients(self, sim: Simulation, clients: Numbers) -> StepCosts:
        """The same for everybody."""
        return lambda step: np.full(len(clients), self.step_cycles * step.fraction)


@configuration
class CyclesPerBit(Cycles):
    """As many cycles for each bit of the mini-batch, on the whole model of whatever network.

    Attributes:
        cycles_per_bit: One value for all, or lowest and highest of a uniform range. [RawHFL, Section V-A]
        sample_bits: Size of a sample. [no source]
    """

    cycles_per_bit: tuple[float, ...] = field(one_or_range, positive, default=(25.0, 40.0))
    sample_bits: int = field(at_least(1), default=1408)

    @property
    def in_parameters(self) -> bool:
        """A part costs its share."""
        return True

    @property
    def rule(self) -> str:
        """What decides the cycles of a local step, in one sentence."""
        per_bit = " to ".join(f"{cycles:g}" for cycles in self.cycles_per_bit)
        return _whatever_the_network(f"{per_bit} cycles for each bit of the mini-batch", "cycles_per_bit")

    def of_client(self, sim: Simulation, client: str) -> StepCost:
        """By its own draw from the range."""
        share = sim.of_client(client, "cycles per bit", uniforms)
        sample_cycles = in_range(self.cycles_per_bit, share) * self.sample_bits
        return lambda step: sample_cycles * step.batch_size * step.fraction

    def of_clients(self, sim: Simulation, clients: Numbers) -> StepCosts:
        """By everyone's own draw from the range."""
        share = sim.of_clients(clients, "cycles per bit", uniforms)
        sample_cycles = in_range(self.cycles_per_bit, share) * self.sample_bits
        return lambda step: sample_cycles * step.batch_size * step.fraction


@configuration
class CyclesPerOperation(Cycles):
    """As many cycles for each floating-point operation of the training (`cosim.learning.network.flops`).

    Attributes:
        cycles_per_flop: Cycles for each operation. [no source: eight operations a cycle]
    """

    cycles_per_flop: float = field(positive, default=0.125)

    @property
    def rule(self) -> str:
        """What decides the cycles of a local step, in one sentence."""
        return (
            f"A local step takes {self.cycles_per_flop:g} cycles for each floating-point operation of "
            "training this network, or the part of it that a client trains, on the mini-batch "
            "(cycles.cycles_per_flop)."
        )

    def of_client(self, sim: Simulation, client: str) -> StepCost:
        """By what the client trains."""

        def cycles(step: LocalStep) -> float:
            sample_flops = step.sample_flops()
            if not sample_flops:
                raise ConfigurationError(
                    "System.cycles = CyclesPerOperation: System.model has no matrix products or "
                    "convolutions, so its training would take no time. Usual fix: cycles = CyclesPerStep."
                )
            return self.cycles_per_flop * sample_flops * step.batch_size

        return cycles

    def of_clients(self, sim: Simulation, clients: Numbers) -> StepCosts:
        """By what they train, which costs everybody the same."""
        cycles = self.of_client(sim, "")
        return lambda step: np.full(len(clients), cycles(step))


def _whatever_the_network(cycles: str, field_name: str) -> str:
    return (
        f"A local step takes {cycles}, whatever the network (cycles.{field_name}); on a submodel it takes "
        "the submodel's share of the trained parameters."
    )
