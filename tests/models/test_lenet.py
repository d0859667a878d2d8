"""LeNet-5: its sizes, its forward pass by other means, and its submodels against the masked network."""

import pytest
import torch
from equal import furthest_from_a_multiple
from torch import nn
from torch.func import functional_call, grad, vmap

from models.lenet import LeNet5

NUM_CUT = {2: 58_200, 0: 40_920}
"""Padding -> parameters that the 120 units cut."""


def doubles(network, seed):
    """All weights from a normal distribution, in float64."""
    generator = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(p.shape, generator=generator, dtype=torch.float64) * p.shape[-1] ** -0.5
        for name, p in network.named_parameters()
    }


def pictures(num_pictures, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(num_pictures, 784, generator=generator, dtype=torch.float64) * 2 - 1


def some_units(num_units, seed):
    return torch.randperm(120, generator=torch.Generator().manual_seed(seed))[:num_units].sort().values


def cut(values, network, units):
    cuts = dict(network.unit_groups["fc1"])
    return {k: v.index_select(cuts[k], units) if k in cuts else v for k, v in values.items()}


def masked(values, network, units):
    left = dict(values)
    for name, axis in network.unit_groups["fc1"]:
        left[name] = torch.zeros_like(values[name]).index_copy(
            axis, units, values[name].index_select(axis, units)
        )
    return left


def loss(weights, network, x_BD, y_B):
    return nn.functional.cross_entropy(functional_call(network, weights, (x_BD,)), y_B)


@pytest.mark.parametrize(("padding", "num_dense"), [(2, 59_134), (0, 41_854)])
def test_parameters_are_those_of_the_paper(padding, num_dense):
    network = LeNet5(padding=padding)
    counts = {name: p.numel() for name, p in network.named_parameters()}
    convolutions = sum(count for name, count in counts.items() if name.startswith("conv"))
    assert (convolutions, sum(counts.values())) == (2572, 2572 + num_dense)
    assert sum(counts[name] for name in ("fc1.weight", "fc1.bias", "fc2.weight")) == NUM_CUT[padding]
    assert sum(p.numel() for p in LeNet5(47, padding).parameters()) == 2572 + num_dense + 37 * 85
    assert list(network.state_dict()) == list(counts)


def test_shares_are_those_of_the_docstring():
    assert round(100 * 59_134 / 61_706, 1) == 95.8
    assert round(100 * NUM_CUT[2] / 61_706, 1) == 94.3
    assert round(100 * NUM_CUT[0] / 44_426, 1) == 92.1


@pytest.mark.parametrize(("padding", "per_unit"), [(2, 485), (0, 341)])
def test_a_part_has_so_many_parameters(padding, per_unit):
    network = LeNet5(padding=padding)
    (group,) = network.unit_groups.values()
    values = dict(network.named_parameters())
    assert {values[name].shape[axis] for name, axis in group} == {120}
    for num_units in (1, 7, 120):
        part = cut(values, network, torch.arange(num_units))
        assert sum(p.numel() for p in part.values()) == 3506 + per_unit * num_units


TABLE_1_MB = {  # cells -> HIST at 70 and 80 %, fully non-i.i.d., then i.i.d. across cells
    2: (13.20, 115.30, 4.40, 38.72),
    4: (8.08, 76.06, 3.32, 24.72),
}
TABLE_1_HFEDAVG_MB = (23.66, 206.18, 6.76, 86.20, 20.28, 246.74, 11.84, 89.58)


def test_table_1_counts_the_unpadded_network_and_the_padded_share():
    unit_mb = round(10 * 4 * 44_426 / 2**20, 2)
    assert unit_mb == 1.69
    assert furthest_from_a_multiple(TABLE_1_HFEDAVG_MB, unit_mb) < 0.0101
    for num_cells, entries in TABLE_1_MB.items():
        share = (2572 + 59_134 / num_cells) / 61_706
        assert furthest_from_a_multiple(entries, unit_mb * share) < 0.0101
        others = {
            "all is cut": 1 / num_cells,
            "the unpadded network's share": (2572 + 41_854 / num_cells) / 44_426,
            "what units cut, padded": (3506 + NUM_CUT[2] / num_cells) / 61_706,
            "what units cut, unpadded": (3506 + NUM_CUT[0] / num_cells) / 44_426,
        }
        for name, other in others.items():
            assert furthest_from_a_multiple(entries, unit_mb * other) > 0.05, name


def patches(maps_BCHW, size):
    """Every window of size x size, shape (batch, rows, columns, channels * size * size)."""
    windows = maps_BCHW.unfold(2, size, 1).unfold(3, size, 1)
    return windows.permute(0, 2, 3, 1, 4, 5).flatten(3)


def pooled(maps_BHWC):
    batch, rows, columns, channels = maps_BHWC.shape
    return maps_BHWC.reshape(batch, rows // 2, 2, columns // 2, 2, channels).amax((2, 4))


@pytest.mark.parametrize("padding", [0, 2])
def test_forward_is_matrices_over_windows(padding):
    network, x_BD = LeNet5(padding=padding), pictures(3, seed=1)
    w = doubles(network, seed=2)
    maps_BCHW = torch.zeros(3, 1, 28 + 2 * padding, 28 + 2 * padding, dtype=torch.float64)
    maps_BCHW[:, 0, padding : padding + 28, padding : padding + 28] = x_BD.reshape(3, 28, 28)
    for layer in ("conv1", "conv2"):
        sums = patches(maps_BCHW, 5) @ w[f"{layer}.weight"].flatten(1).T + w[f"{layer}.bias"]
        maps_BCHW = pooled(sums.clamp(min=0)).permute(0, 3, 1, 2)
    units = maps_BCHW.reshape(3, -1)
    for layer in ("fc1", "fc2"):
        units = (units @ w[f"{layer}.weight"].T + w[f"{layer}.bias"]).clamp(min=0)
    by_hand = units @ w["fc3.weight"].T + w["fc3.bias"]
    torch.testing.assert_close(functional_call(network, w, (x_BD,)), by_hand)


@pytest.mark.parametrize("padding", [0, 2])
@pytest.mark.parametrize("num_units", [1, 30, 60, 100])
def test_a_submodel_is_the_masked_network_and_so_are_its_gradients(padding, num_units):
    network, x_BD, y_B = LeNet5(padding=padding), pictures(4, seed=3), torch.tensor([1, 0, 9, 4])
    values, units = doubles(network, seed=4), some_units(num_units, seed=5)
    small, large = cut(values, network, units), masked(values, network, units)
    scores = functional_call(network, small, (x_BD,))
    torch.testing.assert_close(scores, functional_call(network, large, (x_BD,)))
    assert not torch.allclose(scores, functional_call(network, values, (x_BD,)))
    found = grad(loss)(small, network, x_BD, y_B)
    expected = cut(grad(loss)(large, network, x_BD, y_B), network, units)
    torch.testing.assert_close(found, expected)
    assert all(gradient.abs().max() > 0 for gradient in found.values())


def test_gradients_of_two_clients_at_once_are_those_one_by_one():
    network, units = LeNet5(), some_units(60, seed=6)
    clients = [cut(doubles(network, seed), network, units) for seed in (7, 8)]
    stacked = {name: torch.stack([client[name] for client in clients]) for name in clients[0]}
    x_CBD, y_CB = pictures(10, seed=9).reshape(2, 5, 784), torch.arange(10).reshape(2, 5)
    found = vmap(grad(loss), in_dims=(0, None, 0, 0))(stacked, network, x_CBD, y_CB)
    for c, client in enumerate(clients):
        expected = grad(loss)(client, network, x_CBD[c], y_CB[c])
        torch.testing.assert_close({name: found[name][c] for name in found}, expected)


@pytest.mark.parametrize("padding", [1, -2])
def test_other_paddings_are_refused(padding):
    with pytest.raises(ValueError, match=rf"padding = {padding}: must be 0 or 2\."):
        LeNet5(padding=padding)
