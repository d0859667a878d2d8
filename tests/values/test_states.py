"""States: what clients keep is a pending value: computed once, freed when unread, the same after a resume."""

import gc
import weakref

import numpy as np
import own_parts
import pytest
import torch
import worlds
from data_sets import loaded
from equal import assert_same_bits
from here import Stopped, run_here
from torch import nn

import cosim
import models
from cosim import Never
from cosim.configuration import ConfigurationError, knob, not_negative, part
from cosim.data.synthetic import Synthetic
from cosim.ends import EveryVersions
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.workers import one_torch_thread
from cosim.engine.servers.cloud import VersionReport
from cosim.engine.store.checkpoint import Checkpoint
from cosim.training.port import LocalTraining
from cosim.training.programs.sgd_steps import mini_batches
from cosim.training.sgd import Sgd
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingState, PendingUpdate

DATA = loaded(Synthetic())
RATE, MOMENTUM, BATCH, STEPS = 0.1, 0.9, 8, 3
NUM_CLIENTS = 3


@part
class MomentumSgd(LocalTraining):
    """SGD whose momentum goes on in the client's next training."""

    keeps_state = True
    momentum: float = knob(not_negative, default=MOMENTUM)

    def train(self, client):
        """torch.optim.SGD, its buffers in and out."""
        parameters = dict(client.network.named_parameters())
        optimizer = torch.optim.SGD(parameters.values(), lr=self.learning_rate, momentum=self.momentum)
        for name, buffer in client.state.items():
            optimizer.state[parameters[name]]["momentum_buffer"] = buffer
        for x, y in client.batches(client.num_steps, self.batch_size):
            optimizer.zero_grad()
            client.loss(client.network(x), y).backward()
            optimizer.step()
        return {name: optimizer.state[p]["momentum_buffer"] for name, p in parameters.items()}


class Forgetful(MomentumSgd):
    """Returns a state that it does not announce."""

    keeps_state = False


class Odd(MomentumSgd):
    """Returns something else than tensors."""

    def train(self, client):
        """Of the wrong kind."""
        return [1.0]


RULE = MomentumSgd(batch_size=BATCH, learning_rate=RATE)


def an_update(
    start: PendingModel, number: int, key: int, state: PendingState | None, training: LocalTraining = RULE
) -> PendingUpdate:
    samples = np.arange(30 * number, 30 * number + 25)
    work = {"num_steps": STEPS, "training": training, "key": key}
    return PendingUpdate(client=f"client-{number}", model=start, samples=samples, state=state, **work)


class Loop:
    """Clients one after the other, each with an optimiser of its own that lives as long as the run."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        self.model = {name: torch.tensor(values) for name, values in weights.items()}
        self.networks = [models.build("mlp-12-9-4") for _ in range(NUM_CLIENTS)]
        self.optimizers = [
            torch.optim.SGD(network.parameters(), lr=RATE, momentum=MOMENTUM) for network in self.networks
        ]

    def trained(self, number: int, key: int) -> dict[str, torch.Tensor]:
        network, optimizer = self.networks[number], self.optimizers[number]
        network.load_state_dict(self.model)
        for batch in mini_batches(np.arange(30 * number, 30 * number + 25), STEPS, BATCH, key):
            optimizer.zero_grad()
            x, y = torch.tensor(DATA.train_x[batch]), torch.tensor(DATA.train_y[batch])
            nn.functional.cross_entropy(network(x), y).backward()
            optimizer.step()
        return {name: p.detach().clone() for name, p in network.named_parameters()}

    def momentum(self, number: int) -> dict[str, np.ndarray]:
        of = self.optimizers[number].state
        return {
            name: of[p]["momentum_buffer"].numpy() for name, p in self.networks[number].named_parameters()
        }


@pytest.mark.parametrize("num_workers", [1, 2, 4])
@pytest.mark.parametrize("reads", ["at the end", "every round"])
def test_momentum_goes_on_as_in_a_loop_of_optimisers_also_where_updates_are_dropped(num_workers, reads):
    """In round r the update of client r mod 3 is dropped on its way: trained, kept, and not in the mean."""
    learner = Learner(models.build("mlp-12-9-4"), DATA, num_workers=num_workers)
    model = learner.initial_model(key=3)
    loop = Loop(learner.weights(model))
    states: list[PendingState | None] = [None] * NUM_CLIENTS
    for round_ in range(4):
        keys = [10 * round_ + number for number in range(NUM_CLIENTS)]
        asked = [an_update(model, n, keys[n], states[n]) for n in range(NUM_CLIENTS)]
        states = [update.next_state for update in asked]
        arrived = [n for n in range(NUM_CLIENTS) if n != round_ % NUM_CLIENTS]
        model = mean([asked[n] for n in arrived])
        del asked
        with one_torch_thread():
            ends = [loop.trained(n, keys[n]) for n in range(NUM_CLIENTS)]
        halves = {name: sum(0.5 * ends[n][name].double() for n in arrived) for name in loop.model}
        loop.model = {name: values.float() for name, values in halves.items()}
        if reads == "every round":
            learner.evaluate(model)
    assert_same_bits(learner.weights(model), {name: values.numpy() for name, values in loop.model.items()})
    for number in range(NUM_CLIENTS):
        assert_same_bits(learner.state(states[number]), loop.momentum(number))
    assert learner.num_local_steps == 4 * NUM_CLIENTS * STEPS, "each trained once"


def test_a_state_that_nobody_references_is_not_computed_for():
    learner = Learner(models.build("mlp-12-9-4"), DATA)
    start = learner.initial_model(key=3)
    first, dropped = (an_update(start, n, n, None) for n in (0, 1))
    state, model = dropped.next_state, mean([first])
    alive = weakref.ref(state)
    learner.weights(model)
    assert learner.num_local_steps == STEPS, "a dropped update's state waits until it is read"
    assert dropped.next_state is state
    del state
    assert alive() is None
    learner.weights(mean([an_update(start, 1, 5, None)]))
    assert learner.num_local_steps == 2 * STEPS


def test_what_a_state_came_from_is_freed_when_it_is_computed():
    learner = Learner(models.build("mlp-12-9-4"), DATA)
    update = an_update(learner.initial_model(key=3), 0, 0, None)
    state, model = update.next_state, mean([update])
    held = [weakref.ref(update), weakref.ref(update.model)]
    del update
    learner.weights(model)
    assert state.tensors is not None, "it comes with the training"
    assert [reference() for reference in held] == [None, None]
    assert not learner._resolver.kept
    gc.collect()


def test_an_update_that_is_read_before_its_state_is_asked_for_is_trained_again():
    learner = Learner(models.build("mlp-12-9-4"), DATA)
    update = an_update(learner.initial_model(key=3), 0, 0, None)
    before = learner.weights(mean([update]))
    assert learner.state(update.next_state).keys() == before.keys()
    assert_same_bits(learner.weights(mean([update])), before)


def test_a_state_is_the_rules_own_copy():
    """Changes by a function to its state in place are not read by another."""
    learner = Learner(models.build("mlp-12-9-4"), DATA)
    start = learner.initial_model(key=3)
    state = an_update(start, 0, 0, None).next_state
    before = learner.state(state)
    learner.weights(mean([an_update(start, 0, 1, state)]))
    assert_same_bits(learner.state(state), before)


def test_a_long_chain_of_states_is_freed_without_recursion():
    start, state = PendingModel(), None
    for key in range(50_000):
        state = an_update(start, 0, key, state).next_state
    del state


@pytest.mark.parametrize(
    ("rule", "message"),
    [(Forgetful(), "would be lost.*keeps_state = True"), (Odd(), "a list: must be a dictionary")],
)
def test_states_of_the_wrong_kind_are_refused(rule, message):
    learner = Learner(models.build("mlp-12-9-4"), DATA, num_workers=1)
    with pytest.raises(ConfigurationError, match=message):
        learner.weights(mean([an_update(learner.initial_model(key=3), 0, 0, None, rule)]))


# --- in a run ---------------------------------------------------------------------------------------------


def system(training: LocalTraining = RULE, **changes) -> cosim.System:
    """Five clients, of whom one never arrives, one never even trains to the end, and others halt at times."""
    edge = worlds.training(local=training, waiting=worlds.DEADLINE)
    late = worlds.some_late(
        model="mlp-12-8-4",
        protocol=cosim.HFedAvg(training=edge),
        end=cosim.AfterRounds(num_global_rounds=6),
    )
    halting = cosim.evolve(late.devices, training_time=own_parts.Halting())
    return cosim.evolve(late, **({"devices": halting} | changes))


@pytest.mark.parametrize("evaluate_every", [1, 2])
@pytest.mark.parametrize("rounds", [(1,), (3,), (2, 5)])
def test_a_resumed_run_ends_bit_for_bit_as_an_uninterrupted_one(tmp_path, rounds, evaluate_every):
    case = system(evaluation=EveryVersions(num_versions=evaluate_every))
    whole = run_here(case, out=tmp_path / "whole")
    fates = whole.fates.groupby("client")["outcome"].nunique()
    assert (fates == 2).any(), "late in one round, in time in another"
    trained = set(whole.spans.node[whole.spans.activity == "send"])
    for attempt, stop in enumerate(rounds):

        def listener(report: VersionReport, stop: int = stop) -> None:
            if report.version == stop:
                raise Stopped

        with pytest.raises(Stopped):
            run_here(case, out=tmp_path / "stopped", listener=listener, resume=attempt > 0)
    run_here(case, out=tmp_path / "stopped", resume=True)
    found, wanted = (Checkpoint.load(tmp_path / name) for name in ("stopped", "whole"))
    assert found is not None
    assert wanted is not None
    assert found.evaluations == wanted.evaluations
    assert_same_bits(found.weights, wanted.weights)
    assert found.states.keys() == wanted.states.keys() == trained
    for name in wanted.states:
        assert_same_bits(found.states[name], wanted.states[name])


def test_tables_do_not_depend_on_workers_nor_on_a_folder(tmp_path):
    alone = run_here(system())
    assert alone.evaluations.equals(
        run_here(system(), num_workers=3, out=tmp_path / "a", checkpoint_every=1).evaluations
    )
    assert not alone.evaluations.equals(
        run_here(system(Sgd(batch_size=BATCH, learning_rate=RATE))).evaluations
    )


def test_a_client_keeps_what_it_has_trained_to_the_end():
    """Before an upload begins a training has ended; one that the deadline cuts leaves nothing."""
    reports: list[VersionReport] = []
    never_halting = worlds.some_late().devices
    spans = run_here(system(devices=never_halting), listener=reports.append).spans
    trained = set(spans.node[spans.activity == "send"])
    assert trained == {f"client-{n:04d}" for n in (0, 2, 3, 4)}
    assert set(reports[-1].states) == trained
    assert set(spans.node[spans.outcome == "deadline"]) == set(worlds.LATE), "one of them keeps a state"


def test_submodels_of_other_units_in_every_round_keep_no_state():
    case = system()
    hist = cosim.Hist(training=case.protocol.training)
    with pytest.raises(ConfigurationError, match=r"EdgeTraining\.local = 'MomentumSgd': .* keeps a state"):
        run_here(cosim.evolve(case, protocol=hist))


def test_times_alone_compute_no_state():
    assert run_here(system(evaluation=Never())).spans.equals(run_here(system()).spans)
