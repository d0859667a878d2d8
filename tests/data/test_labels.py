"""Labels, samples and owners as people have them: run as they are, or refused with what mends them."""

import numpy as np
import pandas as pd
import pytest
import torch
import worlds

import cosim
from cosim import Arrays, ConfigurationError, evolve
from cosim.configuration import part
from cosim.data import Dataset, Natural, Split, SplitData
from cosim.tasks.suggested import task_for

X = np.random.default_rng(1).standard_normal((40, 12)).astype(np.float32)
Y = np.arange(40) % 4
HERE = __name__


def made(y, x=X) -> Dataset:
    """The first 30 samples for training, the others for testing."""
    return Dataset.of("own", (x[:30], y[:30]), (x[30:], y[30:]))


def given(name: str, y, x=X, **changes: object) -> cosim.System:
    """A system on a function that gives these."""
    globals()[name] = lambda _: ((x[:30], y[:30]), (x[30:], y[30:]))
    return worlds.one_cell(1e9, 2e9, data=Arrays(source=f"{HERE}:{name}"), **changes)


# --- Labels -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y",
    [
        Y.astype(np.uint8),
        Y.astype(np.int16),
        Y.astype(np.uint64),
        Y.astype(object),
        torch.tensor(Y),
        pd.Series(Y),
        list(Y),
    ],
    ids=lambda y: str(getattr(y, "dtype", type(y))),
)
def test_whole_numbers_are_classes_whatever_holds_them(y):
    found = made(y)
    assert (found.num_classes, found.train_y.dtype) == (4, np.int64)
    np.testing.assert_array_equal(found.train_y, Y[:30])


def test_true_and_false_are_two_classes_and_classes_may_have_no_sample():
    assert made(Y > 1).num_classes == 2
    gaps = made(np.where(Y > 1, 7, 0))
    assert (gaps.num_classes, sorted(set(gaps.train_y))) == (8, [0, 7])


@pytest.mark.parametrize(
    ("y", "fix"),
    [
        (
            np.array(["cat", "dog", "cow", "owl"])[Y],
            r"are words, such as '\w+'\. .*np.unique.*return_inverse",
        ),
        (np.array(["cat", "dog", "cow", "owl"], object)[Y], "are words, such as .*np.unique"),
        (np.array([b"a", b"b", b"c", b"d"])[Y], "are words.*np.unique"),
        (np.array(["2020-01-01"] * 40, "datetime64[D]"), "must be numbers.*np.unique"),
        (Y[:, None], r"have shape \(30, 1\).*Use y\[:, 0\]"),
        (np.eye(4, dtype=int)[Y], r"a 1 at the class, of shape \(30, 4\).*y\.argmax\(1\)"),
        (np.eye(4, dtype=bool)[Y], r"a 1 at the class.*y\.argmax\(1\)"),
        (np.stack([Y, Y], 1), r"of shape \(30, 2\).*y\.astype\(np\.float32\), if they are quantities"),
        (Y * 10**12, r"would make 3,000,000,000,001.*np\.unique"),
        (np.full(40, 2**63, np.uint64), "go up to 9223372036854775808.*np.unique"),
        (np.where(Y > 1, 1, -1), r"from -1 to 1\. Use \(y \+ 1\) // 2"),
        (np.where(Y == 3, -100, Y), r"goes from -100.*x\[y != -100\]"),
        (np.full(40, -1), "from 0 to 0, but goes from -1 to -1"),
        (Y - 2, "goes from -2 to 1.*np.unique"),
    ],
)
def test_other_labels_are_refused_with_what_mends_them(y, fix):
    with pytest.raises(ConfigurationError, match=f"Dataset 'own': .*{fix}"):
        made(y)


def test_floats_where_classes_are_meant():
    floats = Y.astype(float)
    with pytest.raises(ConfigurationError, match=r"y\.astype\(int\), if they are classes"):
        cosim.run(given("floats", floats, model="mlp-12-8-4"))
    with pytest.raises(
        ConfigurationError, match=r"Classification.*y\.astype\(int\), which makes them classes"
    ):
        cosim.run(given("floats", floats, task=cosim.tasks.Classification()))
    system = given("floats", floats, model="mlp-12-8-1")
    with pytest.raises(ConfigurationError, match=r"Shards.*y\.astype\(int\), if they are classes"):
        cosim.run(evolve(system, data=evolve(system.data, split=cosim.data.Shards())))
    with pytest.raises(
        ConfigurationError, match=r"train_y, float32.*must be one int64 label.*astype\(np\.int64\)"
    ):
        Dataset.of("own", (X[:30], floats[:30]), (X[30:], Y[30:]), num_classes=4)
    with pytest.raises(ConfigurationError, match=r"Regression.*y\.astype\(np\.float32\)"):
        cosim.run(given("whole", Y, task=cosim.tasks.Regression(), model="mlp-12-8-1"))


def test_one_hot_floats_are_classes_unless_a_task_says_that_they_are_quantities():
    rows = made(np.eye(4)[Y])
    with pytest.raises(ConfigurationError, match=r"'own': every target is a row.*y\.argmax\(1\)"):
        task_for(None, rows)
    assert task_for(cosim.tasks.Regression(), rows) == cosim.tasks.Regression()
    assert task_for(None, made(np.eye(4)[Y] * 0.5)) == cosim.tasks.Regression()
    with pytest.raises(ConfigurationError, match=r"Use y\.argmax\(1\); or task = Regression"):
        cosim.tasks.Classification().check(rows)


def test_labels_from_one_and_labels_with_gaps_where_a_network_has_too_few_outputs():
    with pytest.raises(ConfigurationError, match=r"last size is 5\. Use y - 1: classes are numbered from 0"):
        cosim.run(given("from_one", Y + 1, model="mlp-12-8-4"))
    with pytest.raises(ConfigurationError, match=r"last size is 31\. Use np\.unique"):
        cosim.run(given("gaps", Y * 10, model="mlp-12-8-4"))
    assert cosim.run(given("from_one", Y + 1, model="mlp-12-8-5")).evaluations is not None


# --- Samples ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("part", "row"), [("train", 7), ("test", 3)])
def test_a_number_that_is_none_is_refused_by_its_row(value: float, part: str, row: int):
    x = X.copy()
    x[row + 30 * (part == "test"), 5] = value
    with pytest.raises(
        ConfigurationError, match=rf"{part}_x.*must be finite, but row {row} holds {value}\. "
    ):
        made(Y, x)
    y = Y.astype(float)
    y[row + 30 * (part == "test")] = value
    with pytest.raises(
        ConfigurationError, match=rf"{part}_y.*must be finite, but row {row} holds {value}\. "
    ):
        made(y)
    right = made(Y)
    broken = getattr(right, f"{part}_x").copy()
    broken[[row, row + 1]] = value
    with pytest.raises(ConfigurationError, match=f"row {row} holds {value}, as 1 more do"):
        evolve(right, **{f"{part}_x": broken})


def test_large_numbers_are_finite_and_too_large_ones_are_not():
    """A sum that overflows is no sign of a row; what float32 cannot hold is."""
    assert made(Y, np.full((40, 12), 3e38, np.float32)).train_x.max() > 1e38
    with pytest.raises(ConfigurationError, match="row 0 holds inf"):
        made(Y, np.full((40, 12), 1e39))


@pytest.mark.parametrize(
    ("train", "complaint"),
    [
        ([X, Y], "a list, does not give two arrays"),
        (X, "a ndarray, does not give two arrays .one array"),
        (X[:, :2], "a ndarray, does not give two arrays .one array"),
        (torch.tensor(X), "a Tensor, does not give two arrays .one array"),
        (pd.DataFrame(X), "a DataFrame, does not give two arrays .one array"),
        (([X[0], X[1, :5]], [0, 1]), r"samples of shapes \(12,\) and \(5,\): pad or crop"),
        ([(X[0], 0), (X[1, :5], 1)], r"samples of shapes \(12,\) and \(5,\): pad or crop"),
        ((torch.tensor(X, requires_grad=True), Y), r"requires grad"),
        ((X, Y, Y), "a tuple, does not give two arrays"),
        ((X, Y[:5]), "must be one int64 label for each of the 40 rows.*as many labels as samples"),
    ],
)
def test_parts_that_are_no_pair_are_refused(train, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        Dataset.of("own", train, (X, Y), num_classes=4)


def test_frames_lists_and_tensors_are_samples():
    for x in (pd.DataFrame(X), torch.tensor(X), list(X), X.astype(np.float64), X.astype(np.float16)):
        np.testing.assert_allclose(made(Y, np.asarray(x)).train_x, X[:30], rtol=1e-3, atol=1e-3)
        assert Dataset.of("own", (x, pd.Series(Y)), (X, Y)).train_x.dtype == np.float32


def four(_):
    """Names of a split in other tools."""
    return X, Y, X, Y


def test_four_arrays_are_no_two_parts():
    with pytest.raises(ConfigurationError, match=r"four returned a tuple of 4.*Return \(train_x, train_y\)"):
        cosim.run(worlds.one_cell(1e9, data=Arrays(source=f"{HERE}:four")))


# --- Owners, and clients without samples --------------------------------------------------------------------


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda owners: owners[:-1], "must be one number for each of the"),
        (lambda owners: owners.astype(float), r"must be int64 numbers of clients.*astype\(np\.int64\)"),
        (lambda owners: owners - 3, "must be numbers of clients, from (0|-1), but row 0 has -3"),
    ],
)
def test_owners_of_training_and_test_samples_are_checked_alike(part: str, change, complaint: str):
    right = evolve(made(Y), train_owners=np.arange(30) % 3, test_owners=np.arange(10) % 3)
    name = f"{part}_owners"
    with pytest.raises(ConfigurationError, match=f"{name}, .*{complaint}"):
        evolve(right, **{name: change(getattr(right, name))})


@part
class Owned(SplitData):
    """Samples of three places, of which one may have none."""

    split: Split = Natural()
    empty: bool = False
    test_place: int = 0

    def load(self, sim, data_dir):
        """The samples."""
        owners = np.arange(30) % 3
        owners[owners == 1] = 0 if self.empty else 1
        return evolve(made(Y), train_owners=owners, test_owners=np.full(10, self.test_place))


@part
class Dealt(Split):
    """A split of one's own that deals what it is told."""

    what: str = "right"
    is_lazy: bool = False

    def deal(self, sim, dataset, cell_sizes):
        """Ten samples for each of three clients, but for the second."""
        second = {
            "right": [1, 2],
            "nothing": [],
            "mask": np.arange(30) < 3,
            "floats": np.array([1.0, 2.0]),
            "too far": np.array([1, 30]),
            "negative": np.array([-1, 3]),
        }[self.what]
        dealt = [np.arange(10), second, np.arange(20, 30)]
        return Lazily(dealt) if self.is_lazy else dealt


class Lazily:
    """A sequence that is no list."""

    def __init__(self, dealt):
        self.dealt = dealt

    def __len__(self):
        return len(self.dealt)

    def __getitem__(self, number):
        return self.dealt[number]


def three(data: cosim.data.Data) -> cosim.System:
    return worlds.one_cell(1e9, 2e9, 3e9, data=data)


def source(_):
    """The samples."""
    return (X[:30], Y[:30]), (X[30:], Y[30:])


def test_a_client_without_samples_is_refused_by_its_number_before_the_clock_starts(tmp_path):
    out = tmp_path / "run"
    with pytest.raises(ConfigurationError, match=r"Natural\.deal: client 1 gets no samples"):
        cosim.run(three(Owned(empty=True)), out=out)
    assert not out.exists()
    assert cosim.run(three(Owned())).evaluations is not None


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        ("nothing", "client 1 gets no samples"),
        ("mask", r"client 1 gets a mask .*np\.flatnonzero"),
        ("floats", "client 1 gets float64 instead of the indices"),
        ("too far", "client 1 gets samples 1 to 30, but there are 30"),
        ("negative", "client 1 gets samples -1 to 3"),
    ],
)
@pytest.mark.parametrize("is_lazy", [False, True])
def test_what_a_split_of_ones_own_deals_is_looked_at(what: str, complaint: str, is_lazy: bool, tmp_path):
    data = Arrays(source=f"{HERE}:source", split=Dealt(what=what, is_lazy=is_lazy))
    with pytest.raises(ConfigurationError, match=f"Dealt.deal: {complaint}"):
        cosim.run(three(data), out=tmp_path / "run")
    assert is_lazy or not (tmp_path / "run").exists()
    assert (
        cosim.run(three(Arrays(source=f"{HERE}:source", split=Dealt(is_lazy=is_lazy)))).evaluations
        is not None
    )


def test_test_samples_of_a_client_that_is_not_there_are_refused():
    system = evolve(three(Owned(test_place=3)), task=cosim.tasks.Classification(metrics=("ClientAccuracy",)))
    with pytest.raises(
        ConfigurationError, match="test samples of 'own' arise at client 3, which is not there"
    ):
        cosim.run(system)


@part
class Growing(cosim.data.SplitData):
    """Samples of an instant that a client does not have."""

    def load(self, sim, data_dir):
        """The samples."""
        return made(Y)

    def held(self, sim, dataset, cell_sizes):
        """Nothing for the second client."""
        return [lambda own=own: np.arange(own) for own in (5, 0, 5)]


def test_a_client_that_has_none_when_it_is_asked_is_named():
    with pytest.raises(ConfigurationError, match="client-0001 has no samples to train on"):
        cosim.run(three(Growing()))
