"""SCAFFOLD against a plain loop, in a run with cells and dropped clients; what it sends; what it refuses."""

import numpy as np
import pytest
import torch
import worlds
from data_sets import loaded
from torch import nn

import cosim
import models
from cosim import HFedAvg, Sgd
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, part
from cosim.engine.servers.cloud import VersionReport
from cosim.engine.store.checkpoint import Checkpoint
from cosim.names import client_name
from cosim.testing import check_system
from cosim.training import Scaffold
from cosim.training.companions import CompanionsHeldBack
from cosim.training.port import LocalTraining
from cosim.training.programs.sgd_steps import mini_batches
from cosim.values.pending import PendingModel
from cosim.values.submodels import NetworkShape
from scenarios.papers.rawhfl import RawHfl

RATE, BATCH, STEPS = 0.1, 10, worlds.STEPS
RULE = Scaffold(batch_size=BATCH, learning_rate=RATE)
VARIATE = "variate "


def system(local: LocalTraining = RULE, **changes: object) -> cosim.System:
    """Five clients in two cells, of whom two are late in every edge round."""
    protocol = HFedAvg(training=worlds.training(local=local, waiting=worlds.DEADLINE))
    return worlds.some_late(**({"model": "mlp-12-8-4", "protocol": protocol} | changes))


def patient(local: LocalTraining, **changes: object) -> cosim.System:
    """Three clients in one cell, one edge round in a global one; all arrive."""
    protocol = HFedAvg(training=worlds.training(local=local, num_edge_rounds=1))
    return worlds.one_cell(1e9, 1e9, 1e9, **({"protocol": protocol, "seed": 3} | changes))


# --- against a loop -----------------------------------------------------------------------------------------


def corrected(
    x: dict[str, torch.Tensor],
    own: dict[str, torch.Tensor],
    server: dict[str, torch.Tensor],
    batches: np.ndarray,
    dataset: cosim.data.Dataset,
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Model and variate of a client after its steps, as the paper's Algorithm 1 has them, in float64."""
    network = models.build("mlp-12-8-4").double()
    network.load_state_dict(x)
    for batch in batches:
        inputs = torch.tensor(dataset.train_x[batch], dtype=torch.float64)
        loss = nn.functional.cross_entropy(network(inputs), torch.tensor(dataset.train_y[batch]))
        gradients = torch.autograd.grad(loss, [*network.parameters()])
        with torch.no_grad():
            for (name, y), g in zip(network.named_parameters(), gradients, strict=True):
                y -= RATE * (g - own[name] + server[name])
    y = {name: values.detach().clone() for name, values in network.named_parameters()}
    lasted = len(batches) * RATE
    return y, {name: own[name] - server[name] + (x[name] - y[name]) / lasted for name in x}


def looped(case: cosim.System, fates, num_rounds: int):
    """Model, server variate and clients' variates of a run, arrivals read off its fates."""
    sim, dataset = Simulation(case.seed), loaded(case.data)
    held = case.data.held(sim, dataset, case.sizes())
    _, learner, _ = worlds.built(case)
    first = learner.weights(learner.initial_model(Simulation(case.seed).key("cloud", "initial weights")))
    model = {name: torch.tensor(values, dtype=torch.float64) for name, values in first.items()}
    zero = {name: torch.zeros_like(values) for name, values in model.items()}
    server, own = zero, dict.fromkeys(range(case.num_clients), zero)
    done = fates[fates["outcome"] == "done"]
    firsts = np.cumsum([0, *case.sizes()])
    num_edge_rounds = case.protocol.training.num_edge_rounds
    for global_round in range(1, num_rounds + 1):
        cells = []
        for first_client, size in zip(firsts, case.sizes(), strict=False):
            x, c = model, server
            for edge_round in range(num_edge_rounds):
                job = (global_round - 1) * num_edge_rounds + edge_round
                arrived, changes = [], []
                for n in range(first_client, first_client + size):
                    if not ((done["client"] == client_name(n)) & (done["job"] == job)).any():
                        continue
                    key = sim.key(client_name(n), "mini-batches", job)
                    batches = mini_batches(held[n](), STEPS, BATCH, key)
                    y, after = corrected(x, own[n], c, batches, dataset)
                    arrived.append(y)
                    changes.append({name: after[name] - own[n][name] for name in x})
                    own[n] = after
                x = {name: sum(y[name] for y in arrived) / len(arrived) for name in x}
                c = {name: c[name] + sum(of[name] for of in changes) / size for name in x}
            cells.append((x, c))
        model, server = ({name: sum(cell[i][name] for cell in cells) / 2 for name in model} for i in (0, 1))
    return model, server, own


def assert_close(found: dict[str, np.ndarray], expected: dict[str, torch.Tensor], prefix: str = "") -> None:
    assert {prefix + name for name in expected} == found.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[prefix + name], values.numpy(), rtol=1e-4, atol=5e-6, err_msg=name)


def test_a_run_with_cells_and_late_clients_is_the_papers_loop(tmp_path):
    """Two cells of different size, E = 2; a late client's variate stays, and the server's stays with it."""
    num_rounds = 3
    case = system(end=cosim.AfterRounds(num_global_rounds=num_rounds))
    result = cosim.run(case, out=tmp_path / "run", num_workers=1)
    assert {"done", "deadline"} <= set(result.fates["outcome"]), "somebody is late"
    model, server, own = looped(case, result.fates, num_rounds)
    kept = Checkpoint.load(tmp_path / "run")
    assert kept is not None
    assert_close(kept.weights, model)
    assert_close(kept.companions, server, VARIATE)
    arrived = {client_name(n) for n in own} - set(worlds.LATE)
    assert kept.states.keys() == arrived, "who never arrived keeps nothing"
    for n in own:
        if client_name(n) in arrived:
            assert_close(kept.states[client_name(n)], own[n], VARIATE)
    assert max(values.abs().max() for values in server.values()) > 0.01


def test_the_first_round_is_that_of_plain_sgd_bit_for_bit():
    plain = cosim.run(patient(Sgd(batch_size=BATCH, learning_rate=RATE)), num_workers=1)
    found = cosim.run(patient(RULE), num_workers=1)
    np.testing.assert_equal(found.weights, plain.weights)
    more = {"end": cosim.AfterRounds(num_global_rounds=2)}
    second = cosim.run(patient(RULE, **more), num_workers=1).weights
    again = cosim.run(patient(Sgd(batch_size=BATCH, learning_rate=RATE), **more), num_workers=1).weights
    assert any((second[name] != again[name]).any() for name in second)


def test_companions_go_a_share_of_the_way_and_models_all_of_it():
    """By hand: c = 1 and arrived means 3; a quarter of the clients arrived."""
    shape = NetworkShape({"w": (1,)})
    model, mean = (
        PendingModel.of({"w": torch.tensor([w]), "variate w": torch.tensor([c])})
        for w, c in ((5.0, 1.0), (7.0, 3.0))
    )
    held_back = CompanionsHeldBack(model, mean, 0.25)
    found = held_back.combine(shape, [model.settled, mean.settled], None)
    assert found == {"w": torch.tensor([7.0]), "variate w": torch.tensor([1.5])}
    fresh = held_back.combine(shape, [{"w": torch.tensor([5.0])}, mean.settled], None)
    assert fresh == {"w": torch.tensor([7.0]), "variate w": torch.tensor([0.75])}


# --- a rule of one's own with companions -------------------------------------------------------------------


@part
class OwnScaffold(LocalTraining):
    """The same as anybody would write it, client by client."""

    keeps_state = True
    keeps_what_arrived = True

    def companions(self, shape):
        """The server's variate."""
        return {VARIATE + name: size for name, size in shape.parameters.items()}

    def received(self, model, mean, share):
        """Held back."""
        return CompanionsHeldBack(model, mean, share)

    def train(self, client):
        """Algorithm 1."""
        parameters = dict(client.network.named_parameters())
        zero = {name: torch.zeros_like(p) for name, p in parameters.items()}
        own = {name: client.state.get(name, zero[name]) for name in parameters}
        server = {name: client.companions[VARIATE + name].clone() for name in parameters}
        for x, y in client.batches(client.num_steps, self.batch_size):
            loss = client.loss(client.network(x), y)
            for (name, p), g in zip(
                parameters.items(), torch.autograd.grad(loss, [*parameters.values()]), strict=True
            ):
                with torch.no_grad():
                    p -= self.learning_rate * (g - own[name] + server[name])
        with torch.no_grad():
            lasted = client.num_steps * self.learning_rate
            after = {n: own[n] - server[n] + (client.initial[n] - p) / lasted for n, p in parameters.items()}
            for name in parameters:
                client.companions[VARIATE + name] += after[name] - own[name]
        return after


def test_a_rule_of_ones_own_sends_and_keeps_the_same():
    ours, own = (
        cosim.run(system(rule(batch_size=BATCH, learning_rate=RATE)), num_workers=1)
        for rule in (Scaffold, OwnScaffold)
    )
    assert ours.spans.equals(own.spans)
    for name, values in ours.weights.items():
        np.testing.assert_allclose(own.weights[name], values, rtol=1e-4, atol=5e-6)


# --- in a run -----------------------------------------------------------------------------------------------


def test_the_laws_of_runs_where_clients_are_late():
    check_system(system())


def test_a_server_that_steps_moves_the_model_and_takes_the_variate_as_it_comes():
    """A server that stays where it is: the variate is that of an untouched round, the model the first."""

    class Still(cosim.server_updates.ServerUpdate):
        def step(self, server):
            assert not any(name.startswith(VARIATE) for name in (*server.model, *server.mean))

    usual = patient(RULE)
    training = cosim.evolve(usual.protocol.training, server=Still())
    reports: list[VersionReport] = []
    for case in (usual, cosim.evolve(usual, protocol=HFedAvg(training=training))):
        cosim.run(case, num_workers=1, listener=reports.append)
    usual_model, still_model = reports[1].model.settled, reports[-1].model.settled
    first = reports[0].model.settled
    for name, values in still_model.items():
        expected = usual_model if name.startswith(VARIATE) else first
        torch.testing.assert_close(values, expected[name], rtol=0.0, atol=0.0)


def test_both_ways_carry_twice_the_model():
    """Bits, seconds and joules on the air, and the backhaul's seconds, beside plain SGD's."""
    topology = cosim.topology.Disc(backhaul_rate_bps=1e6)
    plain, found = (
        cosim.run(patient(rule, topology=topology), num_workers=1) for rule in (Sgd(batch_size=BATCH), RULE)
    )
    assert set(plain.transfers["payload_bits"]) == {worlds.BITS}
    assert set(found.transfers["payload_bits"]) == {2 * worlds.BITS}
    for activity in ("send", "receive"):
        lasted_s = [_lasted_s(result, activity) for result in (plain, found)]
        assert len(lasted_s[0]) > 0
        assert lasted_s[1] == pytest.approx(2.0 * lasted_s[0], rel=1e-9)


def _lasted_s(result: cosim.Result, activity: str) -> np.ndarray:
    spans = result.spans[result.spans["activity"] == activity].sort_values("node")
    return (spans["end_s"] - spans["start_s"]).to_numpy()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"uplink": cosim.Radio(sharing=cosim.radio.OverTheAir())},
            r"OverTheAir: only the mean .* Scaffold sends something beside the model, which the noise",
        ),
        (
            {"protocol": cosim.FedBuff(training=cosim.ClientTraining(local=RULE))},
            r"no edge server takes the mean of what arrives, and .* = Scaffold wants an edge server",
        ),
        (
            {"protocol": RawHfl(local=RULE)},
            r"no edge server takes the mean of what arrives, and .* = Scaffold wants an edge server",
        ),
        (
            {
                "protocol": HFedAvg(
                    training=cosim.protocols.AsynchronousTraining(
                        protocol=cosim.FedBuff(training=cosim.ClientTraining(local=RULE))
                    )
                )
            },
            r"no edge server takes the mean of what arrives, and .* = Scaffold wants an edge server",
        ),
    ],
    ids=["over the air", "asynchronous", "RawHFL", "asynchronous cells"],
)
def test_what_does_not_go_with_it_is_refused(changes: dict[str, object], message: str):
    with pytest.raises(ConfigurationError, match=message):
        system(**changes)


def test_hist_is_refused_before_the_clock_starts():
    with pytest.raises(ConfigurationError, match=r"EdgeTraining\.local = 'Scaffold': Scaffold sends more"):
        cosim.run(system(protocol=cosim.Hist(training=worlds.training(local=RULE))))


def test_cells_that_come_and_go_carry_their_variate():
    """Under an asynchronous cloud a cell's variate is mixed as its model; the laws hold."""
    training = worlds.training(local=RULE, waiting=worlds.DEADLINE)
    protocol = cosim.FedAsync(training=cosim.protocols.WholeCells(training=training))
    check_system(system(protocol=protocol, end=cosim.AfterVersions(num_versions=3)))


# --- what it is good for ------------------------------------------------------------------------------------

SEEDS = range(1, 6)
T_999 = 8.610
"""Student's t for 99.9 %, both sides, with 4 degrees of freedom."""


def losses(
    rule: type[Sgd], seed: int, split: cosim.data.Split, num_steps: int, num_rounds: int
) -> np.ndarray:
    """Test loss after each version of ten clients with digits, trained by a linear classifier."""
    local = rule(batch_size=10, learning_rate=0.1)
    training = cosim.EdgeTraining(
        num_edge_rounds=1, steps=cosim.SameSteps(num_local_steps=num_steps), local=local
    )
    case = cosim.System(
        seed=seed,
        num_cells=1,
        num_clients=10,
        model="relu-64-10",
        data=cosim.Digits(split=split),
        protocol=HFedAvg(training=training),
        end=cosim.AfterRounds(num_global_rounds=num_rounds),
        evaluation=cosim.ends.EveryVersions(num_versions=num_rounds),
    )
    return cosim.run(case, num_workers=1).evaluations["loss_nats"].to_numpy()


def test_it_beats_plain_sgd_per_round_where_clients_differ_and_take_many_steps():
    """A label each, 100 steps, 10 rounds: at least 0.4 nats lower, by a 99.9 % interval over paired seeds."""
    split = cosim.data.Shards(per_client=1)
    lower = np.array(
        [losses(Sgd, seed, split, 100, 10)[-1] - losses(Scaffold, seed, split, 100, 10)[-1] for seed in SEEDS]
    )
    half_width = T_999 * lower.std(ddof=1) / len(SEEDS) ** 0.5
    assert lower.mean() - half_width > 0.4, (lower, half_width)


def test_it_is_plain_sgd_where_all_take_one_step():
    """Corrections add up to nothing over the clients: one step each, all arrive, whatever they hold."""
    split = cosim.data.Shards(per_client=1)
    plain, corrected_ones = (losses(rule, 1, split, 1, 10) for rule in (Sgd, Scaffold))
    np.testing.assert_allclose(corrected_ones, plain, rtol=1e-5)
