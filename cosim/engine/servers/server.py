"""Server: a node that moves a model by a rule, and what it keeps for it."""

from collections import UserDict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import attrs
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import Port
from cosim.schedules.port import in_round
from cosim.server_updates.port import ServerUpdate
from cosim.values.pending import PendingModel, PendingState


class Kept(UserDict[Any, Any]):
    """State that parts keep at a server, by the part: equal parts of a system each keep their own.

    A part that is none of the system's, made by another part for each use, is known by its fields.

    Args:
        parts: Parts of the system, by their identities.
    """

    def __init__(self, parts: Mapping[int, Port] = MappingProxyType({})) -> None:
        super().__init__()
        self._parts = parts

    def _key(self, part: Any) -> Any:
        return ("identity", id(part)) if id(part) in self._parts else part

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
    states: dict[str, PendingState]
    kept: Kept = attrs.field(factory=Kept)

    def moved(
        self, sim: Simulation, rule: ServerUpdate, model: PendingModel, mean: PendingModel, number: int
    ) -> PendingModel:
        key = sim.key(self.name, "server update", number)
        model, state = in_round(rule, model.round).moved(model, mean, self.states.get(self.name), key)
        if state is not None:
            self.states[self.name] = state
        return model
