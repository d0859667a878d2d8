"""Data sets: the right content, or an error that says what is wrong; where it is looked for."""

import errno
import gzip
import hashlib
import struct
from importlib.machinery import ModuleSpec
from pathlib import Path

import attrs
import numpy as np
import pytest
from data_sets import loaded
from picture_files import (
    SMALL,
    TEST_X,
    TEST_Y,
    TRAIN_X,
    TRAIN_Y,
    fill,
    idx,
    labels,
    small_fashion_mnist,
)
from scipy.integrate import quad
from scipy.stats import binomtest, norm

from cosim import Digits, FashionMnist
from cosim.configuration import ConfigurationError
from cosim.data import Synthetic
from cosim.data.dataset import Dataset
from cosim.data.pictures import digits
from cosim.data.pictures.published import MissingFiles, cache_folder
from cosim.data.pictures.sets import FASHION_MNIST

INSTALL = "apt-get install dataset-fashion-mnist"


@pytest.fixture
def small(monkeypatch, nowhere):
    """Stand-ins for the published files: same format, 60 and 20 samples, checksums to match."""
    known = attrs.evolve(small_fashion_mnist(), package=nowhere)
    monkeypatch.setattr(FashionMnist, "published", known)
    return known


@pytest.fixture(autouse=True)
def nowhere(request, monkeypatch, tmp_path):
    """The usual places are empty folders of this test, except for tests of the real set."""
    if "fashion_mnist" not in request.fixturenames:
        monkeypatch.delenv("COSIM_DATA", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return "dataset-fashion-mnist", tmp_path / "debian"


# --- the real set ---


def test_fashion_mnist_is_the_published_set(fashion_mnist):
    x, y = fashion_mnist.train_x, fashion_mnist.train_y
    assert (x.shape, fashion_mnist.test_x.shape) == ((60_000, 784), (10_000, 784))
    assert (x.dtype, y.dtype) == (np.float32, np.int64)
    assert x.flags.c_contiguous
    assert (x.min(), x.max()) == (-1.0, 1.0)
    assert set(np.bincount(y)) == {6000}
    assert set(np.bincount(fashion_mnist.test_y)) == {1000}
    # the first labels, and mean and deviation of grey levels in [0, 1], as widely published
    assert list(y[:5]) == [9, 0, 0, 3, 0]
    assert list(fashion_mnist.test_y[:5]) == [9, 2, 1, 1, 6]
    assert (x.mean(dtype=np.float64) + 1) / 2 == pytest.approx(0.2860, abs=5e-5)
    assert x.std(dtype=np.float64) / 2 == pytest.approx(0.3530, abs=5e-5)


def test_fashion_mnist_labels_belong_to_their_images(fashion_mnist):
    """Nearest class mean gets 68 % of the test part right; labels out of step with images would get 10 %."""
    means = np.stack([fashion_mnist.train_x[fashion_mnist.train_y == c].mean(0) for c in range(10)])
    nearest = (fashion_mnist.test_x @ means.T - (means**2).sum(1) / 2).argmax(1)
    assert 0.66 < (nearest == fashion_mnist.test_y).mean() < 0.70


@pytest.mark.parametrize(
    ("number", "written_at"), [(0, 1504176606), (1, 1504176606), (2, 1504176627), (3, 1504176627)]
)
def test_checksums_are_those_of_the_published_files(fashion_mnist, number, written_at):
    """Files that match our SHA-256 are the published ones, up to name and time in the gzip header."""
    published = FASHION_MNIST.downloads[number]
    path = FASHION_MNIST.find() / published.name
    if not path.is_file():
        pytest.skip(f"{path.parent} has it unzipped, which no published checksum covers")
    packed = path.read_bytes()
    if packed[3] == 0:  # no file name in the header, as in Debian's package
        flags_time_system = struct.pack("<BIBB", 8, written_at, 0, 3)
        name = published.name.removesuffix(".gz").encode()
        packed = packed[:3] + flags_time_system + name + b"\0" + packed[10:]
    assert hashlib.md5(packed).hexdigest() == published.md5


# --- reading ---


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.usefixtures("small")
def test_each_file_lands_in_its_place_scaled(tmp_path, suffix):
    dataset = loaded(FashionMnist(), fill(tmp_path / "data", suffix))
    expected = {name: array.reshape(len(array), -1) / 127.5 - 1 for name, array in SMALL.items()}
    np.testing.assert_allclose(dataset.train_x, expected[TRAIN_X], rtol=0, atol=1.2e-7)
    np.testing.assert_allclose(dataset.test_x, expected[TEST_X], rtol=0, atol=1.2e-7)
    assert list(dataset.train_y) == list(SMALL[TRAIN_Y])
    assert list(dataset.test_y) == list(SMALL[TEST_Y])
    assert (dataset.train_x.min(), dataset.train_x.max()) == (-1.0, 1.0)
    assert (dataset.name, dataset.num_classes) == ("fashion-mnist", 10)


@pytest.mark.usefixtures("small")
def test_content_not_name_says_whether_a_file_is_gzipped(tmp_path):
    folder = fill(tmp_path / "data")
    path = folder / f"{TRAIN_X}.gz"
    path.write_bytes(gzip.decompress(path.read_bytes()))  # as some browsers save it
    assert len(loaded(FashionMnist(), folder).train_x) == 60


def flipped(content):
    return content[:-1] + bytes([content[-1] ^ 1])


TRAIN_IMAGES = idx(SMALL[TRAIN_X])
WRONG = {
    "empty": ({"train_images_idx3": b""}, TRAIN_X, "it is empty"),
    "text": ({"train_images_idx3": b"<!DOCTYPE html>"}, TRAIN_X, "starts with 3c 21 44 4f"),
    "half a header": ({"train_images_idx3": TRAIN_IMAGES[:9]}, TRAIN_X, "no IDX file"),
    "truncated": ({"t10k_images_idx3": idx(SMALL[TEST_X])[:-1]}, TEST_X, "truncated"),
    "too long": ({"t10k_images_idx3": idx(SMALL[TEST_X]) + b"\0"}, TEST_X, "too long"),
    "labels as images": ({"train_images_idx3": idx(labels(60))}, TRAIN_X, f"looks like {TRAIN_Y}"),
    "images as labels": ({"t10k_labels_idx1": idx(SMALL[TEST_X])}, TEST_Y, f"looks like {TEST_X}"),
    "test as train": ({"train_images_idx3": idx(SMALL[TEST_X])}, TRAIN_X, f"looks like {TEST_X}"),
    "train as test": ({"t10k_labels_idx1": idx(labels(60))}, TEST_Y, f"looks like {TRAIN_Y}"),
    "a label short": ({"train_labels_idx1": idx(labels(59))}, TRAIN_Y, "holds 59 labels, not the 60 labels"),
    "label 10": (
        {"train_labels_idx1": idx(labels(60) + 1)},
        TRAIN_Y,
        "has a label 10, but the labels are 0 to 9",
    ),
    "one bit": ({"train_images_idx3": flipped(TRAIN_IMAGES)}, TRAIN_X, "not the published content"),
    "labels in another order": (
        {"train_labels_idx1": idx(labels(60)[::-1])},
        TRAIN_Y,
        "not the published content",
    ),
}


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(("content", "name", "complaint"), WRONG.values(), ids=WRONG.keys())
@pytest.mark.usefixtures("small")
def test_a_wrong_file_is_named_with_fault_and_fix(tmp_path, content, name, complaint, suffix):
    folder = fill(tmp_path / "data", suffix, **content)
    with pytest.raises(ConfigurationError) as refused:
        loaded(FashionMnist(), folder)
    message = str(refused.value)
    assert message.startswith(f"{folder / (name + suffix)}: ")
    assert complaint in message
    assert INSTALL in message
    assert "\n" not in message
    assert not isinstance(refused.value, MissingFiles)


@pytest.mark.parametrize(
    "damage", [lambda packed: packed[:-9], lambda packed: packed[:60] + b"?" + packed[61:]]
)
@pytest.mark.usefixtures("small")
def test_bad_gzip_is_named(tmp_path, damage):
    folder = fill(tmp_path / "data", train_images_idx3=damage(gzip.compress(TRAIN_IMAGES)))
    with pytest.raises(ConfigurationError, match="truncated or corrupt gzip") as refused:
        loaded(FashionMnist(), folder)
    assert f"{TRAIN_X}.gz" in str(refused.value)


# --- looking ---


@pytest.fixture
def homeless(monkeypatch):
    """The user has no home folder."""

    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", home)


def closed_to_us(monkeypatch, folder):
    """Files in a folder are of another user."""
    is_file = Path.is_file

    def asked(path):
        if path.is_relative_to(folder):
            raise PermissionError(errno.EACCES, "Permission denied")
        return is_file(path)

    monkeypatch.setattr("pathlib.Path.is_file", asked)


def test_places_are_tried_in_order(tmp_path, monkeypatch, small):
    given, variable = fill(tmp_path / "given"), fill(tmp_path / "variable")
    cache, debian = fill(tmp_path / "cache/cosim/fashion-mnist"), fill(tmp_path / "debian")
    monkeypatch.setenv("COSIM_DATA", str(variable))
    assert small.find(given) == given
    assert small.find() == variable
    monkeypatch.delenv("COSIM_DATA")
    assert small.find() == cache
    (cache / f"{TEST_Y}.gz").unlink()
    assert small.find() == debian


def test_cache_is_in_the_home_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache/cosim"


def test_without_a_home_the_other_places_are_searched(tmp_path, small, homeless):
    debian = fill(tmp_path / "debian")
    assert cache_folder() is None
    assert small.find() == debian


def test_a_folder_that_may_not_be_read_is_passed_over(tmp_path, monkeypatch, small):
    cache, debian = fill(tmp_path / "cache/cosim/fashion-mnist"), fill(tmp_path / "debian")
    closed_to_us(monkeypatch, cache)
    assert small.find() == debian
    with pytest.raises(MissingFiles, match=r"--data-dir = .* cannot be read \(Permission denied\)"):
        small.find(cache)


@pytest.mark.parametrize("named_by", ["--data-dir", "$COSIM_DATA"])
@pytest.mark.parametrize("state", ["lacks", "is no folder"])
@pytest.mark.usefixtures("small")
def test_a_named_folder_is_not_silently_replaced(tmp_path, monkeypatch, named_by, state):
    fill(tmp_path / "debian")
    folder = tmp_path / "named"
    if state == "lacks":
        fill(folder, t10k_images_idx3=None)
    if named_by == "$COSIM_DATA":
        monkeypatch.setenv("COSIM_DATA", str(folder))
    with pytest.raises(MissingFiles) as refused:
        loaded(FashionMnist(), folder if named_by == "--data-dir" else None)
    missing = f"lacks {TEST_X}[.gz]: " if state == "lacks" else "is no folder: "
    assert str(refused.value).startswith(f"{named_by} = {folder} {missing}")


@pytest.mark.usefixtures("small")
def test_found_nowhere_says_what_to_install(tmp_path):
    with pytest.raises(MissingFiles) as refused:
        loaded(FashionMnist())
    for part in (
        INSTALL,
        "`cosim data get fashion-mnist`",
        "--data-dir",
        str(tmp_path / "debian"),
        "cosim/fashion-mnist",
    ):
        assert part in str(refused.value)


# --- the sets without files ---


def test_digits_split_every_class_four_to_one():
    dataset = loaded(Digits())
    assert len(dataset.train_x) + len(dataset.test_x) == 1797
    assert (dataset.train_x.min(), dataset.train_x.max(), dataset.train_x.shape[1]) == (-1.0, 1.0, 64)
    num_train, num_test = np.bincount(dataset.train_y), np.bincount(dataset.test_y)
    assert list(num_test) == list((num_train + num_test) // 5)


def test_digits_are_scikit_learns_in_order():
    from sklearn.datasets import load_digits

    levels, digits = map(np.asarray, load_digits(return_X_y=True))
    dataset = loaded(Digits())
    seen, train, test = [0] * 10, [], []
    for index, digit in enumerate(digits):
        seen[digit] += 1
        (train if seen[digit] % 5 else test).append(index)
    np.testing.assert_array_equal(dataset.train_x, levels[train] / 8 - 1)
    np.testing.assert_array_equal(dataset.test_x, levels[test] / 8 - 1)
    assert list(dataset.train_y) == list(digits[train])
    assert list(dataset.test_y) == list(digits[test])


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (None, "Digits: scikit-learn is not installed. Use python -m pip install"),
        ([], "Digits: scikit-learn is not installed"),
        (["nowhere"], "Digits: nowhere/.*digits.csv.gz cannot be read"),
    ],
)
def test_digits_that_are_not_there_are_refused_in_a_sentence(monkeypatch, places, words):
    spec = ModuleSpec("sklearn", None)
    spec.submodule_search_locations = places
    monkeypatch.setattr(digits, "find_spec", lambda name: None if places is None else spec)
    with pytest.raises(ConfigurationError, match=words):
        digits._levels_and_labels.__wrapped__()


def bayes_accuracy(mean):
    """Of four orthogonal class means of this length: the right one of four projections is the largest."""
    return quad(lambda x: norm.pdf(x - mean) * norm.cdf(x) ** 3, -10, mean + 10)[0]


def test_synthetic_is_the_mixture_it_says():
    """The best classifier is right as often as theory says; shorter or longer means are told apart."""
    dataset = loaded(Synthetic())
    x, y = (
        np.concatenate([dataset.train_x, dataset.test_x]),
        np.concatenate([dataset.train_y, dataset.test_y]),
    )
    num_right = int((x.reshape(-1, 4, 3).sum(2).argmax(1) == y).sum())
    interval = binomtest(num_right, len(y)).proportion_ci(0.999)
    assert interval.low < bayes_accuracy(1.5 * 3**0.5) < interval.high
    assert bayes_accuracy(1.3 * 3**0.5) < interval.low
    assert interval.high < bayes_accuracy(1.75 * 3**0.5)
    assert (x - 1.5 * np.repeat(np.eye(4), 3, axis=1)[y]).var() == pytest.approx(1.0, abs=0.04)
    assert [list(np.bincount(part)) for part in (dataset.train_y, dataset.test_y)] == [[300] * 4, [100] * 4]


def test_synthetic_is_the_same_on_every_machine():
    dataset = loaded(Synthetic())
    content = b"".join(
        a.tobytes() for a in (dataset.train_x, dataset.train_y, dataset.test_x, dataset.test_y)
    )
    assert (
        hashlib.sha256(content).hexdigest()
        == "e761c9d237d2fd7a5798382ccb08f2f62f4ee3077371b1e1aa141fddb6af814c"
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"train_x": np.zeros((3, 2))}, "train_x, float64"),
        ({"train_x": np.zeros((2, 3), np.float32).T}, "C-contiguous"),
        ({"test_x": np.zeros((2, 1, 2), np.float32)}, "test_x, float32 of shape"),
        ({"test_x": np.zeros((2, 3), np.float32)}, "samples of the same shape as train_x, (2,)"),
        ({"train_y": np.zeros(2, np.int64)}, "each of the 3 rows"),
        ({"test_y": np.zeros(2, np.uint8)}, "int64"),
        ({"test_y": np.array([0, 2])}, "from 0 to 1, but goes from 0 to 2"),
        ({"train_y": np.array([0, -1, 1])}, "from 0 to 1, but goes from -1"),
    ],
)
def test_dataset_refuses_arrays_that_break_its_rules(change, complaint):
    right = Dataset(
        name="own",
        train_x=np.zeros((3, 2), np.float32),
        train_y=np.array([0, 1, 0]),
        test_x=np.zeros((2, 2), np.float32),
        test_y=np.array([1, 0]),
        num_classes=2,
    )
    with pytest.raises(ConfigurationError, match="Dataset 'own': ") as refused:
        attrs.evolve(right, **change)
    assert complaint in str(refused.value)


def test_a_table_of_rows_has_a_number_for_every_row_and_class():
    test = {"test_x": np.zeros((2, 2), np.float32), "test_y": np.array([1, 0]), "num_classes": 5}
    table = Dataset(name="own", train_x=np.zeros((3, 2), np.float32), train_y=None, **test)
    assert table.num_sample_numbers == 15
    assert table.train_owners is None
    assert attrs.evolve(table, train_y=np.array([0, 4, 1])).num_sample_numbers == 3
    for change, complaint in [
        ({"train_owners": np.zeros(3, np.int64)}, "train_owners, int64 of shape (3,), must be None"),
        ({"train_x": np.zeros((0, 2), np.float32)}, "train_x, float32 of shape (0, 2), must have rows"),
        ({"num_classes": None, "test_y": np.zeros(2, np.float32)}, "and classes (num_classes = None)"),
        ({"train_x": np.zeros((3, 2))}, "train_x, float64"),
        ({"test_x": np.zeros((2, 3), np.float32)}, "samples of the same shape as train_x, (2,)"),
        ({"test_y": np.array([0, 5])}, "from 0 to 4, but goes from 0 to 5"),
    ]:
        with pytest.raises(ConfigurationError, match="Dataset 'own': ") as refused:
            attrs.evolve(table, **change)
        assert complaint in str(refused.value)


def test_grey_levels_are_the_same_pictures_on_two_scales() -> None:
    """Level v of 16 is v / 8 - 1 or v / 16."""
    symmetric, positive = loaded(Digits()), loaded(Digits(grey_levels="positive"))
    np.testing.assert_array_equal((symmetric.train_x + 1.0) / 2.0, positive.train_x)
    assert (symmetric.test_x.min(), symmetric.test_x.max()) == (-1.0, 1.0)
    assert (positive.test_x.min(), positive.test_x.max()) == (0.0, 1.0)
    np.testing.assert_array_equal(symmetric.train_y, positive.train_y)
