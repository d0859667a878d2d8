"""Personal tensors of clients, against torch loops that keep them by hand; what travels; refusals."""

import numpy as np
import pytest
import torch
import worlds
from data_sets import loaded
from here import Stopped
from torch import nn

import cosim
import models
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, part
from cosim.engine.servers.cloud import VersionReport
from cosim.engine.store.checkpoint import Checkpoint
from cosim.names import client_name, personal_of
from cosim.networks.personal import with_personal
from cosim.system.needs import kept_values_of
from cosim.testing import check_system
from cosim.training.companions import CompanionsHeldBack
from cosim.training.programs.sgd_steps import mini_batches
from cosim.values.submodels import NetworkShape

RATE, BATCH, ROUNDS = 0.1, 10, 3
SGD = cosim.Sgd(batch_size=BATCH, learning_rate=RATE)
HEAD = {"layers.1.weight", "layers.1.bias"}
BN = {"bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"}


class Normalised(nn.Module):
    """A dense layer, its normalisation, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.bn, self.head = nn.Linear(12, 8), nn.BatchNorm1d(8), nn.Linear(8, 4)

    def forward(self, x_BD):
        return self.head(torch.relu(self.bn(self.body(x_BD))))


class Grouped(nn.Module):
    """Declares nothing, and is trained under vmap."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.norm, self.head = nn.Linear(12, 8), nn.GroupNorm(2, 8), nn.Linear(8, 4)

    def forward(self, x_BD):
        return self.head(torch.relu(self.norm(self.body(x_BD))))


def mlp() -> nn.Module:
    return models.build("mlp-12-8-4")


def system(personal: tuple[str, ...], local: cosim.training.LocalTraining = SGD, **changes) -> cosim.System:
    """Five clients in two cells, of whom one never arrives and one never even trains to the end."""
    protocol = cosim.HFedAvg(training=worlds.training(local=local, waiting=worlds.DEADLINE))
    more = {"model": "mlp-12-8-4", "protocol": protocol, "end": cosim.AfterRounds(num_global_rounds=ROUNDS)}
    return worlds.some_late(**(more | {"personal": personal} | changes))


# --- against a loop -----------------------------------------------------------------------------------------


class Loop:
    """A run by hand: clients that have trained, and updates that arrive, read off its tables."""

    def __init__(self, case: cosim.System, network: nn.Module, first: dict, keeps: set[str]) -> None:
        self.system, self.network, self.keeps = case, network, keeps
        self.dataset = loaded(case.data)
        self.held = case.data.held(Simulation(case.seed), self.dataset, case.sizes())
        self.first = {name: torch.tensor(values) for name, values in first.items()}
        self.own: dict[int, dict[str, torch.Tensor]] = {}

    def trained(self, n: int, start: dict, job: int) -> dict[str, torch.Tensor]:
        """Weights of a client after its steps; its own tensors are kept for its next training."""
        self.network.train().load_state_dict(start | self.own.get(n, {}), strict=False)
        optimizer = torch.optim.SGD(self.network.parameters(), lr=RATE)
        key = Simulation(self.system.seed).key(client_name(n), "mini-batches", job)
        for batch in mini_batches(self.held[n](), worlds.STEPS, BATCH, key):
            optimizer.zero_grad()
            x, y = torch.tensor(self.dataset.train_x[batch]), torch.tensor(self.dataset.train_y[batch])
            nn.functional.cross_entropy(self.network(x), y).backward()
            optimizer.step()
        found = {name: values.clone() for name, values in self.network.state_dict().items() if name in start}
        self.own[n] = {name: found[name] for name in self.keeps}
        return found

    def weights_after(self, result: cosim.Result) -> dict[str, torch.Tensor]:
        """The global model at the end."""
        spans, fates = result.spans, result.fates
        whole = spans[(spans["activity"] == "train") & (spans["outcome"] == "done")]
        done = fates[fates["outcome"] == "done"]
        jobs = {
            name: set(zip(of["node" if name == "trained" else "client"], of["job"], strict=True))
            for name, of in (("trained", whole), ("arrived", done))
        }
        firsts, model = np.cumsum([0, *self.system.sizes()]), self.first
        for global_round in range(ROUNDS):
            cells = []
            for begin, size in zip(firsts, self.system.sizes(), strict=False):
                x = model
                for job in (2 * global_round, 2 * global_round + 1):
                    arrived = []
                    for n in range(begin, begin + size):
                        if (client_name(n), job) in jobs["trained"]:
                            y = self.trained(n, x, job)
                            if (client_name(n), job) in jobs["arrived"]:
                                arrived.append(y)
                    x = {name: sum(y[name] for y in arrived) / len(arrived) for name in x}
                    x |= {name: self.first[name] for name in self.keeps}
                cells.append(x)
            model = {name: sum(x[name] for x in cells) / len(cells) for name in model}
        return model | {name: self.first[name] for name in self.keeps}


def assert_close(found: dict[str, np.ndarray], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values.numpy(), rtol=1e-4, atol=2e-6, err_msg=name)


@pytest.mark.parametrize(
    ("build", "words", "keeps"),
    [
        (mlp, ("layers.1",), HEAD),
        (Grouped, ("head", "norm.bias"), {"head.weight", "head.bias", "norm.bias"}),
        (Normalised, ("batch norm",), BN),
        (Normalised, ("running statistics",), {"bn.running_mean", "bn.running_var"}),
        (Normalised, ("batch norm", "head"), BN | {"head.weight", "head.bias"}),
    ],
    ids=["FedPer", "FedPer under vmap", "FedBN", "SiloBN", "both"],
)
def test_a_run_is_a_loop_that_keeps_them_by_hand(tmp_path, build, words, keeps):
    """The client whose upload is late goes on with its own; the one that never ends a training has none."""
    case = system(words)
    reports: list[VersionReport] = []
    result = cosim.run(case, build(), out=tmp_path / "a", num_workers=1, listener=reports.append)
    first = {name: values.numpy() for name, values in reports[0].model.settled.items()}
    loop = Loop(case, build(), first, keeps)
    assert_close(result.weights, loop.weights_after(result))
    assert set(loop.own) == {0, 2, 3, 4}
    kept = Checkpoint.load(tmp_path / "a")
    assert kept is not None
    assert kept.states.keys() == {personal_of(client_name(n)) for n in loop.own}
    for n, own in loop.own.items():
        assert_close(kept.states[personal_of(client_name(n))], own)
    for name in keeps:
        np.testing.assert_array_equal(result.weights[name], first[name], "no server moves them")


# --- what travels -------------------------------------------------------------------------------------------


def test_neither_way_has_bits_for_them_and_times_alone_are_the_same():
    """12 x 8 + 8 values of 140 travel; the head's 36 do not."""
    topology = cosim.topology.Disc(backhaul_rate_bps=1e6)
    shared, found = (
        cosim.run(system(words, topology=topology), num_workers=1) for words in ((), ("layers.1",))
    )
    assert set(shared.transfers["payload_bits"]) == {32 * 140}
    assert set(found.transfers["payload_bits"]) == {32 * 104}
    for of, bits in ((shared, 32 * 140), (found, 32 * 104)):
        sent = of.spans[(of.spans["node"] == "edge-00") & (of.spans["activity"] == "send")]
        np.testing.assert_allclose(sent["end_s"] - sent["start_s"], bits / 1e6, rtol=1e-9)
    timed = cosim.run(system(("layers.1",), topology=topology, evaluation=cosim.Never()))
    for name in ("spans", "transfers", "fates", "rounds"):
        assert getattr(timed, name).equals(getattr(found, name)), name


@part
class Seen(cosim.codecs.Codec):
    """Refuses to be shown what does not travel."""

    keeps_state = True

    def bits(self, num_values):
        """A bit each."""
        assert num_values == 104
        return num_values

    def transmit(self, sent):
        """Half arrives."""
        assert not HEAD & (sent.change.keys() | sent.state.keys())
        for values in sent.change.values():
            values.mul_(0.5)
        return dict(sent.change)


@part
class Doubled(cosim.server_updates.ServerUpdate):
    """Moves all that it is shown."""

    def step(self, server):
        """Away."""
        assert server.model.keys() == server.mean.keys() == {"layers.0.weight", "layers.0.bias"}
        for values in server.model.values():
            values.mul_(2.0)


def patient(**changes) -> cosim.System:
    """Three clients in a cell, two rounds."""
    more = {"model": "mlp-12-8-4", "personal": ("layers.1",), "end": cosim.AfterRounds(num_global_rounds=2)}
    return worlds.one_cell(1e9, 1e9, 1e9, **(more | changes))


def served(**parts) -> dict[str, object]:
    return {"protocol": cosim.HFedAvg(training=worlds.training(num_edge_rounds=1, local=SGD, **parts))}


@pytest.mark.parametrize(
    "changes",
    [
        {"codec": Seen(), **served()},
        {"codec": cosim.codecs.ErrorFeedback(codec=cosim.codecs.TopK()), **served()},
        {"codec": cosim.codecs.Signs(), **served(server=cosim.server_updates.MajorityVote())},
        served(server=Doubled()),
        served(server=cosim.server_updates.FedAdam()),
        served(server=cosim.server_updates.FedNova()),
        {"uplink": cosim.Radio(sharing=cosim.radio.OverTheAir(bandwidth_hz=1e6)), **served()},
        {"downlink": cosim.radio.Broadcast(), "model_codec": cosim.codecs.BFloat16(), **served()},
        {
            "protocol": cosim.FedBuff(training=cosim.ClientTraining(local=SGD)),
            "end": cosim.AfterVersions(num_versions=3),
        },
        {
            "protocol": cosim.FedAsync(training=cosim.ClientTraining(local=SGD)),
            "end": cosim.AfterVersions(num_versions=4),
        },
    ],
)
def test_neither_codecs_nor_servers_nor_noise_move_them(changes):
    """The head of the global model is the first one for ever; the body has moved."""
    reports: list[VersionReport] = []
    result = cosim.run(patient(**changes), num_workers=1, listener=reports.append)
    first = reports[0].model.settled
    own = reports[-1].states[personal_of(client_name(0))].settled
    for name in HEAD:
        np.testing.assert_array_equal(result.weights[name], first[name].numpy(), name)
    assert (result.weights["layers.0.weight"] != first["layers.0.weight"].numpy()).any()
    assert own.keys() == HEAD
    assert all(not torch.equal(own[name], first[name]) for name in HEAD)


@part
class Starts(cosim.training.LocalTraining):
    """Goes on from where it was, and says so."""

    keeps_state = True

    def train(self, client):
        """One more, in every tensor."""
        for name, values in client.network.state_dict().items():
            torch.testing.assert_close(values, client.initial[name], rtol=0.0, atol=0.0)
            if name in client.state:
                torch.testing.assert_close(values, client.state[name], rtol=0.0, atol=0.0)
            values += 1.0
        return {name: values for name, values in client.network.state_dict().items() if name in HEAD}


def test_a_rule_of_ones_own_starts_from_them():
    """`client.initial` is what its network holds: of its own, what its last training has left."""
    reports: list[VersionReport] = []
    case = patient(protocol=cosim.HFedAvg(training=worlds.training(num_edge_rounds=1, local=Starts())))
    cosim.run(case, num_workers=1, listener=reports.append)
    states = reports[-1].states
    for n in range(3):
        kept, own = (states[name].settled for name in (client_name(n), personal_of(client_name(n))))
        assert kept.keys() == own.keys() == HEAD
        for name in HEAD:
            torch.testing.assert_close(own[name], reports[0].model.settled[name] + 2.0)
            assert torch.equal(kept[name], own[name])


# --- with SCAFFOLD ------------------------------------------------------------------------------------------


@part
class OwnScaffold(cosim.training.LocalTraining):
    """SCAFFOLD of the body, plain steps of the head."""

    keeps_state = True
    keeps_what_arrived = True

    def companions(self, shape):
        """The server's variate."""
        return {f"variate {name}": size for name, size in shape.parameters.items() if name not in HEAD}

    def received(self, model, mean, share):
        """Held back."""
        return CompanionsHeldBack(model, mean, share)

    def train(self, client):
        """Algorithm 1 of its paper."""
        parameters = dict(client.network.named_parameters())
        body = {name: p for name, p in parameters.items() if name not in HEAD}
        own = {name: client.state.get(name, torch.zeros_like(p)) for name, p in body.items()}
        server = {name: client.companions[f"variate {name}"].clone() for name in body}
        for x, y in client.batches(client.num_steps, self.batch_size):
            gradients = torch.autograd.grad(client.loss(client.network(x), y), [*parameters.values()])
            with torch.no_grad():
                for (name, p), g in zip(parameters.items(), gradients, strict=True):
                    p -= self.learning_rate * (g - own[name] + server[name] if name in body else g)
        with torch.no_grad():
            moved = {
                n: (client.initial[n] - p) / (client.num_steps * self.learning_rate) for n, p in body.items()
            }
            for name in body:
                client.companions[f"variate {name}"].copy_(moved[name])
        return {name: own[name] - server[name] + moved[name] for name in body}


def test_scaffold_has_variates_of_what_travels_only():
    rules = [kind(batch_size=BATCH, learning_rate=RATE) for kind in (cosim.training.Scaffold, OwnScaffold)]
    ours, own = (cosim.run(system(("layers.1",), rule), num_workers=1) for rule in rules)
    assert set(ours.transfers["payload_bits"]) == {32 * 2 * 104}
    assert ours.spans.equals(own.spans)
    assert_close(ours.weights, {name: torch.tensor(values) for name, values in own.weights.items()})


# --- stopped and resumed ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [
        system(
            ("layers.1",), cosim.training.Momentum(batch_size=BATCH, learning_rate=RATE, keeps_state=True)
        ),
        patient(
            protocol=cosim.FedBuff(training=cosim.ClientTraining(local=SGD), num_updates=2),
            end=cosim.AfterVersions(num_versions=4),
        ),
    ],
    ids=["rounds", "versions"],
)
def test_a_resumed_run_keeps_the_same(tmp_path, case):
    def stop(report: VersionReport) -> None:
        if report.version == 2:
            raise Stopped

    whole = cosim.run(case, out=tmp_path / "whole", num_workers=1)
    with pytest.raises(Stopped):
        cosim.run(case, out=tmp_path / "stopped", num_workers=1, listener=stop)
    resumed = cosim.run(case, out=tmp_path / "stopped", num_workers=2, resume=True)
    assert resumed.evaluations.equals(whole.evaluations)
    found, wanted = (Checkpoint.load(tmp_path / name) for name in ("stopped", "whole"))
    assert found is not None
    assert wanted is not None
    np.testing.assert_equal(found.weights, wanted.weights)
    np.testing.assert_equal(dict(found.states), dict(wanted.states))
    assert any(name.endswith("personal") for name in wanted.states)


def test_the_laws_of_runs():
    check_system(system(("layers.1",)))


# --- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("head",),
            r"System\.personal = .*called 'head'; known are layers\.0, layers\.1, batch norm, running",
        ),
        (("layers.1", "batch norm"), r"System\.model has no layer with running statistics"),
        (("layers",), r"keep all that is trained, and learn nothing together"),
    ],
)
@pytest.mark.parametrize("evaluation", [cosim.ends.EveryVersions(), cosim.Never()])
def test_words_that_name_nothing_or_everything_are_refused_before_a_folder_is_made(
    tmp_path, words, message, evaluation
):
    with pytest.raises(ConfigurationError, match=message):
        cosim.run(system(words, evaluation=evaluation), out=tmp_path / "a")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (
            system(("layers.1",), protocol=cosim.Hist(training=worlds.training()), model="relu-12-8-4"),
            "a cell has other units",
        ),
        (worlds.vhfl(personal=("local",)), "a part of the model is the server's"),
    ],
    ids=["HIST", "VHFL"],
)
def test_protocols_that_cut_the_network_are_refused(case, why):
    with pytest.raises(ConfigurationError, match=rf"System\.personal = .*clients keep it, but {why}"):
        cosim.run(case)


class Tied(nn.Module):
    """Two layers with one weight, a scale of its own, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(12))
        self.first, self.second, self.head = nn.Linear(12, 12), nn.Linear(12, 12), nn.Linear(12, 4)
        self.second.weight = self.first.weight

    def reset_parameters(self) -> None:
        """Ones."""
        nn.init.ones_(self.scale)

    def forward(self, x_BD):
        return self.head(torch.relu(self.second(torch.relu(self.first(x_BD * self.scale)))))


def test_a_tensor_that_layers_share_stays_or_travels_as_one():
    shape = NetworkShape.of(Tied())
    found = with_personal(shape, ("first", "second", "scale"), Tied()).personal
    assert found == {"scale", "first.weight", "first.bias", "second.bias"}
    for word, other in (("first", "second"), ("second", "first")):
        message = rf"{word}\.weight and {other}\.weight are one tensor.*Name {other} too, or neither"
        with pytest.raises(ConfigurationError, match=message):
            with_personal(shape, (word,), Tied())
    with pytest.raises(
        ConfigurationError, match=r"known are scale, first, second, head, batch norm, running"
    ):
        with_personal(shape, ("third",), Tied())


def test_what_clients_keep_is_counted_before_a_run_starts():
    shape = NetworkShape.of(Normalised())
    kept = with_personal(shape, ("batch norm",), Normalised())
    assert (kept.num_values(), kept.num_sent(), kept.num_parameters()) == (172, 140, 156)
    assert kept_values_of(system(("batch norm",)), kept) == 5 * 32
