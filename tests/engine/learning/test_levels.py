"""Levels: only trainings count, updates are trained once, memory follows what is referenced."""

import gc
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
import torch
from data_sets import loaded
from sgd_loop import trained_by_sgd

import models
from cosim.clock.simulation import Process, Simulation
from cosim.data import Synthetic
from cosim.engine.learning import resolver as resolver_module
from cosim.engine.learning.cohorts import WORKING_SETS, WorkingSet
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.levels import levels
from cosim.protocols.combinations import AssembledModel, Submodel, mean_of_models
from cosim.protocols.drawn_parts import draw_parts, even_counts
from cosim.training.programs import sgd
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingUpdate
from cosim.values.submodels import NetworkShape
from cosim.values.weights import Weights
from scenarios.papers.rawhfl.accumulated import accumulate

DATA = loaded(Synthetic())
NUM_STEPS = 4


def a_learner(num_workers: int = 2) -> Learner:
    return Learner(models.build("relu-12-9-4"), DATA, num_workers=num_workers)


def an_update(start: PendingModel, i: int) -> PendingUpdate:
    samples = np.arange(20 * i % 500, 20 * i % 500 + 30)
    work = {"num_steps": NUM_STEPS, "training": Sgd(batch_size=8, learning_rate=0.1)}
    return PendingUpdate(client=f"client{i:03}", model=start, samples=samples, key=i, **work)


class Mixed(PendingModel):
    """(1 - share) times a model plus share times an update, which may start from another model. [FedAsync]"""

    __slots__ = ("share",)

    def __init__(self, model: PendingModel, update: PendingUpdate, share: float) -> None:
        super().__init__((model,), (update,), (share,))
        self.share = share

    def combine(self, shape: NetworkShape, models: Sequence[Weights], update_sum: Weights | None) -> Weights:
        assert update_sum is not None
        return {name: (1.0 - self.share) * values + update_sum[name] for name, values in models[0].items()}


def trained_alone(start: Weights, update: PendingUpdate) -> Weights:
    """One client's training by torch.optim.SGD on a network of as many hidden units as its weights have."""
    network = models.build(f"relu-12-{len(start['layers.0.weight'])}-4")
    network.load_state_dict(start)
    trained_by_sgd(network, update, DATA.train_x, DATA.train_y)
    return {name: values.detach() for name, values in network.named_parameters()}


def assert_close(found: dict[str, np.ndarray], expected: Weights) -> None:
    assert list(found) == list(expected)
    for name in found:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-5, err_msg=name)


class Loop:
    """Trains every update alone and combines at once, one model after the other."""

    def __init__(self, learner: Learner, model: PendingModel) -> None:
        self._shape = learner.shape
        start = {name: torch.tensor(values) for name, values in learner.weights(model).items()}
        self._weights = {model: start}
        self._trained: dict[PendingUpdate, Weights] = {}
        self._needs: dict[PendingModel, set[PendingUpdate]] = {model: set()}

    def made(self, model: PendingModel) -> PendingModel:
        """The same model, whose weights and needs are now known here."""
        total: Weights | None = None
        for update, coefficient in zip(model.updates, model.coefficients, strict=True):
            if update not in self._trained:
                self._trained[update] = trained_alone(self._weights[update.model], update)
            trained = self._trained[update]
            total = total or {name: torch.zeros_like(v, dtype=torch.float64) for name, v in trained.items()}
            total = {name: values + coefficient * trained[name] for name, values in total.items()}
        parents = [self._weights[parent] for parent in model.parents]
        combined = model.combine(self._shape, parents, total)
        self._weights[model] = {name: values.float() for name, values in combined.items()}
        before = (*model.parents, *(update.model for update in model.updates))
        self._needs[model] = set(model.updates).union(*(self._needs[parent] for parent in before))
        return model

    def weights(self, model: PendingModel) -> Weights:
        return self._weights[model]

    def needs(self, model: PendingModel) -> set[PendingUpdate]:
        """All updates that a model comes from."""
        return self._needs[model]


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_equal_a_loop_and_train_every_update_once(seed: int):
    rng = np.random.default_rng(seed)
    learner = a_learner()
    full = [learner.initial_model(key=3)]
    loop = Loop(learner, full[0])
    updates: list[PendingUpdate] = []

    def a_model() -> PendingModel:
        return full[rng.integers(max(0, len(full) - 6), len(full))]

    def some_updates(start: PendingModel | None = None) -> list[PendingUpdate]:
        """New ones, and where any start will do old ones, too."""
        numbers = rng.choice(60, size=rng.integers(1, 4), replace=False)
        new = [an_update(start or a_model(), int(i)) for i in numbers]
        old = [updates[i] for i in rng.integers(0, len(updates), 2)] if updates and not start else []
        updates.extend(new if start is None else [])
        return [*new, *old]

    def assembled() -> PendingModel:
        parts = draw_parts(learner.shape.num_units, even_counts(learner.shape.num_units, 2), rng)
        cells = [loop.made(Submodel(a_model(), part)) for part in parts]
        cells = [loop.made(mean(some_updates(cell))) for cell in cells]
        return AssembledModel(parts, cells)

    def moved() -> PendingModel:
        start = a_model()
        return accumulate(start, chosen := some_updates(start), [0.7] * len(chosen))

    makers: list[Callable[[], PendingModel]] = [
        lambda: mean(some_updates()),
        lambda: Mixed(a_model(), some_updates()[-1], 0.4),
        lambda: mean_of_models([a_model() for _ in range(3)]),
        assembled,
        moved,
    ]
    for _ in range(14):
        full.append(loop.made(makers[rng.integers(len(makers))]()))
    needed: set[PendingUpdate] = set()
    for i in rng.permutation(len(full)):
        assert_close(learner.weights(full[i]), loop.weights(full[i]))
        needed |= loop.needs(full[i])
        assert learner.num_local_steps == NUM_STEPS * len(needed)


# --- What a level counts -----------------------------------------------------------------------------------


def settled_levels(model: PendingModel) -> list[list[PendingModel]]:
    """All levels, each settled before the next."""
    found = []
    for level in levels(model):
        found.append(level)
        for node in level:
            assert all(parent.tensors is not None for parent in node.parents), "in the order of dependence"
            assert all(update.model.tensors is not None for update in node.updates)
            node.tensors = {}
    return found


def test_a_chain_of_mixes_is_one_level_in_its_order():
    start = model = PendingModel()
    chain = [model := Mixed(model, an_update(start, i), 0.5) for i in range(5)]
    assert settled_levels(model) == [[start], chain]


def test_a_level_is_the_trainings_on_the_longest_way():
    start = PendingModel()
    first = mean([an_update(start, 1)])
    same = mean_of_models([start])
    second = Mixed(same, an_update(first, 2), 0.5)
    late = Mixed(second, an_update(start, 3), 0.5)
    top = mean_of_models([late, first])
    found = settled_levels(top)
    assert [set(level) for level in found] == [{start, same}, {first}, {second, late, top}]


class FedAsync:
    """Every client trains without a pause; what arrives is mixed into the model, the newest is trained on.

    Args:
        learner: Computes what the clock has asked for.
        num_clients: Clients, with equal computing times.
        num_updates: Updates after which it ends.
        share: Weight of an update.
    """

    def __init__(self, learner: Learner, num_clients: int, num_updates: int, share: float) -> None:
        self.model = self.first = learner.initial_model(key=3)
        self.arrived: list[tuple[int, int]] = []
        self._num_clients, self._num_updates, self._share = num_clients, num_updates, share

    def run(self, sim: Simulation) -> Process:
        """Until enough has arrived."""
        yield from sim.together([self.client(sim, i) for i in range(self._num_clients)])

    def client(self, sim: Simulation, i: int) -> Process:
        """Train on the newest model, send, again."""
        for _ in range(self._num_updates // self._num_clients):
            version = len(self.arrived)
            update = an_update(self.model, i)
            yield from sim.spend(f"client{i}", "train", 1.0)
            self.model = Mixed(self.model, update, self._share)
            self.arrived.append((i, version))


def test_fedasync_has_as_many_levels_as_trainings_follow_each_other(monkeypatch: pytest.MonkeyPatch):
    """200 updates, 10 in flight, so 20 trainings follow each other."""
    learner = a_learner()
    sim, protocol = Simulation(seed=1), FedAsync(learner, num_clients=10, num_updates=200, share=0.3)
    sim.run(protocol.run(sim))
    assert sim.now_s == 20.0
    assert learner.num_local_steps == 0
    num_levels = 0

    def counted(model: PendingModel) -> Iterator[list[PendingModel]]:
        nonlocal num_levels
        for level in levels(model):
            num_levels += 1
            yield level

    monkeypatch.setattr(resolver_module, "levels", counted)
    found = learner.weights(protocol.model)
    assert 20 <= num_levels <= 22
    assert learner.num_local_steps == 200 * NUM_STEPS
    versions = [{name: torch.tensor(values) for name, values in learner.weights(protocol.first).items()}]
    for i, version in protocol.arrived:
        trained = trained_alone(versions[version], an_update(protocol.first, i))
        versions.append({name: 0.7 * values + 0.3 * trained[name] for name, values in versions[-1].items()})
    assert len(versions) == 201
    assert_close(found, versions[-1])


def test_a_chain_of_five_thousand_in_one_level_resolves():
    learner = a_learner()
    start = learner.initial_model(key=3)
    shared = an_update(start, 1)
    model = start
    for _ in range(5000):
        model = Mixed(model, shared, 0.001)
    loop = Loop(learner, start)
    target = loop.weights(loop.made(mean([shared])))
    still = 0.999**5000
    expected = {name: still * v + (1.0 - still) * target[name] for name, v in loop.weights(start).items()}
    assert_close(learner.weights(model), expected)
    assert learner.num_local_steps == NUM_STEPS


# --- An update is trained once -----------------------------------------------------------------------------


@pytest.fixture
def only_new_objects() -> None:
    """Nothing that was there before is searched, which would take seconds after many other tests."""
    gc.collect()
    gc.freeze()


def num_live_weights() -> int:
    """Memory of the first layer's weights, of clients and of cohorts, over that of one client."""
    gc.collect()
    alive = [o for o in gc.get_objects() if type(o) is torch.Tensor and o.shape[-2:] == (9, 12)]
    storages = {o.untyped_storage().data_ptr(): o.untyped_storage().nbytes() for o in alive}
    return sum(storages.values()) // (4 * 9 * 12)


def test_separate_reads_train_a_shared_update_once():
    learner = a_learner()
    start = learner.initial_model(key=3)
    u, v = an_update(start, 1), an_update(start, 2)
    learner.weights(mean([u]))
    assert learner.num_local_steps == NUM_STEPS
    found = learner.weights(mean([u, v]))
    assert learner.num_local_steps == 2 * NUM_STEPS
    loop = Loop(learner, start)
    assert_close(found, loop.weights(loop.made(mean([u, v]))))
    afresh = a_learner()
    again = afresh.initial_model(key=3)
    expected = afresh.weights(mean([an_update(again, 1), an_update(again, 2)]))
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_levels_of_one_read_train_a_shared_update_once():
    learner = a_learner()
    start = learner.initial_model(key=3)
    loop = Loop(learner, start)
    shared = an_update(start, 1)
    first = loop.made(mean([shared, an_update(start, 2)]))
    second = loop.made(mean([an_update(first, 3)]))
    third = loop.made(mean([an_update(second, 4), shared]))
    del shared
    assert_close(learner.weights(third), loop.weights(third))
    assert learner.num_local_steps == 4 * NUM_STEPS


@pytest.mark.usefixtures("only_new_objects")
def test_kept_weights_live_as_long_as_their_update_is_referenced():
    learner = a_learner()
    start = learner.initial_model(key=3)
    learner.weights(start)
    before = num_live_weights()
    updates = [an_update(start, i) for i in range(20)]
    model = mean(updates)
    learner.weights(model)
    assert num_live_weights() == before + 1 + 20
    unread = mean(updates[:5])
    del updates
    assert num_live_weights() == before + 1 + 5
    learner.weights(unread)
    assert learner.num_local_steps == 20 * NUM_STEPS
    assert num_live_weights() == before + 2


@pytest.mark.usefixtures("only_new_objects")
def test_nothing_is_kept_for_models_that_are_read_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(WORKING_SETS, "cpu", WorkingSet(num_bytes=2**20, num_clients=4, num_cohorts=1))
    learner = a_learner(num_workers=1)  # what several find alive they keep alive, for each other
    start = learner.initial_model(key=3)
    learner.weights(start)
    before = num_live_weights()
    train, alive = sgd.train_relu_layers, []

    def counting(*arguments):
        alive.append(num_live_weights() - before)
        train(*arguments)

    monkeypatch.setattr(sgd, "train_relu_layers", counting)
    model = mean([an_update(start, i) for i in range(16)])
    learner.weights(mean([an_update(model, i) for i in range(16)]))
    assert len(alive) == 2 * 4
    # A cohort of four with its gradients, a model, and float64 sums: own, waiting, being added.
    assert max(alive) <= 2 * 4 + 1 + 2 * (1 + 1 + 1)
    assert num_live_weights() == before + 1


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call for every cohort."""
    monkeypatch.setitem(WORKING_SETS, "cpu", WORKING_SETS["cpu"]._replace(least_call=0, most_call=0))


@pytest.mark.usefixtures("apart")
def test_an_interrupted_read_can_be_made_again(monkeypatch: pytest.MonkeyPatch):
    learner = a_learner()
    start = learner.initial_model(key=3)
    loop = Loop(learner, start)
    model = loop.made(Mixed(start, an_update(start, 0), 0.5))
    model = loop.made(mean([an_update(model, i) for i in range(40)]))
    model = loop.made(mean([an_update(model, i) for i in range(40)]))
    train, num_calls = sgd.train_relu_layers, 0

    def interrupted(*arguments):
        nonlocal num_calls
        num_calls += 1
        if num_calls == 6:
            raise KeyboardInterrupt
        train(*arguments)

    monkeypatch.setattr(sgd, "train_relu_layers", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.weights(model)
    assert_close(learner.weights(model), loop.weights(model))


# --- Memory follows what is referenced ---------------------------------------------------------------------


@pytest.fixture
def most_sums(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Cohorts of at most two clients; the largest number of sums that were alive at once."""
    alive, most, lock = 0, 0, threading.Lock()

    class Counted(resolver_module.WeightedSum):
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

    monkeypatch.setitem(WORKING_SETS, "cpu", WorkingSet(num_bytes=2**20, num_clients=2, num_cohorts=1))
    monkeypatch.setattr(resolver_module, "WeightedSum", Counted)
    return lambda: most


MOST_SUMS = 2 * (2 + 1 + 1) + 2
"""Of cohorts of two that run, wait or are being added, with two workers; and two that are being combined."""


@pytest.mark.parametrize("step", [1, -1, 7])
def test_a_chain_settles_while_its_level_is_trained(
    step: int, most_sums: Callable[[], int], monkeypatch: pytest.MonkeyPatch
):
    """Also where clients arrive in another order than that of their names; 60 models, all of one level."""
    learner = a_learner()
    start = model = learner.initial_model(key=3)
    loop = Loop(learner, start)
    chain: list[weakref.ref[PendingModel]] = []
    most_settled = 0
    combine = Mixed.combine

    def counting(*arguments):
        nonlocal most_settled
        alive = [reference() for reference in chain]
        most_settled = max(most_settled, sum(node is not None and node.tensors is not None for node in alive))
        return combine(*arguments)

    for i in range(60):
        model = Mixed(model, an_update(start, step * i % 60), 0.3)
        chain.append(weakref.ref(model))
    first = weights = loop.weights(start)
    for i in range(60):
        trained = trained_alone(first, an_update(start, step * i % 60))
        weights = {name: 0.7 * values + 0.3 * trained[name] for name, values in weights.items()}
    monkeypatch.setattr(Mixed, "combine", counting)
    assert_close(learner.weights(model), weights)
    assert most_settled <= 2
    assert most_sums() <= MOST_SUMS


def test_cells_settle_while_their_level_is_trained(most_sums: Callable[[], int]):
    learner = a_learner()
    start = learner.initial_model(key=3)
    cells = [mean([an_update(start, 4 * cell + i) for i in range(4)]) for cell in range(100)]
    learner.weights(mean_of_models(cells))
    assert learner.num_local_steps == 400 * NUM_STEPS
    assert most_sums() <= MOST_SUMS
