"""CIFAR-10 on disk: the right content, or an error that says what is wrong; where it is looked for."""

import hashlib
import os

import numpy as np
import pytest
from picture_files import ARCHIVE, ARCHIVED, CONTENTS, LABELS, level, packed, records, small_cifar10

from cosim.configuration import ConfigurationError
from cosim.data.pictures.cifar10_files import FOLDER, TEST_FILE, TRAIN_FILES
from cosim.data.pictures.published import MissingFiles, cache_folder
from cosim.data.pictures.sets import CIFAR10

FILES = (*TRAIN_FILES, TEST_FILE)


@pytest.fixture
def cifar10(monkeypatch, tmp_path):
    """Stand-ins for the published files: same format, 20 records each, a checksum to match; no cache."""
    monkeypatch.delenv("COSIM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return small_cifar10()


def loose(folder, **other_content):
    """A folder of the six files; `other_content` replaces a file's bytes, None leaves it out."""
    folder.mkdir(parents=True)
    for name, bytes_ in CONTENTS.items():
        bytes_ = other_content.get(name.removesuffix(".bin"), bytes_)
        if bytes_ is not None:
            (folder / name).write_bytes(bytes_)
    return folder


def archived(folder, bytes_=ARCHIVED):
    folder.mkdir(parents=True)
    (folder / ARCHIVE).write_bytes(bytes_)
    return folder


# --- reading ---


@pytest.mark.parametrize("way", ["files", "their folder", "archive"])
def test_each_record_lands_in_its_place(cifar10, tmp_path, way):
    folder = tmp_path / "data"
    archived(folder) if way == "archive" else loose(folder if way == "files" else folder / FOLDER)
    train_images, train_labels, test_images, test_labels = read = cifar10.read(cifar10.find(folder))
    assert [array.dtype for array in read] == [np.uint8] * 4
    assert not any(array.flags.writeable for array in read)
    np.testing.assert_array_equal(train_labels, LABELS[:5].ravel())
    np.testing.assert_array_equal(test_labels, LABELS[5])
    places = np.ogrid[0:6, 0:20, 0:3, 0:32, 0:32]
    levels = level(*places)
    np.testing.assert_array_equal(train_images, levels[:5].reshape(100, 3, 32, 32))
    np.testing.assert_array_equal(test_images, levels[5])


WRONG = {
    "empty": ({"data_batch_3": b""}, "data_batch_3.bin", "truncated: 0 bytes"),
    "truncated": (
        {"test_batch": CONTENTS[TEST_FILE][:-1]},
        TEST_FILE,
        "truncated: 61,459 bytes, not the 61,460 of 20 records of 3,073",
    ),
    "too long": ({"test_batch": CONTENTS[TEST_FILE] + b"\0"}, TEST_FILE, "too long: 61,461 bytes"),
    "label 10": (
        {"data_batch_5": records(4, [*LABELS[4][:-1], 10])},
        "data_batch_5.bin",
        "record 19 has label 10, but the labels are 0 to 9",
    ),
    "unequal test classes": (
        {"test_batch": records(5, [0, *np.arange(19) % 9])},
        TEST_FILE,
        "has 4 pictures of class 0, not 2 as published",
    ),
    "one file twice": (
        {"data_batch_2": CONTENTS["data_batch_1.bin"]},
        "",
        "data_batch_1.bin to data_batch_5.bin have together",
    ),
}


@pytest.mark.parametrize(("other", "name", "complaint"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_file_is_named_with_fault_and_fix(cifar10, tmp_path, other, name, complaint):
    folder = loose(tmp_path / "data", **other)
    with pytest.raises(ConfigurationError) as refused:
        cifar10.read(folder)
    message = str(refused.value)
    assert message.startswith(f"{folder / name}: ")
    assert complaint in message
    assert "`cosim data get cifar10`" in message
    assert "\n" not in message
    assert not isinstance(refused.value, MissingFiles)


BAD_ARCHIVES = {
    "empty": b"",
    "truncated": ARCHIVED[:-1],
    "one bit": ARCHIVED[:200] + bytes([ARCHIVED[200] ^ 1]) + ARCHIVED[201:],
    "another pixel": packed(CONTENTS | {TEST_FILE: CONTENTS[TEST_FILE][:-1] + b"\xff"}),
    "packed anew": packed(dict(reversed(CONTENTS.items()))),
}


@pytest.mark.parametrize("bytes_", BAD_ARCHIVES.values(), ids=BAD_ARCHIVES.keys())
def test_only_the_published_archive_is_read(cifar10, tmp_path, bytes_):
    folder = archived(tmp_path / "data", bytes_)
    with pytest.raises(ConfigurationError, match="not the published archive") as refused:
        cifar10.read(folder)
    message = str(refused.value)
    assert message.startswith(f"{folder / ARCHIVE}: ")
    assert f"MD5 {hashlib.md5(bytes_).hexdigest()}, not {hashlib.md5(ARCHIVED).hexdigest()}" in message


def test_the_checksum_is_the_published_one():
    assert (CIFAR10.files.md5, CIFAR10.files.num_records) == ("c32a1d4ab5d03f1284b67883e8d87530", 10_000)


def test_the_archive_comes_before_files(cifar10, tmp_path):
    folder = archived(tmp_path / "data")
    loose(folder / FOLDER, test_batch=b"")
    assert len(cifar10.read(folder)[3]) == 20


# --- looking ---


def test_places_are_tried_in_order(cifar10, tmp_path, monkeypatch):
    given, variable = loose(tmp_path / "given"), archived(tmp_path / "variable")
    cache = loose(tmp_path / "cache/cosim/cifar10" / FOLDER).parent
    monkeypatch.setenv("COSIM_DATA", str(variable))
    assert cifar10.find(given) == given
    assert cifar10.find() == variable
    monkeypatch.delenv("COSIM_DATA")
    assert cifar10.find() == cache == cache_folder() / CIFAR10.name


@pytest.mark.parametrize("named_by", ["--data-dir", "$COSIM_DATA"])
def test_a_named_folder_is_not_silently_replaced(cifar10, tmp_path, monkeypatch, named_by):
    loose(tmp_path / "cache/cosim/cifar10")
    absent, empty, partial = tmp_path / "absent", tmp_path / "empty", tmp_path / "partial"
    empty.mkdir()
    loose(partial / FOLDER, data_batch_4=None, test_batch=None)
    faults = {
        absent: "is no folder",
        empty: f"has neither {ARCHIVE} nor its six files, data_batch_1.bin to test_batch.bin",
        partial: f"lacks {FOLDER}/data_batch_4.bin, {FOLDER}/test_batch.bin",
    }
    for folder, fault in faults.items():
        if named_by == "$COSIM_DATA":
            monkeypatch.setenv("COSIM_DATA", str(folder))
        with pytest.raises(MissingFiles) as refused:
            cifar10.find(folder if named_by == "--data-dir" else None)
        assert str(refused.value).startswith(f"{named_by} = {folder} {fault}: CIFAR-10 is")


def test_found_nowhere_says_what_to_do(cifar10, tmp_path):
    with pytest.raises(MissingFiles) as refused:
        cifar10.find()
    for part in (
        "`cosim data get cifar10`",
        f"{tmp_path / 'cache/cosim/cifar10'} is no folder",
        "--data-dir",
        "$COSIM_DATA",
    ):
        assert part in str(refused.value)


@pytest.mark.parametrize("other", ["cifar-10-batches-py/", "cifar-10-python.tar.gz"])
def test_the_python_version_is_recognised(cifar10, tmp_path, other):
    (tmp_path / other).mkdir() if other.endswith("/") else (tmp_path / other).write_bytes(b"")
    with pytest.raises(MissingFiles, match=r"\(the Python version that is there is not read\)"):
        cifar10.find(tmp_path)


@pytest.mark.parametrize("way", ["files", "archive"])
def test_stamps_tell_one_state_of_the_files_from_another(cifar10, tmp_path, way):
    folder = loose(tmp_path / "data") if way == "files" else archived(tmp_path / "data")
    names = FILES if way == "files" else [ARCHIVE]
    before = cifar10.stamps(folder)
    assert [path for path, _, _ in before] == [str(folder / name) for name in names]
    assert [size for _, _, size in before] == [(folder / name).stat().st_size for name in names]
    assert cifar10.stamps(folder) == before
    os.utime(folder / names[-1], ns=(1, 1))
    assert cifar10.stamps(folder)[:-1] == before[:-1]
    assert cifar10.stamps(folder)[-1][1] == 1
