"""Memory: a forward pass must be a function of its samples, parameters and buffers alone.

Every thread has a copy of a network, and which clients train on which is not fixed. So what a pass leaves in
plain attributes, in globals or in variables around it makes results depend on the number of threads. What the
next pass overwrites, such as attention that is kept to be looked at, is harmless.

Passes with other samples and other weights come first on one copy, and none on another. Then both pass the
same samples with the same weights, one by its own values, the other by `functional_call` as the engine does.
Outputs and what was left must be the same.

Scope and limitations: what two passes show. A memory that only acts after many passes is seen where it is
held in something that `kept` looks into.

Validation: tests/networks/probe/test_probe_memory.py.
"""

from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call

from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.networks.probe.kept import alike, close, kept_by, untrained
from cosim.networks.probe.outputs import told
from cosim.own_code.dropout import keyed_dropout
from cosim.values.submodels import NetworkShape
from cosim.values.weights import Weights, own_copy, tensors_of

MODES = {True: "training", False: "evaluation"}


def check_memory(network: nn.Module, shape: NetworkShape, dataset: Dataset) -> None:
    """Refuse a network whose forward passes remember, or do not follow their weights.

    Args:
        network: Its values do not change.
        shape: What of it a model consists of; the rest is the same in each copy.
        dataset: Of whose training samples the first and the last are taken.

    Raises:
        ConfigurationError: It does.
    """
    hidden = next(untrained(network), None)
    if hidden is not None:
        raise ConfigurationError(
            f"the network's {hidden} holds parameters that are not registered, so they would not be "
            "trained. Use nn.ModuleList or nn.ParameterList in place of a list, or "
            "requires_grad_(False)."
        )
    try:
        samples = [torch.tensor(x) for x in two_and_others(dataset.train_x)]
        _compare(network, shape, *samples)
    except ConfigurationError:
        raise
    except Exception as error:  # whatever a user's forward pass raises
        raise ConfigurationError(
            f"the network takes a sample of {dataset.name!r} at first, but not after others "
            f"({told(error)}). Keep nothing in the forward pass."
        ) from None


def _compare(network: nn.Module, shape: NetworkShape, x_BD: Tensor, other_x_BD: Tensor) -> None:
    tensors, others = (moved(network, shape, seed) for seed in (1, 2))
    used = own_copy(network).to("cpu")
    for training in MODES:
        passed(used.train(training), others, other_x_BD)
    for training in MODES:
        before_used = kept_by(used)
        found = passed(used.train(training), tensors, x_BD)
        after_used = kept_by(used)
        fresh = with_values(own_copy(network).to("cpu"), tensors).train(training)
        before_fresh = kept_by(fresh)
        expected = _outputs(fresh, x_BD)
        after_fresh = kept_by(fresh)
        _check_kept((before_used, after_used), (before_fresh, after_fresh), training)
        if not close(found, expected):
            one, other = (
                passed(own_copy(network).to("cpu").train(training), tensors, x_BD) for _ in range(2)
            )
            follows = close(one, expected) or not close(one, other)
            raise _remembers(training) if follows else _does_not_follow(training)


def two_and_others(x_ND: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two samples, and two others if there are."""
    return x_ND[[0, len(x_ND) // 3]], x_ND[[len(x_ND) // 2, -1]]


Kept = Mapping[str, Any]


def _check_kept(used: tuple[Kept, Kept], fresh: tuple[Kept, Kept], training: bool) -> None:
    """Refuse what a pass changes, and not to the same whatever came before."""
    for name, last in used[1].items():
        changes = any(not alike(after.get(name), before.get(name)) for before, after in (used, fresh))
        if changes and not alike(last, fresh[1].get(name)):
            raise ConfigurationError(
                f"the network's forward pass in {MODES[training]} mode keeps {name} from one pass to "
                "the next, but each thread has its own, so results would depend on the number of "
                "threads. Use register_buffer for it, or keep nothing."
            )


def _remembers(training: bool) -> ConfigurationError:
    return ConfigurationError(
        f"the network's outputs in {MODES[training]} mode depend on earlier inputs, which only buffers "
        "may hold, so results would depend on the number of threads. Use register_buffer for them, or "
        "keep nothing."
    )


def _does_not_follow(training: bool) -> ConfigurationError:
    return ConfigurationError(
        f"the network's outputs in {MODES[training]} mode do not follow the values of its parameters: "
        "it does not read all of them as attributes of their modules, so clients would not train "
        "them. Use self.weight in place of a list or a variable that holds it."
    )


def moved(network: nn.Module, shape: NetworkShape, seed: int) -> Weights:
    """Values like a model's: parameters that are trained a little elsewhere, the rest as it is."""
    generator = torch.Generator().manual_seed(seed)
    own = dict(network.named_buffers())
    found = {name: own[name].detach().clone() for name in shape.moving}
    for name, values in network.named_parameters():
        if values.requires_grad:
            noise = torch.randn(values.shape, generator=generator, dtype=values.dtype)
            found[name] = 0.9 * values.detach() + 0.02 * noise
    return found


def with_values(network: nn.Module, tensors: Weights) -> nn.Module:
    """The same network with these values."""
    own = tensors_of(network)
    with torch.no_grad():
        for name, values in tensors.items():
            own[name].copy_(values)
    return network


def passed(network: nn.Module, tensors: Weights, x_BD: Tensor) -> Tensor:
    """Outputs by values that are handed in, and that stay as they are."""
    own = {name: values.clone() for name, values in tensors.items()}
    with torch.no_grad(), keyed_dropout(network, key=0):
        return functional_call(network, own, (x_BD.clone(),))


def _outputs(network: nn.Module, x_BD: Tensor) -> Tensor:
    with torch.no_grad(), keyed_dropout(network, key=0):
        return network(x_BD.clone())
