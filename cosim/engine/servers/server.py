"""Server: a node that moves a model by a rule, and what it keeps for it."""

from collections import UserDict
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import attrs
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import Port
from cosim.schedules.port import in_round
from cosim.server_updates.port import ServerUpdate
from cosim.values.pending import PendingModel, PendingState


@attrs.frozen(eq=False)
class OwnKey:
    """A part of a system as a key that no other part is equal to."""

    part: Port


def keys_of(parts: Iterable[Port]) -> dict[int, OwnKey]:
    """Identity of each part of a system -> its key, the same at all servers."""
    return {id(part): OwnKey(part) for part in parts}


class Kept(UserDict[Any, Any]):
    """State that parts keep at a server, by the part: equal parts of a system each keep their own.

    A part that is none of the system's, made by another part for each use, is known by its fields.

    Args:
        keys: Identity of each part of the system -> its key (`keys_of`).
    """

    def __init__(self, keys: Mapping[int, OwnKey] = MappingProxyType({})) -> None:
        super().__init__()
        self._keys = keys

    def _key(self, part: Any) -> Any:
        return self._keys.get(id(part), part)

    @override
    def __getitem__(self, part: Any) -> Any:
        return self.data[self._key(part)]

    @override
    def __setitem__(self, part: Any, value: Any) -> None:
        self.data[self._key(part)] = value

    @override
    def __delitem__(self, part: Any) -> None:
        del self.data[self._key(part)]

    @override
    def __contains__(self, part: object) -> bool:
        return self._key(part) in self.data


@attrs.define(kw_only=True, eq=False)
class Server:
    """Server: what an edge server and the cloud share.

    Attributes:
        states: What each node of the run keeps from one training to its next, by name; the nodes' own
            dictionary.
        kept: State that a part keeps at this server from one turn to the next, by the part.
    """

    name: str
    states: dict[str, PendingState] = attrs.field(factory=dict)
    kept: Kept = attrs.field(factory=Kept)

    def moved(
        self, sim: Simulation, rule: ServerUpdate, model: PendingModel, mean: PendingModel, number: int
    ) -> PendingModel:
        key = sim.key(self.name, "server update", number)
        model, state = in_round(rule, model.round).moved(model, mean, self.states.get(self.name), key)
        if state is not None:
            self.states[self.name] = state
        return model
