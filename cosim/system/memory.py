"""Memory: what a client's device must hold while it trains, checked before the clock starts.

With w values of the model or of its part, p of them trained, s values of state (`Port.training_values`: sums
of an optimiser, control variates, what a codec has left out), mini-batches of B samples and a bits of
activations for each sample,

    bits = 32 (w + p + s) + B a:

weights, gradients, state, and what the backward pass needs of the forward one, as torch saves it: samples,
inputs of layers, outputs. The system's own code, and coding an update, take none.

Scope and limitations: mini-batches that make one step together are held one after the other. Submodels whose
sizes change from round to round count with their first sizes; a state of a rule of one's own is known where
the rule says so.

Source: none; a count of what is stored. Validation: tests/system/test_memory.py.
"""

from typing import Any, NamedTuple

import numpy as np

from cosim.configuration import ConfigurationError, parts_of
from cosim.devices.load import Load
from cosim.jobs.client_jobs import SomeClients


class TrainingMemory(NamedTuple):
    """Bits that training something takes.

    Attributes:
        model_bits: Weights and gradients.
        state_bits: Of the rules.
        activation_bits: Of a mini-batch.
    """

    model_bits: float
    state_bits: float
    activation_bits: float

    @classmethod
    def of(cls, system: Any, load: Load) -> "TrainingMemory":
        """Memory of a load, by the rules of a system."""
        parts, counts = list(parts_of(system)), (int(load.num_parameters), int(load.num_values))
        num_state = sum(part.training_values(*counts) for part in parts)
        batch_size = max(part.samples_at_once for part in parts)
        return cls(
            32.0 * (load.num_values + load.num_parameters),
            32.0 * num_state,
            float(batch_size * load.activation_bits()),
        )


def check_memory(system: Any, clients: SomeClients, load: Load) -> None:
    """Refuse clients whose memory does not hold what they train.

    Raises:
        ConfigurationError: Names what needs it, how much, how much there is, and the fix.
    """
    own_bits, needed = clients.fleet.devices.memory_bits[clients.which], TrainingMemory.of(system, load)
    for place in np.flatnonzero(own_bits < sum(needed)).tolist():
        raise ConfigurationError(
            f"{clients.names[place]} has {own_bits[place]:.4g} bits of memory, but training "
            f"takes {sum(needed):.4g}: {needed.model_bits:.4g} for weights and gradients, "
            f"{needed.state_bits:.4g} for the state of its rules, {needed.activation_bits:.4g} for "
            "the activations of a mini-batch. Use a smaller batch_size or model, or more "
            "devices.memory_bits."
        )
