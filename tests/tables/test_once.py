"""Once: a file that has changed is read again, whatever its size and times say."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from cosim.tables import once as module
from cosim.tables.once import once

pytestmark = pytest.mark.quick


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


TIMES = pytest.mark.parametrize(
    ("ns", "after_s", "again"),
    [(0, 0.05, True), (0, 0.15, True), (0, 2.5, False), (1, 0.05, True), (1, 0.15, False), (1, 2.5, False)],
)
"""Nanoseconds beyond a second of a file's last change; the time since; True if it is hashed again."""


@TIMES
def test_a_file_is_hashed_again_while_it_may_change_within_a_tick(
    read, ns, after_s, again, monkeypatch, tmp_path
):
    """A time of whole seconds may be of a disk that counts them in twos."""
    path = tmp_path / "a.csv"
    path.write_text("1")
    found = path.stat()
    changed_ns = 10**9 * (found.st_ctime_ns // 10**9) + ns
    times = SimpleNamespace(
        **{name: getattr(found, name) for name in ("st_dev", "st_ino", "st_size")},
        st_mtime_ns=changed_ns - 10**12,
        st_ctime_ns=changed_ns,
        st_mtime=changed_ns / 1e9 - 1e3,
        st_ctime=changed_ns / 1e9,
    )
    monkeypatch.setattr(Path, "stat", lambda self, **how: times)
    monkeypatch.setattr(module.time, "time", lambda: changed_ns / 1e9 + after_s)
    hashed: list[Path] = []
    monkeypatch.setattr(module, "checksum", lambda path: hashed.append(path) or "the same")
    for _ in range(3):
        assert once(read, path) == "1"
    assert len(hashed) == (3 if again else 1)


def test_few_files_are_kept(read, tmp_path):
    for number in range(20):
        (tmp_path / str(number)).write_text("x")
        once(read, tmp_path / str(number))
    assert sum(key[0] is read for key in module._kept) <= module._MOST
