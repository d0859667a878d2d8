"""IDX files on disk: one file each for images and labels, plain or gzipped, checked to the bit.

A file is taken only if its content is the published one, so a truncated file, swapped names or MNIST (same
names, same sizes as Fashion-MNIST) under another set's name never reach a learner.

Scope and limitations: whole files in memory (55 MB); the checksums are of the decompressed content, because
the same content is gzipped in more than one way.
"""

import hashlib
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.data.pictures import idx
from cosim.data.pictures.published import FileFault, PictureFiles, Pictures

NUM_CLASSES = 10


@attrs.frozen
class IdxFile:
    """One file of a set.

    Attributes:
        name: Its name without ".gz".
        shape: (images, rows, columns) or (labels,), which its IDX header must state.
        sha256: Checksum of its decompressed content, in hexadecimal digits.
    """

    name: str
    shape: tuple[int, ...]
    sha256: str


@attrs.frozen
class IdxFiles(PictureFiles):
    """Four IDX files; a gzipped file is preferred to a plain one of the same name."""

    train_images: IdxFile
    train_labels: IdxFile
    test_images: IdxFile
    test_labels: IdxFile

    @override
    def lack(self, folder: Path) -> str:
        missing = [f"{file.name}[.gz]" for file in self._all if not _path(folder, file).is_file()]
        return f"lacks {', '.join(missing)}" if missing else ""

    @override
    def paths(self, folder: Path) -> tuple[Path, ...]:
        return tuple(_path(folder, file) for file in self._all)

    @override
    def read(self, folder: Path) -> Pictures:
        return Pictures(*(self._array(_path(folder, file), file) for file in self._all))

    @property
    def _all(self) -> tuple[IdxFile, ...]:
        return self.train_images, self.train_labels, self.test_images, self.test_labels

    def _array(self, path: Path, file: IdxFile) -> NDArray[np.uint8]:
        try:
            content = idx.unzipped(path.read_bytes())
            array = idx.array(content)
        except (OSError, idx.WrongContent) as error:
            raise FileFault(path, error) from None
        if array.shape != file.shape:
            same = next((other.name for other in self._all if other.shape == array.shape), "")
            hint = f"; this looks like {same} under a wrong name" if same else ""
            wanted = f"{_items(file.shape)} of {file.name}"
            raise FileFault(path, f"holds {_items(array.shape)}, not the {wanted}{hint}")
        if array.ndim == 1 and array.max() >= NUM_CLASSES:
            raise FileFault(path, f"has a label {array.max()}, but the labels are 0 to {NUM_CLASSES - 1}")
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise FileFault(
                path,
                "well formed, but not the published content (SHA-256 differs): changed, corrupt or another "
                "set, as MNIST, whose files have the same names and sizes",
            )
        return array


def _path(folder: Path, file: IdxFile) -> Path:
    """The gzipped file if it is there, else the plain one."""
    gzipped = folder / f"{file.name}.gz"
    return gzipped if gzipped.is_file() else folder / file.name


def _items(shape: tuple[int, ...]) -> str:
    if len(shape) == 1:
        return f"{shape[0]} labels"
    return f"{shape[0]} {'images' if len(shape) == 3 else 'items'} of {' x '.join(map(str, shape[1:]))}"
