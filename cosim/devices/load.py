"""Load: the cost of training and sending a model or a part of it.

Usage::

    load = cloud.workload.of(part)
    load.cycles(client, num_steps=20, batch_size=10), load.upload.bits
"""

from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.clock.small_arrays import filled
from cosim.configuration import ConfigurationError
from cosim.devices.cycles import Cycles, LocalStep
from cosim.jobs.cell import Client
from cosim.jobs.payload import Payload


@attrs.frozen(kw_only=True, eq=False)
class Load:
    """Cost of training and sending a model or a part of it.

    Attributes:
        model: Payload between cells and cloud.
        download: Payload that a client receives.
        upload: Payload that a client sends.
        coding_cycles: Cycles of coding the upload.
        fraction: Share of the model's trained parameters that are trained.
        sample_flops: Function that counts the operations of training on one sample.
        num_values: Number of values: trained parameters, running statistics and state.
        num_parameters: Number of trained parameters.
        activation_bits: Function that counts the bits that training holds for the backward pass of one
            sample.
        costs: Cost of a local step.
    """

    model: Payload
    download: Payload
    upload: Payload
    coding_cycles: float
    fraction: float
    sample_flops: Callable[[], int]
    num_values: float
    num_parameters: float
    activation_bits: Callable[[], int]
    costs: "Costs"

    def cycles(self, client: Client, num_steps: int, batch_size: int) -> float:
        """Cycles of `num_steps` local steps that a client would begin now, and of coding their result."""
        step = LocalStep(batch_size, self.fraction, self.sample_flops)
        return num_steps * self.costs.of_one(client.alone.names, step) + self.coding_cycles

    def step_cycles(self, clients: Numbers, batch_size: int) -> NDArray[np.float64]:
        """Cycles of one local step on a mini-batch that clients would begin now, shape (clients,)."""
        return self.costs.of_clients(clients, LocalStep(batch_size, self.fraction, self.sample_flops))


@attrs.frozen(eq=False)
class Costs:
    """Cost of a local step for each client."""

    sim: Simulation
    cycles: Cycles

    def of_one(self, client: Numbers, step: LocalStep) -> float:
        """Cycles of a step of one client."""
        found = self.cycles.of_clients(self.sim, client, step)
        return float(found[0] if isinstance(found, np.ndarray) else found)

    def of_clients(self, clients: Numbers, step: LocalStep) -> NDArray[np.float64]:
        """Cycles of a step of some clients, shape (clients,).

        Raises:
            ConfigurationError: The rule gives neither one number for all nor one for each.
        """
        found = np.asarray(self.cycles.of_clients(self.sim, clients, step), dtype=float)
        if not found.ndim:
            return filled(len(clients), found.item())
        if found.shape != (len(clients),):
            raise ConfigurationError(
                f"{type(self.cycles).__name__}.of_clients gives {found!r:.80}: must be one number, or "
                f"one for each of {len(clients)} clients. Use @for_each for a rule about one client."
            )
        return found
