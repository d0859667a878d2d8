"""Pending models and updates: what they refuse, and that nothing is computed by asking."""

import numpy as np
import pytest

from cosim.configuration import ConfigurationError
from cosim.protocols.combinations import AssembledModel, mean_of_models
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingUpdate
from cosim.values.submodels import Part
from scenarios.papers.rawhfl.accumulated import accumulate

pytestmark = pytest.mark.quick

GOOD = {
    "client": "c",
    "model": PendingModel(),
    "samples": np.arange(5),
    "num_steps": 2,
    "training": Sgd(batch_size=3, learning_rate=0.1),
    "key": 1,
}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("samples", np.array([], dtype=int)),
        ("samples", np.array([0.5])),
        ("samples", np.array([[1]])),
        ("num_steps", 0),
        ("num_steps", 2.0),
        ("training", 0.1),
        ("key", -1),
        ("key", 2**64),
    ],
)
def test_bad_updates_are_refused(field: str, value: object):
    with pytest.raises(ConfigurationError, match=rf"PendingUpdate\.{field} = .*must be"):
        PendingUpdate(**(GOOD | {field: value}))


def test_an_update_keeps_the_samples_of_its_instant():
    samples = np.arange(5)
    update = PendingUpdate(**(GOOD | {"samples": samples}))
    view = PendingUpdate(**(GOOD | {"samples": samples[:3]}))
    samples[:] = 7
    assert update.samples.tolist() == [0, 1, 2, 3, 4]
    assert view.samples.tolist() == [0, 1, 2]
    assert PendingUpdate(**(GOOD | {"samples": update.samples})).samples is update.samples


def test_mean_divides_by_the_sum_of_weights():
    updates = [PendingUpdate(**GOOD) for _ in range(3)]
    assert mean(updates).coefficients == (1 / 3, 1 / 3, 1 / 3)
    assert mean(updates, weights=[1, 0, 3]).coefficients == (0.25, 0.0, 0.75)


@pytest.mark.parametrize(
    "weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]]
)
def test_bad_weights_are_refused(weights: list[float]):
    with pytest.raises(ConfigurationError, match="must be 2 numbers"):
        mean_of_models([PendingModel(), PendingModel()], weights)


def test_a_mean_of_nothing_is_refused():
    with pytest.raises(ConfigurationError, match="no models to take the mean of"):
        mean([])
    with pytest.raises(ConfigurationError, match="no models to take the mean of"):
        mean_of_models([])


@pytest.mark.parametrize("coefficients", [[1.0], [1.0, float("nan")], [float("inf"), 1.0], [1.0, 1.0, 1.0]])
def test_bad_coefficients_are_refused(coefficients: list[float]):
    updates = [PendingUpdate(**GOOD) for _ in range(2)]
    with pytest.raises(ConfigurationError, match="must be 2 finite numbers"):
        accumulate(GOOD["model"], updates, coefficients)


def test_accumulated_gradients_need_updates_that_start_from_the_model():
    with pytest.raises(ConfigurationError, match="whose gradients could be added"):
        accumulate(GOOD["model"], [], [])
    elsewhere = PendingUpdate(**(GOOD | {"model": PendingModel(), "client": "far"}))
    with pytest.raises(ConfigurationError, match="updates of far start from another model"):
        accumulate(GOOD["model"], [PendingUpdate(**GOOD), elsewhere], [0.5, 0.5])


def test_assemble_wants_one_model_per_part():
    with pytest.raises(ConfigurationError, match="a model for each part"):
        AssembledModel([Part({"h": [0]})], [])
    with pytest.raises(ConfigurationError, match="a model for each part"):
        AssembledModel([], [])


def test_a_long_graph_that_nobody_reads_is_freed_without_recursion():
    model = PendingModel()
    for _ in range(50_000):
        model = mean([PendingUpdate(**(GOOD | {"model": model}))])
    assert model.tensors is None
    del model
