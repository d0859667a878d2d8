"""Numbers that follow the round: by arithmetic, against torch.optim, and as the plain number, bit for bit."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch
import worlds
from data_sets import loaded
from torch import nn

import cosim
import models
from cosim import ConfigurationError, evolve, run
from cosim.configuration import from_dict, knob, not_negative, part, to_dict
from cosim.engine.learning.learner import Learner
from cosim.schedules import ByRound, Cosine, StepDecay, WarmUp
from cosim.schedules.port import in_round
from cosim.studies.study import Study
from cosim.system.drafts import finished
from cosim.training.programs.sgd_steps import mini_batches
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate
from scenarios.command_line import main
from scenarios.command_line.kinds import with_kinds

THIRDS = ByRound(values=(0.3, 0.1), first_rounds=(1, 3))
SEEN: list[tuple[str, str, int, float]] = []
"""Calls of `Watching` and `watching`: node or function, round, learning rate."""


def constant(value: float) -> ByRound:
    return ByRound(values=(value,), first_rounds=(1,))


def one_cell(
    num_rounds: int = 3, server: cosim.server_updates.ServerUpdate | None = None, **parts: object
) -> cosim.System:
    """Three clients in one cell, two edge rounds in a global round."""
    training = worlds.training(**parts)
    protocol = cosim.HFedAvg(training=training, server=server or cosim.server_updates.Mean())
    return worlds.one_cell(
        1e9, 2e9, 3e9, protocol=protocol, end=cosim.AfterRounds(num_global_rounds=num_rounds)
    )


def same_weights(one: cosim.System, other: cosim.System, **options: object) -> bool:
    found = [run(system, num_workers=1, **options).weights for system in (one, other)]
    assert found[0] is not None
    assert found[1] is not None
    return all(np.array_equal(found[0][name], found[1][name]) for name in found[0])


# --- Values -------------------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize(
    ("schedule", "values"),
    [
        (ByRound(values=(0.4, 0.2, 0.1), first_rounds=(1, 2, 5)), [0.4, 0.2, 0.2, 0.2, 0.1, 0.1]),
        (StepDecay(initial=0.8, factor=0.5, num_rounds=2), [0.8, 0.8, 0.4, 0.4, 0.2, 0.2]),
        (Cosine(initial=1.0, last=0.0, num_rounds=5), [1.0, 0.5 + 0.5 / math.sqrt(2.0), 0.5, None, 0.0, 0.0]),
        (WarmUp(then=0.4, num_rounds=4), [0.1, 0.2, 0.3, 0.4, 0.4, 0.4]),
        (WarmUp(then=StepDecay(initial=0.8, factor=0.5), num_rounds=2), [0.4, 0.4, 0.2, 0.1, 0.05, 0.025]),
    ],
)
def test_values_by_hand(schedule: cosim.schedules.Schedule, values: list[float | None]):
    for number, value in enumerate(values, start=1):
        assert value is None or schedule.value(number) == pytest.approx(value, rel=1e-12, abs=1e-15)
    rule = cosim.training.Momentum(learning_rate=schedule, momentum=0.5)
    assert from_dict(cosim.training.Momentum, to_dict(rule)) == rule


@pytest.mark.quick
def test_a_plain_number_stays_one():
    assert to_dict(cosim.Sgd(learning_rate=1))["learning_rate"] == 1.0
    rule = cosim.Sgd(learning_rate=0.2)
    assert in_round(rule, 7) is rule


# --- The oracle ---------------------------------------------------------------------------------------------


@pytest.mark.quick
def test_global_rounds_against_a_loop_of_torch_optim():
    """Three global rounds of two edge rounds; all edge rounds of a global round have its number."""
    system = one_cell(local=cosim.Sgd(batch_size=10, learning_rate=THIRDS, weight_decay=0.01))
    found = run(system).weights
    sim = cosim.Simulation(system.seed)
    dataset = system.data.load(sim, None)
    held = [samples() for samples in system.data.held(sim, dataset, system.sizes())]
    network = models.build(system.model)
    start = Learner(network, dataset).initial_model(sim.key("cloud", "initial weights"))
    weights = {name: torch.tensor(array) for name, array in Learner(network, dataset).weights(start).items()}
    x_ND, y_N = torch.tensor(dataset.train_x), torch.tensor(dataset.train_y)
    for edge_round in range(6):
        rate = 0.3 if edge_round < 4 else 0.1
        trained = []
        for client, samples in enumerate(held):
            network.load_state_dict(weights)
            optimizer = torch.optim.SGD(network.parameters(), lr=rate, weight_decay=0.01)
            key = sim.key(f"client-{client:04d}", "mini-batches", edge_round)
            for batch in mini_batches(samples, worlds.STEPS, 10, key):
                optimizer.zero_grad()
                nn.functional.cross_entropy(network(x_ND[batch]), y_N[batch]).backward()
                optimizer.step()
            trained.append({name: values.clone() for name, values in network.state_dict().items()})
        weights = {name: sum(of[name] for of in trained) / len(trained) for name in weights}
    assert found is not None
    for name, values in weights.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "kind",
    [
        cosim.server_updates.FedAvgM,
        cosim.server_updates.FedAdam,
        cosim.server_updates.FedAdagrad,
        cosim.server_updates.FedYogi,
    ],
)
def test_a_servers_step_has_the_rate_of_its_round(kind: type):
    """Two rates make of one state the step that a rule of the plain rate makes."""
    scheduled, plain = kind(learning_rate=THIRDS), kind(learning_rate=0.3)
    assert in_round(scheduled, 2) == plain
    assert in_round(scheduled, 3) == kind(learning_rate=0.1)
    assert same_weights(one_cell(2, server=scheduled), one_cell(2, server=plain))
    assert not same_weights(one_cell(3, server=scheduled), one_cell(3, server=plain))
    nested = cosim.server_updates.FedAvgM(
        mean=cosim.server_updates.FedNova(weighted=cosim.server_updates.Mean()), learning_rate=THIRDS
    )
    assert in_round(nested, 5) == evolve(nested, learning_rate=0.1)


# --- Every rule ---------------------------------------------------------------------------------------------


@part
class Pulled(cosim.training.LocalTraining):
    """A rule of one's own with a number of its own that follows the round."""

    mu: cosim.schedules.Rate = knob(not_negative, default=0.1)

    def train(self, client):
        """SGD with a pull, and a note of what it was told."""
        SEEN.append((client.name, client.round, self.learning_rate))
        optimizer = torch.optim.SGD(client.network.parameters(), lr=self.learning_rate, weight_decay=self.mu)
        for x, y in client.batches(client.num_steps, self.batch_size):
            optimizer.zero_grad()
            client.loss(client.network(x), y).backward()
            optimizer.step()


def watching(network, batches, state, rng, round, learning_rate):
    """A function that asks for both."""
    SEEN.append(("", round, learning_rate))
    optimizer = torch.optim.SGD(network.parameters(), lr=learning_rate)
    for x, y in batches:
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(x), y).backward()
        optimizer.step()


LOCAL = [
    cosim.Sgd(batch_size=10),
    cosim.training.Proximal(batch_size=10, mu=0.5),
    cosim.training.Momentum(batch_size=10, keeps_state=True),
    cosim.training.Adam(batch_size=10),
    cosim.training.Scaffold(batch_size=10),
    cosim.training.TorchFunction(batch_size=10, function=f"{__name__}:watching"),
    Pulled(batch_size=10),
]


@pytest.mark.parametrize("rule", LOCAL, ids=lambda rule: type(rule).__name__)
def test_an_update_has_the_rate_of_its_round(rule: cosim.training.LocalTraining):
    """An update of round 3 is that of the plain rate, and a constant schedule is the plain number."""
    scheduled, dataset = evolve(rule, learning_rate=THIRDS), loaded(cosim.data.Synthetic())
    learner = Learner(models.build("mlp-12-8-4"), dataset, num_workers=1)
    start = learner.initial_model(1)

    def weights(rule: cosim.training.LocalTraining, version: int):
        start.version = version
        shared = {"model": start, "num_steps": 3, "key": 5, "training": rule}
        return learner.weights(
            mean([PendingUpdate(client=f"{n}", samples=[n, n + 1, n + 2], **shared) for n in (1, 2)])
        )

    for version, rate in ((0, 0.3), (1, 0.3), (2, 0.1), (9, 0.1)):
        plain = weights(evolve(rule, learning_rate=rate), 0)
        np.testing.assert_equal(weights(scheduled, version), plain)
    np.testing.assert_equal(weights(evolve(rule, learning_rate=constant(0.3)), 4), weights(scheduled, 0))
    assert same_weights(
        one_cell(local=evolve(rule, learning_rate=constant(0.2))),
        one_cell(local=evolve(rule, learning_rate=0.2)),
    )


def test_vertical_training_has_both_rates_of_its_round():
    def system(rate, central_rate):
        usual = worlds.vhfl()
        local = evolve(usual.protocol.local, learning_rate=rate, central_learning_rate=central_rate)
        return evolve(usual, protocol=evolve(usual.protocol, local=local))

    assert same_weights(system(constant(0.1), constant(0.5)), system(0.1, 0.5))
    later = ByRound(values=(0.5, 2.0), first_rounds=(1, 2))
    assert not same_weights(system(0.1, later), system(0.1, 0.5))


@pytest.mark.parametrize(
    ("protocol", "name"),
    [
        (cosim.FedBuff, "server_rate"),
        (cosim.FedAsync, "share"),
        (cosim.protocols.GeneralisedAsync, "server_rate"),
    ],
)
def test_an_asynchronous_step_has_the_rate_of_its_version(protocol: type, name: str):
    """The first version that another rate makes is the one in its round."""

    def weights_of(rate, num_versions: int):
        training = cosim.ClientTraining(num_local_steps=2, local=cosim.Sgd(batch_size=10))
        rule = protocol(training=training, **{name: rate})
        if protocol is cosim.FedBuff:
            rule = evolve(rule, num_updates=2)
        end = cosim.AfterVersions(num_versions=num_versions)
        return worlds.one_cell(1e9, 2e9, 3e9, protocol=rule, end=end)

    halved = ByRound(values=(0.5, 0.25), first_rounds=(1, 3))
    assert same_weights(weights_of(halved, 2), weights_of(0.5, 2))
    assert not same_weights(weights_of(halved, 3), weights_of(0.5, 3))
    weights = run(weights_of(halved, 4)).updates
    share = weights["weight"] / run(weights_of(1.0, 4)).updates["weight"]
    assert set(share[weights["made_version"] <= 2]) == {0.5}
    assert set(share[weights["made_version"] > 2]) == {0.25}


# --- Systems ------------------------------------------------------------------------------------------------


def with_training(system: cosim.System, **parts: object) -> cosim.System:
    training = evolve(system.protocol.training, **parts)
    return evolve(system, protocol=evolve(system.protocol, training=training))


@pytest.mark.parametrize("rate", [constant(0.2), ByRound(values=(0.2, 0.7), first_rounds=(1, 4))])
def test_fed_nova_and_sums_over_the_air_take_the_plain_number(rate: ByRound):
    local, sums = (
        cosim.training.Proximal(batch_size=10, mu=0.5),
        worlds.still(3.0, sharing=cosim.radio.OverTheAir()),
    )
    cells = [one_cell(local=evolve(local, learning_rate=of)) for of in (rate, 0.2)]
    assert same_weights(*(with_training(cell, server=cosim.server_updates.FedNova()) for cell in cells))
    assert same_weights(*(evolve(cell, uplink=sums) for cell in cells))


def test_fed_nova_refuses_a_rate_that_is_too_large_in_any_round():
    local = cosim.training.Proximal(
        batch_size=10, mu=10.0, learning_rate=ByRound(values=(0.01, 0.2), first_rounds=(1, 3))
    )
    assert with_training(one_cell(2, local=local), server=cosim.server_updates.FedNova())
    with pytest.raises(ConfigurationError, match="how many gradients"):
        with_training(one_cell(3, local=local), server=cosim.server_updates.FedNova())


@pytest.mark.parametrize("local", [cosim.Sgd(batch_size=10), cosim.training.Scaffold(batch_size=10)])
def test_both_clocks_and_a_stopped_run(local: cosim.training.LocalTraining, tmp_path: Path):
    rate = WarmUp(then=Cosine(initial=0.3, last=0.01, num_rounds=6), num_rounds=3)
    training = worlds.training(local=evolve(local, learning_rate=rate), waiting=worlds.DEADLINE)
    server = cosim.server_updates.FedAdam(learning_rate=StepDecay(initial=0.1, factor=0.5))
    protocol = cosim.HFedAvg(training=training, server=server)
    system = worlds.some_late(protocol=protocol, end=cosim.AfterRounds(num_global_rounds=6))
    whole = run(system, num_workers=1, clock="events")
    np.testing.assert_equal(run(system, num_workers=1, clock="arrays").weights, whole.weights)

    class Stopped(BaseException):
        pass

    def stop(report):
        if report.version == 3:
            raise Stopped

    folder = tmp_path / "run"
    with pytest.raises(Stopped):
        run(system, out=folder, num_workers=1, listener=stop)
    np.testing.assert_equal(run(system, out=folder, num_workers=1, resume=True).weights, whole.weights)


@part
class Noting(cosim.server_updates.ServerUpdate):
    """A server's rule that notes the round, and the mean."""

    rate: cosim.schedules.Rate = 1.0

    def step(self, server):
        """The mean."""
        SEEN.append(("server", server.round, self.rate))
        server.model.update(server.mean)


FOUR = ByRound(values=(0.1, 0.2, 0.3, 0.4), first_rounds=(1, 2, 3, 4))


def seen(system: cosim.System) -> list[tuple[str, str, int, float]]:
    """Notes of a run, without the trial before it."""
    SEEN.clear()
    with patch.object(Learner, "try_rule"):
        run(system, num_workers=1)
    return sorted(SEEN)


@pytest.mark.parametrize("local", [Pulled(batch_size=10), LOCAL[-2]])
def test_a_training_and_a_step_are_in_the_global_round(local: cosim.training.LocalTraining):
    """Two edge rounds in each."""
    system = one_cell(local=evolve(local, learning_rate=FOUR), server=Noting(rate=FOUR))
    names = [f"client-{n:04d}" if isinstance(local, Pulled) else "" for n in range(3)]
    rounds = {1: 0.1, 2: 0.2, 3: 0.3}
    clients = [(name, number, rate) for name in names for number, rate in rounds.items() for _ in range(2)]
    assert seen(system) == sorted([*clients, *(("server", *one) for one in rounds.items())])
    steps = seen(with_training(one_cell(local=cosim.Sgd(batch_size=10)), server=Noting(rate=FOUR)))
    assert steps == [("server", number, rate) for number, rate in rounds.items() for _ in range(2)]


def test_an_update_stays_in_the_round_in_which_it_was_asked_for():
    """Also where nothing arrives and the next version is the same model."""
    start = Learner(models.build("mlp-12-8-4"), loaded(cosim.data.Synthetic())).initial_model(1)
    rule = cosim.Sgd(learning_rate=FOUR)
    asked = {"client": "a", "model": start, "samples": [1], "num_steps": 1, "training": rule, "key": 1}
    updates = []
    for version in range(3):
        start.version = version
        updates.append(PendingUpdate(**asked))
    assert [update.round for update in updates] == [1, 2, 3]
    assert [update.training.learning_rate for update in updates] == [0.1, 0.2, 0.3]
    assert mean(updates).version == 2


def test_an_asynchronous_client_trains_in_the_round_of_the_version_that_it_got():
    clients = cosim.ClientTraining(num_local_steps=2, local=Pulled(batch_size=10, learning_rate=FOUR))
    protocol = cosim.FedBuff(num_updates=2, training=clients)
    system = worlds.one_cell(1e9, 2e9, 5e9, protocol=protocol, end=cosim.AfterVersions(num_versions=6))
    found, applied = seen(system), run(system, num_workers=1).updates
    rounds = applied["started_version"] + 1
    assert [one[:2] for one in found] == sorted(zip(applied["client"], rounds, strict=True))
    assert all(rate == FOUR.value(number) for _, number, rate in found)
    assert set(rounds) > {1, 2, 5}


def test_cells_below_an_asynchronous_cloud_train_in_the_round_of_the_version_that_they_got():
    cells = cosim.protocols.WholeCells(
        training=worlds.training(local=Pulled(batch_size=10, learning_rate=FOUR))
    )
    protocol = cosim.FedAsync(training=cells)
    system = worlds.some_late(protocol=protocol, end=cosim.AfterVersions(num_versions=4))
    applied = run(system, num_workers=1).updates
    assert {number for _, number, _ in seen(system)} == set(applied["started_version"] + 1) > {1, 2}


def test_clients_of_an_asynchronous_cell_train_in_its_global_round():
    clients = cosim.ClientTraining(num_local_steps=2, local=Pulled(batch_size=10, learning_rate=FOUR))
    inner = cosim.FedAsync(training=clients, share=1.0)
    training = cosim.protocols.AsynchronousTraining(protocol=inner, turn=cosim.AfterVersions(num_versions=4))
    system = worlds.one_cell(
        1e9, 2e9, protocol=cosim.HFedAvg(training=training), end=cosim.AfterRounds(num_global_rounds=3)
    )
    assert {number for _, number, _ in seen(system)} == {1, 2, 3}


# --- Words --------------------------------------------------------------------------------------------------


@part
class Listed(cosim.schedules.Schedule):
    """One of one's own, which may give anything."""

    last: float = 0.1

    def value(self, round):
        """The number in round 3."""
        return self.last if round == 3 else 0.1


@part
class OwnRate(cosim.training.LocalTraining):
    """A rule that declares its rate as a plain number."""

    learning_rate: float = 0.1

    def train(self, client):
        """Nothing."""


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (
            ByRound(values=(0.1, -0.1), first_rounds=(1, 3)),
            r"round 3: Sgd\.learning_rate = -0\.1: must be above 0",
        ),
        (Listed(last=0.0), r"round 3: Sgd\.learning_rate = 0: must be above 0"),
        (Cosine(initial=0.1, last=0.0, num_rounds=3), r"round 3: Sgd\.learning_rate = 0: must be above 0"),
    ],
)
def test_every_value_that_comes_is_held_against_the_rules_of_the_field(
    rate: cosim.schedules.Schedule, message: str
):
    assert one_cell(2, local=cosim.Sgd(learning_rate=rate))
    with pytest.raises(ConfigurationError, match=message):
        one_cell(3, local=cosim.Sgd(learning_rate=rate))
    with pytest.raises(ConfigurationError, match=message.replace("Sgd", "FedAdam")):
        one_cell(3, server=cosim.server_updates.FedAdam(learning_rate=rate))


def test_what_is_no_number_is_refused():
    for value in (math.nan, "0.1", None, True, 1j):
        with pytest.raises(ConfigurationError, match=r"NoNumber\.value\(1\) = .*must be a finite number"):
            one_cell(local=cosim.Sgd(learning_rate=no_number(value)))
    with pytest.raises(
        ConfigurationError,
        match=r"be a finite number.*learning_rate: cosim\.schedules\.Rate in it",
    ):
        OwnRate(learning_rate=THIRDS)
    with pytest.raises(ConfigurationError, match="ByRound, Cosine, StepDecay, WarmUp"):
        cosim.Sgd(learning_rate=[0.1, 0.2])
    with pytest.raises(ConfigurationError, match="must rise from round 1"):
        ByRound(values=(0.1, 0.2), first_rounds=(1, 1))
    with pytest.raises(ConfigurationError, match="one round for each of the 2 values"):
        ByRound(values=(0.1, 0.2), first_rounds=(1,))


def no_number(value: object) -> cosim.schedules.Schedule:
    @part
    class NoNumber(cosim.schedules.Schedule):
        def value(self, round):
            return value

    return NoNumber()


@pytest.mark.usefixtures("unwritten_pictures")
def test_options_files_and_studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A schedule typed, one in a grid beside a plain number, and one from a run's file."""
    monkeypatch.chdir(tmp_path)
    words = "--learning-rate.kind ByRound --learning-rate.values 0.3 0.1 --learning-rate.first-rounds 1 2"
    options = "--num-global-rounds 2 --out run"
    with pytest.raises(SystemExit, match="0"):
        main(["run", "quickstart", *words.split(), *options.split()])
    file = json.loads((tmp_path / "run" / "config.json").read_text())["system"]
    rate = file["protocol"]["training"]["local"]["learning_rate"]
    assert rate == {"kind": "ByRound", "values": [0.3, 0.1], "first_rounds": [1, 2]}
    assert to_dict(from_dict(cosim.System, file)) == file
    system = one_cell(2, local=cosim.Sgd(batch_size=10))
    with ThreadPoolExecutor(1) as here:
        study = Study(system, {"local.learning_rate": (0.3, rate)}, 1)
        runs = study.run(tmp_path / "study", executor=here)
    schedule = ByRound(values=(0.3, 0.1), first_rounds=(1, 2))
    alone = [run(one_cell(2, local=cosim.Sgd(batch_size=10, learning_rate=of))) for of in (0.3, schedule)]
    assert [*runs["loss_nats"]] == [one.evaluations["loss_nats"].iloc[-1] for one in alone]


def test_a_plain_number_takes_the_place_of_a_schedule_on_the_command_line():
    scheduled = one_cell(2, local=cosim.Sgd(learning_rate=ByRound(values=(0.3, 0.1), first_rounds=(1, 2))))
    for words in (["--learning-rate", "0.2"], ["--local.learning-rate=0.2"]):
        system, rest = with_kinds(scheduled, [*words, "--batch-size", "10"])
        assert finished(system) == one_cell(2, local=cosim.Sgd(learning_rate=0.2))
        assert rest == ["--batch-size", "10"]
    with pytest.raises(ConfigurationError, match=r"--learning-rate: fast: must be a number"):
        with_kinds(scheduled, ["--learning-rate", "fast"])
    plain = one_cell(2, local=cosim.Sgd(learning_rate=0.2))
    assert with_kinds(plain, ["--learning-rate", "0.3"])[1] == ["--learning-rate", "0.3"]
