"""Disjoint parts: they add up to the whole, and a submodel computes what the masked network computes."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import functional_call

import models
from cosim.configuration import ConfigurationError
from cosim.networks.first_values import initial_weights
from cosim.protocols.drawn_parts import draw_parts, even_counts, proportional_counts
from cosim.values.submodels import NetworkShape, Part
from cosim.values.weights import assembled, cut

hidden_sizes = st.lists(st.integers(1, 12), min_size=1, max_size=4)


@st.composite
def splits(draw):
    """A network, its shape, its weights and parts of it."""
    hidden = draw(hidden_sizes)
    sizes = [draw(st.integers(1, 6)), *hidden, draw(st.integers(2, 4))]
    network = models.build(f"{draw(st.sampled_from(['relu', 'mlp']))}-" + "-".join(map(str, sizes)))
    shape = NetworkShape.of(network)
    num_cells = draw(st.integers(1, min(shape.num_units.values())))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    if draw(st.booleans()):
        counts = even_counts(shape.num_units, num_cells)
    else:
        counts = proportional_counts(shape.num_units, rng.dirichlet(np.ones(num_cells)).tolist())
    weights = initial_weights(network, key=draw(st.integers(0, 2**64 - 1)))
    return network, shape, weights, draw_parts(shape.num_units, counts, rng)


def cut_names(shape: NetworkShape) -> set[str]:
    return {name for cuts in shape.unit_groups.values() for name, _ in cuts}


@given(splits())
def test_each_cut_element_is_in_exactly_one_part(split):
    _, shape, weights, parts = split
    num_elements = {name: values.numel() for name, values in weights.items()}
    numbered = {
        name: torch.arange(values.numel(), dtype=torch.float32).view(values.shape)
        for name, values in weights.items()
    }
    pieces = [cut(numbered, shape, part) for part in parts]
    for name in weights:
        held = torch.cat([piece[name].flatten() for piece in pieces]).sort().values
        if name in cut_names(shape):
            assert torch.equal(held, torch.arange(num_elements[name], dtype=torch.float32))
        else:
            assert len(held) == len(parts) * num_elements[name]


@given(splits())
def test_cut_then_assemble_is_the_identity(split):
    _, shape, weights, parts = split
    again = assembled(shape, parts, [cut(weights, shape, part) for part in parts])
    assert list(again) == list(weights)
    assert all(torch.equal(again[name], weights[name]) for name in weights)


@given(splits())
def test_number_of_parameters_without_touching_weights(split):
    _, shape, weights, parts = split
    for part in parts:
        smaller = cut(weights, shape, part)
        assert shape.cut(part) == {name: tuple(values.shape) for name, values in smaller.items()}
        assert shape.num_parameters(part) == sum(values.numel() for values in smaller.values())
    num_whole = sum(weights[name].numel() for name in weights.keys() - cut_names(shape))
    assert sum(map(shape.num_parameters, parts)) == shape.num_parameters() + (len(parts) - 1) * num_whole


@given(splits())
def test_submodel_computes_what_the_masked_network_computes(split):
    network, shape, weights, parts = split
    num_inputs = next(iter(weights.values())).shape[1]
    x_BD = torch.randn(5, num_inputs, generator=torch.Generator().manual_seed(1))
    for part in parts:
        masked = {name: values.clone() for name, values in weights.items()}
        for group, cuts in shape.unit_groups.items():
            others = torch.tensor([u for u in range(shape.num_units[group]) if u not in part.units[group]])
            for name, axis in cuts:
                masked[name].index_fill_(axis, others.long(), 0.0)
        by_part = functional_call(network, cut(weights, shape, part), (x_BD,))
        torch.testing.assert_close(by_part, functional_call(network, masked, (x_BD,)), rtol=1e-5, atol=1e-6)


@given(
    total=st.integers(1, 400),
    relative=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=20).map(np.array),
)
def test_counts_follow_the_fractions(total: int, relative: np.ndarray):
    fractions = relative / relative.sum()
    if len(fractions) > total:
        with pytest.raises(ConfigurationError, match="fewer cells"):
            proportional_counts({"hidden1": total}, fractions.tolist())
        return
    counts = np.array(proportional_counts({"hidden1": total}, fractions.tolist())["hidden1"])
    assert counts.sum() == total
    assert counts.min() >= 1
    if (fractions * total >= 1).all():
        assert (np.abs(counts - fractions * total) < 1 + 1e-6).all()


@given(total=st.integers(1, 1000), num_cells=st.integers(1, 60))
def test_even_counts_differ_by_one_at_most(total: int, num_cells: int):
    if num_cells <= total:
        counts = even_counts({"hidden1": total}, num_cells)["hidden1"]
        assert sum(counts) == total
        assert max(counts) - min(counts) <= 1
        assert list(counts) == sorted(counts, reverse=True)


def test_quarters_of_the_paper_network():
    shape = NetworkShape.of(models.build("relu-784-300-10"))
    parts = draw_parts(shape.num_units, even_counts(shape.num_units, 4), np.random.default_rng(1))
    assert [shape.num_parameters(part) for part in parts] == [238_200 // 4] * 4


def test_parts_are_random_and_determined_by_the_generator():
    def draw(seed: int) -> list[int]:
        parts = draw_parts({"h": 100}, {"h": (40, 60)}, np.random.default_rng(seed))
        assert [len(p.units["h"]) for p in parts] == [40, 60]
        return parts[0].units["h"].tolist()

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    assert draw(1) != list(range(40))


def test_every_unit_is_as_likely_in_every_cell():
    rng = np.random.default_rng(7)
    in_first = sum(
        np.isin(np.arange(8), draw_parts({"h": 8}, {"h": (2, 6)}, rng)[0].units["h"]) for _ in range(4000)
    )
    deviation = (np.asarray(in_first) - 1000) / np.sqrt(4000 * 0.25 * 0.75)
    assert np.abs(deviation).max() < 4.0  # 99.95 % for all eight together


@pytest.mark.parametrize(
    ("counts", "complaint"),
    [
        ({"h": (3, 3)}, "sum to 5"),
        ({"h": (5, 0)}, "at least 1"),
        ({"g": (2, 3)}, "each of"),
        ({}, "each of"),
        ({"h": (1,) * 6}, "6 cells for the 5 units"),
    ],
)
def test_bad_counts_are_refused(counts: dict[str, tuple[int, ...]], complaint: str):
    with pytest.raises(ConfigurationError, match=complaint):
        draw_parts({"h": 5}, counts, np.random.default_rng(1))


@pytest.mark.parametrize("fractions", [[0.5, 0.4], [1.0, 0.0], [1.5, -0.5], [], [float("nan"), 1.0]])
def test_bad_fractions_are_refused(fractions: list[float]):
    with pytest.raises(ConfigurationError, match="sum to 1"):
        proportional_counts({"h": 5}, fractions)


def test_more_cells_than_units_is_refused():
    with pytest.raises(ConfigurationError, match="6 cells for the 5 units of 'h'"):
        even_counts({"h": 5}, 6)
    with pytest.raises(ConfigurationError, match="at least one"):
        even_counts({"h": 5}, 0)


def test_a_network_without_groups_cannot_be_split():
    shape = NetworkShape.of(models.build("relu-5-2"))
    with pytest.raises(ConfigurationError, match="cannot be split"):
        draw_parts(shape.num_units, even_counts(shape.num_units, 2), np.random.default_rng(1))


@pytest.mark.parametrize("units", [[], [1, 0], [0, 0], [-1, 2], [[0, 1]]])
def test_bad_parts_are_refused(units: list[int]):
    with pytest.raises(ConfigurationError, match="rising order"):
        Part({"h": units})


def test_a_part_cannot_be_changed():
    part = Part({"h": np.array([0, 2])})
    with pytest.raises(ValueError, match="read-only"):
        part.units["h"][0] = 1


@pytest.mark.parametrize(
    ("groups", "complaint"),
    [
        ({"h": (("w", 2),)}, "no axis 2"),
        ({"h": (("v", 0),)}, "no axis 0 of a tensor 'v'"),
        ({"g": (("w", 0),), "h": (("w", 1),)}, "'g' and 'h' cut 'w'"),
        ({"h": (("w", 0), ("u", 0))}, "differ in length"),
    ],
)
def test_bad_declarations_are_refused(groups: dict[str, tuple[tuple[str, int], ...]], complaint: str):
    with pytest.raises(ConfigurationError, match=complaint):
        NetworkShape({"w": (3, 4), "u": (5,)}, groups)


def test_a_part_of_another_network_is_refused():
    shape = NetworkShape({"w": (3, 4)}, {"h": (("w", 0),)})
    with pytest.raises(ConfigurationError, match="no such unit"):
        shape.num_parameters(Part({"h": [0, 3]}))
    with pytest.raises(ConfigurationError, match="of groups"):
        shape.num_parameters(Part({"g": [0, 2]}))
