"""Data: what is learned, and which client holds which samples."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import (
    ConfigurationError,
    Port,
    at_least,
    between,
    configuration,
    field,
    positive,
    refuse,
)
from cosim.data.dataset import Dataset, DatasetName, GreyLevels, load, outline
from cosim.data.splits.partition import Split, partition
from cosim.data.traffic.traffic import Traffic, TrafficTable, generate
from cosim.data.traffic.traffic_csv import read
from cosim.data.traffic.traffic_samples import samples
from cosim.data.videos.request_log import MOST_SLOTS, RequestLog, request_data
from cosim.data.videos.video_requests import VideoRequests
from cosim.simulation import Simulation
from cosim.topology import CLOUD


@configuration
class Data(Port):
    """What is learned, and who holds which samples.

    Attributes:
        name: Data set: fashion-mnist, cifar-10, 20-newsgroups (texts, as tokens of GPT-2), digits
            (scikit-learn's), synthetic (classes, for tests), traffic (generated cell traffic), traffic-csv
            (traffic.csv and neighbours.csv in --data-dir), or video-requests (which grow while the clock
            runs). [HIST journal, Section VI-B]
        grey_levels: Whether pictures are scaled to -1 to 1 (symmetric) or to 0 to 1 (positive); on the second
            the same rate learns slower, and noise on weights does less harm. [authors' public code:
            symmetric]
        split: Shards: fully non-i.i.d.; cell-iid: i.i.d. over cells, shards within; dirichlet; iid; natural:
            each client has what arises at it (traffic, video-requests). [HIST journal, Section VI-A]
        shards_per_client: Shards of the samples sorted by label that each client is dealt. [HIST conference,
            Section V-A]
        dirichlet_alpha: Concentration of the classes' proportions over clients; smaller is less even. [no
            source]
        num_traffic_cells: Cells whose traffic is generated (traffic). [no source]
        traffic: How cell traffic is generated.
        global_features: Whether samples carry what the server observes (traffic). [VHFL, Section V-B]
        num_users: Users who request videos (video-requests), dealt to the clients in order and as evenly as
            they go: one each, or all to one client. [RawHFL, Section V-A]
        video_requests: Catalogue, users and their requests (video-requests).
    """

    name: Literal[DatasetName, "traffic", "traffic-csv", "video-requests"] = "fashion-mnist"
    grey_levels: GreyLevels = "symmetric"
    split: Literal[Split, "natural"] = "shards"
    shards_per_client: int = field(at_least(1), default=2)
    dirichlet_alpha: float = field(positive, default=0.3)
    num_traffic_cells: int = field(between(2, 1000), default=16)
    traffic: Traffic = Traffic()
    global_features: bool = True
    num_users: int = field(between(1, 10_000), default=48)
    video_requests: VideoRequests = VideoRequests()

    def __attrs_post_init__(self) -> None:
        if self.name == "video-requests" and self.split != "natural":
            rule = "requests belong to the user who makes them"
            raise refuse("Data", "split", self.split, rule, "split natural")
        if (self.split in ("shards", "cell-iid", "dirichlet")) and self.name.startswith("traffic"):
            rule = "deals samples by their classes, and traffic has none"
            raise refuse("Data", "split", self.split, rule, "split natural or iid")

    def fit(self, system: Any) -> None:
        """Refuse more slots in an edge round than a log holds."""
        slot_s, round_s = self.video_requests.slot_s, system.protocol.least_round_s
        if self.name == "video-requests" and round_s / slot_s > MOST_SLOTS:
            rule = f"more than {MOST_SLOTS:,} slots in an edge round of {round_s:g} s"
            fix = "a deadline of minutes, or a longer slot"
            raise refuse("VideoRequests", "slot_s", slot_s, rule, fix)

    @property
    def outline(self) -> Dataset | None:
        """How samples look that lie in files, where times alone are asked for; None: `load` tells.

        A class with a `load` of its own has none.
        """
        return outline(self.name) if type(self).load is Data.load else None

    def load(self, sim: Simulation, data_dir: Path | None) -> Dataset:
        """The data set; named streams of the run draw what is generated.

        Raises:
            ConfigurationError: Files that are missing or wrong.
        """
        if self.name == "video-requests":
            return request_data(sim, self.video_requests, self.num_users)
        if self.name == "traffic":
            rng = sim.stream(CLOUD, "data")
            return self._samples(generate(self.traffic, self.num_traffic_cells, rng))
        if self.name == "traffic-csv":
            if data_dir is None:
                raise ConfigurationError(
                    "Data.name = 'traffic-csv': needs the folder of traffic.csv and neighbours.csv. "
                    "Usual fix: --data-dir FOLDER."
                )
            return self._samples(read(data_dir / "traffic.csv", data_dir / "neighbours.csv"))
        return load(self.name, data_dir, grey_levels=self.grey_levels)

    def _samples(self, table: TrafficTable) -> Dataset:
        found = samples(table) if self.global_features else samples(table).without_global_features()
        return Dataset(
            name=self.name,
            train_x=found.train_x,
            train_y=found.train_y,
            test_x=found.test_x,
            test_y=found.test_y,
            num_classes=None,
            num_global_features=found.num_global_features,
            train_owners=found.train_cells,
        )

    def held(
        self, sim: Simulation, dataset: Dataset, cell_sizes: Sequence[int]
    ) -> list[Callable[[], NDArray[np.int64]]]:
        """For every client, what gives its samples of an instant.

        Raises:
            ConfigurationError: The split does not fit the data set or the number of clients.
        """
        num_clients = sum(cell_sizes)
        if self.name == "video-requests":
            if num_clients > self.num_users:
                rule = f"fewer users than clients ({num_clients}), so some would hold nothing"
                raise refuse("Data", "num_users", self.num_users, rule, f"at least {num_clients} users")
            log = RequestLog(sim, self.video_requests, self.num_users)
            firsts = [number * self.num_users // num_clients for number in range(num_clients + 1)]
            return [partial(log.samples, range(*ends)) for ends in pairwise(firsts)]
        dealt = self.deal(dataset, cell_sizes, sim.stream(CLOUD, "partition"))
        return [partial(_the_same, samples) for samples in dealt]

    def deal(
        self, dataset: Dataset, cell_sizes: Sequence[int], rng: np.random.Generator
    ) -> list[NDArray[np.int64]]:
        """For every client the read-only indices of its training samples.

        Raises:
            ConfigurationError: The split does not fit the data set or the number of clients.
        """
        if dataset.train_y is None:
            rule = f"the samples of {dataset.name!r} arise at users while the clock runs"
            raise refuse("Data", "split", self.split, rule, "held in place of deal")
        if self.split == "natural":
            held = self._natural(dataset, sum(cell_sizes))
        else:
            held = partition(
                dataset.train_y if dataset.num_classes else np.zeros(len(dataset.train_y), np.int64),
                cell_sizes,
                self.split,
                rng,
                shards_per_client=self.shards_per_client,
                dirichlet_alpha=self.dirichlet_alpha,
            )
        for indices in held:
            indices.flags.writeable = False  # so that no update need keep a copy of its own
        return held

    def _natural(self, dataset: Dataset, num_clients: int) -> list[NDArray[np.int64]]:
        owners = dataset.train_owners
        if owners is None:
            rule = f"the samples of {dataset.name!r} arise at no client"
            raise refuse("Data", "split", self.split, rule, "split iid or shards")
        num_owners = int(owners.max()) + 1
        if num_owners != num_clients:
            raise ConfigurationError(
                f"System.num_clients = {num_clients}: {dataset.name!r} has {num_owners} cells, one client "
                f"each. Usual fix: num_clients = {num_owners}, another data.num_traffic_cells (traffic), or "
                "data.split = iid."
            )
        return [np.flatnonzero(owners == number) for number in range(num_owners)]


def _the_same(samples: NDArray[np.int64]) -> NDArray[np.int64]:
    """What a client holds that neither gets nor loses any."""
    return samples
