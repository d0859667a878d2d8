"""CIFAR-10 on disk, in its binary version: its archive or its six files, checked.

The set is 50,000 training and 10,000 test pictures of 32 x 32 pixels in three colours and ten classes. The
binary version is an archive of five training files and one test file, each of 10,000 records of 3,073 bytes:
a label, then red, green and blue, 32 x 32 each, rows first.

The archive must have the MD5 sum that its authors publish, so its content is the published one to the bit.
For unpacked files no checksums are published: each must have its size and labels from 0 to 9, the test file
1,000 pictures of each class, and the training files together 5,000 of each. That catches truncated files and
one file in place of another; it does not catch changed pixels, or training files with swapped names.

Scope and limitations: this one version of the set (not the Python or Matlab one), whole in memory (184 MB,
twice that while reading). The archive is unpacked at every reading.
"""

import hashlib
import tarfile
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.data.pictures.published import FileFault, PictureFiles, Pictures

NUM_CLASSES = 10
SHAPE = (3, 32, 32)
"""Channels, rows, columns of a picture."""
RECORD_BYTES = 1 + 3 * 32 * 32
TRAIN_FILES = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
TEST_FILE = "test_batch.bin"
FOLDER = "cifar-10-batches-bin"
"""Folder of the files inside the archive."""

_FILES = (*TRAIN_FILES, TEST_FILE)


@attrs.frozen(kw_only=True)
class Cifar10Files(PictureFiles):
    """An archive, which is preferred because it has a checksum, or six files, or their folder `FOLDER`.

    Attributes:
        archive: Name of the archive.
        md5: Checksum of the archive, in hexadecimal digits.
        num_records: Pictures in each file.
    """

    archive: str
    md5: str
    num_records: int = 10_000

    @override
    def lack(self, folder: Path) -> str:
        if (folder / self.archive).is_file():
            return ""
        place = _place(folder)
        missing = _missing(place)
        if not missing:
            return ""
        if len(missing) < len(_FILES):
            lack = f"lacks {', '.join(str((place / name).relative_to(folder)) for name in missing)}"
        else:
            lack = f"has neither {self.archive} nor its six files, {TRAIN_FILES[0]} to {TEST_FILE}"
        if (folder / "cifar-10-batches-py").is_dir() or (folder / "cifar-10-python.tar.gz").is_file():
            lack += " (the Python version that is there is not read)"
        return lack

    @override
    def paths(self, folder: Path) -> tuple[Path, ...]:
        archive = folder / self.archive
        return (archive,) if archive.is_file() else tuple(_place(folder) / name for name in _FILES)

    @override
    def read(self, folder: Path) -> Pictures:
        archive = folder / self.archive
        place = archive if archive.is_file() else _place(folder)
        contents = self._unpacked(archive) if place == archive else _contents(place)
        records = {name: self._records(contents.pop(name), place / name) for name in _FILES}
        train = np.concatenate([records[name] for name in TRAIN_FILES])
        test = records[TEST_FILE]
        _check_classes(train, place, f"{TRAIN_FILES[0]} to {TRAIN_FILES[-1]} have together")
        _check_classes(test, place / TEST_FILE, "has")
        return Pictures(*_columns(train), *_columns(test))

    def _unpacked(self, archive: Path) -> dict[str, bytes]:
        """Content of each file by name, from the published archive."""
        try:
            with archive.open("rb") as file:
                md5 = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
            if md5 != self.md5:
                fault = f"not the published archive (MD5 {md5}, not {self.md5})"
                raise FileFault(archive, f"{fault}: truncated, changed or another set")
            contents: dict[str, bytes] = {}
            with tarfile.open(archive, "r|gz") as members:
                for member in members:
                    name = member.name.removeprefix(f"{FOLDER}/")
                    if name in _FILES and (packed := members.extractfile(member)):
                        contents[name] = packed.read()
        except OSError as error:
            raise FileFault(archive, error) from None
        return contents

    def _records(self, content: bytes, path: Path) -> NDArray[np.uint8]:
        """Label and pixels of each picture, shape (records, 3073)."""
        num_bytes = self.num_records * RECORD_BYTES
        if len(content) != num_bytes:
            fault = "truncated" if len(content) < num_bytes else "too long"
            rule = f"the {num_bytes:,} of {self.num_records:,} records of {RECORD_BYTES:,}"
            raise FileFault(path, f"{fault}: {len(content):,} bytes, not {rule}")
        records = np.frombuffer(content, np.uint8).reshape(self.num_records, RECORD_BYTES)
        if (wrong := np.flatnonzero(records[:, 0] >= NUM_CLASSES)).size:
            label = records[wrong[0], 0]
            rule = f"the labels are 0 to {NUM_CLASSES - 1}"
            raise FileFault(path, f"record {wrong[0]} has label {label}, but {rule}")
        return records


def _place(folder: Path) -> Path:
    """Folder of the six files, or of most of them: the folder itself, or `FOLDER` in it."""
    return min((folder, folder / FOLDER), key=lambda place: len(_missing(place)))


def _missing(place: Path) -> list[str]:
    return [name for name in _FILES if not (place / name).is_file()]


def _contents(place: Path) -> dict[str, bytes]:
    """Content of each file by name, from a folder."""
    contents = {}
    for name in _FILES:
        try:
            contents[name] = (place / name).read_bytes()
        except OSError as error:
            raise FileFault(place / name, error) from None
    return contents


def _check_classes(records: NDArray[np.uint8], path: Path, subject: str) -> None:
    """Check that every class has the same number of pictures."""
    counts, rule = np.bincount(records[:, 0], minlength=NUM_CLASSES), len(records) // NUM_CLASSES
    if (counts != rule).any():
        label = int(np.argmax(counts != rule))
        fault = f"{subject} {counts[label]:,} pictures of class {label}, not {rule:,} as published"
        raise FileFault(path, f"{fault}: a file in place of another, or another set")


def _columns(records: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Pictures and labels."""
    images, labels = records[:, 1:].reshape(-1, *SHAPE), records[:, 0].copy()
    images.flags.writeable = labels.flags.writeable = False
    return images, labels
