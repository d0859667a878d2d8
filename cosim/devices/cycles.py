"""Cycles: the port of the processor cycles of a local step.

They are counted by the step or by the bits of its mini-batch, for any network; a step on a part then costs
its share of the trained parameters (HIST journal, Section IV-A). Or they are counted by the floating-point
operations of the training.

Costs are asked whenever clients are given a job, at that instant and for that job: in an edge round when the
round begins, else when a client's own job begins. So a cost may follow the clock. Plans and selection rules
ask as well, when they plan; two questions at one instant must have the same answer.

Usage::

    cost = CyclesPerBit(cycles_per_bit=(30.0,))
    cost.of_clients(sim, clients, LocalStep(batch_size=32, fraction=1.0, sample_flops=count))

    @part
    class EveryThird(Cycles):
        \"""Twice as many for every third client.\"""

        @for_each
        def of_clients(self, sim, client, step):
            return step.fraction * (2e6 if int(client[-4:]) % 3 == 0 else 1e6)

Scope and limitations: a mini-batch counts as full, even if a client has fewer samples left. All operations
cost the same, and memory costs nothing. All steps of a job cost what the first one does.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.client_values.port import in_range
from cosim.clock.draws import Numbers, uniforms
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, Lack, Port, at_least, knob, one_or_range, part, positive
from cosim.configuration.going_together import SHARED_CYCLES


class LocalStep(NamedTuple):
    """Work of a client in a local step.

    Attributes:
        batch_size: Samples of its mini-batch.
        fraction: Share of the model's trained parameters that it trains.
        sample_flops: Function that counts the floating-point operations of training it on one sample.
    """

    batch_size: int
    fraction: float
    sample_flops: Callable[[], int]


@part
class Cycles(Port, ABC):
    """Cost of a local step for a client's processor."""

    lacks = (Lack(SHARED_CYCLES),)

    @property
    def rule(self) -> str:
        """Rule for the cycles of a local step, in one sentence."""
        return f"A local step takes the cycles of {type(self).__name__}."

    @abstractmethod
    def of_clients(self, sim: Simulation, clients: Numbers, step: LocalStep) -> float | NDArray[np.float64]:
        """Cycles of a local step that some clients begin now: one number for all, or shape (clients,).

        Args:
            clients: Some of the run's, ascending; asynchronous jobs ask for one.
        """


@part
class CyclesPerStep(Cycles):
    """Fixed cycles for a step on the whole model, for any network and mini-batch.

    Attributes:
        step_cycles: Cycles of one local step on the whole model. [HIST journal, Section VI-C]
    """

    lacks = ()

    step_cycles: float = knob(positive, default=1e6)

    @property
    @override
    def rule(self) -> str:
        return _for_any_network(f"{self.step_cycles:g} cycles", "step_cycles")

    @override
    def of_clients(self, sim: Simulation, clients: Numbers, step: LocalStep) -> float:
        return self.step_cycles * step.fraction


@part
class CyclesPerBit(Cycles):
    """Fixed cycles for each bit of the mini-batch, on the whole model of any network.

    Attributes:
        cycles_per_bit: One value for all, or the ends of a uniform range. [RawHFL, Section V-A]
        sample_bits: Size of a sample. [no source]
    """

    lacks = ()

    cycles_per_bit: tuple[float, ...] = knob(one_or_range, positive, default=(25.0, 40.0))
    sample_bits: int = knob(at_least(1), default=1408)

    @property
    @override
    def rule(self) -> str:
        per_bit = " to ".join(f"{cycles:g}" for cycles in self.cycles_per_bit)
        return _for_any_network(f"{per_bit} cycles for each bit of the mini-batch", "cycles_per_bit")

    @override
    def of_clients(self, sim: Simulation, clients: Numbers, step: LocalStep) -> NDArray[np.float64]:
        """Cycles by each client's own draw from the range, shape (clients,)."""
        per_bit = in_range(self.cycles_per_bit, sim.of_client(clients, "cycles per bit", uniforms))
        return per_bit * self.sample_bits * step.batch_size * step.fraction


@part
class CyclesPerOperation(Cycles):
    """Fixed cycles for each floating-point operation of the training (`cosim.networks.flops`).

    Attributes:
        cycles_per_flop: Cycles for each operation. [no source: eight operations a cycle]
    """

    cycles_per_flop: float = knob(positive, default=0.125)

    @property
    @override
    def rule(self) -> str:
        return (
            f"A local step takes {self.cycles_per_flop:g} cycles for each floating-point operation of "
            "training this network, or the part of it that a client trains, on the mini-batch "
            "(cycles.cycles_per_flop)."
        )

    @override
    def of_clients(self, sim: Simulation, clients: Numbers, step: LocalStep) -> float:
        """Cycles of the operations, the same for all clients."""
        sample_flops = step.sample_flops()
        if not sample_flops:
            raise ConfigurationError(
                "System.cycles = CyclesPerOperation: System.model has no matrix products or convolutions, so "
                "its training would take no time. Use cycles = CyclesPerStep.",
                "System.cycles",
            )
        return self.cycles_per_flop * sample_flops * step.batch_size


def _for_any_network(cycles: str, field_name: str) -> str:
    return (
        f"A local step takes {cycles}, whatever the network (cycles.{field_name}); on a submodel it takes "
        "the submodel's share of the trained parameters."
    )
