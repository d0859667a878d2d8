"""Places of nodes: sites, rings, areas; which cell a value belongs to; the backhaul by arithmetic."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError
from cosim.names import CLOUD, client_name, edge_name
from cosim.topology.disc import Disc
from cosim.topology.graph import graph_of
from cosim.topology.port import even_cells

pytestmark = pytest.mark.quick

EXACTLY = {"rel": 1e-12, "abs": 0.0}
SIGNIFICANCE = 0.001
RING = Disc(cell_radius_m=400.0, min_distance_m=100.0)


def sites(num_cells: int, radius_m: float) -> list[tuple[float, float]]:
    graph = graph_of(Disc(cell_radius_m=radius_m), (1,) * num_cells, Simulation(seed=1))
    return [graph.nodes[edge_name(cell)]["position_m"] for cell in range(num_cells)]


# --- Sites ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_cells", range(2, 38))
def test_nearest_sites_stand_sqrt_3_radii_apart(num_cells):
    """Of every site, not only of the closest pair: the grid grows without a gap, and no site comes twice."""
    spacing_m = math.sqrt(3.0) * 250.0
    placed = sites(num_cells, 250.0)
    for site in placed:
        nearest_m = min(math.dist(site, other) for other in placed if other is not site)
        assert nearest_m == pytest.approx(spacing_m, **EXACTLY)


@pytest.mark.parametrize(("num_rings", "num_cells"), [(0, 1), (1, 7), (2, 19), (3, 37)])
def test_sites_fill_ring_by_ring_around_the_origin(num_rings, num_cells):
    spacing_m = math.sqrt(3.0) * 500.0
    placed = sites(num_cells, 500.0)
    assert placed[0] == (0.0, 0.0)
    farthest_m = max(math.hypot(*site) for site in placed)
    assert farthest_m == pytest.approx(num_rings * spacing_m, **EXACTLY)
    assert np.mean(placed, axis=0) == pytest.approx([0.0, 0.0], abs=1e-9)


def test_each_inner_site_of_a_full_grid_has_six_neighbours():
    spacing_m = math.sqrt(3.0) * 500.0
    placed = sites(37, 500.0)
    num_links = sum(math.isclose(math.dist(a, b), spacing_m) for a, b in combinations(placed, 2))
    assert num_links == 90  # 3 (3 n² + n) links in a hexagon of n = 3 rings


# --- Graph ------------------------------------------------------------------------------------------------


def test_the_graph_is_a_tree_of_cloud_edges_and_clients():
    graph = graph_of(RING, (2, 0, 3), Simulation(seed=1))
    kinds = [data["kind"] for _, data in graph.nodes(data=True)]
    assert [kinds.count(kind) for kind in ("cloud", "edge", "client")] == [1, 3, 5]
    cells = {client_name(number): cell for number, cell in enumerate((0, 0, 2, 2, 2))}
    assert {frozenset(link) for link in graph.edges} == {
        *(frozenset((CLOUD, edge_name(cell))) for cell in range(3)),
        *(frozenset((edge_name(cell), client)) for client, cell in cells.items()),
    }
    assert {n: d["cell"] for n, d in graph.nodes(data=True) if d["kind"] == "client"} == cells


def test_links_are_as_long_as_their_ends_are_apart():
    graph = graph_of(RING, (5, 5, 5), Simulation(seed=1))
    for a, b, link in graph.edges(data=True):
        apart_m = math.dist(graph.nodes[a]["position_m"], graph.nodes[b]["position_m"])
        assert link["distance_m"] == pytest.approx(apart_m, rel=1e-12, abs=1e-9)


def test_names_sort_as_numbers_do():
    assert [edge_name(3), client_name(42)] == ["edge-03", "client-0042"]
    numbers = range(2000)
    assert sorted(map(client_name, numbers)) == list(map(client_name, numbers))


# --- Places -----------------------------------------------------------------------------------------------


def places(num_clients: int, seed: int = 1) -> np.ndarray:
    """Places of the clients of one cell at the origin, shape (clients, 2), metres."""
    graph = graph_of(RING, (num_clients,), Simulation(seed=seed))
    return np.array([graph.nodes[client_name(number)]["position_m"] for number in range(num_clients)])


@given(
    radius_m=st.floats(1.0, 1e4),
    inner_share=st.floats(0.0, 0.999),
    cell_sizes=st.lists(st.integers(0, 5), min_size=1, max_size=9).filter(any),
    seed=st.integers(0, 99),
)
@settings(max_examples=50)
def test_clients_lie_in_their_ring(radius_m, inner_share, cell_sizes, seed):
    topology = Disc(cell_radius_m=radius_m, min_distance_m=inner_share * radius_m)
    graph = graph_of(topology, cell_sizes, Simulation(seed=seed))
    for name, data in graph.nodes(data=True):
        if data["kind"] == "client":
            distance_m = graph.edges[edge_name(data["cell"]), name]["distance_m"]
            low_m, high_m = topology.min_distance_m, topology.cell_radius_m
            assert low_m * (1.0 - 1e-12) <= distance_m <= high_m * (1.0 + 1e-12)


def uniform_by_area(places_m: np.ndarray) -> np.ndarray:
    """Share of the ring's area within each place's distance: uniform, if the places are."""
    return (np.sum(places_m**2, axis=1) - 100.0**2) / (400.0**2 - 100.0**2)


def turns(places_m: np.ndarray) -> np.ndarray:
    return np.arctan2(places_m[:, 1], places_m[:, 0]) / (2.0 * np.pi) % 1.0


def is_uniform(shares: np.ndarray) -> bool:
    return bool(stats.kstest(shares, "uniform").pvalue > SIGNIFICANCE)


def fills_fields_evenly(places_m: np.ndarray) -> bool:
    """Chi-square over 5 x 8 fields of equal area, which also sees distance and angle hang together."""
    counts, _, _ = np.histogram2d(
        uniform_by_area(places_m), turns(places_m), bins=(5, 8), range=((0, 1), (0, 1))
    )
    return bool(stats.chisquare(counts.ravel()).pvalue > SIGNIFICANCE)


def test_clients_are_uniform_over_the_area_of_the_ring():
    places_m = places(4000)
    assert is_uniform(uniform_by_area(places_m))
    assert is_uniform(turns(places_m))
    assert fills_fields_evenly(places_m)


def test_uniform_distances_would_be_caught():
    """A wrong law: distances uniform from 100 to 400 m crowd the middle."""
    rng = np.random.default_rng(1)
    distances_m, angles = rng.uniform(100.0, 400.0, 4000), rng.uniform(0.0, 2.0 * np.pi, 4000)
    crowded_m = distances_m[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert not is_uniform(uniform_by_area(crowded_m))
    assert not fills_fields_evenly(crowded_m)


def test_a_distance_that_hangs_on_the_angle_would_be_caught():
    share = np.random.default_rng(1).random(4000)
    distances_m = np.sqrt(100.0**2 + (400.0**2 - 100.0**2) * share)
    spiral_m = distances_m[:, None] * np.stack([np.cos(2 * np.pi * share), np.sin(2 * np.pi * share)], axis=1)
    assert is_uniform(uniform_by_area(spiral_m))
    assert not fills_fields_evenly(spiral_m)


def test_adding_clients_moves_nobody_else():
    few, more = places(10), places(50)
    np.testing.assert_array_equal(few, more[:10])
    assert len(np.unique(more, axis=0)) == 50


def test_a_place_hangs_on_the_name_and_not_on_how_many_were_placed_before():
    sim = Simulation(seed=1)
    graph_of(RING, (3,), sim)
    later = graph_of(RING, (5,), sim)
    found_m = [later.nodes[client_name(number)]["position_m"] for number in (3, 4)]
    np.testing.assert_array_equal(found_m, places(5)[3:])


def test_another_cell_keeps_the_offsets_and_another_seed_moves_them():
    """A client's draw hangs on its name: in another cell it stands the same way from its edge server."""
    graph = graph_of(RING, (1, 1), Simulation(seed=1))
    site_m = np.array(graph.nodes["edge-01"]["position_m"])
    offset_m = np.array(graph.nodes["client-0001"]["position_m"]) - site_m
    assert offset_m == pytest.approx(places(2)[1], rel=1e-9)
    assert not np.any(places(10, seed=1) == places(10, seed=2))


def test_a_ring_without_a_place_is_refused():
    with pytest.raises(
        ConfigurationError, match=r"Disc\.min_distance_m = 50: must be below cell_radius_m = 50"
    ):
        Disc(cell_radius_m=50.0, min_distance_m=50.0)


# --- Cells and groups -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("num_clients", "num_cells", "sizes"),
    [(60, 4, (15, 15, 15, 15)), (7, 3, (3, 2, 2)), (8, 3, (3, 3, 2)), (3, 3, (1, 1, 1)), (2, 1, (2,))],
)
def test_even_cells(num_clients, num_cells, sizes):
    assert even_cells(num_clients, num_cells) == sizes


@given(st.integers(1, 500), st.integers(1, 50))
def test_even_cells_lose_nobody(num_clients, num_cells):
    sizes = even_cells(num_clients, num_cells)
    assert (len(sizes), sum(sizes)) == (num_cells, num_clients)
    assert max(sizes) - min(sizes) <= 1
    assert list(sizes) == sorted(sizes, reverse=True)


# --- Backhaul ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delay_s", "rate_bps", "expected_s"),
    [(0.0, None, 0.0), (0.25, None, 0.25), (0.0, 1e6, 8.0), (0.25, 1e6, 8.25), (0.25, 4e6, 2.25)],
)
def test_backhaul_time_by_arithmetic(delay_s, rate_bps, expected_s):
    topology = Disc(backhaul_delay_s=delay_s, backhaul_rate_bps=rate_bps)
    assert topology.backhaul_s(8_000_000) == expected_s
    assert topology.backhaul_s(0) == delay_s
