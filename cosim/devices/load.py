"""Load: what training and carrying something of a model takes.

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
from cosim.configuration import ConfigurationError
from cosim.devices.cycles import Cycles, LocalStep
from cosim.jobs.cell import Client
from cosim.jobs.payload import Payload


@attrs.frozen(kw_only=True, eq=False)
class Load:
    """What training and carrying something of a model takes.

    Attributes:
        model: What cells and cloud send each other.
        download: What a client receives.
        upload: What a client sends.
        coding_cycles: Cycles that coding the upload takes.
        fraction: Part of the model's trained parameters that it trains.
        sample_flops: Counts the operations of training it on one sample.
        num_values: Values that are trained, running statistics and state.
        num_parameters: Those that are trained.
        activation_bits: Counts what training holds for the backward pass of one sample.
        costs: What a local step costs.
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
    """What a local step costs each client."""

    sim: Simulation
    cycles: Cycles

    def of_one(self, client: Numbers, step: LocalStep) -> float:
        """Cycles of a step of one client."""
        found = self.cycles.of_clients(self.sim, client, step)
        return float(found[0] if isinstance(found, np.ndarray) else found)

    def of_clients(self, clients: Numbers, step: LocalStep) -> NDArray[np.float64]:
        """Cycles of a step of some clients, shape (clients,).

        Raises:
            ConfigurationError: A rule that gives neither one number for all nor one for each.
        """
        found = np.asarray(self.cycles.of_clients(self.sim, clients, step), dtype=float)
        if not found.ndim:
            return np.full(len(clients), found)
        if found.shape != (len(clients),):
            raise ConfigurationError(
                f"{type(self.cycles).__name__}.of_clients gives {found!r:.80}: must be one number, or one "
                f"for each of {len(clients)} clients. Use @for_each, a rule for one client."
            )
        return found
