"""ResNet-18: names and sizes, its parts by other means, and its submodels against the masked network."""

import itertools
import math

import numpy as np
import pytest
import torch
from equal import furthest_from_a_multiple
from torch import nn
from torch.func import functional_call, grad, vmap

from cosim.protocols.drawn_parts import even_counts
from cosim.values.submodels import NetworkShape, Part
from models.resnet import BatchNorm, ResNet18

BLOCKS = [f"layer{stage}.{block}" for stage in (1, 2, 3, 4) for block in (0, 1)]


def tiny(**changes):
    """Widths 4 to 32, for pictures of 8 x 8."""
    return ResNet18(**{"num_classes": 3, "width": 4, "picture_side": 8} | changes)


def doubles(network, seed):
    """Parameters and running statistics far from their first values, in float64."""
    generator = torch.Generator().manual_seed(seed)
    values = {}
    for name, first in network.state_dict().items():
        normal = torch.randn(first.shape, generator=generator, dtype=torch.float64)
        fan_in = max(1, first[0].numel())
        values[name] = normal.abs() + 0.5 if name.endswith("running_var") else normal * fan_in**-0.5
    return values


def pictures(num_pictures, seed, side=8):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(num_pictures, 3 * side * side, generator=generator, dtype=torch.float64) * 2 - 1


def some_channels(network, num_of, seed):
    """Group -> indices; num_of gives their number, from the group's length."""
    generator = torch.Generator().manual_seed(seed)
    values, units = network.state_dict(), {}
    for group, ((name, axis), *_) in network.unit_groups.items():
        length = values[name].shape[axis]
        units[group] = torch.randperm(length, generator=generator)[: num_of(length)].sort().values
    return units


def cut(values, network, units):
    smaller = dict(values)
    for group, cuts in network.unit_groups.items():
        for name, axis in cuts:
            if name in values:
                smaller[name] = values[name].index_select(axis, units[group])
    return smaller


def masked(values, network, units, only=""):
    """Zeros where the part is not; only in the names that end so."""
    left = dict(values)
    for group, cuts in network.unit_groups.items():
        for name, axis in cuts:
            if name.endswith(only):
                kept = values[name].index_select(axis, units[group])
                left[name] = torch.zeros_like(values[name]).index_copy(axis, units[group], kept)
    return left


def split(values):
    """Weights, and copies of the running statistics."""
    weights = {name: value for name, value in values.items() if "running" not in name}
    return weights, {name: value.clone() for name, value in values.items() if "running" in name}


def loss(weights, statistics, network, x_BD, y_B):
    return nn.functional.cross_entropy(functional_call(network, weights | statistics, (x_BD,)), y_B)


def torchvision_shapes():
    """Of resnet18 in torchvision, written down layer by layer; counters are left out."""
    shapes = {"conv1.weight": (64, 3, 7, 7)}

    def add(name, *shape):
        shapes[f"{name}.weight"] = shape

    def add_normalisation(name, channels):
        for statistic in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{name}.{statistic}"] = (channels,)

    add_normalisation("bn1", 64)
    for stage, inputs, outputs in ((1, 64, 64), (2, 64, 128), (3, 128, 256), (4, 256, 512)):
        add(f"layer{stage}.0.conv1", outputs, inputs, 3, 3)
        add_normalisation(f"layer{stage}.0.bn1", outputs)
        add(f"layer{stage}.0.conv2", outputs, outputs, 3, 3)
        add_normalisation(f"layer{stage}.0.bn2", outputs)
        if stage > 1:
            add(f"layer{stage}.0.downsample.0", outputs, inputs, 1, 1)
            add_normalisation(f"layer{stage}.0.downsample.1", outputs)
        add(f"layer{stage}.1.conv1", outputs, outputs, 3, 3)
        add_normalisation(f"layer{stage}.1.bn1", outputs)
        add(f"layer{stage}.1.conv2", outputs, outputs, 3, 3)
        add_normalisation(f"layer{stage}.1.bn2", outputs)
    return shapes | {"fc.weight": (1000, 512), "fc.bias": (1000,)}


# --- sizes ---


def test_names_shapes_and_order_are_torchvisions():
    network = ResNet18(1000, stem="imagenet", picture_side=224)
    found = [(name, tuple(value.shape)) for name, value in network.state_dict().items()]
    assert found == list(torchvision_shapes().items())
    assert sum(p.numel() for p in network.parameters()) == 11_689_512
    assert sum(b.numel() for b in network.buffers()) == 9_600


def test_what_is_cut_and_what_is_whole():
    network = ResNet18(10)
    sizes = {name: value.numel() for name, value in network.state_dict().items()}
    weights = {name: size for name, size in sizes.items() if "running" not in name}
    named = {name for cuts in network.unit_groups.values() for name, _ in cuts}
    assert sum(weights.values()) == 11_173_962
    assert sum(size for name, size in weights.items() if name in named) == 10_989_312
    assert sum(size for name, size in sizes.items() if name in named and name not in weights) == 3_840
    assert round(100 * 10_989_312 / 11_173_962, 1) == 98.3
    assert round(100 * 10_989_312 / 11_689_512, 1) == 94.0


@pytest.mark.parametrize("stem", ["cifar", "imagenet"])
def test_every_block_is_a_group_of_one_length(stem):
    network = tiny(width=5, stem=stem)
    values = network.state_dict()
    lengths = {
        group: {values[name].shape[axis] for name, axis in cuts}
        for group, cuts in network.unit_groups.items()
    }
    assert lengths == {f"layer{s}.{b}": {5 * 2 ** (s - 1)} for s in (1, 2, 3, 4) for b in (0, 1)}
    named = [name for cuts in network.unit_groups.values() for name, _ in cuts]
    assert len(named) == len(set(named)) == 8 * 6


TABLE_2_GB = {  # cells -> HIST at 75 and 80 %, fully non-i.i.d., then i.i.d. across cells
    2: (7.41, 37.06, 5.67, 24.42),
    4: (5.02, 23.11, 3.93, 14.60),
}
TABLE_2_HFEDAVG_GB = (11.34, 61.04, 9.59, 40.98, 13.08, 65.40, 10.46, 43.60)


def test_table_2_counts_the_network_of_1000_outputs_as_if_all_were_cut():
    unit_gb = round(10 * 4 * (11_689_512 + 9_600) / 2**30, 3)
    assert unit_gb == 0.436
    assert furthest_from_a_multiple(TABLE_2_HFEDAVG_GB, unit_gb) < 0.0101
    without_statistics, ten_outputs, decimal = (
        10 * 4 * 11_689_512 / 2**30,
        10 * 4 * (11_173_962 + 9_600) / 2**30,
        10 * 4 * (11_689_512 + 9_600) / 1e9,
    )
    for other_gb in (without_statistics, ten_outputs, decimal):
        assert furthest_from_a_multiple(TABLE_2_HFEDAVG_GB, round(other_gb, 3)) > 0.05
    for num_cells, entries in TABLE_2_GB.items():
        assert furthest_from_a_multiple(entries, unit_gb / num_cells) < 0.0101
        share = 1 - 10_989_312 / 11_689_512 * (1 - 1 / num_cells)
        assert furthest_from_a_multiple(entries, unit_gb * share) > 0.05


# --- the forward pass ---


@pytest.mark.parametrize(
    ("stem", "side", "sides"),
    [
        ("cifar", 32, [32, 32, 16, 8, 4]),
        ("imagenet", 224, [112, 56, 28, 14, 7]),
        ("imagenet", 32, [16, 8, 4, 2, 1]),
    ],
)
def test_sides_of_the_stages(stem, side, sides):
    network, found = tiny(stem=stem, picture_side=side), []
    layers = (network.bn1, network.layer1, network.layer2, network.layer3, network.layer4)
    for layer in layers:
        layer.register_forward_hook(lambda _module, _inputs, maps: found.append(tuple(maps.shape[1:])))
    assert network(pictures(2, seed=0, side=side).float()).shape == (2, 3)
    assert found == [(c, s, s) for c, s in zip([4, 4, 8, 16, 32], sides, strict=True)]


def test_normalisation_is_torchs_but_for_the_counter():
    ours, torchs = BatchNorm(5), nn.BatchNorm2d(5)
    generator = torch.Generator().manual_seed(1)
    fresh = torch.randn(2, 5, generator=generator)
    for layer in (ours, torchs):
        layer.load_state_dict({"weight": fresh[0], "bias": fresh[1]}, strict=False)
    for _ in range(3):
        x_BCHW = 2 + 3 * torch.randn(4, 5, 2, 3, generator=generator)
        torch.testing.assert_close(ours(x_BCHW), torchs(x_BCHW))
    torchs_state = torchs.state_dict()
    assert torchs_state.pop("num_batches_tracked") == 3
    assert list(ours.state_dict()) == list(torchs_state)
    torch.testing.assert_close(dict(ours.state_dict()), dict(torchs_state))
    torch.testing.assert_close(ours.eval()(x_BCHW), torchs.eval()(x_BCHW))
    ours.reset_parameters()
    assert [value.tolist() for value in ours.state_dict().values()] == [[i] * 5 for i in (1, 0, 0, 1)]


def convolved(maps_BCHW, weight, stride, padding):
    """By windows and a matrix product."""
    size = weight.shape[-1]
    windows = nn.functional.pad(maps_BCHW, [padding] * 4)
    windows = windows.unfold(2, size, stride).unfold(3, size, stride)
    return torch.einsum("bcijhw,ochw->boij", windows, weight)


def normalised(maps_BCHW, w, layer):
    weight, bias, mean, var = (
        w[f"{layer}.{n}"][:, None, None] for n in ("weight", "bias", "running_mean", "running_var")
    )
    return (maps_BCHW - mean) / (var + 1e-5).sqrt() * weight + bias


@pytest.mark.parametrize(("stem", "side"), [("cifar", 16), ("imagenet", 64)])
def test_forward_is_sums_over_windows(stem, side):
    network, x_BD = tiny(stem=stem, picture_side=side).eval(), pictures(3, seed=1, side=side)
    w = doubles(network, seed=2)
    maps = x_BD.reshape(3, 3, side, side)
    stride, padding = (2, 3) if stem == "imagenet" else (1, 1)
    maps = normalised(convolved(maps, w["conv1.weight"], stride, padding), w, "bn1").clamp(min=0)
    if stem == "imagenet":
        maps = nn.functional.pad(maps, [1] * 4).unfold(2, 3, 2).unfold(3, 3, 2).amax((4, 5))
    for name in BLOCKS:
        stride = 2 if name in ("layer2.0", "layer3.0", "layer4.0") else 1
        inner = convolved(maps, w[f"{name}.conv1.weight"], stride, 1)
        inner = normalised(inner, w, f"{name}.bn1").clamp(min=0)
        inner = normalised(convolved(inner, w[f"{name}.conv2.weight"], 1, 1), w, f"{name}.bn2")
        if stride == 2:
            maps = convolved(maps, w[f"{name}.downsample.0.weight"], 2, 0)
            maps = normalised(maps, w, f"{name}.downsample.1")
        maps = (maps + inner).clamp(min=0)
    by_hand = maps.mean((2, 3)) @ w["fc.weight"].T + w["fc.bias"]
    torch.testing.assert_close(functional_call(network, w, (x_BD,)), by_hand)


# --- submodels ---

PARTS = {"one channel each": lambda _: 1, "half": lambda length: length // 2, "all but one": lambda n: n - 1}


@pytest.mark.parametrize("num_of", PARTS.values(), ids=PARTS.keys())
@pytest.mark.parametrize("stem", ["cifar", "imagenet"])
def test_a_submodel_is_the_masked_network(stem, num_of):
    network, x_BD = tiny(stem=stem).eval(), pictures(4, seed=3)
    values, units = doubles(network, seed=4), some_channels(network, num_of, seed=5)
    scores = functional_call(network, cut(values, network, units), (x_BD,))
    for only in ("", "conv2.weight", ("bn1.weight", "bn1.bias")):
        large = masked(values, network, units, only)
        torch.testing.assert_close(scores, functional_call(network, large, (x_BD,)))
    for other in (values, masked(values, network, units, "conv1.weight")):
        assert not torch.allclose(scores, functional_call(network, other, (x_BD,)))


def test_training_a_submodel_is_training_the_masked_network():
    """Gradients where the part lives, and what running statistics become."""
    network, x_BD, y_B = tiny().train(), pictures(6, seed=6), torch.tensor([1, 0, 2, 2, 0, 1])
    values, units = doubles(network, seed=7), some_channels(network, lambda length: length // 2, seed=8)
    small, small_statistics = split(cut(values, network, units))
    large, large_statistics = split(masked(values, network, units))
    found = grad(loss)(small, small_statistics, network, x_BD, y_B)
    expected = grad(loss)(large, large_statistics, network, x_BD, y_B)
    torch.testing.assert_close(found, cut(expected, network, units))
    torch.testing.assert_close(small_statistics, cut(large_statistics, network, units))
    moved = cut(values, network, units)
    assert all((new - moved[name]).abs().min() > 0 for name, new in small_statistics.items())


def test_gradients_and_statistics_of_two_clients_at_once_are_those_one_by_one():
    network = tiny().train()
    units = some_channels(network, lambda length: length // 2, seed=9)
    clients = [cut(doubles(network, seed), network, units) for seed in (10, 11)]
    x_CBD, y_CB = pictures(10, seed=12).reshape(2, 5, 192), torch.arange(10).reshape(2, 5) % 3
    stacked = {name: torch.stack([client[name] for client in clients]) for name in clients[0]}
    weights_C, statistics_C = split(stacked)
    found = vmap(grad(loss), in_dims=(0, 0, None, 0, 0))(weights_C, statistics_C, network, x_CBD, y_CB)
    for c, client in enumerate(clients):
        weights, statistics = split(client)
        expected = grad(loss)(weights, statistics, network, x_CBD[c], y_CB[c])
        torch.testing.assert_close({name: found[name][c] for name in found}, expected)
        torch.testing.assert_close({name: statistics_C[name][c] for name in statistics_C}, statistics)


def test_every_layer_with_weights_can_draw_them_anew():
    network = tiny()
    holders = [m for m in network.modules() if next(m.parameters(recurse=False), None) is not None]
    torch.manual_seed(13)
    for layer in holders:
        layer.reset_parameters()
    bound = {type(layer).__name__: [] for layer in holders}
    for layer in holders:
        fan_in = layer.weight[0].numel()
        bound[type(layer).__name__].append(float(layer.weight.detach().abs().max()) * fan_in**0.5)
    assert set(bound) == {"Conv2d", "BatchNorm", "Linear"}
    assert all(0.85 < share <= 1 for share in bound["Conv2d"] + bound["Linear"])


def test_a_plain_dictionary_of_the_state_loads():
    network, state = tiny(), {name: value.clone() for name, value in tiny().state_dict().items()}
    network.load_state_dict(state)
    torch.testing.assert_close(dict(network.state_dict()), state)


def test_unknown_stems_are_refused():
    with pytest.raises(ValueError, match=r"stem = 'caltech': must be cifar or imagenet\."):
        tiny(stem="caltech")


def channels_of(block, before, after):
    """Tensors of a block -> the channels along their axes."""
    inner = f"{block}.between"
    found = {f"{block}.conv1.weight": (inner, before), f"{block}.conv2.weight": (after, inner)}
    for name in ("weight", "bias", "running_mean", "running_var"):
        found |= {f"{block}.bn1.{name}": (inner,), f"{block}.bn2.{name}": (after,)}
        found |= {f"{block}.downsample.1.{name}": (after,)}
    return found | {f"{block}.downsample.0.weight": (after, before)}


@pytest.mark.parametrize(("num_cells", "share"), [(2, 0.53), (4, 0.295)])
def test_no_cut_of_channels_that_cuts_no_tensor_twice_has_smaller_parts(num_cells, share):
    """By all sets of channels: between the convolutions of each block, and passed on by stages."""
    shape = NetworkShape.of(ResNet18(1000, stem="imagenet", picture_side=224))
    axes = {"conv1.weight": ("stream 1",), "fc.weight": ("stream 4",), "fc.bias": ()}
    axes |= {f"bn1.{name}": ("stream 1",) for name in ("weight", "bias", "running_mean", "running_var")}
    for stage in (1, 2, 3, 4):
        before = f"stream {max(1, stage - 1)}"
        axes |= channels_of(f"layer{stage}.0", before, f"stream {stage}")
        axes |= channels_of(f"layer{stage}.1", f"stream {stage}", f"stream {stage}")
    sizes = {name: math.prod(of) for name, of in shape.tensors.items()}
    channels = sorted({channel for of in axes.values() for channel in of})
    parts = {}
    for num in range(len(channels) + 1):
        for chosen in itertools.combinations(channels, num):
            num_cuts = {name: sum(channel in chosen for channel in axes[name]) for name in sizes}
            if max(num_cuts.values()) <= 1:
                parts[chosen] = sum(size / num_cells ** num_cuts[name] for name, size in sizes.items())
    counts = even_counts(shape.num_units, num_cells)
    own = shape.num_values(Part({group: np.arange(of[0]) for group, of in counts.items()}))
    between = tuple(channel for channel in channels if channel.endswith("between"))
    assert own == parts[between] == min(parts.values())
    assert len(parts) > 2 ** len(between)
    assert own / shape.num_values() == pytest.approx(share, abs=5e-4)
