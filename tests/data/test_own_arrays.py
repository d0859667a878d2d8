"""Arrays of one's own: any shape, torch's data sets, found by name, in another process too."""

import copy
import math
import pickle
import subprocess
import sys
import types

import attrs
import numpy as np
import pytest
import torch
import worlds
from data_sets import loaded
from fixtures.fixes import has_fix
from torch import nn
from torch.utils.data import TensorDataset

import cosim
from cosim import AfterRounds, Arrays, ConfigurationError, Digits, EdgeTraining, HFedAvg, Never, Sgd
from cosim.clock.simulation import Simulation
from cosim.configuration import from_dict, to_dict
from cosim.data import Dataset, Iid, Sampled, Shards
from cosim.engine.learning.learner import Learner
from cosim.testing import check_data

HERE = __name__


def as_pictures(x):
    return x.reshape(-1, 1, 8, 8).astype(float)


def pictures(data_dir):
    """The digits, as pictures in float64 with labels of a byte."""
    found = loaded(Digits())
    parts = ((found.train_x, found.train_y), (found.test_x, found.test_y))
    return tuple((as_pictures(x), y.astype(np.uint8)) for x, y in parts)


def torch_pictures(data_dir):
    """The same as torch has it."""
    return tuple(TensorDataset(torch.tensor(x), torch.tensor(y)) for x, y in pictures(data_dir))


def mixture(data_dir):
    """Samples that the contract's own network takes."""
    found = loaded(cosim.data.Synthetic())
    return (found.train_x, found.train_y), (found.test_x, found.test_y)


def quantities(data_dir):
    """A sum of two numbers."""
    x = np.arange(24.0).reshape(12, 2)
    return (x[:8], x[:8].sum(1)), (x[8:], x[8:].sum(1))


def mapped(data_dir):
    """Samples of a file, which stay there."""
    x = np.load(data_dir / "x.npy", mmap_mode="r")
    return (x, np.arange(8) % 2), (x, np.arange(8) % 2)


def a_class_more(data_dir):
    """Eleven classes, of which no client has an example of the last."""
    return *pictures(data_dir), 11


def nothing(data_dir):
    """No data."""


def the_folder(data_dir):
    """A label that depends on the folder."""
    labels = np.full(4, len(data_dir.name))
    return (np.zeros((4, 2)), labels), (np.zeros((4, 2)), labels)


class Convolutional(nn.Module):
    """A small network for pictures, or, where they come as rows, one that folds them first."""

    def __init__(self, folds: bool) -> None:
        super().__init__()
        self.folds = folds
        self.convolution = nn.Conv2d(1, 4, 3)
        self.last = nn.Linear(4 * 36, 10)

    def forward(self, x):
        """Scores of ten classes."""
        x = x.unflatten(-1, (1, 8, 8)) if self.folds else x
        return self.last(self.convolution(x).relu().flatten(1))


class Flat(nn.Module):
    """Two layers behind a flattening, by products or by autograd."""

    def __init__(self, declares: bool) -> None:
        super().__init__()
        if declares:
            self.relu_layers = (("first.weight", "first.bias"), ("last.weight", "last.bias"))
        self.first, self.last = nn.Linear(64, 12), nn.Linear(12, 10)

    def forward(self, x):
        """Scores of ten classes."""
        return self.last(self.first(x.flatten(1)).relu())


BASE = worlds.digits(
    num_clients=6,
    data=Arrays(source=f"{HERE}:pictures", split=Shards()),
    protocol=HFedAvg(
        training=EdgeTraining(steps=cosim.SameSteps(num_local_steps=4), local=Sgd(learning_rate=0.1))
    ),
)


def same(first, second):
    """True if two data sets hold the same."""
    return all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("train_x", "train_y", "test_x", "test_y", "num_classes")
    )


def test_pictures_keep_their_shape_and_get_the_types_of_a_data_set():
    found, digits = loaded(Arrays(source=f"{HERE}:pictures")), loaded(Digits())
    assert (found.name, found.num_classes, found.num_features) == (f"{HERE}:pictures", 10, 64)
    assert found.train_x.shape == (1442, 1, 8, 8)
    assert (found.train_x.dtype, found.train_y.dtype) == (np.float32, np.int64)
    np.testing.assert_array_equal(found.train_x.reshape(-1, 64), digits.train_x)
    np.testing.assert_array_equal(found.test_y, digits.test_y)


def test_a_torch_data_set_gives_what_arrays_give():
    assert same(loaded(Arrays(source=f"{HERE}:torch_pictures")), loaded(Arrays(source=f"{HERE}:pictures")))


def test_labels_say_what_is_to_be_predicted(tmp_path):
    found = loaded(Arrays(source=f"{HERE}:quantities"))
    assert (found.num_classes, found.train_y.dtype) == (None, np.float32)
    assert loaded(Arrays(source=f"{HERE}:a_class_more")).num_classes == 11
    assert loaded(Arrays(source=f"{HERE}:the_folder"), tmp_path / "four").num_classes == 5


def test_a_network_learns_from_pictures_what_it_learns_from_rows():
    """The same samples, dealt the same way: every number is the same."""
    rows = attrs.evolve(BASE, data=Digits())
    of_pictures = cosim.run(BASE, Convolutional(folds=False), num_workers=1)
    of_rows = cosim.run(rows, Convolutional(folds=True), num_workers=1)
    assert of_pictures.evaluations.equals(of_rows.evaluations)
    assert of_pictures.spans.equals(of_rows.spans)
    assert of_pictures.summary.scores["accuracy"] > 0.2
    timed = cosim.run(attrs.evolve(BASE, evaluation=Never()), Convolutional(folds=False))
    assert timed.spans.equals(of_pictures.spans)


def test_layers_behind_a_flattening_are_trained_by_products_all_the_same():
    found = [cosim.run(BASE, Flat(declares), num_workers=1).learned for declares in (True, False)]
    assert all(weights is not None for weights in found)
    for name, values in found[0].items():
        np.testing.assert_allclose(values, found[1][name], rtol=0, atol=1e-5)


def test_a_network_for_rows_is_refused_pictures():
    with pytest.raises(ConfigurationError, match=r"does not take samples of '.*:pictures'"):
        Learner(nn.Linear(64, 10), loaded(BASE.data))


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("", r"Arrays\.source = '': names no function"),
        ("pictures", r"Arrays\.source = 'pictures': names no function"),
        (f"{HERE}:missing", r"missing': names no function"),
        (f"{HERE}:HERE", r"HERE': names no function"),
        ("nowhere:pictures", r"Arrays\.source = 'nowhere:pictures': the module nowhere is not loaded"),
        (f"{HERE}:nothing", r"nothing returned a NoneType: must be a tuple of training and test part"),
    ],
)
def test_a_source_that_gives_nothing_is_refused_in_a_sentence(source, complaint):
    with pytest.raises(ConfigurationError, match=complaint) as refused:
        loaded(Arrays(source=source))
    assert has_fix(str(refused.value))


@pytest.mark.parametrize(
    ("part", "complaint"),
    [
        (7, "the training part, a int, does not give two arrays"),
        ((np.zeros((3, 2)),), "the training part, a tuple, does not give two arrays"),
        ([1, 2], "the training part, a list, does not give two arrays"),
        ((np.zeros((3, 2), np.uint8), np.zeros(3, int)), "train_x, uint8 of shape (3, 2), must be"),
        ((np.zeros((3, 2)), np.zeros(4, int)), "train_y, int64 of shape (4,), must be one int64 label"),
        ((np.zeros((3, 1, 2)), np.zeros(3, int)), "test_x, float32 of shape (2, 2), must hold samples of"),
        ((np.zeros((3, 2)), np.zeros(3)), "train_y, float32 of shape (3,), must be one int64"),
    ],
)
def test_parts_that_are_no_samples_are_refused(part, complaint):
    test = (np.zeros((2, 2)), np.zeros(2, int))
    with pytest.raises(ConfigurationError, match="Dataset 'own': ") as refused:
        Dataset.of("own", part, test, num_classes=2)
    assert complaint in str(refused.value)


def test_samples_of_several_axes_are_no_rows_of_a_table():
    found = loaded(BASE.data)
    for change in ({"train_y": None}, {"num_global_features": 1}):
        with pytest.raises(ConfigurationError, match="must be rows of features where train_y is None or"):
            attrs.evolve(found, **change)


def test_arrays_keep_the_laws_of_data():
    check_data(Arrays(source=f"{HERE}:mixture", split=Sampled(num_samples=20)))


def test_it_reloads_and_copies_as_itself():
    assert from_dict(cosim.System, to_dict(BASE)) == BASE
    assert copy.deepcopy(BASE) == BASE == pickle.loads(pickle.dumps(BASE))
    unknown = Arrays(source="nowhere:pictures")
    assert pickle.loads(pickle.dumps(unknown)) == unknown


def test_another_process_loads_the_module_that_its_pickle_needs(tmp_path):
    """A worker of a study imports what a pickle names; a configuration in a file names nothing."""
    (tmp_path / "waves_of_mine.py").write_text(
        "import numpy as np\n\n"
        "def waves(data_dir):\n    part = np.ones((4, 3)), np.ones(4)\n    return part, part\n"
    )
    program = (
        f"import sys; sys.path[:0] = {[str(tmp_path), *sys.path]!r}; import pickle, cosim; "
        "print(pickle.loads(bytes.fromhex(sys.argv[1])).load(None, None).name)"
    )
    module = types.ModuleType("waves_of_mine")
    exec("def waves(data_dir): pass", module.__dict__)
    sys.modules["waves_of_mine"] = module
    try:
        pickled = pickle.dumps(Arrays(source="waves_of_mine:waves")).hex()
    finally:
        del sys.modules["waves_of_mine"]
    command = [sys.executable, "-c", program, pickled]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.stdout.strip() == "waves_of_mine:waves", ended.stderr


# Draws with replacement.


def drawn(num_clients, num_samples=50, seed=1):
    """The samples of every client, which are the same whenever they are asked for."""
    sim, data = Simulation(seed), Digits(split=Sampled(num_samples=num_samples))
    held = data.held(sim, loaded(data), (num_clients,))
    first, again = ([samples() for samples in held] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    return first


def test_each_client_has_so_many_samples_of_its_own_wherever_it_stands():
    found = drawn(30)
    assert {len(samples) for samples in found} == {50}
    assert all(samples.dtype == np.int64 and not samples.flags.writeable for samples in found)
    assert all((np.diff(samples) >= 0).all() for samples in found)
    for few, many in zip(drawn(3), found, strict=False):
        np.testing.assert_array_equal(few, many)
    assert not np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], drawn(1, seed=2)[0])


def test_samples_are_drawn_uniformly_with_replacement():
    """Of n draws among N, N (1 - (1 - 1/N)^n) are distinct; without replacement it would be n."""
    num, choices = 500, 1442
    found = drawn(200, num)
    counts = np.bincount(np.concatenate(found), minlength=choices)
    expected = 200 * num / choices
    chi2_z = ((counts - expected) ** 2 / expected).sum() - (choices - 1)
    assert abs(chi2_z) < 3.3 * math.sqrt(2 * (choices - 1))
    distinct = np.mean([len(set(samples.tolist())) for samples in found])
    assert abs(distinct - choices * (1 - (1 - 1 / choices) ** num)) < 3
    assert len(counts) == choices


def test_a_population_larger_than_the_data_set_learns_and_only_participants_draw(monkeypatch):
    asked: list[str] = []
    stream = Simulation.stream

    def heard(self, node, purpose, *index):
        if purpose == "samples":
            asked.append(node)
        return stream(self, node, purpose, *index)

    monkeypatch.setattr(Simulation, "stream", heard)
    training = EdgeTraining(
        num_edge_rounds=1,
        steps=cosim.SameSteps(num_local_steps=10),
        selection=cosim.selection.Uniform(num_participants=4),
        local=Sgd(learning_rate=0.1),
    )
    system = attrs.evolve(
        BASE,
        num_clients=2000,
        data=Digits(split=Sampled(num_samples=60)),
        protocol=HFedAvg(training=training),
        end=AfterRounds(num_global_rounds=3),
    )
    result = cosim.run(system, Flat(declares=True), num_workers=1)
    assert set(asked) == set(result.transfers["client"])
    assert len(set(asked)) <= 3 * 2 * 4
    assert result.evaluations["accuracy"].iloc[-1] > 0.3
    with pytest.raises(ConfigurationError, match="1442 samples of 'digits' cannot be dealt to 2000 clients"):
        cosim.run(attrs.evolve(system, data=Digits(split=Iid())), Flat(declares=True), num_workers=1)


def test_samples_that_are_mapped_from_a_file_stay_there(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(16, dtype=np.float32).reshape(8, 2))
    dataset = loaded(Arrays(source=f"{HERE}:mapped"), tmp_path)
    in_file = np.load(tmp_path / "x.npy", mmap_mode="r+")
    in_file[3] = 77.0
    for x in (dataset.train_x, dataset.test_x):
        assert x[3].tolist() == [77.0, 77.0]
