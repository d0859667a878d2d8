"""Traffic samples: present observations of a cell and the server, and the cell's throughput in the next slot.

One sample is one cell c in one slot t:

| features, in this order | seen by | number |
|---|---|---|
| mean over c's neighbours of their throughput in slots t, t - 1, ... | server | num_lags |
| largest throughput of a neighbour in slot t | server | 1 |
| mean over c's neighbours of each of their other features in slot t | server | features |
| c's throughput in slots t, t - 1, ... | client | num_lags |
| c's other features in slot t | client | features |
| sine and cosine of the time of day, then of week, at the start of slot t | client | 4 |

The target is c's throughput in slot t + 1. The last quarter of the slots is the test part: a sample belongs
to it if its target lies there, so no training sample contains any of it. Test samples may look back into
the training part, as a forecast does.

Features are z-scores, the target is divided by its mean; both scales come from the training samples of all
cells. So the target keeps its zero (relative errors keep their meaning), and a mean squared error of 1 is the
square of the mean throughput.

Scope and limitations: the server observes neighbours only, and all neighbours equally.

Usage::

    data = samples(generate(Traffic(), 16, rng))
    data.train_x[data.train_cells == 3, : data.num_global_features]  # what the server sees for cell 3

Source: VHFL, Section V-A, in words only; lags, statistics of the neighbours and the split have no source.
"""

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from scenarios.papers.vhfl.traffic.traffic import DAY_S, WEEK_S, TrafficTable

NUM_LAGS = 4


@attrs.frozen(kw_only=True, eq=False)
class Samples:
    """Samples of all cells, cell by cell and each cell's in the order of time.

    Attributes:
        train_x: Training features, the server's first, shape (training samples, features), C-contiguous.
        train_y: Next throughput, relative to the training mean, shape (training samples,).
        train_cells: Number of each training sample's cell, shape (training samples,).
        test_x: As train_x, shape (test samples, features).
        test_y: As train_y.
        test_cells: As train_cells.
        num_global_features: Columns that the server observes.
    """

    train_x: NDArray[np.float32] = attrs.field(repr=False)
    train_y: NDArray[np.float32] = attrs.field(repr=False)
    train_cells: NDArray[np.int64] = attrs.field(repr=False)
    test_x: NDArray[np.float32] = attrs.field(repr=False)
    test_y: NDArray[np.float32] = attrs.field(repr=False)
    test_cells: NDArray[np.int64] = attrs.field(repr=False)
    num_global_features: int

    def without_global_features(self) -> "Samples":
        """The same samples without the server's features."""
        first = self.num_global_features
        return attrs.evolve(
            self,
            train_x=np.ascontiguousarray(self.train_x[:, first:]),
            test_x=np.ascontiguousarray(self.test_x[:, first:]),
            num_global_features=0,
        )


def samples(table: TrafficTable, *, num_lags: int = NUM_LAGS) -> Samples:
    """Samples of a table; every cell has the same number.

    Args:
        table: At least 2 slots beyond the lags in its first three quarters.
        num_lags: Past throughputs in a sample, this slot's included; at least 1.

    Raises:
        ConfigurationError: Too few slots, no lag, or a mean throughput of 0 in a part.
    """
    num_slots = len(table.target)
    first_test = num_slots * 3 // 4
    if num_lags < 1 or first_test < num_lags + 2:
        raise ConfigurationError(
            f"traffic samples of {num_lags} lags from {num_slots} slots: must have at least 1 lag, and at "
            f"least 2 more slots of training ({first_test}) than lags. Use a longer record or fewer lags."
        )
    now = np.arange(num_lags - 1, num_slots - 1)
    train = now + 1 < first_test
    server, client = _seen_by_server(table, now, num_lags), _seen_by_client(table, now, num_lags)
    x, y = np.concatenate((server, client), axis=-1), table.target[now + 1]
    mean, deviation = x[train].mean(axis=(0, 1)), x[train].std(axis=(0, 1))
    varies = deviation > 1e-12 * np.abs(mean)  # rounding gives constants a deviation, too
    x = (x - mean) / np.where(varies, deviation, 1.0)
    for part, chosen in (("training", train), ("testing", ~train)):
        if not y[chosen].mean() > 0.0:
            raise ConfigurationError(
                f"the mean throughput in {part} is {y[chosen].mean():g}: must be above 0, as targets "
                "and errors are relative to it. Check the target column."
            )
    y = y / y[train].mean()
    return Samples(
        train_x=_by_cell(x[train]),
        train_y=_by_cell(y[train]),
        train_cells=np.repeat(np.arange(len(table.cells)), np.count_nonzero(train)),
        test_x=_by_cell(x[~train]),
        test_y=_by_cell(y[~train]),
        test_cells=np.repeat(np.arange(len(table.cells)), np.count_nonzero(~train)),
        num_global_features=server.shape[-1],
    )


def _by_cell(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Rows, cell by cell, from values of shape (slots, cells, ...)."""
    return np.ascontiguousarray(values.swapaxes(0, 1).reshape(-1, *values.shape[2:]), np.float32)


def _seen_by_client(table: TrafficTable, now: NDArray[np.int64], num_lags: int) -> NDArray[np.float64]:
    """Features that the client sees, shape (slots, cells, num_lags + features + 4)."""
    time_s = table.time_s[now]
    angles = (2.0 * math.pi * time_s / period_s for period_s in (DAY_S, WEEK_S))
    clock = np.stack([wave(angle) for angle in angles for wave in (np.sin, np.cos)], axis=-1)
    clock = np.broadcast_to(clock[:, None], (len(now), len(table.cells), 4))
    return np.concatenate((_lags(table.target, now, num_lags), table.features[now], clock), axis=-1)


def _seen_by_server(table: TrafficTable, now: NDArray[np.int64], num_lags: int) -> NDArray[np.float64]:
    """Features that the server sees, shape (slots, cells, num_lags + 1 + features)."""
    import networkx as nx  # only when a graph is needed

    joined = nx.to_numpy_array(table.neighbours, nodelist=table.cells, weight=None)  # type: ignore[arg-type]
    shares = joined / joined.sum(axis=1, keepdims=True)
    lagged = np.einsum("cn,snl->scl", shares, _lags(table.target, now, num_lags))
    others = np.einsum("cn,snf->scf", shares, table.features[now])
    largest = [table.target[now][:, row > 0].max(axis=1) for row in joined]
    return np.concatenate((lagged, np.stack(largest, axis=1)[..., None], others), axis=-1)


def _lags(values: NDArray[np.float64], now: NDArray[np.int64], num_lags: int) -> NDArray[np.float64]:
    """Values in each slot and in the slots before it, shape (slots, cells, num_lags)."""
    return np.stack([values[now - lag] for lag in range(num_lags)], axis=-1)
