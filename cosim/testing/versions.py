"""Versions: what an asynchronous protocol says of the weights of updates is what it has used."""

from typing import TYPE_CHECKING

from cosim.configuration.port import parts_of
from cosim.learning.graph.combinations import Change
from cosim.learning.graph.pending import PendingModel, StoredModel
from cosim.protocols.asynchronous import Asynchronous
from cosim.servers.asynchronous.rule import Arrival
from cosim.system import System
from cosim.testing.laws import broken

if TYPE_CHECKING:
    from torch import Tensor

MOST_UPDATES = 100
"""A protocol that wants more for a version is not tried."""


def check_weights(system: System) -> None:
    """Check the weights that the asynchronous protocols of a system report.

    Raises:
        BrokenLaw: The first that was not used.
    """
    for part in parts_of(system):
        if isinstance(part, Asynchronous):
            _check_weights_of(part, system.num_clients)


def _check_weights_of(protocol: Asynchronous, num_clients: int) -> None:
    """Move a model along changes whose results are unit vectors: each weight can be read off the model."""
    import torch

    sizes = range(1, MOST_UPDATES)
    num_updates = 3 if protocol.period_s is not None else next(filter(protocol.is_due, sizes), None)
    if num_updates is None:
        return
    vectors = [StoredModel({"values": row}) for row in torch.eye(2 * num_updates + 1, dtype=torch.float64)]
    model, starts, results = vectors[-1], vectors[num_updates:-1], vectors[:num_updates]
    arrivals = [
        Arrival(place % num_clients, Change(start, result), staleness=place)
        for place, (start, result) in enumerate(zip(starts, results, strict=True))
    ]
    moved, weights = protocol.moved(model, arrivals, num_clients)
    used = _values(moved)[:num_updates].tolist()
    for place, (weight, factor) in enumerate(zip(weights, used, strict=True)):
        if abs(weight - factor) > 1e-6 * max(abs(weight), abs(factor)):
            where = f"{type(protocol).__name__}.moved reports a weight of {weight:g} for an update that is "
            where += f"{place} versions late, and its factor in the model is {factor:g}"
            raise broken("updates", where, "weights that are returned before they are divided")


def _values(model: PendingModel) -> "Tensor":
    if model.tensors is not None:
        return model.tensors["values"]
    parents = [{"values": _values(parent)} for parent in model.parents if isinstance(parent, PendingModel)]
    return model.combine(None, parents, None)["values"]  # type: ignore[arg-type]
