"""Next round: an edge round that is about to begin, as a rule of selection is given it, and its choice."""

from collections.abc import Callable, Iterable, Sequence
from types import GeneratorType
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.clock.simulation import Process, Simulation
from cosim.configuration import ConfigurationError
from cosim.engine.clients.fleet import Clients
from cosim.engine.servers.edge import EdgeServer
from cosim.jobs.cell import Client
from cosim.jobs.job import Job
from cosim.jobs.past_round import PastRound
from cosim.jobs.payload import Payload
from cosim.recording.history import Past, past_of
from cosim.values.pending import PendingModel

if TYPE_CHECKING:
    from cosim.engine.servers.cloud import Cloud
    from cosim.selection.port import Selection


@attrs.frozen(eq=False)
class NextRound:
    """An edge round that is about to begin (`cosim.selection.coming_round`).

    Attributes:
        training_s_of: Gives how long some clients are planned to train, shape (clients,).
    """

    cloud: "Cloud"
    edge: EdgeServer
    clients: Clients
    model: PendingModel
    job: Job
    payload: Payload
    training_s_of: Callable[[Clients], NDArray[np.float64]]

    @property
    def last(self) -> PastRound | None:
        return self.edge.last_round

    def history(self, clients: Sequence[Client]) -> Past:
        own = self.edge.clients.these(clients)
        return past_of(own.fleet.history, own.which)

    def num_samples(self, clients: Sequence[Client]) -> NDArray[np.int64]:
        return np.array([len(client.samples) for client in clients], dtype=np.int64)

    def training_s(self, clients: Sequence[Client]) -> NDArray[np.float64]:
        return self.training_s_of(self.edge.clients.these(clients))

    def losses(self, clients: Sequence[Client]) -> NDArray[np.float64]:
        clients = tuple(clients)
        names = ",".join(client.name for client in clients)
        key = f"losses {self.edge.name} {self.job.global_round} {self.job.edge_round} {names}"
        return self.cloud.journal.read(key, lambda: self.cloud.losses(self.model, clients))

    def known_snr(self, clients: Sequence[Client]) -> NDArray[np.float64]:
        link = self.edge.route.uplink.link.known_to("ComingRound.known_snr")
        own = self.edge.clients.these(clients)
        share_hz, places = link.share_hz(max(1, len(own))), own.places_in(self.edge.clients)
        return own.fleet.devices.tx_power_w[own.which] * link.snr_per_w(places, share_hz, self.job)

    def upload_s(self, clients: Sequence[Client], among: int | None = None) -> NDArray[np.float64]:
        link = self.edge.route.uplink.link.known_to("ComingRound.upload_s")
        own = self.edge.clients.these(clients)
        num = len(own) if among is None else among
        return link.upload_s(own.places_in(self.edge.clients), self.payload, num, self.job)

    def chosen(self, sim: Simulation, selection: "Selection") -> Process:
        rule, asked_s, edge = type(selection).__name__, sim.now_s, self.edge
        clients: Any = selection.participants(sim, edge, self)
        if isinstance(clients, GeneratorType) and clients.gi_code.co_name != "<genexpr>":
            clients = yield from clients
        if isinstance(clients, Clients) and len(clients) and clients.are_among(edge.clients):
            return self._there(clients, rule, waited=sim.now_s > asked_s)
        if isinstance(clients, str) or not isinstance(clients, Iterable):
            raise ConfigurationError(
                f"{rule}.participants returned {clients!r:.80}: must be clients of {edge.name}. "
                "Return a list of some of coming.clients."
            )
        found: tuple[Client, ...] = tuple(clients)
        chosen = set(map(id, found))
        if len(chosen) < len(found) or not chosen.issubset(map(id, edge.clients)):
            names = [client.name if hasattr(client, "name") else repr(client) for client in found]
            raise ConfigurationError(
                f"{rule}.participants chose {', '.join(names)[:200]} in {edge.name}: must be clients of this "
                "cell, each once. Choose among coming.clients."
            )
        if not found and sim.now_s == asked_s:
            raise ConfigurationError(
                f"{rule}.participants chose no client in {edge.name} at {asked_s:g} s and let no time "
                "pass, so it would be asked again without end. Choose a client, or wait in the rule "
                "(yield from sim.spend(edge.name, 'idle', 1.0))."
            )
        ordered = edge.clients.these(sorted(found, key=lambda client: client.number))
        return self._there(ordered, rule, waited=sim.now_s > asked_s)

    def _there(self, chosen: Clients, rule: str, *, waited: bool) -> Clients:
        present = chosen.present
        if present is not chosen and not waited and len(present) < len(chosen):
            away = sorted({client.name for client in chosen} - {client.name for client in present})
            raise ConfigurationError(
                f"{rule}.participants chose {', '.join(away)[:200]} in {self.edge.name}, which are "
                "away. Choose among coming.clients."
            )
        return present
