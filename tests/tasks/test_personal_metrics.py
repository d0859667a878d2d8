"""Personal models are scored by client, and read by rules of selection: against torch on each share."""

import numpy as np
import pytest
import torch
import worlds
from data_sets import loaded
from torch import nn

import cosim
import models
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, part
from cosim.engine.servers.cloud import VersionReport
from cosim.names import client_name, personal_of

BATCH, RATE = 10, 0.5
SGD = cosim.Sgd(batch_size=BATCH, learning_rate=RATE)
HEAD = {"layers.1.weight", "layers.1.bias"}
TASK = cosim.tasks.Classification(metrics=("ClientAccuracy", "PersonalAccuracy"))
COLUMNS = ["personal_accuracy", "worst_tenth_personal", "personal_spread"]


def system(local: cosim.training.LocalTraining = SGD, **changes) -> cosim.System:
    """Five clients in two cells, of whom one never ends a training; classes are where they are."""
    training = worlds.training(local=local, waiting=worlds.DEADLINE)
    usual = {
        "model": "mlp-12-8-4",
        "personal": ("layers.1",),
        "task": TASK,
        "data": cosim.data.Synthetic(split=cosim.data.Dirichlet(alpha=0.3)),
        "protocol": cosim.HFedAvg(training=training),
        "end": cosim.AfterRounds(num_global_rounds=3),
    }
    return worlds.some_late(**(usual | changes))


def run_of(of: cosim.System, **options) -> tuple[cosim.Result, list[VersionReport]]:
    reports: list[VersionReport] = []
    return cosim.run(of, **({"num_workers": 1, "listener": reports.append} | options)), reports


def outputs(weights: dict[str, torch.Tensor], x_ND: np.ndarray) -> torch.Tensor:
    network = models.build("mlp-12-8-4").eval()
    network.load_state_dict(weights)
    with torch.no_grad():
        return network(torch.tensor(x_ND))


def own_model(report: VersionReport, number: int) -> dict[str, torch.Tensor]:
    """The global model with the client's own head, where it has one."""
    state = report.states.get(personal_of(client_name(number)))
    return report.model.settled if state is None else report.model.settled | state.settled


def test_each_client_is_scored_by_its_own_model_on_its_own_share():
    of = system()
    result, reports = run_of(of)
    dataset = loaded(of.data)
    owners = of.data.test_owners(Simulation(of.seed), dataset, of.sizes())
    for report, row in zip(reports[:4], result.evaluations.itertuples(), strict=True):
        accuracies = []
        for number in range(5):
            share = np.flatnonzero(owners == number)
            right = outputs(own_model(report, number), dataset.test_x[share]).argmax(1).numpy()
            accuracies.append((right == dataset.test_y[share]).mean())
        expected = (np.mean(accuracies), min(accuracies), np.std(accuracies))
        assert [getattr(row, name) for name in COLUMNS] == pytest.approx(expected, rel=1e-12)
    first, last = result.evaluations.iloc[0], result.evaluations.iloc[-1]
    assert first["personal_accuracy"] == first["client_accuracy"], "no client has trained"
    assert last["personal_accuracy"] > last["client_accuracy"] + 0.05
    assert personal_of(client_name(1)) not in reports[-1].states, "and one never does"


def test_tables_do_not_depend_on_threads_nor_slices_nor_on_being_stopped(tmp_path, monkeypatch):
    class Stopped(BaseException):
        pass

    def stop(report: VersionReport) -> None:
        if report.version == 2:
            raise Stopped

    whole = cosim.run(system(), num_workers=1).evaluations
    with pytest.raises(Stopped):
        cosim.run(system(), num_workers=2, out=tmp_path / "a", listener=stop)
    assert cosim.run(system(), num_workers=3, out=tmp_path / "a", resume=True).evaluations.equals(whole)
    monkeypatch.setattr("cosim.networks.slices.MOST_SAMPLES", 7)
    by_sevens = cosim.run(system(), num_workers=2).evaluations
    np.testing.assert_allclose(by_sevens[COLUMNS], whole[COLUMNS], rtol=1e-12)


# --- by hand ------------------------------------------------------------------------------------------------


@part
class ByHand(cosim.training.LocalTraining):
    """Keeps its head in its state, and sends back the one that it got."""

    keeps_state = True

    def train(self, client):
        """Plain steps."""
        tensors = dict(client.network.named_parameters())
        with torch.no_grad():
            for name, values in client.state.items():
                tensors[name.removeprefix("own ")].copy_(values)
        optimizer = torch.optim.SGD(tensors.values(), lr=self.learning_rate)
        for x, y in client.batches(client.num_steps, self.batch_size):
            optimizer.zero_grad()
            client.loss(client.network(x), y).backward()
            optimizer.step()
        kept = {f"own {name}": tensors[name].detach().clone() for name in HEAD}
        with torch.no_grad():
            for name in HEAD:
                tensors[name].copy_(client.initial[name])
        return kept

    def personal_tensors(self, state):
        """The head."""
        return {name.removeprefix("own "): values for name, values in state.items()}


class Elsewhere(ByHand):
    """Names what no network has."""

    def personal_tensors(self, state):
        """Tensors as in its state."""
        return state


class Forgetful(ByHand):
    """Keeps nothing."""

    keeps_state = False


BY_HAND = ByHand(batch_size=BATCH, learning_rate=RATE)


def test_a_head_that_a_rule_keeps_by_hand_is_scored_alike():
    """Weights and scores equal `personal`'s up to float32 rounding; the whole model travels."""
    ours, hands = cosim.run(system(), num_workers=1), cosim.run(system(BY_HAND, personal=()), num_workers=1)
    for name, values in ours.weights.items():
        np.testing.assert_allclose(hands.weights[name], values, rtol=1e-4, atol=2e-6)
    for name in COLUMNS:
        np.testing.assert_allclose(hands.evaluations[name], ours.evaluations[name], atol=0.03)
    assert set(hands.transfers["payload_bits"]) == {32 * 140}
    assert set(ours.transfers["payload_bits"]) == {32 * 104}


# --- losses of a coming round -------------------------------------------------------------------------------


class Told(cosim.Selection):
    """Everyone, and notes their losses."""

    def participants(self, sim, edge, coming):
        """All."""
        LOSSES.append(coming.losses(coming.clients))
        return coming.clients


LOSSES: list[np.ndarray] = []


@pytest.mark.parametrize("changes", [{}, {"local": BY_HAND, "personal": ()}], ids=["personal", "by hand"])
def test_a_rule_that_chooses_by_losses_is_told_those_of_own_models(changes):
    local, personal = changes.get("local", SGD), changes.get("personal", ("layers.1",))
    training = worlds.training(num_edge_rounds=1, local=local, selection=Told())
    more = {"model": "mlp-12-8-4", "personal": personal, "protocol": cosim.HFedAvg(training=training)}
    of = worlds.one_cell(1e9, 1e9, 1e9, end=cosim.AfterRounds(num_global_rounds=3), **more)
    LOSSES.clear()
    _, reports = run_of(of)
    sim, dataset = Simulation(of.seed), loaded(of.data)
    held = of.data.held(sim, dataset, of.sizes())
    for report, losses in zip(reports[:3], LOSSES, strict=True):
        for number in range(3):
            model = own_model(report, number)
            if personal == () and (state := report.states.get(client_name(number))) is not None:
                model = model | BY_HAND.personal_tensors(state.settled)
            samples = held[number]()
            found = outputs(model, dataset.train_x[samples])
            expected = nn.functional.cross_entropy(found, torch.tensor(dataset.train_y[samples]))
            assert losses[number] == pytest.approx(float(expected), rel=1e-5)


# --- refusals -----------------------------------------------------------------------------------------------


def test_own_models_where_clients_have_none_are_refused():
    message = (
        r"metrics = .*PersonalAccuracy measures clients' own models, but clients keep no part .* System\.pers"
    )
    with pytest.raises(ConfigurationError, match=message):
        system(personal=())
    assert system(BY_HAND, personal=()).task == TASK
    with pytest.raises(
        ConfigurationError, match=r"Forgetful\.keeps_state = False: personal_tensors reads what"
    ):
        system(Forgetful(), personal=())


def test_tensors_that_no_network_has_are_refused():
    with pytest.raises(ConfigurationError, match=r"Elsewhere\.personal_tensors gives 'own layers\.1\.\w+'"):
        cosim.run(system(Elsewhere(), personal=()), num_workers=1)


def test_the_best_model_is_kept_by_personal_accuracy():
    result, reports = run_of(system(), keep="personal_accuracy")
    best = int(result.evaluations["personal_accuracy"].to_numpy().argmax())
    assert result.summary.kept_version == best
    for name, values in reports[best].model.settled.items():
        np.testing.assert_array_equal(result.learned[name], values.numpy())


def test_a_column_of_a_metric_is_the_headline_where_the_task_says_so():
    """Of targets, of the best model, and of an end that waits for it; all else of the tables is the same."""
    usual = cosim.run(system(), num_workers=1)
    task = cosim.evolve(TASK, first="personal_accuracy")
    result = cosim.run(system(task=task), num_workers=1, keep="best")
    assert result.summary.headline[0] == "personal_accuracy"
    assert list(result.evaluations)[2] == "personal_accuracy"
    assert result.evaluations[list(usual.evaluations)].equals(usual.evaluations)
    values = usual.evaluations["personal_accuracy"].to_numpy()
    assert result.summary.kept_version == values.argmax()
    assert result.at_target(values[2]).version == int(np.argmax(values >= values[2]))
    end = cosim.AfterTarget(target=float(values[1]), at_the_latest=cosim.AfterRounds(num_global_rounds=3))
    assert cosim.run(system(task=task, end=end), num_workers=1).summary.num_global_rounds == 1
    with pytest.raises(
        ConfigurationError, match=r"Classification\.first = 'recall': is not a column .* accuracy, loss"
    ):
        cosim.run(system(task=cosim.evolve(TASK, first="recall")))
    with pytest.raises(ConfigurationError, match=r"target = 80: mean accuracy of personal models is a share"):
        cosim.run(system(task=task, end=cosim.AfterTarget(target=80.0)))
