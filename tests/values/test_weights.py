"""Weights: drawn from a key, assembled over a base, summed without losing digits."""

import pytest
import torch
from torch import nn

import models
from cosim.configuration import ConfigurationError
from cosim.networks.first_values import initial_weights
from cosim.values.submodels import NetworkShape, Part
from cosim.values.weights import WeightedSum, assembled, cut, own_copy

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


def test_the_first_term_of_a_sum_has_the_bits_of_an_addition_to_zeros():
    generator = torch.Generator().manual_seed(1)
    values = torch.cat((torch.tensor([0.0, -0.0, 1e-45, -1e-45]), torch.randn(2**15, generator=generator)))
    for coefficient in (0.3712, -0.3712, 1.0):
        running = WeightedSum()
        running.add(coefficient, {"w": values, "turned": values.view(2, -1).t()})
        wanted = torch.zeros(values.shape, dtype=torch.float64).add_(values, alpha=coefficient)
        assert torch.equal(running.total["w"].view(torch.int64), wanted.view(torch.int64))
        assert torch.equal(running.total["turned"], wanted.view(2, -1).t())
        assert running.total["turned"].is_contiguous()


def test_a_sum_takes_nothing_over_from_what_is_added():
    values = torch.ones(3, dtype=torch.float64)
    running = WeightedSum()
    running.add(1.0, {"w": values})
    running.add(2.0, {"w": values})
    assert values.tolist() == [1.0] * 3
    assert running.total["w"].tolist() == [3.0] * 3


def test_a_copy_has_its_own_hooks_and_weights():
    network = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
    network[1].requires_grad_(False)
    network[0].register_forward_hook(lambda *_: None)
    own = own_copy(network)
    own[0].register_forward_hook(lambda *_: None)
    own[1].register_forward_pre_hook(lambda *_: None)
    own.register_full_backward_hook(lambda *_: None)
    hooks = ["_forward_hooks", "_forward_pre_hooks", "_backward_hooks"]
    held = [
        [len(getattr(layer, name)) for name in hooks] for net in (network, own) for layer in net.modules()
    ]
    assert held == [[0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1], [2, 0, 0], [0, 1, 0]]
    assert own[1].weight is network[1].weight
    assert own[0].weight.data_ptr() != network[0].weight.data_ptr()
