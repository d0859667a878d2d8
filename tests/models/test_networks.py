"""Networks by name, and what they declare about their units."""

import pytest
import torch

import models
from cosim.values.submodels import NetworkShape

pytestmark = pytest.mark.quick


def test_the_paper_network_has_its_size():
    network = models.build("relu-784-300-10")
    num_parameters = sum(p.numel() for p in network.parameters())
    assert num_parameters == 784 * 300 + 300 * 10 == 238_200
    assert round(4 * num_parameters / 2**20, 3) == 0.909


def test_forward_is_matrices_and_relu():
    network = models.build("relu-5-4-3-2")
    x_BD = torch.randn(7, 5, generator=torch.Generator().manual_seed(1))
    first, second, third = (p.detach() for p in network.parameters())
    by_hand = (x_BD @ first.T).clamp(min=0) @ second.T
    torch.testing.assert_close(network(x_BD), by_hand.clamp(min=0) @ third.T)


def test_mlp_adds_biases():
    assert [tuple(p.shape) for p in models.build("mlp-64-32-10").parameters()] == [
        (32, 64),
        (32,),
        (10, 32),
        (10,),
    ]


def test_dropout_leaves_half_of_the_hidden_units_twice_as_large():
    """In training; what is tested is the whole network."""
    network, whole = models.build("mlpdropout-5-1000-2"), models.build("mlp-5-1000-2")
    whole.load_state_dict(network.state_dict())
    x_BD = torch.randn(1, 5, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(network.eval()(x_BD), whole(x_BD))
    hidden: list[torch.Tensor] = []
    network.layers[1].register_forward_pre_hook(lambda _, inputs: hidden.append(inputs[0]))
    network.train()(x_BD)
    units = torch.relu(whole.layers[0](x_BD))
    kept = hidden[0] > 0
    torch.testing.assert_close(hidden[0][kept], 2 * units[kept])
    assert 0.4 < kept.sum() / (units > 0).sum() < 0.6


@pytest.mark.parametrize("family", ["relu", "mlp", "mlpdropout"])
@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ("5-2", {}),
        ("5-4-2", {"hidden1": 4}),
        ("5-4-3-2", {"hidden1": 4}),
        ("5-4-3-6-2", {"hidden1": 4, "hidden3": 6}),
    ],
)
def test_every_second_hidden_layer_is_a_group(family: str, sizes: str, groups: dict[str, int]):
    assert NetworkShape.of(models.build(f"{family}-{sizes}")).num_units == groups


@pytest.mark.parametrize("family", ["relu", "mlp"])
@pytest.mark.parametrize("sizes", ["5-2", "5-4-3-2"])
def test_declared_layers_with_relu_between_are_the_forward_pass(family: str, sizes: str):
    network = models.build(f"{family}-{sizes}")
    values = dict(network.named_parameters())
    assert [n for layer in network.relu_layers for n in layer if n is not None] == list(values)
    x_BD = torch.randn(7, 5, generator=torch.Generator().manual_seed(1))
    by_hand = x_BD
    for depth, (weight, bias) in enumerate(network.relu_layers):
        by_hand = (by_hand.clamp(min=0) if depth > 0 else by_hand) @ values[weight].T
        by_hand = by_hand if bias is None else by_hand + values[bias]
    torch.testing.assert_close(network(x_BD), by_hand)


def test_only_networks_that_are_only_layers_with_relu_declare_them():
    assert models.build("relu-5-4-2").relu_layers == (("layers.0.weight", None), ("layers.1.weight", None))
    assert not hasattr(models.build("vertical-5-4-3-2"), "relu_layers")
    assert not hasattr(models.build("horizontal-4-3-2"), "relu_layers")


@pytest.mark.parametrize("name", ["", "relu", "relu-5", "relu-5-0-2", "relu-5-x-2", "relu--5-2", "cnn-5-2"])
def test_unknown_names_list_what_is_known(name: str):
    with pytest.raises(ValueError, match=r"Known: \"relu-<inputs>.*\"mlp-<inputs>"):
        models.build(name)
