"""System: the whole configuration of a run, and the network of nodes that it describes.

The defaults are those of the HIST journal paper, Section VI. A variation is `attrs.evolve` of a system.

Usage::

    system = System(num_cells=2, uplink=PublicNetwork(), protocol=HFedAvg())
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.checkpoint import Checkpoint
from cosim.client import Client
from cosim.codec import Codec, Uncompressed
from cosim.compute import Compute
from cosim.configuration import (
    ConfigurationError,
    at_least,
    between,
    check_fit,
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
from cosim.radio.radio import Radio
from cosim.simulation import Simulation
from cosim.topology import Topology, client_name, edge_name, even_cells
from cosim.uplink import Cell, Uplink

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
        compute: The clients' processors, and the power of their transmitters.
        codec: What an upload is on the air. [HIST journal, Section VI-B: uncompressed]
        uplink: How updates travel. [HIST journal, Section IV-A: by radio]
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
    codec: Codec = Uncompressed()
    uplink: Uplink = Radio()
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
        check_fit(self)

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
        graph = self.topology.graph(sizes, sim)
        sample_flops = learner.flops.of() if self.compute.cycles_follow == "flops" else 0
        cells, first = [], 0
        for cell, size in enumerate(sizes):
            edge, names = edge_name(cell), [client_name(number) for number in range(first, first + size)]
            distance_m = np.array([graph.edges[edge, name]["distance_m"] for name in names])
            powers_w = [self.compute.tx_power.highest_w(sim.stream(name, "transmit power")) for name in names]
            cells.append(Cell(edge, tuple(names), distance_m, np.array(powers_w)))
            first += size
        links = self.uplink.links(sim, cells)
        if len(links) != len(cells):
            raise ConfigurationError(
                f"{type(self.uplink).__name__}.links gives {len(links)} links for {len(cells)} cells. Usual "
                "fix: one for each."
            )
        lowest_hz = self.compute.min_frequency_hz.of_clients(sizes)
        highest_hz = self.compute.max_frequency_hz.of_clients(sizes)
        edges, numbers, states = [], count(), {}
        for cell, link, *range_hz in zip(cells, links, lowest_hz, highest_hz, strict=True):
            clients = [
                Client(
                    name=name,
                    edge=cell.edge,
                    cpu=self.compute.cpu(low_hz, high_hz, sim.stream(name, "cpu"), sample_flops),
                    link=link,
                    tx_power_w=float(power_w),
                    samples_now=partial(_held_now, held, next(numbers)),
                    states=states,
                )
                for name, power_w, low_hz, high_hz in zip(
                    cell.clients, cell.tx_power_w, *range_hz, strict=True
                )
            ]
            edges.append(
                EdgeServer(
                    name=cell.edge,
                    clients=tuple(clients),
                    link=link,
                    backhaul=self.topology,
                    states=states,
                )
            )
        cloud = Cloud(
            edges=tuple(edges),
            learner=learner,
            shape=learner.shape,
            num_global_rounds=self.protocol.num_global_rounds,
            codec=self.codec,
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
