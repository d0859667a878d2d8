"""Data sets: the right content, or an error that says what is wrong; where it is looked for and fetched."""

import gzip
import hashlib
import os
import socket
import struct
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import attrs
import numpy as np
import pytest
from data_sets import loaded
from scipy.integrate import quad
from scipy.stats import binomtest, norm

from cosim import Digits, FashionMnist
from cosim.configuration import ConfigurationError
from cosim.data import Synthetic
from cosim.data.dataset import Dataset
from cosim.data.pictures import fashion_mnist_files as files

TRAIN_X, TRAIN_Y, TEST_X, TEST_Y = (file.name for file in files.FILES)
INSTALL = "apt-get install dataset-fashion-mnist"


def idx(array):
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def images(num_images, first=0):
    """Every grey level occurs, and no two images are equal."""
    levels = np.arange(num_images * 784) + np.arange(num_images).repeat(784) * 31 + first
    return (levels % 256).astype(np.uint8).reshape(num_images, 28, 28)


def labels(num_labels):
    return (np.arange(num_labels) % 10).astype(np.uint8)


SMALL = {TRAIN_X: images(60), TRAIN_Y: labels(60), TEST_X: images(20, first=5), TEST_Y: labels(20)[::-1]}


@pytest.fixture
def small(monkeypatch):
    """Stand-ins for the published files: same format, 60 and 20 samples, checksums to match."""
    stand_ins = tuple(
        files.IdxFile(name, array.shape, hashlib.sha256(idx(array)).hexdigest())
        for name, array in SMALL.items()
    )
    monkeypatch.setattr(files, "FILES", stand_ins)


@pytest.fixture(autouse=True)
def nowhere(request, monkeypatch, tmp_path):
    """The usual places are empty folders of this test, except for tests of the real set."""
    if "fashion_mnist" not in request.fixturenames:
        monkeypatch.delenv("COSIM_DATA", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.setattr(files, "DEBIAN_FOLDER", tmp_path / "debian")


def fill(folder, suffix=".gz", **other_content):
    """A folder of the small files; `other_content` replaces a file's bytes, None leaves it out."""
    folder.mkdir(parents=True)
    for name, array in SMALL.items():
        content = other_content.get(name.split("-ubyte")[0].replace("-", "_"), idx(array))
        if content is not None:
            packed = gzip.compress(content) if suffix and content[:2] != b"\x1f\x8b" else content
            (folder / (name + suffix)).write_bytes(packed)
    return folder


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
    ("name", "written_at", "published_md5"),
    [
        (TRAIN_X, 1504176606, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        (TRAIN_Y, 1504176606, "25c81989df183df01b3e8a0aad5dffbe"),
        (TEST_X, 1504176627, "bef4ecab320f06d8554ea6380940ec79"),
        (TEST_Y, 1504176627, "bb300cfdad3c16e7a12a480ee83cd310"),
    ],
)
def test_checksums_are_those_of_the_published_files(fashion_mnist, name, written_at, published_md5):
    """Files that match our SHA-256 are the published ones, up to name and time in the gzip header."""
    path = files.find() / f"{name}.gz"
    if not path.is_file():
        pytest.skip(f"{path.parent} has {name} unzipped, which no published checksum covers")
    packed = path.read_bytes()
    if packed[3] == 0:  # no file name in the header, as in Debian's package
        flags_time_system = struct.pack("<BIBB", 8, written_at, 0, 3)
        packed = packed[:3] + flags_time_system + name.encode() + b"\0" + packed[10:]
    assert hashlib.md5(packed).hexdigest() == published_md5


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
    assert not isinstance(refused.value, files.MissingFiles)


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


@pytest.mark.usefixtures("small")
def test_places_are_tried_in_order(tmp_path, monkeypatch):
    given, variable = fill(tmp_path / "given"), fill(tmp_path / "variable")
    cache, debian = fill(tmp_path / "cache/cosim/fashion-mnist"), fill(tmp_path / "debian")
    monkeypatch.setenv("COSIM_DATA", str(variable))
    assert files.find(given) == given
    assert files.find() == variable
    monkeypatch.delenv("COSIM_DATA")
    assert files.find() == cache
    (cache / f"{TEST_Y}.gz").unlink()
    assert files.find() == debian


def test_cache_is_in_the_home_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.cache_folder() == tmp_path / ".cache/cosim/fashion-mnist"


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
    with pytest.raises(files.MissingFiles) as refused:
        loaded(FashionMnist(), folder if named_by == "--data-dir" else None)
    missing = f"lacks {TEST_X}[.gz]: " if state == "lacks" else "is no folder: "
    assert str(refused.value).startswith(f"{named_by} = {folder} {missing}")


def test_found_nowhere_says_what_to_install(tmp_path):
    with pytest.raises(files.MissingFiles) as refused:
        loaded(FashionMnist())
    for part in (
        INSTALL,
        "`cosim data fashion-mnist`",
        "--data-dir",
        str(tmp_path / "debian"),
        "cosim/fashion-mnist",
    ):
        assert part in str(refused.value)


# --- downloading ---


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A web server on this machine: its folder, its address, and the paths it was asked for."""
    asked = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format, *args):
            pass

        def do_GET(self):
            asked.append(self.path)
            super().do_GET()

    monkeypatch.setenv("no_proxy", "127.0.0.1")
    folder = tmp_path / "served"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder)) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_port}", asked
        running.shutdown()
        thread.join()


@pytest.mark.usefixtures("small")
def test_download_brings_a_set_that_loads(tmp_path, server):
    served, url, _ = server
    fill(served)
    progress = []
    folder = files.download(base_url=url, progress=lambda *step: progress.append(step))
    assert folder == files.cache_folder()
    assert sorted(os.listdir(folder)) == sorted(os.listdir(served))
    assert loaded(FashionMnist()).train_x.shape == (60, 784)
    assert [name for name, fraction in dict.fromkeys(progress) if fraction == 1.0] == [
        f"{n}.gz" for n in SMALL
    ]
    assert all(0 < fraction <= 1 for _, fraction in progress)


@pytest.mark.usefixtures("small")
def test_download_fetches_only_what_is_missing_or_wrong(tmp_path, server):
    served, url, asked = server
    fill(served)
    folder = fill(tmp_path / "here", t10k_images_idx3=None, train_labels_idx1=idx(labels(60)[::-1]))
    files.download(folder, base_url=url + "/")
    assert asked == [f"/{TRAIN_Y}.gz", f"/{TEST_X}.gz"]
    assert len(loaded(FashionMnist(), folder).test_x) == 20


@pytest.mark.usefixtures("small")
def test_download_mends_a_folder_with_a_wrong_unzipped_file(tmp_path, server):
    served, url, _ = server
    fill(served)
    folder = fill(tmp_path / "here", suffix="", train_images_idx3=b"")
    files.download(folder, base_url=url)
    assert len(loaded(FashionMnist(), folder).train_x) == 60


@pytest.mark.parametrize(
    ("content", "complaint"), [(c, why) for c, _, why in WRONG.values()], ids=WRONG.keys()
)
@pytest.mark.usefixtures("small")
def test_download_leaves_nothing_of_a_wrong_file(tmp_path, server, content, complaint):
    served, url, _ = server
    fill(served, **content)
    with pytest.raises(ConfigurationError) as refused:
        files.download(tmp_path / "here", base_url=url)
    (wrong,) = content
    name = next(name for name in SMALL if name.replace("-", "_").startswith(wrong))
    assert f"cannot download {url}/{name}.gz: what the server sent is wrong: " in str(refused.value)
    assert complaint in str(refused.value)
    before = [f"{n}.gz" for n in list(SMALL)[: list(SMALL).index(name)]]
    there = os.listdir(tmp_path / "here") if before else []
    assert sorted(there) == sorted(before)
    assert before or not (tmp_path / "here").exists()


@pytest.mark.usefixtures("small")
def test_download_says_what_the_server_lacks(tmp_path, server):
    served, url, _ = server
    fill(served, train_images_idx3=None)
    with pytest.raises(ConfigurationError, match="404") as refused:
        files.download(tmp_path / "here", base_url=url)
    assert f"{TRAIN_X}.gz" in str(refused.value)


def test_download_without_network_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        with pytest.raises(ConfigurationError) as refused:
            files.download(tmp_path / "here", base_url=f"http://127.0.0.1:{unused.getsockname()[1]}")
    assert INSTALL in str(refused.value)
    assert not (tmp_path / "here").exists()


@pytest.mark.usefixtures("small")
def test_download_is_all_or_nothing_when_the_disk_fails(tmp_path, server, monkeypatch):
    served, url, _ = server
    fill(served)

    def half_then_full(path, content):
        with open(path, "wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError("No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", half_then_full)
    with pytest.raises(ConfigurationError, match="No space left on device"):
        files.download(tmp_path / "here", base_url=url)
    assert os.listdir(tmp_path / "here") == []


def test_download_comes_from_the_authors_over_https():
    assert files.BASE_URL.startswith("https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/")


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
