"""The learner: equal to a sequential loop, lazy, frugal, and the same whatever the number of workers."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest
import torch
from equal import assert_same_bits
from sgd_loop import trained_by_sgd
from torch import nn

import models
from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.engine.learning import resolver as resolver_module
from cosim.engine.learning.cohorts import WORKING_SETS, WorkingSet, cohorts
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.levels import levels
from cosim.protocols.combinations import AssembledModel, Submodel, mean_of_models
from cosim.protocols.drawn_parts import draw_parts, even_counts
from cosim.training.programs import sgd
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingUpdate
from scenarios.papers.rawhfl.accumulated import accumulate

NUM_FEATURES, NUM_CLASSES = 12, 4


def tiny_dataset() -> Dataset:
    rng = np.random.default_rng(5)
    centres = rng.standard_normal((NUM_CLASSES, NUM_FEATURES))

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        y = rng.integers(0, NUM_CLASSES, count)
        return (centres[y] + rng.standard_normal((count, NUM_FEATURES))).astype(np.float32), y

    (train_x, train_y), (test_x, test_y) = draw(600), draw(2300)
    return Dataset(
        name="tiny", train_x=train_x, train_y=train_y, test_x=test_x, test_y=test_y, num_classes=NUM_CLASSES
    )


DATA = tiny_dataset()
NETWORKS = ("relu-12-9-4", "relu-12-9-8-4", "mlp-12-9-8-4")


def a_learner(name: str = "relu-12-9-4", num_workers: int = 2) -> Learner:
    return Learner(models.build(name), DATA, num_workers=num_workers)


def an_update(start: PendingModel, i: int, **changes) -> PendingUpdate:
    work = {"num_steps": 5, "training": Sgd(batch_size=8, learning_rate=0.2), "key": i}
    samples = np.arange(20 * i % 500, 20 * i % 500 + 30)
    return PendingUpdate(client=f"client{i:03}", model=start, samples=samples, **(work | changes))


def train_alone(name: str, start: dict[str, np.ndarray], update: PendingUpdate) -> dict[str, np.ndarray]:
    """One client's training by torch.optim.SGD on the unit rows and columns that its weights have."""
    first, *rest = (values.shape[0] for n, values in start.items() if n.endswith("weight"))
    network = models.build("-".join(map(str, (name.split("-")[0], NUM_FEATURES, first, *rest))))
    network.load_state_dict({n: torch.tensor(values) for n, values in start.items()})
    return weights_of(trained_by_sgd(network, update, DATA.train_x, DATA.train_y))


def weights_of(network: nn.Module) -> dict[str, np.ndarray]:
    return {n: p.detach().numpy() for n, p in network.named_parameters()}


def assert_close(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert list(found) == list(expected)
    for name in found:
        assert found[name].dtype == np.float32
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=2e-6, err_msg=name)


def weighted(terms: list[tuple[float, dict[str, np.ndarray]]]) -> dict[str, np.ndarray]:
    return {n: sum(c * values[n] for c, values in terms) for n in terms[0][1]}


@pytest.mark.parametrize("name", NETWORKS)
def test_two_rounds_equal_a_sequential_loop(name: str):
    learner = a_learner(name)
    model = learner.initial_model(key=3)
    expected = learner.weights(model)
    shares = np.arange(1, 8) / 28
    for round_ in range(2):
        updates = [an_update(model, i, num_steps=3 + i % 3, key=10 * round_ + i) for i in range(7)]
        expected = weighted(
            [(share, train_alone(name, expected, u)) for share, u in zip(shares, updates, strict=True)]
        )
        model = mean(updates, weights=list(range(1, 8)))
    assert_close(learner.weights(model), expected)


@pytest.mark.parametrize("name", NETWORKS)
def test_submodels_over_cells_equal_a_sequential_loop(name: str):
    learner = a_learner(name)
    model = learner.initial_model(key=3)
    full = learner.weights(model)
    rng = np.random.default_rng(1)
    parts = draw_parts(learner.shape.num_units, even_counts(learner.shape.num_units, 2), rng)
    cells, expected = [], {n: np.zeros_like(values) for n, values in full.items()}
    for cell, part in enumerate(parts):
        cell_model, cell_weights = Submodel(model, part), dict(full)
        places = {n: [slice(None)] * values.ndim for n, values in full.items()}
        cut_names = set()
        for group, cuts in learner.shape.unit_groups.items():
            for n, axis in cuts:
                places[n][axis] = part.units[group]
                cut_names.add(n)
        cell_weights = {n: full[n][tuple(places[n])] for n in full}
        for _ in range(2):
            updates = [an_update(cell_model, 10 * cell + i) for i in range(3)]
            cell_weights = weighted([(1 / 3, train_alone(name, cell_weights, u)) for u in updates])
            cell_model = mean(updates)
        cells.append(cell_model)
        for n in full:
            expected[n][tuple(places[n])] += cell_weights[n] / (1 if n in cut_names else 2)
    assert_close(learner.weights(AssembledModel(parts, cells)), expected)


def test_evaluation_equals_the_whole_test_set_at_once():
    learner = a_learner()
    model = mean([an_update(learner.initial_model(key=3), i, num_steps=40) for i in range(4)])
    score = learner.evaluate(model)
    network = models.build("relu-12-9-4")
    network.load_state_dict({n: torch.tensor(v) for n, v in learner.weights(model).items()})
    with torch.no_grad():
        logits = network(torch.tensor(DATA.test_x)).double()
    labels = torch.tensor(DATA.test_y)
    assert score["accuracy"] == (logits.argmax(1) == labels).sum().item() / 2300
    assert score["loss_nats"] == pytest.approx(nn.functional.cross_entropy(logits, labels).item(), rel=1e-6)
    untrained = learner.evaluate(learner.initial_model(key=3))
    assert score["accuracy"] > untrained["accuracy"] + 0.1
    assert score["loss_nats"] < untrained["loss_nats"]


def hist_weights(num_workers: int, name: str = "relu-12-9-4") -> dict[str, np.ndarray]:
    learner = a_learner(name, num_workers)
    model = learner.initial_model(key=3)
    rng = np.random.default_rng(1)
    for round_ in range(3):
        parts = draw_parts(learner.shape.num_units, even_counts(learner.shape.num_units, 2), rng)
        cells = [Submodel(model, part) for part in parts]
        for edge_round in range(2):
            cells = [
                mean(
                    [
                        an_update(
                            cells[j], 20 * j + i, num_steps=2 + i % 2, key=100 * round_ + 10 * edge_round + i
                        )
                        for i in range(20)
                    ]
                )
                for j in range(2)
            ]
        model = AssembledModel(parts, cells)
    return learner.weights(model)


@pytest.mark.parametrize("name", ["relu-12-9-4", "mlp-12-9-8-4"])
def test_same_bits_again_and_with_any_number_of_workers(name: str):
    first = hist_weights(1, name)
    for num_workers in (1, 2, 3):
        assert_same_bits(hist_weights(num_workers, name), first)


def test_grouping_changes_nothing_beyond_rounding(monkeypatch: pytest.MonkeyPatch):
    first = hist_weights(2)
    monkeypatch.setitem(WORKING_SETS, "cpu", WorkingSet(num_bytes=1, num_clients=1, num_cohorts=1))
    assert_close(hist_weights(2), first)


def test_order_of_updates_does_not_matter():
    learner = a_learner()
    start = learner.initial_model(key=3)
    updates = [an_update(start, i) for i in range(20)]
    assert_same_bits(learner.weights(mean(updates)), learner.weights(mean(updates[::-1])))


def test_the_key_determines_the_mini_batches():
    learner = a_learner()
    start = learner.initial_model(key=3)
    first, again, other = (learner.weights(mean([an_update(start, 1, key=key)])) for key in (8, 8, 9))
    assert_same_bits(first, again)
    assert not np.array_equal(first["layers.0.weight"], other["layers.0.weight"])


def test_only_what_is_read_is_computed():
    learner = a_learner()
    start = learner.initial_model(key=3)
    read, dropped = [an_update(start, i) for i in range(6)], [an_update(start, i) for i in range(6, 20)]
    unread = mean(dropped)
    model = mean_of_models([mean(read[:3]), mean(read[3:])])
    assert learner.num_local_steps == 0
    learner.weights(model)
    learner.evaluate(model)
    assert learner.num_local_steps == 6 * 5
    assert unread.tensors is None
    learner.weights(unread)
    assert learner.num_local_steps == 20 * 5


def test_settled_history_is_freed():
    learner = a_learner()
    model = learner.initial_model(key=3)
    history: list[weakref.ref[PendingModel]] = []
    for i in range(30):
        history.append(weakref.ref(model))
        model = mean([an_update(mean_of_models([model]), i)])
    alive_during: list[int] = []
    combine = type(model).combine

    def counting(*arguments):
        alive_during.append(sum(r() is not None and r().tensors is not None for r in history))
        return combine(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(model), "combine", counting)
        learner.weights(model)
    assert max(alive_during) <= 2
    gc.collect()
    assert all(reference() is None for reference in history)
    assert (model.parents, model.updates, model.coefficients) == ((), (), ())


def test_a_settled_model_lets_go_of_its_parents():
    learner = a_learner()
    start = learner.initial_model(key=3)
    before = weakref.ref(start)
    model = mean_of_models([start])
    del start
    learner.weights(model)
    gc.collect()
    assert before() is None


def test_more_levels_resolve_than_calls_nest():
    learner = a_learner()
    model = learner.initial_model(key=3)
    num_levels = sys.getrecursionlimit() + 100
    for i in range(num_levels):
        model = mean(
            [
                an_update(
                    mean_of_models([model]),
                    1,
                    num_steps=1,
                    training=Sgd(batch_size=2, learning_rate=0.2),
                    key=i,
                )
            ]
        )
    learner.evaluate(model)
    assert learner.num_local_steps == num_levels


def test_cells_of_one_round_share_a_level_even_where_one_aggregates_more():
    start = PendingModel()
    near = mean([an_update(start, 1)])
    far = mean([an_update(mean_of_models([mean_of_models([start])]), 2)])
    top = mean_of_models([near, far])
    found = []
    for level in levels(top):
        found.append(set(level))
        for node in level:
            node.settle({})
    assert len(found) == 2
    assert {near, far, top} == found[1]


def test_memory_is_bounded_by_cohorts_not_by_clients(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(WORKING_SETS, "cpu", WORKING_SETS["cpu"]._replace(least_call=0, most_call=0))
    alive, most, lock = 0, 0, threading.Lock()
    measured = resolver_module.WeightedSum

    class Counted(measured):
        def __init__(self):
            nonlocal alive, most
            super().__init__()
            with lock:
                alive += 1
                most = max(most, alive)

        def __del__(self):
            nonlocal alive
            with lock:
                alive -= 1

    trained_together: list[int] = []
    train = sgd.train_relu_layers

    def noted(layers, *arguments):
        trained_together.append(len(layers[0].weight_COI))
        train(layers, *arguments)

    monkeypatch.setattr(resolver_module, "WeightedSum", Counted)
    monkeypatch.setattr(sgd, "train_relu_layers", noted)
    learner = a_learner()
    learner.weights(mean([an_update(learner.initial_model(key=3), i) for i in range(400)]))
    assert sum(trained_together) == 400
    assert max(trained_together) <= WORKING_SETS["cpu"].num_clients
    # The model's own sum, one per task that runs or waits for its turn, and the one being added.
    assert most <= 1 + (2 + 1) + 1


def test_cohorts_keep_to_the_working_set():
    start = PendingModel()
    start.settle({"w": torch.zeros(1000, 262)})  # 1 MiB of weights and a batch of 8
    updates = [an_update(start, i) for i in range(50)]
    found = list(cohorts(updates, NUM_FEATURES, WORKING_SETS["cpu"]))
    assert [u for cohort in found for u in cohort] == updates
    assert list(cohorts(updates[::-1], NUM_FEATURES, WORKING_SETS["cpu"])) == found
    assert {len(cohort) for cohort in found} <= {3, 4}
    assert [len(c) for c in cohorts(updates[:2], NUM_FEATURES, WORKING_SETS["cpu"])] == [1, 1]
    mixed = [
        *updates[:3],
        an_update(start, 9, training=Sgd(batch_size=8, learning_rate=0.1)),
        an_update(start, 10, num_steps=6),
    ]
    assert sorted(len(c) for c in cohorts(mixed, NUM_FEATURES, WORKING_SETS["cpu"])) == [1, 1, 1, 2]


class NoisySum(PendingModel):
    """Sum of coefficient times updated weights, with normal noise that a key determines."""

    __slots__ = ("deviation", "key")

    def __init__(self, updates, coefficients, deviation, key):
        super().__init__((), updates, coefficients)
        self.deviation, self.key = deviation, key

    def combine(self, shape, models, update_sum):
        generator = torch.Generator().manual_seed(self.key)
        return {
            name: total + self.deviation * torch.randn(total.shape, generator=generator)
            for name, total in update_sum.items()
        }


def test_other_ways_to_combine_need_no_change_of_the_learner():
    learner = a_learner()
    start = learner.initial_model(key=3)
    updates = [an_update(start, i) for i in range(3)]
    after = weighted([(c, learner.weights(mean([u]))) for c, u in zip([0.5, 0.4, 0.1], updates, strict=True)])
    noisy = learner.weights(NoisySum(updates, [0.5, 0.4, 0.1], 0.01, key=7))
    generator = torch.Generator().manual_seed(7)
    noise = {n: 0.01 * torch.randn(v.shape, generator=generator).numpy() for n, v in after.items()}
    assert_close(noisy, weighted([(1.0, after), (1.0, noise)]))


def test_accumulated_gradients_move_the_model_by_the_paper_formula():
    """`w - eta sum (alpha_u / p_u) g_u` with g_u = (w - w_u) / eta, RawHFL eq. 15, in float64."""
    learner = a_learner("mlp-12-9-4")
    start = mean([an_update(learner.initial_model(key=3), 9)])
    updates = [an_update(start, i) for i in range(3)]
    probabilities, eta = [0.9, 0.5, 0.25], 0.2
    coefficients = [1 / 3 / p for p in probabilities]
    found = learner.weights(accumulate(start, updates[::-1], coefficients[::-1]))
    before = learner.weights(start)
    expected = {n: w.astype(np.float64) for n, w in before.items()}
    for p, u in zip(probabilities, updates, strict=True):
        for n, w in learner.weights(mean([u])).items():
            gradient = (before[n].astype(np.float64) - w) / eta
            expected[n] -= eta * (1 / 3) / p * gradient
    for n in found:
        np.testing.assert_allclose(found[n], expected[n], rtol=1e-7, atol=1e-7, err_msg=n)


def test_accumulated_gradients_of_all_with_equal_shares_are_the_mean():
    learner = a_learner()
    start = learner.initial_model(key=3)
    updates = [an_update(start, i) for i in range(7)]
    found, expected = learner.weights(accumulate(start, updates, [1 / 7] * 7)), learner.weights(mean(updates))
    for n in found:
        np.testing.assert_allclose(found[n], expected[n], rtol=1e-7, atol=1e-9, err_msg=n)


def test_label_ranks_are_places_in_the_order_of_outputs():
    learner = a_learner()
    model = mean([an_update(learner.initial_model(key=3), i, num_steps=10) for i in range(4)])
    ranks = learner.answers(model).label_ranks
    network = models.build("relu-12-9-4")
    network.load_state_dict({n: torch.tensor(v) for n, v in learner.weights(model).items()})
    with torch.no_grad():
        outputs = torch.cat([network(x) for x in torch.tensor(DATA.test_x).split(1000)]).numpy()
    expected = [
        sorted(range(NUM_CLASSES), key=lambda k: (-row[k], k)).index(label)
        for row, label in zip(outputs.tolist(), DATA.test_y, strict=True)
    ]
    assert ranks.dtype == np.int64
    assert ranks.tolist() == expected
    assert set(expected) == set(range(NUM_CLASSES))
    assert (ranks == 0).mean() == learner.evaluate(model)["accuracy"]


def test_equal_outputs_rank_by_class():
    learner = a_learner()
    shapes = learner.shape.parameters
    model = learner.stored_model({n: np.zeros(size, np.float32) for n, size in shapes.items()})
    assert np.array_equal(learner.answers(model).label_ranks, DATA.test_y)
    assert (DATA.test_y == 0).mean() == learner.evaluate(model)["accuracy"]


def test_a_quantity_has_no_label_ranks():
    x, y = DATA.train_x, np.ones(len(DATA.train_x), np.float32)
    prices = Dataset(name="prices", train_x=x, train_y=y, test_x=x, test_y=y, num_classes=None)
    learner = Learner(models.build("mlp-12-9-1"), prices)
    with pytest.raises(ConfigurationError, match="no classes"):
        _ = learner.answers(learner.initial_model(key=3)).label_ranks


class Convolutions(nn.Sequential):
    """Two convolutions and a linear layer; the channels between the convolutions are a group of units."""

    unit_groups = {"channels": (("1.weight", 0), ("1.bias", 0), ("3.weight", 1))}  # noqa: RUF012

    def __init__(self):
        layers = (nn.Unflatten(1, (1, 3, 4)), nn.Conv2d(1, 6, 2), nn.ReLU(), nn.Conv2d(6, 2, 2))
        super().__init__(*layers, nn.Flatten(), nn.Linear(4, NUM_CLASSES))


def test_convolutions_join_by_declaring_their_channels():
    learner = Learner(Convolutions(), DATA, num_workers=2)
    model = learner.initial_model(key=3)
    (part, _) = draw_parts(learner.shape.num_units, {"channels": (4, 2)}, np.random.default_rng(1))
    update = an_update(Submodel(model, part), 1)
    network = Convolutions()
    network[1], network[3] = nn.Conv2d(1, 4, 2), nn.Conv2d(4, 2, 2)
    start = learner.weights(update.model)
    network.load_state_dict({name: torch.tensor(values) for name, values in start.items()})
    trained = trained_by_sgd(network, update, DATA.train_x, DATA.train_y)
    assert_close(learner.weights(mean([update])), weights_of(trained))
    assert sum(v.size for v in start.values()) == learner.shape.num_parameters(part)


def test_a_stored_model_goes_on_with_the_same_bits():
    def second_round(learner: Learner, model: PendingModel) -> dict[str, np.ndarray]:
        return learner.weights(mean([an_update(model, i, key=100 + i) for i in range(9)]))

    through = a_learner()
    middle = mean([an_update(through.initial_model(key=3), i) for i in range(9)])
    expected = second_round(through, middle)
    resumed = a_learner()
    stored = resumed.stored_model(dict(reversed(through.weights(middle).items())))
    assert_same_bits(second_round(resumed, stored), expected)
    assert resumed.num_local_steps == 9 * 5


def test_what_is_read_is_a_copy():
    learner = a_learner()
    model = learner.initial_model(key=3)
    learner.weights(model)["layers.0.weight"][:] = 0.0
    assert learner.weights(model)["layers.0.weight"].any()


def num_threads_of_a_new_thread() -> int:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return found[0]


def test_the_caller_keeps_its_torch_threads():
    usual = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        learner = a_learner()
        assert list(learner.workers.in_order([torch.get_num_threads] * 5)) == [1] * 5
        learner.evaluate(mean([an_update(learner.initial_model(key=3), i) for i in range(5)]))
        assert list(learner.workers.in_order([torch.get_num_threads] * 5)) == [1] * 5
        assert torch.get_num_threads() == num_threads_of_a_new_thread() == 3
    finally:
        torch.set_num_threads(usual)


def test_the_caller_keeps_its_generators():
    network = models.build("relu-12-9-4")
    torch.manual_seed(5)
    state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    learner = Learner(network, DATA, num_workers=2)
    learner.evaluate(mean([an_update(learner.initial_model(key=3), i) for i in range(5)]))
    assert torch.is_grad_enabled()
    assert torch.equal(torch.get_rng_state(), state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002


def test_results_come_in_order_with_bounded_work_ahead():
    learner = a_learner()
    begun = []
    results = learner.workers.in_order((lambda i=i: begun.append(i) or i) for i in range(50))
    for read, result in enumerate(results, start=1):
        assert result == read - 1
        assert len(begun) <= read + 2


def test_an_error_in_a_worker_reaches_the_reader():
    learner = a_learner()
    bad = an_update(learner.initial_model(key=3), 1)
    bad = PendingUpdate(
        client="far",
        model=bad.model,
        samples=[0, 600],
        num_steps=1,
        training=Sgd(batch_size=1, learning_rate=0.1),
        key=1,
    )
    model = mean([bad])
    with pytest.raises(ConfigurationError, match="'far' run from 0 to 600, but the training set has 600"):
        learner.weights(model)
    assert model.tensors is None


def test_networks_that_cannot_be_learned_are_refused():
    with pytest.raises(ConfigurationError, match="1: momentum = None"):
        Learner(nn.Sequential(nn.Linear(12, 4), nn.BatchNorm1d(4, momentum=None)), DATA)
    with pytest.raises(ConfigurationError, match=r"outputs of shape \(1, 5\)"):
        Learner(models.build("relu-12-9-5"), DATA)
    network = models.build("mlp-12-9-4")
    for lacking in ((("layers.0.weight", None), ("layers.1.weight", None)), ("layers.0.weight",)):
        network.relu_layers = lacking
        with pytest.raises(ConfigurationError, match="must name all"):
            Learner(network, DATA)


def test_devices_and_workers_that_are_not_there_are_refused():
    with pytest.raises(ConfigurationError, match="one of cpu, cuda"):
        Learner(models.build("relu-12-4"), DATA, device="tpu")
    with pytest.raises(ConfigurationError, match="from 1 to 1024"):
        Learner(models.build("relu-12-4"), DATA, num_workers=0)
    if not torch.cuda.is_available():
        with pytest.raises(ConfigurationError, match="no CUDA device"):
            Learner(models.build("relu-12-4"), DATA, device="cuda")


def test_stored_weights_of_another_network_are_refused():
    with pytest.raises(ConfigurationError, match="stored weights"):
        a_learner().stored_model({"layers.0.weight": np.zeros((9, 12), np.float32)})
