"""First values: what a network begins with, and which of it does not follow from the run's seed.

A network that a name gives begins with what its function makes. The function is called under a key of the
run's seed: what it draws from global generators (`cosim.own_code.global_generators`) follows from the seed,
layer by layer, and what it loads stays. So a trained network begins trained, and a pretrained part beside a
drawn head begins pretrained. Which is which is found by calls: two with the same key, which must give the
same values, and one with another key. Families of an installed package are called once.

A module that is passed as it is begins with what the `reset_parameters` of its layers draw from the key,
children before parents, and with its own values where a layer has none, as `nn.Parameter` has not, or is
frozen.

Values that do not follow from the seed are part of what identifies a run, but for tensors of nothing but 0 or
nothing but 1.

Scope and limitations: a function may draw from a generator of its own with a seed of its own, and then does
so alike in all runs. What it draws elsewhere, it must draw again in the second call to be found.

Validation: tests/networks/test_first_values.py.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import shown
from cosim.networks.named import Builder, built
from cosim.networks.ready import ready_copy
from cosim.own_code.global_generators import seeded
from cosim.values.submodels import NetworkShape
from cosim.values.weights import Weights, frozen_on, own_weights

_MOST_CALLS = 3
"""Calls of a function until two in a row agree; threads outside cosim may draw, too. [no source]"""


@attrs.frozen(eq=False)
class FirstValues:
    """A network with the values with which it begins.

    Attributes:
        network: The network.
        fixed: Name of a tensor -> hash, of values that do not follow from the run's seed.
    """

    network: nn.Module
    fixed: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def identity(self) -> dict[str, str]:
        """Identity of values that do not follow from the run's seed; nothing where all do."""
        if not self.fixed:
            return {}
        return {"weights": hashlib.sha256(repr(sorted(self.fixed.items())).encode()).hexdigest()[:16]}

    @property
    def given(self) -> list[str]:
        """Names of trained tensors that begin with values of more than one number which no seed draws."""
        trained = {name: values for name, values in self.network.named_parameters() if values.requires_grad}
        return [
            name
            for name, values in trained.items()
            if name in self.fixed and not bool((values == values.flatten()[0]).all())
        ]

    @property
    def words(self) -> str:
        """Kind of the first values, in words."""
        given, num = self.given, sum(values.requires_grad for values in self.network.parameters())
        if not given:
            return "drawn from the seed"
        which = ", ".join(given[:3]) + (f" and {len(given) - 3} others" if len(given) > 3 else "")
        others = "" if len(given) == num else "; the others are drawn from the seed, or constant"
        return f"the network's own in {len(given)} of {num} trained tensors ({which}){others}"


def of_name(name: str, build: Builder, key: int) -> FirstValues:
    """First values that a family, or a user's own function, gives under a key.

    Raises:
        ConfigurationError: It fails, gives other values in every call, or the same module.
    """
    found = built(name, build, key=key)
    if ":" not in name:
        return FirstValues(found)
    again, seen, before = found, _hashes(found), {}
    for _ in range(_MOST_CALLS - 1):
        again, before = built(name, build, key=key), seen
        if again is found:
            raise ConfigurationError(
                f"System.model = {shown(name)}: returns the same module at every call, whose values do "
                "not depend on the seed. Make it within the function, or use System.initial_weights = "
                "'network'.",
                "System.model",
            )
        seen = _hashes(again)
        if seen == before:
            break
    else:
        other = min(of for of, _ in seen.items() ^ before.items())
        raise ConfigurationError(
            f"System.model = {shown(name)}: gives other values of {other} in every call with the same "
            "seed, so the seed would not determine the results. Draw from a global generator of "
            "torch, numpy or Python, which the run's seed sets, or give your generator a seed.",
            "System.model",
        )
    drawn = _hashes(built(name, build, key=key ^ 1))
    return FirstValues(again, _of_note(again, {of: seen[of] for of in seen if drawn.get(of) == seen[of]}))


def as_they_are(network: nn.Module) -> FirstValues:
    """First values as a network has them."""
    return FirstValues(network, _hashes(network))


def reset(network: nn.Module, key: int) -> FirstValues:
    """First values of a copy of a network whose layers have drawn what they can from a key.

    Raises:
        ConfigurationError: It cannot be copied.
    """
    fresh = ready_copy(network)
    shared = frozen_on(fresh, "cpu")
    with seeded(key):
        for layer in _children_first(fresh):
            draw = getattr(layer, "reset_parameters", None) or getattr(layer, "_reset_parameters", None)
            if draw is not None and not any(id(p) in shared for p in layer.parameters()):
                draw()
    before = dict(_tensors(network))
    same = {name for name, values in _tensors(fresh) if torch.equal(values, before[name])}
    return FirstValues(fresh, _of_note(fresh, _hashes(fresh, same)))


def initial_weights(network: nn.Module, key: int, shape: NetworkShape | None = None) -> Weights:
    """Weights that the layers of a network draw from a key, and its own where they cannot.

    Args:
        shape: What a model of it consists of. None means `NetworkShape.of`.
    """
    return own_weights(reset(network, key).network, shape)


def _children_first(module: nn.Module, seen: set[nn.Module] | None = None) -> Iterator[nn.Module]:
    """Every layer once, inner layers first."""
    seen = set() if seen is None else seen
    if module not in seen:
        seen.add(module)
        for child in module.children():
            yield from _children_first(child, seen)
        yield module


def _tensors(network: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for name, values in (*network.named_parameters(), *network.named_buffers()):
        if not is_lazy(values):  # which is refused where a network is taken
            yield name, values.detach() if values.layout == torch.strided else values.detach().to_dense()


def _hashes(network: nn.Module, names: Any = None) -> dict[str, str]:
    """Name -> hash of the values of a tensor."""
    return {
        name: hashlib.sha256(_bytes(values)).hexdigest()[:16]
        for name, values in _tensors(network)
        if names is None or name in names
    }


def _bytes(values: Tensor) -> memoryview:
    return memoryview(values.cpu().contiguous().reshape(-1).view(torch.uint8).numpy())  # type: ignore[arg-type]


def _of_note(network: nn.Module, fixed: Mapping[str, str]) -> dict[str, str]:
    """Hashes without tensors of only 0 or only 1, with which many layers begin."""
    tensors = dict(_tensors(network))
    plain = {name for name in fixed if bool((tensors[name] == 0).all() or (tensors[name] == 1).all())}
    return {name: of for name, of in fixed.items() if name not in plain}
