"""CIFAR-10 on disk, in its binary version: find its archive or its six files, check them, read them.

The set is 50,000 training and 10,000 test pictures of 32 x 32 pixels in three colours and ten classes. The
binary version is an archive of five training files and one test file, each of 10,000 records of 3,073 bytes:
a label, then red, green and blue, 32 x 32 each, rows first.

The archive must have the MD5 sum that its authors publish, so its content is the published one to the bit.
For unpacked files no checksums are published: each must have its size and labels from 0 to 9, the test file
1,000 pictures of each class, and the training files together 5,000 of each. That catches truncated files and
one file in place of another; it does not catch changed pixels, or training files with swapped names.

Scope and limitations: this one data set in this one version (not the Python or Matlab one), whole in memory
(184 MB, twice that while reading); no download. The archive is unpacked at every reading.

Usage::

    train_images, train_labels, test_images, test_labels = read(find())

Source: Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009; format, files and MD5 sum
at https://www.cs.toronto.edu/~kriz/cifar.html.
"""

import hashlib
import os
import tarfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.data.pictures.fashion_mnist_files import MissingFiles
from cosim.data.pictures.idx import WrongContent

NAME = "cifar-10"
NUM_CLASSES = 10
SHAPE = (3, 32, 32)
NUM_FEATURES = 3 * 32 * 32
"""Number of values of a picture: channels, rows, columns."""
NUM_RECORDS = 10_000
"""Number of pictures in each file."""
RECORD_BYTES = 1 + 3 * 32 * 32
TRAIN_FILES = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
TEST_FILE = "test_batch.bin"
FOLDER = "cifar-10-batches-bin"
"""Folder of the files inside the archive."""
ARCHIVE = "cifar-10-binary.tar.gz"
ARCHIVE_MD5 = "c32a1d4ab5d03f1284b67883e8d87530"
URL = f"https://www.cs.toronto.edu/~kriz/{ARCHIVE}"

_FILES = (*TRAIN_FILES, TEST_FILE)


def cache_folder() -> Path:
    """The user's own folder for the set."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "cosim" / "cifar-10"


def find(data_dir: Path | None = None) -> Path:
    """Folder with the archive, or with the six files, or with their folder `FOLDER`.

    If the user names a folder, by `data_dir` or else $COSIM_DATA, only that one is searched; otherwise
    `cache_folder()`.

    Raises:
        MissingFiles: The folder has neither.
    """
    if data_dir is not None:
        folder, source = data_dir, "--data-dir"
    elif variable := os.environ.get("COSIM_DATA"):
        folder, source = Path(variable), "$COSIM_DATA"
    else:
        folder, source = cache_folder(), "the cache"
    _place(folder, source)
    return folder


def read(folder: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]:
    """Read the set from a folder; the archive is preferred to unpacked files, because it has a checksum.

    Returns:
        Training pictures, shape (50000, 3, 32, 32), channels red, green, blue, levels from 0 to 255; training
        labels, shape (50000,), from 0 to 9; test pictures, shape (10000, 3, 32, 32); test labels, shape
        (10000,). All read-only.

    Raises:
        MissingFiles: The folder has neither archive nor files.
        ConfigurationError: A file is unreadable, truncated, corrupt or another file.
    """
    place = _place(folder, "the folder to read")
    contents = _unpacked(place) if place.is_file() else {name: _bytes(place / name) for name in _FILES}
    records = {name: _records(contents.pop(name), place / name) for name in _FILES}
    train = np.concatenate([records[name] for name in TRAIN_FILES])
    test = records[TEST_FILE]
    _check_classes(train, place, f"{TRAIN_FILES[0]} to {TRAIN_FILES[-1]} have together")
    _check_classes(test, place / TEST_FILE, "has")
    return *_columns(train), *_columns(test)


def stamps(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Path, modification time in nanoseconds and size in bytes of each file that `read` would read.

    Raises:
        MissingFiles: The folder has neither archive nor files.
    """
    place = _place(folder, "the folder to read")
    paths = [place] if place.is_file() else [place / name for name in _FILES]
    return tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in paths)


def _place(folder: Path, source: str) -> Path:
    """The archive, else the folder with the six files."""
    if (folder / ARCHIVE).is_file():
        return folder / ARCHIVE
    missing = {
        place: [name for name in _FILES if not (place / name).is_file()]
        for place in (folder, folder / FOLDER)
    }
    place = min(missing, key=lambda place: len(missing[place]))
    if not missing[place]:
        return place
    if not folder.is_dir():
        lack = "is no folder"
    elif len(missing[place]) < len(_FILES):
        lack = f"lacks {', '.join(str((place / name).relative_to(folder)) for name in missing[place])}"
    else:
        lack = f"has neither {ARCHIVE} nor its six files, {TRAIN_FILES[0]} to {TEST_FILE}"
    if (folder / "cifar-10-batches-py").is_dir() or (folder / "cifar-10-python.tar.gz").is_file():
        lack += " (the Python version that is there is not read)"
    raise MissingFiles(f"{source} = {folder} {lack}: no CIFAR-10 in its binary version. {_fix()}")


def _fix() -> str:
    return (
        f"Download {URL} into {cache_folder()}, or name the folder in which it or its six files "
        "lie with --data-dir or $COSIM_DATA."
    )


def _refused(path: Path, what: object) -> ConfigurationError:
    return ConfigurationError(f"{path}: {what}. {_fix()}")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _refused(path, error) from None


def _unpacked(archive: Path) -> dict[str, bytes]:
    """Content of each file by name, from the published archive."""
    try:
        with archive.open("rb") as file:
            md5 = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
        if md5 != ARCHIVE_MD5:
            raise WrongContent(
                f"not the published archive (MD5 {md5}, not {ARCHIVE_MD5}): truncated, changed or another set"
            )
        contents: dict[str, bytes] = {}
        with tarfile.open(archive, "r|gz") as members:
            for member in members:
                name = member.name.removeprefix(f"{FOLDER}/")
                if name in _FILES and (packed := members.extractfile(member)):
                    contents[name] = packed.read()
    except (OSError, WrongContent) as error:
        raise _refused(archive, error) from None
    return contents


def _records(content: bytes, path: Path) -> NDArray[np.uint8]:
    """Label and pixels of each picture, shape (records, 3073)."""
    num_bytes = NUM_RECORDS * RECORD_BYTES
    if len(content) != num_bytes:
        fault = "truncated" if len(content) < num_bytes else "too long"
        rule = f"the {num_bytes:,} of {NUM_RECORDS:,} records of {RECORD_BYTES:,}"
        raise _refused(path, f"{fault}: {len(content):,} bytes, not {rule}")
    records = np.frombuffer(content, np.uint8).reshape(NUM_RECORDS, RECORD_BYTES)
    if (wrong := np.flatnonzero(records[:, 0] >= NUM_CLASSES)).size:
        label = records[wrong[0], 0]
        raise _refused(
            path, f"record {wrong[0]} has label {label}, but the labels are 0 to {NUM_CLASSES - 1}"
        )
    return records


def _check_classes(records: NDArray[np.uint8], path: Path, who: str) -> None:
    """Check that every class has the same number of pictures."""
    counts, rule = np.bincount(records[:, 0], minlength=NUM_CLASSES), len(records) // NUM_CLASSES
    if (counts != rule).any():
        label = int(np.argmax(counts != rule))
        fault = f"{who} {counts[label]:,} pictures of class {label}, not {rule:,} as published"
        raise _refused(path, f"{fault}: a file in place of another, or another set")


def _columns(records: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Pictures and labels."""
    images, labels = records[:, 1:].reshape(-1, *SHAPE), records[:, 0].copy()
    images.flags.writeable = labels.flags.writeable = False
    return images, labels
