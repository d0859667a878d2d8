"""Downloads: whole and as published, or nothing and a sentence that says why and what to do."""

import errno
import gzip
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from data_sets import loaded
from picture_files import (
    ARCHIVE,
    ARCHIVED,
    SMALL,
    TEST_X,
    TRAIN_X,
    TRAIN_Y,
    fill,
    idx,
    labels,
    small_cifar10,
    small_fashion_mnist,
    zipped,
)

from cosim import FashionMnist
from cosim.configuration import ConfigurationError
from cosim.data.pictures.download import download, folder_to_fill
from cosim.data.pictures.sets import SETS
from scenarios.command_line import data as data_command
from scenarios.command_line import data_get

INSTALL = "apt-get install dataset-fashion-mnist"


@pytest.fixture(autouse=True)
def network(tmp_path, monkeypatch):
    """No proxy, and no data on this machine."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("COSIM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Handler(SimpleHTTPRequestHandler):
    """Files of a folder, without a log."""

    asked: list[str]
    cut_at: int | None = None

    def log_message(self, format, *args):
        pass

    def do_GET(self):
        self.asked.append(self.path)
        super().do_GET()

    def copyfile(self, source, outputfile):
        """The content, or its beginning, after which the connection breaks off."""
        outputfile.write(source.read(self.cut_at))


@pytest.fixture
def server(tmp_path):
    """A web server on this machine: its folder, its address, and how it answers."""
    answers = type("Answers", (Handler,), {"asked": []})
    folder = tmp_path / "served"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(answers, directory=folder)) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_port}", answers
        running.shutdown()
        thread.join()


def refused(known, folder):
    """The sentence with which a download is refused."""
    with pytest.raises(ConfigurationError) as error:
        download(known, folder)
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


# --- what arrives ---


def test_a_download_loads(tmp_path, server, monkeypatch):
    served, url, _ = server
    fill(served)
    known = small_fashion_mnist(url)
    monkeypatch.setattr(FashionMnist, "published", known)
    folder = folder_to_fill(known)
    download(known, folder)
    assert folder == tmp_path / "cache/cosim/fashion-mnist"
    assert sorted(os.listdir(folder)) == sorted(os.listdir(served))
    assert loaded(FashionMnist()).train_x.shape == (60, 784)


def test_the_archive_of_cifar10_loads(tmp_path, server):
    served, url, _ = server
    served.mkdir()
    (served / ARCHIVE).write_bytes(ARCHIVED)
    known = small_cifar10(url)
    download(known, tmp_path / "here")
    assert os.listdir(tmp_path / "here") == [ARCHIVE]
    assert known.read(tmp_path / "here").train_images.shape == (100, 3, 32, 32)


def test_only_what_is_missing_or_wrong_is_fetched(tmp_path, server):
    served, url, answers = server
    fill(served)
    known = small_fashion_mnist(url)
    folder = fill(tmp_path / "here", t10k_images_idx3=None, train_labels_idx1=idx(labels(60)[::-1]))
    download(known, folder)
    assert answers.asked == [f"/{TRAIN_Y}.gz", f"/{TEST_X}.gz"]
    assert len(known.read(folder).test_images) == 20


def test_a_wrong_unzipped_file_is_mended_by_the_gzipped_one(tmp_path, server):
    served, url, _ = server
    fill(served)
    known = small_fashion_mnist(url)
    folder = fill(tmp_path / "here", suffix="", train_images_idx3=b"")
    download(known, folder)
    assert len(known.read(folder).train_images) == 60


def test_what_arrives_may_be_read_as_other_new_files(tmp_path, server):
    served, url, _ = server
    fill(served)
    old = os.umask(0o022)
    try:
        download(small_fashion_mnist(url), tmp_path / "here")
    finally:
        os.umask(old)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "here").iterdir()} == {0o644}


# --- what does not ---


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        (b"", "it is empty"),
        (b" <!DOCTYPE html><p>Please log in", "it is a web page, of a login or a proxy"),
        (zipped(idx(SMALL[TEST_X]))[:-9], "it is cut off or changed"),
        (gzip.compress(idx(SMALL[TEST_X]), 1), "it is cut off or changed"),
    ],
    ids=["empty", "page", "half", "other bytes"],
)
def test_nothing_is_left_of_a_wrong_file(tmp_path, server, content, looks):
    served, url, _ = server
    fill(served)
    (served / f"{TEST_X}.gz").write_bytes(content)
    message = refused(small_fashion_mnist(url), tmp_path / "here")
    assert f"cannot download {url}/{TEST_X}.gz: what arrived is not the published file (MD5 " in message
    assert looks in message
    assert INSTALL in message
    assert sorted(os.listdir(tmp_path / "here")) == [f"{TRAIN_X}.gz", f"{TRAIN_Y}.gz"]


def test_a_connection_that_breaks_off_leaves_nothing(tmp_path, server):
    served, url, answers = server
    fill(served)
    answers.cut_at = 100
    assert "the connection broke off before the end. Try again; or" in refused(
        small_fashion_mnist(url), tmp_path / "new" / "here"
    )
    assert not (tmp_path / "new").exists()


def test_a_folder_that_was_there_stays(tmp_path, deaf):
    (tmp_path / "old").mkdir()
    refused(small_fashion_mnist(deaf), tmp_path / "old" / "here")
    refused(small_fashion_mnist(deaf), tmp_path / "old")
    assert os.listdir(tmp_path / "old") == []


def test_a_file_that_the_server_lacks_is_named(tmp_path, server):
    served, url, _ = server
    fill(served, train_images_idx3=None)
    message = refused(small_fashion_mnist(url), tmp_path / "here")
    assert f"{url}/{TRAIN_X}.gz: the server answers 404 File not found. Try again later; or" in message


@pytest.fixture
def deaf():
    """An address on which no server listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{unused.getsockname()[1]}"


def test_without_network_the_sentence_says_what_to_install(tmp_path, deaf):
    message = refused(small_fashion_mnist(deaf), tmp_path / "here")
    assert "no connection (Connection refused). Try again with a network; or" in message
    assert INSTALL in message


def test_a_dead_proxy_is_named(tmp_path, deaf, monkeypatch):
    monkeypatch.delenv("no_proxy")
    monkeypatch.setenv("http_proxy", deaf)
    message = refused(small_fashion_mnist("http://example.invalid"), tmp_path / "here")
    assert "the proxy refuses or does not answer (Connection refused). Set $https_proxy right" in message


def test_a_silent_server_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("cosim.data.pictures.download.TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert "no answer within" in refused(small_fashion_mnist(url), tmp_path / "here")


def test_a_full_disk_leaves_nothing(tmp_path, server, monkeypatch):
    served, url, _ = server
    fill(served)

    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert "No space left on device" in refused(small_fashion_mnist(url), tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_a_folder_that_may_not_be_written_is_named(tmp_path, monkeypatch):
    def denied(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("pathlib.Path.mkdir", denied)
    message = refused(small_fashion_mnist(), tmp_path / "here")
    assert message.startswith(
        f"{tmp_path / 'here' / TRAIN_X}.gz: cannot be written (Permission denied). Use a"
    )


def test_without_a_home_the_user_names_a_folder(monkeypatch):
    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("pathlib.Path.home", home)
    with pytest.raises(ConfigurationError, match=r"there is no home folder .*Use --data-dir FOLDER"):
        folder_to_fill(small_fashion_mnist())


def test_a_killed_download_leaves_nothing_that_is_taken_for_whole(tmp_path):
    """The next download removes what was left."""
    folder = tmp_path / "here"
    program = "import sys; from picture_files import small_fashion_mnist; from pathlib import Path\n"
    program += "from cosim.data.pictures.download import download\n"
    program += "download(small_fashion_mnist(sys.argv[1]), Path(sys.argv[2]))"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.settimeout(600.0)
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}  # with the fixtures
        process = subprocess.Popen([sys.executable, "-c", program, url, folder], env=environment)
        connection, _ = listening.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + b"x" * 100_000)
            while not [path for path in folder.iterdir() if path.stat().st_size >= 65_536]:
                assert process.poll() is None
                time.sleep(0.01)
            process.kill()
            process.wait()
    (left,) = folder.iterdir()
    assert left.name.endswith(".partial")
    assert small_fashion_mnist(url).files.lack(folder).startswith("lacks ")
    refused(small_fashion_mnist(url), folder)
    assert os.listdir(folder) == []


# --- the command ---


@pytest.fixture
def small_sets(server, monkeypatch):
    """The command knows small sets, which this machine's server has."""
    served, url, _ = server
    fill(served)
    (served / ARCHIVE).write_bytes(ARCHIVED)
    for known in (small_fashion_mnist(url), small_cifar10(url)):
        monkeypatch.setitem(SETS, known.name, known)


@pytest.mark.usefixtures("small_sets")
def test_the_list_says_what_is_where(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    data_get.main(["cifar10"])
    assert capsys.readouterr().out == f"CIFAR-10 is whole in {tmp_path / 'cache/cosim/cifar10'}\n"
    data_get.main(["cifar10"])
    assert capsys.readouterr().out.startswith("CIFAR-10 is here already, whole: ")
    damaged = fill(tmp_path / "cache/cosim/fashion-mnist", train_images_idx3=b"")
    data_command.main([])
    heading, _, cifar10, fashion_mnist, *more = capsys.readouterr().out.splitlines()
    assert heading.split() == ["set", "┃", "to", "download", "┃", "on", "this", "machine"]
    assert cifar10.split("│")[2].strip() == f"{tmp_path / 'cache/cosim/cifar10'}: whole"
    assert fashion_mnist.split("│")[2].strip().startswith(f"{damaged / TRAIN_X}.gz: ")
    assert (
        more[-1]
        == "More: cosim data get NAME downloads a set; cosim data convert reads files of other tools."
    )


@pytest.mark.usefixtures("small_sets")
def test_a_named_folder_is_filled(tmp_path, capsys, monkeypatch):
    data_get.main(["fashion-mnist", "--data-dir", str(tmp_path / "a")])
    monkeypatch.setenv("COSIM_DATA", str(tmp_path / "b"))
    data_get.main(["fashion-mnist"])
    assert [sorted(os.listdir(tmp_path / name)) for name in "ab"] == [[*sorted(f"{n}.gz" for n in SMALL)]] * 2


def test_the_sets_come_from_their_authors_over_https():
    urls = [file.url for known in SETS.values() for file in known.downloads]
    assert all(
        url.startswith(("https://raw.githubusercontent.com/zalandoresearch/", "https://www.cs.toronto.edu/"))
        for url in urls
    )
