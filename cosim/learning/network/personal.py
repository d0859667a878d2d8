"""Personal tensors: what of the network clients keep to themselves (`System.personal`).

A client trains the whole network, begins each training with its own values of these tensors (before its first
with those of the initial model), and keeps what they are when its training ends, also where its update is
dropped on the way. They do not travel: neither way has bits for them, codecs do not see them, servers do not
move them. The global model has its first values of them for ever.

| word | what a client keeps | known as |
|---|---|---|
| a layer, such as head, or a tensor, such as head.bias | that layer, or tensor | FedPer, for last layers |
| batch norm | all of the layers that have running statistics | FedBN |
| running statistics | these alone | SiloBN |

Scope and limitations: all clients keep the same tensors, as many float32 for each client that has trained.
Cells that train parts of a model (HIST), and networks in two parts (VHFL), are refused.

Sources: Arivazhagan, Aggarwal, Singh, Choudhary, "Federated learning with personalization layers", arXiv
1912.00818; Li, Jiang, Zhang, Kamp, Dou, "FedBN", ICLR 2021, arXiv 2102.07623; Andreux, du Terrail, Beguier,
Tramel, "Siloed federated learning for multi-centric histopathology datasets", arXiv 2008.07424.

Validation: tests/learning/test_personal.py against torch loops that keep the tensors by hand.
"""

from collections.abc import Iterable

import attrs

from cosim.configuration import refuse
from cosim.learning.network.submodels import NetworkShape

BATCH_NORM, RUNNING_STATISTICS = "batch norm", "running statistics"
"""Words for layers that have running statistics, and for these; with a space, as no layer's name has."""

MOMENTS = ("running_mean", "running_var")
"""How running statistics of torch's layers are called."""


def with_personal(shape: NetworkShape, words: Iterable[str]) -> NetworkShape:
    """The shape of a network of which clients keep some tensors to themselves.

    Raises:
        ConfigurationError: A word that names nothing that is trained or moved; nothing trained would travel.
    """
    words = tuple(words)
    names: set[str] = set()
    for word in words:
        found = _named(shape, word)
        if not found:
            raise refuse("System", "personal", words, _rule(shape, word), "a layer's name, such as the last")
        names |= found
    if names and shape.parameters.keys() <= names:
        rule = "clients would keep all that is trained to themselves, and learn nothing together"
        raise refuse("System", "personal", words, rule, "some of the layers, such as the last")
    return attrs.evolve(shape, personal=frozenset(names))


def _named(shape: NetworkShape, word: str) -> set[str]:
    if word == RUNNING_STATISTICS:
        return set(shape.statistics)
    if word == BATCH_NORM:
        layers = {_layer(name) for name in shape.statistics if name.endswith(MOMENTS)}
        return {name for name in shape.tensors if _layer(name) in layers}
    return {name for name in shape.tensors if name == word or name.startswith(f"{word}.")}


def _rule(shape: NetworkShape, word: str) -> str:
    if word in (BATCH_NORM, RUNNING_STATISTICS):
        return "System.model has no layer with running statistics"
    layers = dict.fromkeys(filter(None, map(_layer, shape.tensors)))
    known = ", ".join([*(layers or shape.tensors), BATCH_NORM, RUNNING_STATISTICS])
    return f"nothing of System.model that is trained is called {word!r:.80}; known are {known}"


def _layer(name: str) -> str:
    return name.rpartition(".")[0]
