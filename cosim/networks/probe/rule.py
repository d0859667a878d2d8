"""Check of a user's own train function: it must keep the rules, tried once before the clock starts.

It trains a client for two steps on copies of the network and of a few samples. What the engine refuses in a
training, it refuses then: draws from generators of the whole process, a state that would be lost, a second
pass over the mini-batches, none at all.

Scope and limitations: what else the function raises may be because of so few samples, so it is left to the
run. A function that counts its calls counts this one.
"""

import numpy as np
import torch
from torch import nn

from cosim.configuration import ConfigurationError
from cosim.names import client_name
from cosim.training.port import LocalTraining
from cosim.training.programs.of_rule import program_of
from cosim.training.training_set import TrainingSet
from cosim.values.pending import PendingModel, PendingUpdate
from cosim.values.submodels import NetworkShape
from cosim.values.weights import own_weights

NUM_SAMPLES, NUM_STEPS = 20, 2
"""Of a trial. [no source]"""


def check_rule(rule: LocalTraining, network: nn.Module, shape: NetworkShape, data: TrainingSet) -> None:
    """Let a rule train one client.

    Args:
        network: In training mode; no other thread may use the same module meanwhile.

    Raises:
        ConfigurationError: It does what no rule may do.
    """
    start = own_weights(network, shape, data.x_ND.device.type)
    update = PendingUpdate(
        client=client_name(0),
        model=PendingModel.of(start),
        samples=np.arange(min(NUM_SAMPLES, data.num_sample_numbers)),
        num_steps=NUM_STEPS,
        training=rule,
        key=0,
    )
    beside = {name: torch.zeros(size, device=data.x_ND.device) for name, size in rule.beside(shape).items()}
    weights_C = {name: values.clone()[None] for name, values in (beside | start).items()}
    try:
        program_of(update.training).train(network, weights_C, data, [update])
    except ConfigurationError:
        raise
    except Exception:  # maybe because of few samples; the run has more
        return
