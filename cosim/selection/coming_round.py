"""Coming round: what a rule that chooses clients may know, and what becomes of its choice.

Usage, in a rule (`selection`)::

    losses = coming.losses(coming.clients)
    done_s = coming.training_s(coming.clients) + coming.upload_s(coming.clients)
    if coming.last is not None:
        slow = coming.last.durations_s > 1.0
"""

from collections.abc import Callable, Iterable, Sequence
from types import GeneratorType
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.devices.client import Client
from cosim.devices.fleet import Clients
from cosim.learning.graph.pending import PendingModel
from cosim.links.link import Job
from cosim.links.payload import Payload
from cosim.servers.cloud import Cloud
from cosim.servers.edge import EdgeServer
from cosim.servers.past_round import PastRound
from cosim.simulation import Event, Process, Simulation


@attrs.frozen(kw_only=True, eq=False)
class ComingRound:
    """An edge round that is about to begin.

    Attributes:
        clients: Those of the cell that are there, in the order of their numbers.
        model: What the cell is going to train.
        job: Which rounds they are, and the number of the clients' jobs.
        payload: What an upload carries.
        training_s_of: Gives how long some clients are planned to train, shape (clients,).
    """

    cloud: Cloud
    edge: EdgeServer
    clients: Clients
    model: PendingModel
    job: Job
    payload: Payload
    training_s_of: Callable[[Clients], NDArray[np.float64]]

    @property
    def last(self) -> PastRound | None:
        """What became of the server's last edge round; None: there was none."""
        return self.edge.last_round

    def num_samples(self, clients: Iterable[Client]) -> NDArray[np.int64]:
        """Samples that each client has at this instant, shape (clients,)."""
        return np.array([len(client.samples) for client in clients], dtype=np.int64)

    def training_s(self, clients: Sequence[Client]) -> NDArray[np.float64]:
        """How long each is planned to train if it begins now, shape (clients,)."""
        return self.training_s_of(Clients.of(self.edge.clients.fleet, clients))

    def losses(self, clients: Iterable[Client]) -> NDArray[np.float64]:
        """Mean loss of the model on the training samples of each client, shape (clients,).

        With what is the client's own in place of the model's (`System.personal`).
        Cross entropies in nats, or squared errors. The model is computed now, so what is asked for often
        learns in small pieces; a run that is resumed reads these numbers from its checkpoint. Read-only.

        Raises:
            ConfigurationError: Only times are asked for, so nobody learns.
        """
        clients = tuple(clients)
        names = ",".join(client.name for client in clients)
        key = f"losses {self.edge.name} {self.job.global_round} {self.job.edge_round} {names}"
        return self.cloud.journal.read(key, lambda: self.cloud.losses(self.model, clients))

    def known_snr(self, clients: Iterable[Client]) -> NDArray[np.float64]:
        """SNR of each client at its highest power in an equal share of the band, shape (clients,).

        As a planner knows it at this instant, and with the share that is left when these clients take part.

        Raises:
            ConfigurationError: An uplink of which nothing is known.
        """
        clients, link = tuple(clients), self.edge.route.uplink.link.known_to("ComingRound.known_snr")
        share_hz = link.share_hz(max(1, len(clients)))
        return np.array(
            [client.tx_power_w * link.snr_per_w(client.name, share_hz, self.job) for client in clients]
        )

    def upload_s(self, clients: Iterable[Client], among: int | None = None) -> NDArray[np.float64]:
        """How long the upload of each client takes, once it may begin, shape (clients,).

        At its highest power, as a planner knows it at this instant.

        Args:
            among: How many take part; None: these.

        Raises:
            ConfigurationError: An uplink of which nothing is known.
        """
        clients, link = tuple(clients), self.edge.route.uplink.link.known_to("ComingRound.upload_s")
        num = len(clients) if among is None else among
        return np.array(
            [link.upload_s(client.name, self.payload, client.tx_power_w, num, self.job) for client in clients]
        )

    def chosen(self, sim: Simulation, choice: "Iterable[Client] | Process", rule: str) -> Process:
        """The clients that a rule chooses, in the order of their numbers.

        Who has left while the rule has waited is not among them.

        Args:
            choice: What the rule returns: clients, or a process that returns them.
            rule: Its name.

        Raises:
            ConfigurationError: Clients of elsewhere, or one twice; nobody, or somebody who is away, though no
                time has passed, so that nobody would be chosen for ever.
        """
        asked_s, edge = sim.now_s, self.edge
        clients: Any = choice
        if isinstance(choice, GeneratorType) and choice.gi_code.co_name != "<genexpr>":
            clients = yield from _events_of(choice, rule)
        if isinstance(clients, str) or not isinstance(clients, Iterable):
            raise ConfigurationError(
                f"{rule}.participants returned {clients!r:.80}: must be clients of {edge.name}. Usual fix: "
                "return a list of some of coming.clients."
            )
        if isinstance(clients, Clients) and clients.fleet is edge.clients.fleet and len(clients):
            return self._there(clients, rule, waited=sim.now_s > asked_s)
        found: tuple[Client, ...] = tuple(clients)
        chosen = set(map(id, found))
        if len(chosen) < len(found) or not chosen.issubset(map(id, edge.clients)):
            names = [client.name if isinstance(client, Client) else repr(client) for client in found]
            raise ConfigurationError(
                f"{rule}.participants chose {', '.join(names)[:200]} in {edge.name}: must be clients of this "
                "cell, each once. Usual fix: choose among coming.clients."
            )
        if not found and sim.now_s == asked_s:
            raise ConfigurationError(
                f"{rule}.participants chose nobody in {edge.name} at {asked_s:g} s and let no time pass, so "
                "nobody would ever be chosen. Usual fix: choose somebody, or wait in the rule "
                "(yield from sim.spend(edge.name, 'idle', 1.0))."
            )
        ordered = Clients.of(edge.clients.fleet, sorted(found, key=lambda client: client.number))
        return self._there(ordered, rule, waited=sim.now_s > asked_s)

    def _there(self, chosen: Clients, rule: str, *, waited: bool) -> Clients:
        """Those of the chosen who are there."""
        present = chosen.present
        if len(present) < len(chosen) and not waited:
            away = sorted({client.name for client in chosen} - {client.name for client in present})
            raise ConfigurationError(
                f"{rule}.participants chose {', '.join(away)[:200]} in {self.edge.name}, who are away. Usual "
                "fix: choose among coming.clients."
            )
        return present


def _events_of(process: Any, rule: str) -> Process:
    """A rule that waits, step by step.

    Raises:
        ConfigurationError: It yields something else than an event of the clock.
    """
    step, given = process.send, None
    while True:
        try:
            event = step(given)
        except StopIteration as ended:
            return ended.value
        if not isinstance(event, Event):
            raise ConfigurationError(
                f"{rule}.participants yielded {getattr(event, 'name', event)!r:.80}: a rule that waits "
                "yields events of the clock. Usual fix: yield from sim.spend(edge.name, 'idle', 1.0), then "
                "return clients."
            )
        try:
            step, given = process.send, (yield event)
        except BaseException as cut:  # a deadline around the rule
            step, given = process.throw, cut
