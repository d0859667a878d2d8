"""Statistics of what is summed over units: a part has its share of them, and disjoint parts add up."""

import numpy as np
import pytest
import torch
from data_sets import loaded
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import conv2d

import models
from cosim import ConfigurationError, Digits, Sgd
from cosim.engine.learning.learner import Learner
from cosim.protocols.combinations import AssembledModel, Submodel
from cosim.protocols.drawn_parts import draw_parts, even_counts
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate
from cosim.values.submodels import NetworkShape
from cosim.values.weights import assembled, cut

NETWORK = models.build("resnet18grey-4-8-10")
SHAPE = NetworkShape.of(NETWORK)


def some_weights(seed: int) -> dict[str, torch.Tensor]:
    rng = torch.Generator().manual_seed(seed)
    return {name: torch.rand(size, generator=rng) for name, size in SHAPE.tensors.items()}


def parts_of(seed: int, num_cells: int):
    counts = even_counts(SHAPE.num_units, num_cells)
    return draw_parts(SHAPE.num_units, counts, np.random.default_rng(seed))


@given(seed=st.integers(0, 2**32), num_cells=st.integers(1, 4))
@settings(max_examples=20)
def test_disjoint_parts_of_a_resnet_add_up_to_the_whole(seed, num_cells):
    weights, parts = some_weights(seed), parts_of(seed, num_cells)
    smaller = [cut(weights, SHAPE, part) for part in parts]
    for name, values in assembled(SHAPE, parts, smaller).items():
        torch.testing.assert_close(values, weights[name], rtol=1e-6, atol=1e-7)
    for part, values in zip(parts, smaller, strict=True):
        share = len(part.units["layer2.1"]) / 8
        torch.testing.assert_close(
            values["layer2.1.bn2.running_var"], share * weights["layer2.1.bn2.running_var"]
        )


def test_the_sum_is_what_the_whole_layer_sees():
    """The mean that a normalisation after conv2 sees is the sum of what it sees in the parts."""
    weights, parts = some_weights(3), parts_of(3, 2)
    inner = torch.rand(50, 4, 8, 8, generator=torch.Generator().manual_seed(4))
    for name in ("running_mean", "running_var"):
        weights[f"layer1.0.bn2.{name}"] = torch.zeros(4)
    whole = conv2d(inner, weights["layer1.0.conv2.weight"], padding=1)
    smaller = [cut(weights, SHAPE, part) for part in parts]
    for part, values in zip(parts, smaller, strict=True):
        seen = conv2d(inner[:, part.units["layer1.0"].tolist()], values["layer1.0.conv2.weight"], padding=1)
        values["layer1.0.bn2.running_mean"] = seen.mean((0, 2, 3))
    found = assembled(SHAPE, parts, smaller)["layer1.0.bn2.running_mean"]
    torch.testing.assert_close(found, whole.mean((0, 2, 3)), rtol=1e-5, atol=1e-5)


def test_units_that_no_part_holds_keep_their_share_of_the_base():
    weights, base = some_weights(5), some_weights(6)
    parts = parts_of(5, 4)
    found = assembled(SHAPE, parts[:3], [cut(weights, SHAPE, part) for part in parts[:3]], base)
    name = "layer3.0.bn2.running_mean"
    torch.testing.assert_close(found[name], 0.75 * weights[name] + 0.25 * base[name])


def test_a_trained_model_is_evaluated_as_it_was_trained():
    """The assembled model's normalisation fits what its sums are; with averages the loss is far above."""
    learner = Learner(NETWORK, loaded(Digits()), num_workers=2)
    model = learner.initial_model(key=1)
    for number in range(3):
        parts = parts_of(number, 4)
        updates = [
            PendingUpdate(
                client=f"client-{cell}",
                model=Submodel(model, part),
                samples=np.arange(300 * cell, 300 * cell + 300),
                num_steps=40,
                training=Sgd(batch_size=20, learning_rate=0.05),
                key=number,
            )
            for cell, part in enumerate(parts)
        ]
        model = AssembledModel(parts, [mean([update]) for update in updates])
    summed = learner.evaluate(model)["loss_nats"]
    weights = learner.weights(model)
    for name in SHAPE.summed_statistics:
        weights[name] = weights[name] / 4
    averaged = learner.evaluate(learner.stored_model(weights))["loss_nats"]
    assert averaged > 3.0 * summed


@pytest.mark.parametrize(
    "summed", [{"bn.weight": "units"}, {"bn.running_mean": "others"}, {"inner.running_mean": "units"}]
)
def test_what_is_no_statistic_of_a_sum_is_refused(summed):
    shapes = {"a.weight": (4, 3), "b.weight": (2, 4), "bn.weight": (2,)}
    statistics = {"bn.running_mean": (2,), "inner.running_mean": (4,)}
    groups = {"units": (("a.weight", 0), ("inner.running_mean", 0), ("b.weight", 1))}
    NetworkShape(shapes, groups, 0, statistics, {"bn.running_mean": "units"})
    with pytest.raises(ConfigurationError, match="must be a running statistic that no group cuts"):
        NetworkShape(shapes, groups, 0, statistics, summed)
