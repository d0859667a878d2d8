"""Once: a file that has changed is read again, whatever its size and times say."""

import os
import time
from pathlib import Path

import pytest

from cosim.files.tables import once as module
from cosim.files.tables.once import once


@pytest.fixture
def calls() -> list[str]:
    return []


@pytest.fixture
def read(calls):
    def reading(path: Path) -> str:
        calls.append(path.read_text())
        return calls[-1]

    return reading


def test_a_file_is_read_once(read, calls, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1")
    assert [once(read, path) for _ in range(3)] == ["1"] * 3
    assert calls == ["1"]


def test_a_file_of_the_same_size_and_time_is_read_again(read, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("4096")
    found = path.stat()
    assert once(read, path) == "4096"
    path.write_text("1024")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert once(read, path) == "1024"


def test_a_file_of_long_ago_is_not_hashed_again(read, monkeypatch, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1")
    later = time.time() + 2 * module.SETTLED_S
    monkeypatch.setattr(module.time, "time", lambda: later)
    assert once(read, path) == "1"
    monkeypatch.setattr(module, "checksum", None)
    assert once(read, path) == "1"


def test_few_files_are_kept(read, tmp_path):
    for number in range(20):
        (tmp_path / str(number)).write_text("x")
        once(read, tmp_path / str(number))
    assert sum(key[0] is read for key in module._kept) <= module._MOST
