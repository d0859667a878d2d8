"""First values: drawn from the run's seed, or the network's own; and what then identifies a run."""

import json

import numpy as np
import pytest
import torch
import worlds
from attrs import evolve
from torch import Tensor, nn
from torch.nn import functional

import cosim
from cosim.clock.draws import Draws
from cosim.configuration import ConfigurationError
from cosim.engine.learning.learner import Learner
from cosim.networks.first_values import initial_weights, reset
from cosim.testing.second_process import same_elsewhere
from cosim.training.programs.sgd_steps import mini_batches
from cosim.values.combinations import mean
from cosim.values.pending import PendingUpdate


class Attentive(nn.Module):
    """Twelve features as a series of three vectors, by attention."""

    def __init__(self) -> None:
        super().__init__()
        self.attention, self.head = nn.MultiheadAttention(4, 2, batch_first=True), nn.Linear(12, 4)

    def forward(self, x_BD: Tensor) -> Tensor:
        x_BTD = x_BD.unflatten(-1, (3, 4))
        return self.head(self.attention(x_BTD, x_BTD, x_BTD, need_weights=False)[0].flatten(1))


class Encoder(nn.Module):
    """The same series through a layer of an encoder, after a class token and positions that are drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.first_token = nn.Parameter(torch.zeros(1, 4))
        self.positions = nn.Parameter(0.02 * torch.randn(4, 4))
        self.layer, self.head = nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), nn.Linear(4, 4)

    def forward(self, x_BD: Tensor) -> Tensor:
        x_BTD = x_BD.unflatten(-1, (3, 4))
        first_BTD = self.first_token.expand(len(x_BD), 1, 4)
        return self.head(self.layer(torch.cat((first_BTD, x_BTD), 1) + self.positions)[:, 0])


class Scaled(nn.Module):
    """Parameters without a layer, one drawn by NumPy, one constant."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.from_numpy(np.random.standard_normal((12, 4)).astype("f4")))  # noqa: NPY002
        self.scale = nn.Parameter(torch.full((4,), 0.5))

    def forward(self, x_BD: Tensor) -> Tensor:
        return x_BD @ self.matrix * self.scale


class Tied(nn.Module):
    """One matrix there and back."""

    def __init__(self) -> None:
        super().__init__()
        self.there, self.back, self.head = nn.Linear(12, 6), nn.Linear(6, 12), nn.Linear(12, 4)
        self.back.weight = nn.Parameter(self.there.weight.T.clone())
        self.again = nn.Linear(12, 6)
        self.again.weight = self.there.weight

    def forward(self, x_BD: Tensor) -> Tensor:
        return self.head(torch.tanh(self.back(torch.tanh(self.again(x_BD) + self.there(x_BD)))))


class Fourier(nn.Module):
    """Random features in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("frequencies", torch.randn(12, 8))
        self.head = nn.Linear(8, 4)

    def forward(self, x_BD: Tensor) -> Tensor:
        return self.head(torch.cos(x_BD @ self.frequencies))


def frozen_layer() -> nn.Module:
    """Random features that nothing trains."""
    network = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 4))
    network[0].requires_grad_(False)
    return network


def zeros_last() -> nn.Module:
    """An initialisation of one's own."""
    network = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 4))
    nn.init.orthogonal_(network[0].weight)
    nn.init.zeros_(network[2].weight)
    return network


DRAWN = {of.__name__: of for of in (Attentive, Encoder, Scaled, Tied, Fourier, frozen_layer, zeros_last)}


def system(model: str = "relu-12-8-4", **changes: object) -> cosim.System:
    usual = worlds.digits(num_clients=4, data=cosim.data.Synthetic())
    return evolve(usual, model=f"{__name__}:{model}" if model.isidentifier() else model, **changes)


def version_0(of: cosim.System, network: object = None, **options: object) -> dict[str, np.ndarray]:
    """All values of the network before anything is learned."""
    end = cosim.AfterSeconds(duration_s=1e-9)
    result = cosim.run(evolve(of, end=end), network, **options)
    assert len(result.evaluations) == 1
    return {name: values.numpy() for name, values in result.network.state_dict().items()}


def same(values: dict[str, np.ndarray], others: dict[str, np.ndarray]) -> list[str]:
    """Names of equal tensors."""
    return [name for name in values if np.array_equal(values[name], others[name])]


@pytest.mark.parametrize("name", DRAWN)
def test_a_function_gives_what_it_draws_from_the_seed(name):
    """Values as under `torch.manual_seed` if it draws by torch alone, whatever else the process draws."""
    found, torch_state = version_0(system(name, seed=1)), torch.get_rng_state()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(Draws(1).key("cloud", "initial weights"))
        wanted = {of: values.numpy() for of, values in DRAWN[name]().state_dict().items()}
    assert found.keys() == wanted.keys()
    assert same(found, wanted) == [of for of in found if of != "matrix"]
    assert torch.equal(torch.get_rng_state(), torch_state)
    torch.rand(1)
    assert same(version_0(system(name, seed=1)), found) == list(found)
    others = version_0(system(name, seed=2))
    constant = {of for of, values in found.items() if len(np.unique(values)) == 1}
    assert constant == set(same(found, others))


@pytest.mark.parametrize("name", DRAWN)
def test_such_a_network_trains_as_in_a_plain_loop(name):
    """Two clients that begin with the same values, and the mean of both."""
    data = worlds.loaded(cosim.data.Synthetic())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        network = DRAWN[name]()
    learner = Learner(network, data, num_workers=2, brings_weights=True)
    start, found, wanted = learner.initial_model(1), [], []
    for key in range(2):
        indices = np.arange(100 * key, 100 * key + 60)
        work = {"num_steps": 5, "training": cosim.Sgd(batch_size=10, learning_rate=0.1), "key": key}
        found.append(PendingUpdate(client=f"client-{key:04d}", model=start, samples=indices, **work))
        own = learner.network_of(start).train()
        for batch in mini_batches(indices, 5, 10, key):
            own.zero_grad()
            outputs = own(torch.tensor(data.train_x[batch]))
            functional.cross_entropy(outputs, torch.tensor(data.train_y[batch])).backward()
            with torch.no_grad():
                for values in own.parameters():
                    if values.grad is not None:
                        values -= 0.1 * values.grad
        wanted.append(dict(own.named_parameters()))
    for name_of_tensor, values in learner.weights(mean(found)).items():
        expected = torch.stack([of[name_of_tensor].detach() for of in wanted]).mean(0)
        np.testing.assert_allclose(values, expected, rtol=2e-5, atol=2e-6, err_msg=name_of_tensor)


def test_another_process_gives_the_same_tables():
    """Whatever the hashes of its texts are."""
    for name in ("Encoder", "Scaled", "frozen_layer"):
        same_elsewhere(system(name), None, cosim.run(system(name)))


def trained() -> nn.Module:
    """A network that has learned before it is returned."""
    data, network = worlds.loaded(cosim.data.Synthetic()), nn.Sequential(nn.Linear(12, 4))
    x, y, own = torch.tensor(data.train_x), torch.tensor(data.train_y), torch.Generator().manual_seed(5)
    with torch.no_grad():
        network[0].weight.copy_(torch.randn(4, 12, generator=own))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.5)
    network[0].bias.data.zero_()
    for _ in range(60):
        optimizer.zero_grad()
        functional.cross_entropy(network(x), y).backward()
        optimizer.step()
    return network


def with_a_new_head() -> nn.Module:
    return nn.Sequential(*trained(), nn.ReLU(), nn.Linear(4, 4))


def test_a_trained_network_begins_trained_and_says_so(tmp_path, capsys):
    data = worlds.loaded(cosim.data.Synthetic())
    accuracy = (trained()(torch.tensor(data.test_x)).argmax(1).numpy() == data.test_y).mean()
    assert accuracy > 0.8
    result = cosim.run(system("trained"), out=tmp_path / "run", progress="trained")
    assert result.evaluations["accuracy"].iloc[0] == pytest.approx(accuracy)
    words = "the network's own in 2 of 2 trained tensors (0.weight, 0.bias)"
    assert f"trained: first values are {words}\n" in capsys.readouterr().err
    origin = json.loads((tmp_path / "run/provenance.json").read_text())
    assert origin["initial_weights"] == words
    assert cosim.run(system("trained", seed=2)).config["network"] == result.config["network"]


def test_a_pretrained_part_stays_and_a_new_head_is_drawn(tmp_path):
    first, other = (version_0(system("with_a_new_head", seed=seed)) for seed in (1, 2))
    assert same(first, other) == ["0.weight", "0.bias"]
    result = cosim.run(system("with_a_new_head"), out=tmp_path / "run")
    assert json.loads((tmp_path / "run/provenance.json").read_text())["initial_weights"].endswith(
        "2 of 4 trained tensors (0.weight, 0.bias); the others are drawn from the seed, or constant"
    )
    assert "weights" in result.config["network"]
    assert "weights" not in cosim.run(system("frozen_layer")).config["network"]


def of_its_own_generator() -> nn.Module:
    network = nn.Linear(12, 4)
    network.weight.data += torch.tensor(np.random.default_rng().standard_normal((4, 12)).astype("f4"))
    return network


ONE = nn.Linear(12, 4)


def one() -> nn.Module:
    return ONE


def test_values_that_follow_from_no_seed_are_refused(tmp_path):
    for model, words in (
        ("of_its_own_generator", "gives other values of weight in every call with the same seed"),
        ("one", "returns the same module at every call"),
    ):
        with pytest.raises(ConfigurationError, match=rf"{model}.*{words}"):
            cosim.run(system(model), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    found = version_0(system("one", initial_weights="network"))
    assert same(found, {name: values.numpy() for name, values in ONE.state_dict().items()}) == list(found)


FROZEN = np.random.default_rng(3).standard_normal((12, 12)).astype("f4")


class Features(nn.Module):
    """A fixed table in a buffer, or in a frozen parameter."""

    def __init__(self, is_buffer: bool) -> None:
        super().__init__()
        if is_buffer:
            self.register_buffer("table", torch.tensor(FROZEN), persistent=False)
        else:
            self.table = nn.Parameter(torch.tensor(FROZEN), requires_grad=False)
        self.head = nn.Linear(12, 4)

    def forward(self, x_BD: Tensor) -> Tensor:
        return self.head(torch.tanh(x_BD @ self.table))


def frozen_table() -> nn.Module:
    return Features(is_buffer=False)


def buffered_table() -> nn.Module:
    return Features(is_buffer=True)


@pytest.mark.parametrize("network", [None, frozen_table, buffered_table])
def test_a_run_does_not_go_on_with_other_frozen_values(network, tmp_path, monkeypatch):
    """By name, by a function that is passed, and as a module itself."""
    of, folder = system("frozen_table"), tmp_path / "run"
    passed = (lambda: network()) if network is buffered_table else network and network()

    def stop(report) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cosim.run(of, passed, out=folder, listener=stop)
    monkeypatch.setitem(globals(), "FROZEN", FROZEN + 1.0)
    other = network() if isinstance(passed, nn.Module) else passed
    with pytest.raises(ConfigurationError, match="the same network with other weights of its own"):
        cosim.run(of, other, out=folder, resume=True)
    monkeypatch.undo()
    again = network() if isinstance(passed, nn.Module) else passed
    assert cosim.run(of, again, out=folder, resume=True).summary.status == "complete"


def test_a_module_is_reset_children_before_parents_and_keeps_what_has_no_reset():
    class Halved(nn.Linear):
        def reset_parameters(self) -> None:
            super().reset_parameters()

    class Parent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.child, self.alone = Halved(3, 3), nn.Parameter(torch.randn(3))

        def reset_parameters(self) -> None:
            nn.init.zeros_(self.child.bias)

    network = nn.Sequential(Parent(), nn.MultiheadAttention(4, 2))
    first, again, other = (initial_weights(network, key) for key in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not first["0.child.bias"].any()
    assert not first["1.out_proj.bias"].any()
    assert torch.equal(first["0.alone"], network[0].alone)
    changed = {name for name in first if not torch.equal(first[name], other[name])}
    assert changed == {"0.child.weight", "1.in_proj_weight", "1.out_proj.weight"}
    assert set(reset(network, 1).fixed) == {"0.alone"}


def test_a_module_keeps_its_frozen_layers_though_a_parent_would_reset_them():
    network = nn.MultiheadAttention(4, 2)
    nn.init.ones_(network.out_proj.bias)
    network.out_proj.requires_grad_(False)
    kept = {name: values.clone() for name, values in network.state_dict().items()}
    initial_weights(network, 1)
    assert all(torch.equal(values, kept[name]) for name, values in network.state_dict().items())
