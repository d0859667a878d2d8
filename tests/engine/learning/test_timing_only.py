"""Runs of which only times are asked: no files, no values, the same tables."""

from pathlib import Path

import pytest
import torch
from data_sets import loaded
from torch import nn

import cosim
import models
from cosim import Digits, Never, evolve
from cosim.data import Synthetic
from cosim.engine.learning import nothing_learned
from cosim.engine.learning.learner import Learner
from cosim.engine.learning.nothing_learned import NothingLearned
from cosim.networks.flops import TrainingFlops, outputs_without_values
from cosim.networks.named import network_of
from cosim.protocols.drawn_parts import draw_parts, even_counts
from cosim.records.tables import TABLES
from cosim.values.submodels import NetworkShape
from scenarios import command_line, hist
from scenarios.papers.vhfl import Vhfl

SMALL = cosim.EdgeTraining(
    num_edge_rounds=1, steps=cosim.SameSteps(num_local_steps=1), local=cosim.Sgd(batch_size=4)
)
PICTURES = evolve(
    hist.system(),
    num_cells=2,
    num_clients=4,
    protocol=cosim.Hist(training=SMALL),
    end=cosim.AfterRounds(num_global_rounds=2),
)
TEXTS = evolve(PICTURES, model="gpt2lora-4-20", data=cosim.data.Newsgroups20(split=cosim.data.Iid()))
COLOURS = evolve(PICTURES, model="resnet18-16-10", data=cosim.data.Cifar10())


def timing(system: cosim.System, data_dir: Path | None) -> cosim.Result:
    network = network_of(system.model, values=False)
    assert all(tensor.is_meta for tensor in (*network.parameters(), *network.buffers()))
    return cosim.run(evolve(system, evaluation=Never()), network, data_dir=data_dir)


@pytest.mark.parametrize("system", [PICTURES, TEXTS, COLOURS], ids=["pictures", "texts", "colours"])
@pytest.mark.parametrize("cycles", [cosim.devices.CyclesPerStep(), cosim.devices.CyclesPerOperation()])
def test_neither_files_nor_weights_are_needed(system, cycles, tmp_path, monkeypatch):
    """The folder of the data is empty, and no folder of GPT-2 is named."""
    monkeypatch.delenv("COSIM_GPT2", raising=False)
    system = evolve(system, cycles=cycles)
    result = timing(system, tmp_path)
    assert result.summary.status == "complete"
    assert len(result.transfers) == 2 * 4
    with pytest.raises((cosim.ConfigurationError, ValueError)):
        cosim.run(system, models.build(system.model), data_dir=tmp_path)


def test_the_tables_are_those_of_a_run_that_learns(fashion_mnist):
    for protocol in (cosim.Hist, cosim.HFedAvg):
        system = evolve(PICTURES, protocol=protocol(training=SMALL))
        learned = cosim.run(system, models.build(system.model))
        for name in set(TABLES) - {"evaluations"}:
            of_samples = ["num_samples", "num_labels", "accuracy"] if name == "clients" else []
            expected = getattr(learned, name).drop(columns=of_samples, errors="ignore")
            assert getattr(timing(system, None), name).equals(expected)


def test_what_samples_decide_is_missed_before_the_clock_starts(tmp_path):
    """In VHFL an upload holds a gradient for each sample."""
    protocol = Vhfl(num_local_epochs=1)
    vhfl = evolve(PICTURES, num_cells=1, protocol=protocol, model="relu-784-4-10")
    with pytest.raises(cosim.ConfigurationError):
        cosim.run(
            evolve(vhfl, evaluation=Never()), models.build(vhfl.model), data_dir=tmp_path, out=tmp_path / "x"
        )
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("model", "words"),
    [("relu-64-8-10", "does not take samples of 'fashion-mnist'"), ("relu-784-8-9", r"must be \(1, 10\)")],
)
def test_a_network_that_does_not_fit_is_refused_as_ever(model, words, tmp_path):
    with pytest.raises(cosim.ConfigurationError, match=words):
        timing(evolve(PICTURES, model=model), tmp_path)


@pytest.mark.parametrize("name", ["relu-12-8-4", "mlp-12-8-4"])
def test_operations_do_not_depend_on_values(name):
    dataset = loaded(Synthetic())
    learner = Learner(models.build(name), dataset)
    network = network_of(name, values=False)
    without = TrainingFlops(network, NetworkShape.of(network), dataset)
    units = learner.shape.num_units
    parts = draw_parts(units, even_counts(units, 2), cosim.Simulation(1).stream("cloud", "submodels", 1))
    assert [without.of(part) for part in (None, *parts)] == [
        learner.flops.of(part) for part in (None, *parts)
    ]
    assert without.of() > without.of(parts[0]) > 0


def test_counting_leaves_the_network_as_it_was():
    network = nn.Sequential(nn.Linear(12, 4), nn.BatchNorm1d(4))
    network[1].eval()
    before = {name: values.clone() for name, values in network.state_dict().items()}
    assert NothingLearned(network, loaded(Synthetic())).flops.of() == 2 * 12 * 4 * 2
    assert (network.training, network[0].training, network[1].training) == (True, True, False)
    for name, values in network.state_dict().items():
        assert torch.equal(values, before[name])


class Asking(nn.Module):
    """Its constructor looks at a value, and its forward pass at others, in either mode."""

    def __init__(self, size: int = 12) -> None:
        super().__init__()
        self.width = int(torch.linspace(1.0, 8.0, 8).max().item())
        self.a, self.b = nn.Linear(size, self.width), nn.Linear(self.width, 4)
        self.register_buffer("seen", torch.tensor(0.0))

    def forward(self, x_BD):
        hidden = self.a(x_BD)
        if self.training and self.seen == 0.0:
            self.seen.copy_(x_BD.abs().max())
        return self.b(hidden if hidden.max() < 1e9 else hidden / 2.0)


class AskingForward(Asking):
    """It can be built without values."""

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.a, self.b = nn.Linear(12, 8), nn.Linear(8, 4)
        self.register_buffer("seen", torch.tensor(0.0))


def wrong() -> nn.Module:
    return Asking(size=11)


@pytest.mark.parametrize("cycles", [cosim.devices.CyclesPerStep(), cosim.devices.CyclesPerOperation()])
@pytest.mark.parametrize("kind", [Asking, AskingForward])
def test_a_network_that_looks_at_values_gets_them(kind, cycles):
    """With the times and the bits of a run that learns; a client trains alone."""
    system = cosim.System(
        num_cells=1,
        num_clients=1,
        model=f"{__name__}:{kind.__name__}",
        data=Synthetic(),
        cycles=cycles,
        protocol=cosim.HFedAvg(training=SMALL),
        end=cosim.AfterRounds(num_global_rounds=1),
    )
    learned, timed = cosim.run(system), cosim.run(evolve(system, evaluation=Never()))
    for name in ("spans", "transfers"):
        assert getattr(timed, name).equals(getattr(learned, name))
    assert set(timed.transfers["payload_bits"]) == {32 * (12 * 8 + 8 + 8 * 4 + 4 + 1)}
    num_flops = (12 * 8 * 2 + 8 * 4 * 3) * 2
    for network in (kind(), network_of(system.model, values=False)):
        if not network.a.weight.is_meta:
            assert NothingLearned(network, loaded(Synthetic())).flops.of() == num_flops


@pytest.mark.parametrize("name", ["relu-12-4", "relu-12-7-4", "relu-12-9-8-4"])
def test_dense_layers_of_ours_need_no_pass(name, monkeypatch):
    """Their sizes say what a pass gives; of a user's a pass is made."""
    outline, network = loaded(Synthetic()), network_of(name, values=False)
    found = outputs_without_values(network, outline.test_x[:1])
    assert found.shape == (1, outline.num_classes)
    passes = []
    monkeypatch.setattr(nothing_learned, "outputs_without_values", lambda *_: passes.append("made") or found)
    NothingLearned(network, outline)
    assert not passes
    NothingLearned(type("Own", (type(network),), {})(tuple(map(int, name.split("-")[1:]))), outline)
    assert passes == ["made"]


def test_a_network_that_looks_at_values_is_refused_in_usual_words():
    """Refused if it takes other samples, or is given without values."""
    system = cosim.System(num_cells=1, model=f"{__name__}:wrong", data=Synthetic(), evaluation=Never())
    with pytest.raises(cosim.ConfigurationError, match="does not take samples of 'synthetic'"):
        cosim.run(system)
    with torch.device("meta"):
        network = AskingForward()
    with pytest.raises(cosim.ConfigurationError, match=r"cannot be tried without values"):
        cosim.run(system, network)


def test_an_outline_looks_like_the_data_set(fashion_mnist):
    assert Digits().outline is None  # nothing to read
    whole, drawn = fashion_mnist, cosim.FashionMnist().outline
    for part in ("train_x", "test_x", "train_y", "test_y"):
        seen, real = getattr(drawn, part), getattr(whole, part)
        assert (seen.dtype, seen.shape[1:]) == (real.dtype, real.shape[1:])
    assert (drawn.name, drawn.num_classes) == (whole.name, whole.num_classes)


def test_a_data_set_of_ones_own_is_asked_itself():
    class Own(cosim.FashionMnist):
        """Another data set under a known name."""

        def load(self, sim, data_dir):
            """Digits."""
            return loaded(Digits())

    system = evolve(PICTURES, model="relu-64-8-10", data=Own())
    assert timing(system, None).summary.status == "complete"


def test_the_command_needs_no_files_either(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    words = ["run", "hist", "--evaluation.kind", "Never", "--data-dir", "empty", "--quiet"]
    words += ["--num-global-rounds", "2", "--protocol.kind", "HFedAvg"]
    with pytest.raises(SystemExit) as ended:
        command_line.main(words)
    assert ended.value.code == 0, capsys.readouterr().err
    assert "hist-HFedAvg-Never: 2 global rounds" in capsys.readouterr().out
    assert (tmp_path / "runs/hist-HFedAvg-Never-1/summary.json").exists()
