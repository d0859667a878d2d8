"""Cell traffic: throughput and other observations of the cells of a network, slot by slot, generated.

The data with which VHFL was tested belong to an operator. This model replaces them: cells at random places,
near ones as neighbours, and a load that is partly known in advance (cycles of the day and the week), partly
visible in a cell's own past (a slow drift, the rest of old bursts), and partly visible only at the
neighbours: bursts that travel. In units of the mean load of a mean cell,

    load = level x daily cycle x weekly cycle x drift + bursts
    bursts(t) = burst_decay x bursts(t - 1) + arriving(t)
    arriving(t) = sum over hops h of burst_coupling^h x (bursts that began h hops away, h delays before t)

so a burst reaches every cell once, by the shortest path, and decays there: the process is stable for any
`burst_decay` below 1. A recursion in which each cell keeps passing on what its neighbours hold needs
burst_decay + burst_coupling below 1 to be stable, which leaves too little to see at the neighbours.

Throughput is the load, measured with noise. Users are Poisson with a mean that follows the load; the share of
small packets falls with it.

Scope and limitations: no number here has a source. They are chosen so that neighbours matter and throughput
stays predictable; results show how methods compare on such data, not the values that an operator would
measure. Cells do not move, graphs do not change; there are no holidays, failures, capacity limits or
handovers. Tables of one `rng` state that differ in the strength of something (bursts, noise, cycles) share
all draws but the users'.

Usage::

    table = generate(Traffic(), num_cells=16, rng=np.random.default_rng(1))
    table.target[:, 0]  # throughput of the first cell in bit/s, slot by slot

Source: Wan et al., "How global observation works in federated learning" (VHFL), Section V-A, names the
features; the process has no source.
"""

import math
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import (
    ConfigurationError,
    at_least,
    between,
    knob,
    not_negative,
    part,
    positive,
    refuse,
)
from cosim.units import least_whole, most_whole

if TYPE_CHECKING:
    import networkx as nx

DAY_S, WEEK_S = 86_400.0, 7 * 86_400.0
FEATURES = ("mean_users", "max_users", "traffic_per_user_bps", "small_packet_ratio")

Array = NDArray[np.float64]


def _dies_out(decay: float) -> str | None:
    return None if decay < 1.0 else "must lie below 1, or bursts never die out and the load grows without end"


MOST_DRAWN = 1e15
"""Largest mean of a Poisson variable, far below the limit of 64 bits. [no source]"""


@part
class Traffic:
    """Model of cell traffic.

    Attributes:
        num_days: Length of the record, from a Monday's midnight on. [no source]
        slot_s: Length of a slot, a whole part of a day. [no source]
        num_neighbours: Nearest cells that are joined with each cell; as joining is mutual, some cells have
            more neighbours. [no source]
        mean_throughput_bps: Throughput of a mean cell without bursts, over a week. [no source]
        num_users: Active users of that cell at that throughput. [no source]
        level_spread: Standard deviation of the cells' base levels, in natural logarithms. [no source]
        daily_cycle: Swing of the day, relative to its mean. [no source]
        weekly_cycle: Drop from working days to weekends, relative to the week's mean. [no source]
        drift: Standard deviation of a cell's slow drift, in natural logarithms. [no source]
        drift_memory: Correlation of the drift from slot to slot. [no source]
        bursts_per_day: New bursts per day and cell. [no source]
        burst_size: Mean size of a new burst, in loads of a mean cell. [no source]
        burst_decay: Part of a burst that is left one slot later. [no source]
        burst_coupling: Part of a burst that reaches the next cell; 0 means that bursts stay in their cell.
            [no source]
        burst_delay_slots: Slots that a burst takes to the next cell. [no source]
        noise: Relative standard deviation of measured throughput. [no source]
    """

    num_days: int = knob(between(1, 3660), default=42)
    slot_s: float = knob(between(60.0, 43_200.0), default=3600.0)
    num_neighbours: int = knob(at_least(1), default=3)
    mean_throughput_bps: float = knob(positive, default=20e6)
    num_users: int = knob(at_least(1), default=40)
    level_spread: float = knob(not_negative, default=0.3)
    daily_cycle: float = knob(between(0.0, 1.0), default=0.5)
    weekly_cycle: float = knob(between(0.0, 1.0), default=0.3)
    drift: float = knob(not_negative, default=0.1)
    drift_memory: float = knob(between(0.0, 1.0), default=0.9)
    bursts_per_day: float = knob(not_negative, default=0.2)
    burst_size: float = knob(positive, default=1.5)
    burst_decay: float = knob(not_negative, _dies_out, default=0.5)
    burst_coupling: float = knob(between(0.0, 1.0), default=0.7)
    burst_delay_slots: int = knob(at_least(1), default=1)
    noise: float = knob(not_negative, default=0.05)

    def __attrs_post_init__(self) -> None:
        if most_whole(DAY_S / self.slot_s) != least_whole(DAY_S / self.slot_s):
            raise refuse(
                "Traffic", "slot_s", self.slot_s, "a day must hold a whole number of slots", default=3600.0
            )


@attrs.frozen(kw_only=True, eq=False)
class TrafficTable:
    """Observations of several cells in equal slots.

    Attributes:
        cells: Names of the cells, in the order of the arrays.
        neighbours: Graph of neighbours over the cells' names; every cell has one.
        start_s: Start of the first slot since Monday 00:00.
        slot_s: Length of a slot.
        feature_names: Names of a cell's observations besides its throughput.
        features: These observations, shape (slots, cells, features).
        target: Throughput, shape (slots, cells); bit/s if from `generate`, else as in the source.

    Raises:
        ConfigurationError: Shapes or the graph do not fit the names, or a cell has no neighbours.
    """

    cells: tuple[str, ...]
    neighbours: "nx.Graph" = attrs.field(repr=False)
    start_s: float
    slot_s: float
    feature_names: tuple[str, ...]
    features: Array = attrs.field(repr=False)
    target: Array = attrs.field(repr=False)

    def __attrs_post_init__(self) -> None:
        shape = (len(self.target), len(self.cells))
        wanted = (("target", shape), ("features", (*shape, len(self.feature_names))))
        for name, expected in wanted:
            found = getattr(self, name).shape
            if found != expected:
                raise ConfigurationError(
                    f"TrafficTable.{name}: shape {found} must be {expected}. Put slots along the first "
                    "axis, cells along the second, features along the third.",
                    f"TrafficTable.{name}",
                )
        if set(self.neighbours) != set(self.cells):
            raise ConfigurationError(
                f"TrafficTable.neighbours: its nodes must be the {len(self.cells)} cells. Add "
                "each cell by its name.",
                "TrafficTable.neighbours",
            )
        if lonely := next((cell for cell in self.cells if not self.neighbours.degree[cell]), None):
            raise ConfigurationError(
                f"TrafficTable.neighbours: cell {lonely!r} has no neighbour, so the server observes "
                "nothing for it. Join it to its nearest cell, or leave it out.",
                "TrafficTable.neighbours",
            )

    @property
    def time_s(self) -> Array:
        """Start of every slot since Monday 00:00, shape (slots,); it continues after the first week."""
        return self.start_s + self.slot_s * np.arange(len(self.target), dtype=float)


def generate(traffic: Traffic, num_cells: int, rng: np.random.Generator) -> TrafficTable:
    """Traffic of a number of cells from Monday 00:00 on, all of it drawn from `rng`.

    A mean cell has 0.4 small packets in a packet at its mean load and 0.6 without load; the users' maximum
    lies a quarter above their mean. These numbers have no source.

    Raises:
        ConfigurationError: There are fewer cells than the neighbours require.
    """
    if num_cells <= traffic.num_neighbours:
        rule = f"each of the {num_cells} cells has only {max(0, num_cells - 1)} others"
        raise refuse(
            "Traffic", "num_neighbours", traffic.num_neighbours, rule, "Use fewer neighbours, or more cells."
        )
    seeds = rng.integers(2**63, size=6)
    places, levels, drifts, begun, users, noise = (np.random.default_rng(seed) for seed in seeds)
    shape = (round(traffic.num_days * DAY_S / traffic.slot_s), num_cells)
    cells = tuple(f"cell-{number:04d}" for number in range(num_cells))
    graph = nearest_neighbours(cells, places.random((num_cells, 2)), traffic.num_neighbours)

    level = np.exp(traffic.level_spread * levels.standard_normal(num_cells) - traffic.level_spread**2 / 2)
    cycle = _cycle(traffic, traffic.slot_s * np.arange(shape[0], dtype=float))
    with np.errstate(over="ignore"):
        drift = np.exp(traffic.drift * _memory(drifts.standard_normal(shape), traffic.drift_memory))
    per_slot = traffic.bursts_per_day * traffic.slot_s / DAY_S
    _check_counted(per_slot, "bursts_per_day", traffic.bursts_per_day, "a slot has {:.2g} bursts")
    sizes = traffic.burst_size * begun.standard_gamma(begun.poisson(per_slot, shape))
    swings, load = float(drift.max()), level * cycle[:, None] * drift + bursts(traffic, sizes, graph)
    most, knob = traffic.num_users * float(load.max()), "drift" if swings > sizes.max() else "burst_size"
    _check_counted(most, knob, getattr(traffic, knob), "a cell has {:.2g} users")

    measured = load * np.maximum(0.0, 1.0 + traffic.noise * noise.standard_normal(shape))
    throughput_bps = traffic.mean_throughput_bps * measured
    mean_users = users.poisson(traffic.num_users * load).astype(float)
    max_users = mean_users + users.poisson(0.25 * traffic.num_users * load)
    small = np.clip(0.6 / (1.0 + 0.5 * load) + 0.02 * noise.standard_normal(shape), 0.0, 1.0)
    per_user_bps = throughput_bps / np.maximum(1.0, mean_users)
    return TrafficTable(
        cells=cells,
        neighbours=graph,
        start_s=0.0,
        slot_s=traffic.slot_s,
        feature_names=FEATURES,
        features=np.stack((mean_users, max_users, per_user_bps, small), axis=-1, dtype=float),
        target=throughput_bps,
    )


def _check_counted(most: float, knob: str, value: float, says: str) -> None:
    """Refuse a mean number in one slot that is too large to be drawn."""
    if not most <= MOST_DRAWN:
        rule, usual = (
            f"{says.format(most)}, but at most {MOST_DRAWN:g} can be drawn",
            attrs.fields_dict(Traffic),
        )
        raise refuse("Traffic", knob, value, rule, default=usual[knob].default)


def nearest_neighbours(cells: tuple[str, ...], places: Array, num_neighbours: int) -> "nx.Graph":
    """Graph that joins each cell with its nearest others; places of shape (cells, 2)."""
    import networkx as nx  # only when a graph is needed

    graph = nx.Graph()
    graph.add_nodes_from(cells)
    distance = np.linalg.norm(places[:, None] - places[None], axis=-1)
    np.fill_diagonal(distance, np.inf)
    for cell, nearest in zip(cells, np.argsort(distance, axis=1)[:, :num_neighbours], strict=True):
        graph.add_edges_from((cell, cells[other]) for other in nearest)
    return graph


def bursts(traffic: Traffic, sizes: Array, graph: "nx.Graph") -> Array:
    """Load by bursts, from the sizes of new bursts; both (slots, cells), cells as in the graph."""
    import networkx as nx

    place = {cell: number for number, cell in enumerate(graph)}
    hops = np.full((len(place), len(place)), -1)
    for cell, lengths in nx.all_pairs_shortest_path_length(graph):
        hops[place[cell], [place[other] for other in lengths]] = list(lengths.values())
    load = np.zeros(sizes.shape)
    for hop in range(hops.max() + 1):
        late = hop * traffic.burst_delay_slots
        load[late:] += sizes[: max(0, len(sizes) - late)] @ (traffic.burst_coupling**hop * (hops == hop))
    for slot in range(1, len(load)):
        load[slot] += traffic.burst_decay * load[slot - 1]
    return load


def _cycle(traffic: Traffic, time_s: Array) -> Array:
    """Daily times weekly cycle, mean 1 over a week: lowest at 4 o'clock, and lower on Saturday and Sunday."""
    daily = 1.0 - traffic.daily_cycle * np.cos(2.0 * math.pi * (time_s / DAY_S - 4.0 / 24.0))
    weekend = time_s % WEEK_S >= 5 * DAY_S
    return daily * (1.0 - traffic.weekly_cycle * (weekend - 2.0 / 7.0))


def _memory(innovations: Array, correlation: float) -> Array:
    """A stationary first-order autoregression of variance 1 along the first axis."""
    values = innovations.copy()
    for slot in range(1, len(values)):
        values[slot] = correlation * values[slot - 1] + math.sqrt(1.0 - correlation**2) * values[slot]
    return values
