"""Weights: drawn from a key, assembled over a base, summed without losing digits."""

import pytest
import torch

import models
from cosim.configuration import ConfigurationError
from cosim.networks.first_values import initial_weights
from cosim.values.submodels import NetworkShape, Part
from cosim.values.weights import WeightedSum, assembled, cut

pytestmark = pytest.mark.quick


def test_initial_weights_follow_the_key_and_move_no_global_generator():
    network = models.build("mlp-6-5-3")
    before = {name: p.detach().clone() for name, p in network.named_parameters()}
    state = torch.get_rng_state()
    first, again, other = (initial_weights(network, key) for key in (3, 3, 2**64 - 1))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(before[name], p) for name, p in network.named_parameters())
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert all(not torch.equal(first[name], other[name]) for name in first)
    assert first["layers.0.weight"].abs().max() <= 6**-0.5


SHAPE = NetworkShape.of(models.build("mlp-3-4-2"))
EVEN, ODD = Part({"hidden1": [0, 2]}), Part({"hidden1": [1, 3]})


def filled(value: float) -> dict[str, torch.Tensor]:
    return {name: torch.full(size, value) for name, size in SHAPE.parameters.items()}


def test_whole_parameters_are_averaged_over_parts():
    full = assembled(SHAPE, [EVEN, ODD], [cut(filled(1.0), SHAPE, EVEN), cut(filled(4.0), SHAPE, ODD)])
    assert full["layers.0.bias"].tolist() == [1.0, 4.0, 1.0, 4.0]
    assert full["layers.0.weight"].tolist() == [[1.0] * 3, [4.0] * 3, [1.0] * 3, [4.0] * 3]
    assert full["layers.1.weight"].tolist() == [[1.0, 4.0, 1.0, 4.0]] * 2
    assert full["layers.1.bias"].tolist() == [2.5, 2.5]


def test_a_missing_part_keeps_the_base():
    base = filled(9.0)
    full = assembled(SHAPE, [ODD], [cut(filled(4.0), SHAPE, ODD)], base)
    assert full["layers.0.bias"].tolist() == [9.0, 4.0, 9.0, 4.0]
    assert full["layers.1.bias"].tolist() == [4.0, 4.0]
    assert base["layers.0.bias"].tolist() == [9.0] * 4


def test_parts_that_overlap_or_leave_gaps_are_refused():
    smaller = cut(filled(1.0), SHAPE, EVEN)
    with pytest.raises(ConfigurationError, match="overlap"):
        assembled(SHAPE, [EVEN, EVEN], [smaller, smaller])
    with pytest.raises(ConfigurationError, match="Give the base model"):
        assembled(SHAPE, [EVEN], [smaller])


def test_sums_keep_the_digits_of_a_small_difference():
    start, step = torch.full((1,), 1000.0), torch.full((1,), 1000.0 + 2**-13)
    running = WeightedSum()
    for _ in range(1000):
        running.add(1e-3, {"w": step})
    running.add(-1.0, {"w": start})
    assert running.total["w"].item() == pytest.approx(2**-13, rel=1e-6)
    assert step.item() == 1000.0 + 2**-13


def test_sums_of_different_shapes_are_refused():
    running = WeightedSum()
    running.add(1.0, cut(filled(1.0), SHAPE, EVEN))
    with pytest.raises(ConfigurationError, match="cannot be added"):
        running.add(1.0, filled(1.0))


def test_a_sum_in_pieces_has_the_bits_of_one_addition():
    for size in ((300, 784), (301, 787), (2**14 + 1,)):
        generator = torch.Generator().manual_seed(1)
        values = torch.randn(size, generator=generator)
        whole = torch.randn(size, dtype=torch.float64, generator=generator)
        running = WeightedSum({"w": whole.clone()})
        running.add(0.3712, {"w": values})
        assert torch.equal(running.total["w"], whole.add_(values, alpha=0.3712))
