"""Fashion-MNIST on disk: find its four IDX files, check them, download them.

The set is 60,000 training and 10,000 test images of 28 x 28 grey levels in ten classes, one file each for
images and labels, plain or gzipped. A file is taken only if its content is the published one to the bit, so a
truncated file, swapped names or MNIST (same names, same sizes) under this name never reach a learner.

Scope and limitations: this one data set; whole files in memory (55 MB); the checksums are of the decompressed
content, because the same content is gzipped in more than one way. The files of Debian's package
`dataset-fashion-mnist` differ byte-wise from the upstream ones, in the gzip header only: Debian drops the
file name and sets another time. With upstream's name and time restored they have the published MD5 sums, as a
test shows; so the SHA-256 sums below hold for both.

Usage::

    train_images, train_labels, test_images, test_labels = read(find())
    download(progress=lambda name, fraction: print(f"{name} {fraction:.0%}"))

Source: Xiao, Rasul, Vollgraf, "Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning
Algorithms", arXiv:1708.07747; files and MD5 sums at https://github.com/zalandoresearch/fashion-mnist.
"""

import hashlib
import http.client
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.data.pictures import idx

NAME = "fashion-mnist"
NUM_CLASSES = 10
NUM_FEATURES = 28 * 28
DEBIAN_FOLDER = Path("/usr/share/datasets/fashion-mnist")
"""Folder of Debian's package `dataset-fashion-mnist`."""
BASE_URL = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
"""The authors' repository; their older address, an S3 web site, has no https."""
TIMEOUT_S = 30.0
"""Time limit for a silent server. [no source]"""

_WITHOUT_DOWNLOAD = (
    "`apt-get install dataset-fashion-mnist`, or copy its four IDX files from elsewhere and name their "
    "folder with --data-dir or $COSIM_DATA"
)
_WAYS = f"Download it with `cosim data fashion-mnist`, or {_WITHOUT_DOWNLOAD}."

Progress = Callable[[str, float], None]
"""Function of a file's name and the fraction of it that has arrived, from 0 to 1."""


class MissingFiles(ConfigurationError):
    """Files that were not found; files that are there but wrong are another error."""


@attrs.frozen
class IdxFile:
    """One file of the set.

    Attributes:
        name: Its name without ".gz".
        shape: (images, rows, columns) or (labels,), which its IDX header must state.
        sha256: Checksum of its decompressed content, in hexadecimal digits.
    """

    name: str
    shape: tuple[int, ...]
    sha256: str


FILES = (
    IdxFile(
        "train-images-idx3-ubyte",
        (60_000, 28, 28),
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    ),
    IdxFile(
        "train-labels-idx1-ubyte",
        (60_000,),
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    ),
    IdxFile(
        "t10k-images-idx3-ubyte",
        (10_000, 28, 28),
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    ),
    IdxFile(
        "t10k-labels-idx1-ubyte",
        (10_000,),
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
)
"""Files of the set, in the order of `read`."""


def cache_folder() -> Path:
    """The user's own folder for the set, to which `cosim data fashion-mnist` downloads."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "cosim" / "fashion-mnist"


def find(data_dir: Path | None = None) -> Path:
    """Folder with all four files.

    If the user names a folder, by `data_dir` or else $COSIM_DATA, only that one is searched; otherwise
    `cache_folder()`, then `DEBIAN_FOLDER`.

    Raises:
        MissingFiles: The named folder, or each of the others, lacks a file.
    """
    if data_dir is not None:
        return _named(data_dir, "--data-dir")
    if variable := os.environ.get("COSIM_DATA"):
        return _named(Path(variable), "$COSIM_DATA")
    usual = (cache_folder(), DEBIAN_FOLDER)
    for folder in usual:
        if not _lack(folder):
            return folder
    looked_at = "; ".join(f"{folder} {_lack(folder)}" for folder in usual)
    raise MissingFiles(f"Fashion-MNIST is not on this machine: {looked_at}. {_WAYS}")


def read(folder: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]:
    """Read the set from a folder; a gzipped file is preferred to a plain one of the same name.

    Returns:
        Training images, shape (60000, 28, 28), grey levels from 0 to 255; training labels, shape (60000,),
        from 0 to 9; test images, shape (10000, 28, 28); test labels, shape (10000,). All read-only.

    Raises:
        MissingFiles: The folder lacks a file.
        ConfigurationError: A file is unreadable, truncated, corrupt, another file or of another set.
    """
    _named(folder, "the folder to read")
    train_images, train_labels, test_images, test_labels = (_read_file(folder, file) for file in FILES)
    return train_images, train_labels, test_images, test_labels


def stamps(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Path, modification time in nanoseconds and size in bytes of each file that `read` would read.

    Raises:
        MissingFiles: The folder lacks a file.
    """
    _named(folder, "the folder to read")
    found = [(path, path.stat()) for path in (_path(folder, file) or folder / file.name for file in FILES)]
    return tuple((str(path), stat.st_mtime_ns, stat.st_size) for path, stat in found)


def download(
    folder: Path | None = None, *, base_url: str = BASE_URL, progress: Progress | None = None
) -> Path:
    """Download the four files into a folder, which is made if missing; correct files are left as they are.

    A file is checked before it is written, and appears under its name all at once.

    Args:
        folder: Folder for the files; None means `cache_folder()`.
        base_url: Address of the files on the network.
        progress: Called as a file arrives, and once with 1 when it is in place.

    Returns:
        The folder.

    Raises:
        ConfigurationError: No network, no such file, content that is not the published one, or a folder that
            cannot be written to. Files that had arrived before stay; nothing is left of the one that failed.
    """
    folder = folder or cache_folder()
    for file in FILES:
        name = f"{file.name}.gz"
        if not _is_there(folder, file):
            _write(folder / name, _fetch(f"{base_url.rstrip('/')}/{name}", file, progress))
        if progress:
            progress(name, 1.0)
    return folder


def _path(folder: Path, file: IdxFile) -> Path | None:
    candidates = (folder / f"{file.name}.gz", folder / file.name)
    return next((path for path in candidates if path.is_file()), None)


def _lack(folder: Path) -> str:
    """Reason why the folder does not hold the set, as the end of a sentence; "" if it does."""
    if not folder.is_dir():
        return "is no folder"
    missing = [f"{file.name}[.gz]" for file in FILES if _path(folder, file) is None]
    return f"lacks {', '.join(missing)}" if missing else ""


def _named(folder: Path, source: str) -> Path:
    if lack := _lack(folder):
        raise MissingFiles(
            f"{source} = {folder} {lack}: Fashion-MNIST is four IDX files. Name the folder that holds "
            f"them, or none to search the usual ones. {_WAYS}"
        )
    return folder


def _is_there(folder: Path, file: IdxFile) -> bool:
    try:
        return _path(folder, file) is not None and _read_file(folder, file) is not None
    except ConfigurationError:
        return False


def _read_file(folder: Path, file: IdxFile) -> NDArray[np.uint8]:
    path = _path(folder, file) or folder / file.name
    try:
        return _checked(path.read_bytes(), file)
    except (OSError, idx.WrongContent) as error:
        raise ConfigurationError(
            f"{path}: {error}. Remove this file, then get the set again. {_WAYS}"
        ) from None


def _checked(content: bytes, file: IdxFile) -> NDArray[np.uint8]:
    content = idx.unzipped(content)
    array = idx.array(content)
    if array.shape != file.shape:
        same = next((other.name for other in FILES if other.shape == array.shape), "")
        hint = f"; this looks like {same} under a wrong name" if same else ""
        wanted = f"{_items(file.shape)} of {file.name}"
        raise idx.WrongContent(f"holds {_items(array.shape)}, not the {wanted}{hint}")
    if array.ndim == 1 and array.max() >= NUM_CLASSES:
        raise idx.WrongContent(f"has a label {array.max()}, but the labels are 0 to {NUM_CLASSES - 1}")
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise idx.WrongContent(
            "well formed, but not the published content of Fashion-MNIST (SHA-256 differs): changed, corrupt "
            "or another set, as MNIST, whose files have the same names and sizes"
        )
    return array


def _items(shape: tuple[int, ...]) -> str:
    if len(shape) == 1:
        return f"{shape[0]} labels"
    return f"{shape[0]} {'images' if len(shape) == 3 else 'items'} of {' x '.join(map(str, shape[1:]))}"


def _fetch(url: str, file: IdxFile, progress: Progress | None) -> bytes:
    content = bytearray()
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            num_bytes = int(answer.headers.get("Content-Length") or 0)
            while chunk := answer.read(1 << 18):
                content += chunk
                if progress and num_bytes:
                    progress(f"{file.name}.gz", min(1.0, len(content) / num_bytes))
        _checked(bytes(content), file)
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        what = "what the server sent is wrong: " if isinstance(error, idx.WrongContent) else ""
        raise ConfigurationError(
            f"cannot download {url}: {what}{error}. Try again; or {_WITHOUT_DOWNLOAD}."
        ) from None
    return bytes(content)


def _write(path: Path, content: bytes) -> None:
    """Write a file at once: a reader sees the whole file or none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".cosim-", dir=path.parent) as unfinished:
            part = Path(unfinished) / path.name
            part.write_bytes(content)
            part.replace(path)
    except OSError as error:
        raise ConfigurationError(
            f"cannot write {path}: {error}. Use a folder that you may write to and that has enough space."
        ) from None
