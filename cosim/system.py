"""System: the whole configuration of a run, and the network of nodes that it describes.

The defaults are those of the HIST journal paper, Section VI. A variation is `attrs.evolve` of a system.

Usage::

    system = System(num_cells=2, radio=Radio(bandwidth_hz=5e6), protocol=HFedAvg())
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakSet

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.checkpoint import Checkpoint
from cosim.client import Client
from cosim.compute import Compute
from cosim.configuration import (
    ConfigurationError,
    Port,
    at_least,
    between,
    configuration,
    field,
    is_configuration,
    not_empty,
    not_negative,
    refuse,
)
from cosim.data.data import Data
from cosim.data.dataset import Dataset
from cosim.data.pictures.fashion_mnist import FashionMnist
from cosim.nodes import Cloud, EdgeServer, RoundReport
from cosim.protocols.hist import Hist
from cosim.protocols.protocol import Protocol
from cosim.queueing.network import PublicNetwork
from cosim.radio.over_the_air import OverTheAir
from cosim.radio.uplink import Radio
from cosim.simulation import Simulation
from cosim.topology import Topology, client_name, edge_name, even_cells, spread

if TYPE_CHECKING:
    from cosim.learning.learner import Learner


@configuration
class System:
    """Everything that decides a run.

    Attributes:
        seed: Names the run's randomness. [no source]
        num_cells: Cells, each with an edge server. [HIST journal, Section VI-B]
        num_clients: Clients in all cells together, dealt as evenly as they go. [HIST journal, Section VI-A]
        cell_sizes: Clients of each cell, where they are not dealt evenly; none: evenly. [HIST journal,
            Section VI-A: evenly]
        model: Network by name: a family such as relu (no biases) or mlp (biases), then its layer sizes; or
            module:function, a function of your own that returns a torch.nn.Module. [HIST journal, Section
            VI-B]
        initial_weights: Drawn: by the network's own initialisation, from the seed; network: those that a
            network of your own brings, pretrained ones for instance. [HIST journal: drawn]
        data: What is learned, and who holds which samples.
        topology: Where the nodes stand.
        compute: The clients' processors.
        uplink: How updates travel: by radio, or through the queues of a public network. [HIST journal,
            Section IV-A]
        radio: The uplink of every cell.
        public_network: Queues that uploads wait in.
        protocol: Who trains what, and how it is combined.
        evaluate_every: Global rounds between evaluations on the test set (the first and the last model
            always); none: timing only, nothing is learned. [no source]
    """

    seed: int = field(not_negative, default=1)
    num_cells: int = field(between(1, 100), default=4)
    num_clients: int = field(between(1, 10_000), default=60)
    cell_sizes: tuple[int, ...] | None = field(not_empty, at_least(1), default=None)
    model: str = "relu-784-300-10"
    initial_weights: Literal["drawn", "network"] = "drawn"
    data: Data = FashionMnist()
    topology: Topology = Topology()
    compute: Compute = Compute()
    uplink: Literal["radio", "public-network"] = "radio"
    radio: Radio = Radio()
    public_network: PublicNetwork = PublicNetwork()
    protocol: Protocol = Hist()
    evaluate_every: int | None = field(at_least(1), default=1)

    def __attrs_post_init__(self) -> None:
        _check_magnitudes(self)
        if self.num_cells > self.num_clients:
            rule = f"more cells than clients ({self.num_clients}), so some would have nobody to train"
            raise refuse("System", "num_cells", self.num_cells, rule, f"at most {self.num_clients} cells")
        if self.cell_sizes is not None and (len(self.cell_sizes), sum(self.cell_sizes)) != (
            self.num_cells,
            self.num_clients,
        ):
            rule = f"must be {self.num_cells} numbers, one per cell, adding up to {self.num_clients} clients"
            raise refuse("System", "cell_sizes", self.cell_sizes, rule, "none for even cells")
        _fit(self, self)
        by_radio = self.uplink == "radio"
        for owner, name, values in (
            ("Compute", "min_frequency_hz", self.compute.min_frequency_hz),
            ("Compute", "max_frequency_hz", self.compute.max_frequency_hz),
            *((("Radio", "snr_db", self.radio.snr_db),) if by_radio and self.radio.link == "snr" else ()),
        ):
            if len(values) > max(2, self.num_cells) and len(values) != self.num_clients:
                rule = f"{len(values)} values for {self.num_cells} cells and {self.num_clients} clients"
                raise refuse(
                    owner, name, values, rule, "one for all, one for each cell, or one for each client"
                )

    def sizes(self) -> tuple[int, ...]:
        """Clients of each cell."""
        return self.cell_sizes or even_cells(self.num_clients, self.num_cells)

    def build(
        self,
        sim: Simulation,
        learner: "Learner",
        data: Callable[[], Dataset],
        listener: Callable[[RoundReport], None],
        known: Checkpoint | None = None,
    ) -> Cloud:
        """The nodes of this system on a clock; with a checkpoint, of a run that goes on from there.

        Args:
            data: Gives the data set, read before the clock starts where something is learned.

        Raises:
            ConfigurationError: Parts that do not fit together.
        """
        sizes = self.sizes()
        held = cache(lambda: self.data.held(sim, data(), sizes))
        if self.evaluate_every is not None or self.data.outline is None:
            held()
        names = [client_name(number) for number in range(self.num_clients)]
        queues = self.public_network.uplinks(sim, names) if self.uplink == "public-network" else {}
        if self.uplink == "public-network" and queues.keys() != set(names):
            kind = type(self.public_network).__name__
            raise ConfigurationError(
                f"{kind}.uplinks gives {len(queues)} uplinks for {len(names)} clients. Usual fix: a "
                "dictionary with one for each name."
            )
        graph = self.topology.graph(sizes, sim)
        sample_flops = learner.flops.of() if self.compute.cycles_follow == "flops" else 0
        edges, first, receptions, states = [], 0, WeakSet(), {}
        for cell, size in enumerate(sizes):
            edge, members = edge_name(cell), range(first, first + size)
            first += size
            places = [(cell, number, self.num_cells, self.num_clients) for number in members]
            in_cell = [names[number] for number in members]
            if self.uplink == "radio":
                band = self.radio.band(sim)
                distance_m = np.array([graph.edges[edge, name]["distance_m"] for name in in_cell])
                snr_db = np.array([spread(self.radio.snr_db, *place) for place in places])
                uplinks = self.radio.uplinks(sim, edge, in_cell, distance_m, snr_db, band)
                _check_receivable(band, uplinks)
            else:
                band, uplinks = None, [queues[name] for name in in_cell]
            clients = [
                Client(
                    name=name,
                    edge=edge,
                    cpu=self.compute.cpu(
                        spread(self.compute.min_frequency_hz, *place),
                        spread(self.compute.max_frequency_hz, *place),
                        sim.stream(name, "cpu"),
                        sample_flops,
                    ),
                    uplink=uplink,
                    tx_power_w=self.radio.highest_power_w(sim.stream(name, "transmit power")),
                    samples_now=partial(_held_now, held, number),
                    states=states,
                )
                for number, name, place, uplink in zip(members, in_cell, places, uplinks, strict=True)
            ]
            edges.append(
                EdgeServer(
                    name=edge,
                    clients=tuple(clients),
                    band=band,
                    backhaul=self.topology,
                    receptions=receptions,
                    states=states,
                )
            )
        cloud = Cloud(
            edges=tuple(edges),
            learner=learner,
            shape=learner.shape,
            num_global_rounds=self.protocol.num_global_rounds,
            bits_per_parameter=self.radio.bits_per_parameter,
            cycles_follow=self.compute.cycles_follow,
            evaluate_every=self.evaluate_every,
            listener=listener,
            known=known,
            states=states,
        )
        self.protocol.check(cloud)
        return cloud


def _held_now(
    held: Callable[[], Sequence[Callable[[], NDArray[np.int64]]]], number: int
) -> NDArray[np.int64]:
    """The samples of a client at this instant."""
    return held()[number]()


def _check_receivable(band: Any, uplinks: Sequence[Any]) -> None:
    """Refuse uplinks of which a sum over the air would be without."""
    deaf = [type(uplink).__name__ for uplink in uplinks if not hasattr(uplink, "received")]
    if isinstance(band, OverTheAir) and deaf:
        rule = f"a {deaf[0]} has no method `received`, so its client would be missing from the sum"
        raise refuse("Radio", "sharing", "over-the-air", rule, "fixed shares, or a method `received`")


def _fit(config: Any, system: System) -> None:
    """Ask every part whether the system fits it, outer ones first."""
    for name in attrs.fields_dict(type(config)):
        part = getattr(config, name)
        if isinstance(part, Port):
            part.fit(system)
        if is_configuration(type(part)):
            _fit(part, system)


def _check_magnitudes(config: Any) -> None:
    """Refuse numbers so large or so small that a product of a few of them could overflow or vanish."""
    for name in attrs.fields_dict(type(config)):
        value = getattr(config, name)
        if is_configuration(type(value)):
            _check_magnitudes(value)
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, float) and number and not 1e-30 <= abs(number) <= 1e30:
                rule = "its magnitude must lie from 1e-30 to 1e30, or be 0"
                raise refuse(type(config), name, value, rule, "check the unit")
            if isinstance(number, int) and abs(number) > 2**32 and name != "seed":
                rule = "a whole number must be at most 2**32"
                raise refuse(type(config), name, value, rule, "check the unit")
