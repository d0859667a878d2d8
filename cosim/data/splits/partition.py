"""Partition: which client holds which training samples.

| split | over the cells | inside a cell |
|---|---|---|
| shards | as it falls | few labels per client |
| cell-iid | uniform | few labels per client |
| dirichlet | as it falls | label shares ~ Dirichlet |
| iid | uniform | uniform |

Every sample goes to exactly one client, and every client gets at least one.

Scope and limitations: labels alone decide; features play no part. Samples are never copied or left out, so
where numbers do not divide evenly, shards and "iid" clients differ in size by one sample. (The public code of
the HIST authors leaves the rest out.) A cell of "cell-iid" gets samples in proportion to its clients, to
within one. "dirichlet" clients differ in size.

Usage::

    clients = partition(dataset.train_y, [30, 30], "cell-iid", sim.stream("cloud", "partition"))
    dataset.train_x[clients[0]]

Validation: `tests/data/test_partition.py` checks the label counts of clients and cells against the
hypergeometric and the Dirichlet distribution.

Source: "shards" and "cell-iid": HIST conference paper, Section V-A, cases (i) and (ii); two shards per client
as there. "dirichlet": Yurochkin et al., "Bayesian Nonparametric Federated Learning of Neural Networks", ICML
2019, with its concentration 0.5.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosim.configuration import ConfigurationError

Split = Literal["shards", "cell-iid", "dirichlet", "iid"]
SPLITS: tuple[str, ...] = get_args(Split)
MAX_DIRICHLET_ALPHA = 1e6
"""Above it the shares are equal to a thousandth (no source)."""

Samples = NDArray[np.int64]


def partition(
    labels: ArrayLike,
    cell_sizes: Sequence[int],
    split: Split | str,
    rng: np.random.Generator,
    *,
    shards_per_client: int = 2,
    dirichlet_alpha: float = 0.5,
) -> list[Samples]:
    """Give every sample to one client.

    - "shards" sorts the samples by label, equal labels by index, cuts the row into clients x
      shards_per_client shards and deals them to the clients at random; what is in a shard is therefore the
      same in every run.
    - "cell-iid" gives every cell a uniformly random part of the samples, then does the same in each cell.
    - "dirichlet" draws for every label the clients' shares of its samples from a symmetric Dirichlet
      distribution, rounds them to whole samples and deals the samples in random order. A client left with
      none then takes a random sample of whoever has the most. This moves at most one sample per client;
      drawing again would change the distribution and, for a small concentration, never end.
    - "iid" shuffles and cuts into equal parts.

    Args:
        labels: Whole numbers, shape (samples,).
        cell_sizes: Number of clients in every cell; clients are numbered cell by cell.
        split: One of `SPLITS`.
        rng: All randomness; the same state gives the same partition.
        shards_per_client: For "shards" and "cell-iid".
        dirichlet_alpha: Concentration, for "dirichlet": near 0 each label sits with one client, 1 makes all
            shares equally likely, large values give every client an equal share of each label.

    Returns:
        For every client the indices of its samples, ascending, shape (samples of the client,), int64.

    Raises:
        ConfigurationError: unknown split, fewer samples than clients or shards, or values out of range.
    """
    labels = np.asarray(labels)
    num_clients = sum(cell_sizes)
    num_hands = num_clients
    if split in ("shards", "cell-iid"):
        num_hands *= shards_per_client
    _check(labels, cell_sizes, split, shards_per_client, dirichlet_alpha, num_hands)
    everything = np.arange(len(labels), dtype=np.int64)
    match split:
        case "shards":
            parts = _shards(everything, labels, num_clients, shards_per_client, rng)
        case "cell-iid":
            ends = np.cumsum(cell_sizes) * len(labels) // num_clients
            cells = np.split(rng.permutation(everything), ends[:-1])
            parts = [
                samples
                for cell, size in zip(cells, cell_sizes, strict=True)
                for samples in _shards(np.sort(cell), labels, size, shards_per_client, rng)
            ]
        case "dirichlet":
            parts = _dirichlet(labels, num_clients, dirichlet_alpha, rng)
        case _:
            parts = np.array_split(rng.permutation(everything), num_clients)
    return [np.sort(samples) for samples in parts]


def _shards(
    samples: Samples,
    labels: NDArray[np.integer],
    num_clients: int,
    shards_per_client: int,
    rng: np.random.Generator,
) -> list[Samples]:
    by_label = samples[np.argsort(labels[samples], kind="stable")]
    shards = np.array_split(by_label, num_clients * shards_per_client)
    hands = rng.permutation(len(shards)).reshape(num_clients, shards_per_client)
    return [np.concatenate([shards[shard] for shard in hand]) for hand in hands]


def _dirichlet(
    labels: NDArray[np.integer], num_clients: int, alpha: float, rng: np.random.Generator
) -> list[Samples]:
    client_of = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        samples = rng.permutation(np.flatnonzero(labels == label))
        shares = rng.dirichlet(np.full(num_clients, alpha))
        ends = np.rint(np.cumsum(shares)[:-1] * len(samples)).astype(np.int64)
        client_of[samples] = np.searchsorted(ends, np.arange(len(samples)), side="right")
    sizes = np.bincount(client_of, minlength=num_clients)
    for client in np.flatnonzero(sizes == 0):
        richest = sizes.argmax()
        client_of[rng.choice(np.flatnonzero(client_of == richest))] = client
        sizes[richest] -= 1
        sizes[client] += 1
    return [np.flatnonzero(client_of == client) for client in range(num_clients)]


def _check(
    labels: NDArray[np.generic],
    cell_sizes: Sequence[int],
    split: str,
    shards_per_client: int,
    dirichlet_alpha: float,
    num_hands: int,
) -> None:
    if split not in SPLITS:
        raise ConfigurationError(f"split {split!r} is unknown. Known splits: {', '.join(SPLITS)}.")
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise ConfigurationError(
            f"labels to partition: {labels.dtype} of shape {labels.shape}, must be whole numbers of shape "
            "(samples,). Usual fix: Dataset.train_y."
        )
    if not len(cell_sizes) or min(cell_sizes) < 1:
        raise ConfigurationError(
            f"cell_sizes = {list(cell_sizes)}: there must be a cell, and at least 1 client in each. "
            "Usual fix: leave empty cells out."
        )
    if shards_per_client < 1:
        raise ConfigurationError(
            f"shards_per_client = {shards_per_client}: must be at least 1. Usual fix: 2, as in HIST."
        )
    if not 0 < dirichlet_alpha <= MAX_DIRICHLET_ALPHA:
        raise ConfigurationError(
            f"dirichlet_alpha = {dirichlet_alpha:g}: must be above 0 and at most {MAX_DIRICHLET_ALPHA:g}. "
            "Usual fix: 0.5, or the split 'iid' for equal shares."
        )
    if len(labels) < num_hands:
        num_clients = sum(cell_sizes)
        what = f"{num_clients} clients"
        if num_hands > num_clients:
            what += f" x {shards_per_client} shards per client = {num_hands} shards"
        raise ConfigurationError(
            f"{len(labels)} samples cannot go to {what}: one would be empty. Usual fix: fewer clients, fewer "
            "shards per client or a larger data set."
        )
