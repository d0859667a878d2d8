"""Personal tensors: what of the network clients keep to themselves (`System.personal`).

A client trains the whole network, begins each training with its own values of these tensors (the first with
the initial model's), and keeps what they are when its training ends, even if its update is dropped on the
way. They do not travel: neither way has bits for them, codecs do not see them, servers do not move them. The
global model keeps their first values for ever.

| word | what a client keeps | known as |
|---|---|---|
| a layer, such as head, or a tensor, such as head.bias | that layer, or tensor | FedPer, for last layers |
| batch norm | all of the layers that have running statistics | FedBN |
| running statistics | these alone | SiloBN |

Scope and limitations: all clients keep the same tensors, as many float32 for each client that has trained.
Cells that train parts of a model, and vertical networks in two parts, are refused.

Sources: Arivazhagan, Aggarwal, Singh, Choudhary, "Federated learning with personalization layers", arXiv
1912.00818; Li, Jiang, Zhang, Kamp, Dou, "FedBN", ICLR 2021, arXiv 2102.07623; Andreux, du Terrail, Beguier,
Tramel, "Siloed federated learning for multi-centric histopathology datasets", arXiv 2008.07424.

Validation: tests/networks/test_personal.py against torch loops that keep the tensors by hand.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from cosim.configuration import refuse
from cosim.values.submodels import NetworkShape

BATCH_NORM, RUNNING_STATISTICS = "batch norm", "running statistics"
"""Words for layers that have running statistics, and for these; with a space, as no layer's name has."""

MOMENTS = ("running_mean", "running_var")
"""How running statistics of torch's layers are called."""


def with_personal(shape: NetworkShape, words: Iterable[str], network: Any) -> NetworkShape:
    """The shape of a network of which clients keep some tensors to themselves.

    Args:
        network: Tells which tensors have several names, since layers share them.

    Raises:
        ConfigurationError: A word that names nothing that is trained or moved; one of the layers that share a
            tensor; nothing trained would travel.
    """
    words = tuple(words)
    called = _names(shape, network)
    named: set[str] = set()
    for word in words:
        found = _named(shape, called, word)
        if not found:
            raise refuse(
                "System", "personal", words, _rule(shape, word), "Use the name of a layer, such as the last."
            )
        named |= found
    personal = frozenset(called[name] for name in named)
    for name, tensor in called.items():
        if tensor in personal and name not in named:
            other = next(other for other in sorted(named) if called[other] == tensor)
            rule = f"{other} and {name} are one tensor, so both are kept or both are sent"
            raise refuse("System", "personal", words, rule, f"Name {_layer(name)} too, or neither.")
    if words and shape.parameters.keys() <= personal:
        rule = "clients would keep all that is trained, and learn nothing together"
        raise refuse("System", "personal", words, rule, "Name some of the layers, such as the last.")
    return attrs.evolve(shape, personal=personal)


def _names(shape: NetworkShape, network: Any) -> dict[str, str]:
    """Every name of a tensor of a model -> the one that a model knows it by."""
    first: dict[int, str] = {}
    found = {}
    for named in (network.named_parameters, network.named_buffers):
        for name, tensor in named(remove_duplicate=False):
            found[name] = first.setdefault(id(tensor), name)
    return {name: known for name, known in found.items() if known in shape.tensors}


def _named(shape: NetworkShape, called: Mapping[str, str], word: str) -> set[str]:
    statistics = {name for name, known in called.items() if known in shape.statistics}
    if word == RUNNING_STATISTICS:
        return statistics
    if word == BATCH_NORM:
        layers = {_layer(name) for name in statistics if name.endswith(MOMENTS)}
        return {name for name in called if _layer(name) in layers}
    return {name for name in called if name == word or name.startswith(f"{word}.")}


def _rule(shape: NetworkShape, word: str) -> str:
    if word in (BATCH_NORM, RUNNING_STATISTICS):
        return "System.model has no layer with running statistics"
    known = ", ".join([*dict.fromkeys(map(_layer, shape.tensors)), BATCH_NORM, RUNNING_STATISTICS])
    return f"nothing of System.model that training moves is called {word!r:.80}; known are {known}"


def _layer(name: str) -> str:
    """The layer of a tensor; itself, where it is the network's own."""
    return name.rpartition(".")[0] or name
