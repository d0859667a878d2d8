"""Cycles: the port of what a local step costs a client's processor.

By the step or by the bits of its mini-batch, whatever the network; a step on a part then costs its share of
the trained parameters (HIST journal, Section IV-A). Or by the floating-point operations of the training.

Clients' costs are asked whenever they are given a job, at that instant and for that job: in an edge round
when the round begins, else when a client's own job does. So a cost may follow the clock. What plans or
selects asks as well, when it plans; what is asked twice at one instant must be the same.

Usage::

    cost = CyclesPerBit(cycles_per_bit=(30.0,))
    cost.of_clients(sim, clients, LocalStep(batch_size=32, fraction=1.0, sample_flops=count))

    @part
    class EveryThird(Cycles):
        \"\"\"Twice as many for every third client.\"\"\"

        @for_each
        def of_clients(self, sim, client, step):
            return step.fraction * (2e6 if int(client[-4:]) % 3 == 0 else 1e6)

Scope and limitations: a mini-batch counts as full, also where a client has fewer samples left. Operations all
cost the same, and memory costs nothing. The steps of a job all cost what the first does.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Draws, Numbers, uniforms
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, Lack, Port, at_least, knob, one_or_range, part, positive
from cosim.configuration.client_values import in_range
from cosim.configuration.going_together import SHARED_CYCLES


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


@part
class Cycles(Port, ABC):
    """What a local step costs a client's processor."""

    lacks = (Lack(SHARED_CYCLES),)

    @property
    def rule(self) -> str:
        """What decides the cycles of a local step, in one sentence."""
        return f"A local step takes the cycles of {type(self).__name__}."

    @abstractmethod
    def of_clients(self, sim: Simulation, clients: Numbers, step: LocalStep) -> float | NDArray[np.float64]:
        """Cycles of a local step that some clients begin now: of all, or of each, shape (clients,).

        Args:
            clients: Some of the run's, ascending; asynchronous jobs ask for one.
        """


@part
class CyclesPerStep(Cycles):
    """As many cycles for a step on the whole model, whatever the network and the mini-batch.

    Attributes:
        step_cycles: Cycles of one local step on the whole model. [HIST journal, Section VI-C]
    """

    lacks = ()

    step_cycles: float = knob(positive, default=1e6)

    @property
    @override
    def rule(self) -> str:
        """What decides the cycles of a local step, in one sentence."""
        return _whatever_the_network(f"{self.step_cycles:g} cycles", "step_cycles")

    @override
    def of_clients(self, sim: Simulation, clients: Numbers, step: LocalStep) -> float:
        """The same for all."""
        return self.step_cycles * step.fraction


@part
class CyclesPerBit(Cycles):
    """As many cycles for each bit of the mini-batch, on the whole model of whatever network.

    Attributes:
        cycles_per_bit: One value for all, or lowest and highest of a uniform range. [RawHFL, Section V-A]
        sample_bits: Size of a sample. [no source]
    """

    lacks = ()

    cycles_per_bit: tuple[float, ...] = knob(one_or_range, positive, default=(25.0, 40.0))
    sample_bits: int = knob(at_least(1), default=1408)

    @property
    @override
    def rule(self) -> str:
        """What decides the cycles of a local step, in one sentence."""
        per_bit = " to ".join(f"{cycles:g}" for cycles in self.cycles_per_bit)
        return _whatever_the_network(f"{per_bit} cycles for each bit of the mini-batch", "cycles_per_bit")

    @override
    def of_clients(self, sim: Simulation, clients: Numbers, step: LocalStep) -> NDArray[np.float64]:
        """By each client's own draw from the range."""
        return sim.rows(clients, self.sample_cycles) * step.batch_size * step.fraction

    def sample_cycles(self, draws: Draws, kind: str, block: int) -> NDArray[np.float64]:
        """Cycles of a sample, of a block of clients."""
        share = draws.block(kind, block, "cycles per bit", uniforms)
        return in_range(self.cycles_per_bit, share) * self.sample_bits


@part
class CyclesPerOperation(Cycles):
    """As many cycles for each floating-point operation of the training (`cosim.engine.networks.flops`).

    Attributes:
        cycles_per_flop: Cycles for each operation. [no source: eight operations a cycle]
    """

    cycles_per_flop: float = knob(positive, default=0.125)

    @property
    @override
    def rule(self) -> str:
        """What decides the cycles of a local step, in one sentence."""
        return (
            f"A local step takes {self.cycles_per_flop:g} cycles for each floating-point operation of "
            "training this network, or the part of it that a client trains, on the mini-batch "
            "(cycles.cycles_per_flop)."
        )

    @override
    def of_clients(self, sim: Simulation, clients: Numbers, step: LocalStep) -> float:
        """By what they train, which costs all of them the same."""
        sample_flops = step.sample_flops()
        if not sample_flops:
            raise ConfigurationError(
                "System.cycles = CyclesPerOperation: System.model has no matrix products or convolutions, so "
                "its training would take no time. Use cycles = CyclesPerStep."
            )
        return self.cycles_per_flop * sample_flops * step.batch_size


def _whatever_the_network(cycles: str, field_name: str) -> str:
    return (
        f"A local step takes {cycles}, whatever the network (cycles.{field_name}); on a submodel it takes "
        "the submodel's share of the trained parameters."
    )
