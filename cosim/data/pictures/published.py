"""Published sets of pictures: where their files lie, and what to do where they are missing or wrong.

Asked of the files of a set: `lack` and `paths` of a folder, and `read`. Given: `FileFault`, for a file that
is wrong. The sets themselves, a line for each fact, are in `sets`.

Usage::

    train_images, train_labels, test_images, test_labels = FASHION_MNIST.read(FASHION_MNIST.find())
"""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError


class MissingFiles(ConfigurationError):
    """Error for missing files; files with wrong content have an error of their own."""


class FileFault(Exception):
    """Fault of a file, as a clause of a sentence.

    Attributes:
        path: File, or the folder if the fault concerns several files.
    """

    def __init__(self, path: Path, fault: object) -> None:
        super().__init__(str(fault))
        self.path = path


class Pictures(NamedTuple):
    """Content of a set; all arrays are read-only.

    Attributes:
        train_images: Levels from 0 to 255, shape (training pictures, ...).
        train_labels: Classes, from 0, shape (training pictures,).
        test_images: As train_images, shape (test pictures, ...).
        test_labels: As train_labels, shape (test pictures,).
    """

    train_images: NDArray[np.uint8]
    train_labels: NDArray[np.uint8]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.uint8]


class PictureFiles(ABC):
    """Files of a set in a folder, in one format."""

    @abstractmethod
    def lack(self, folder: Path) -> str:
        """Reason why the folder does not hold the set, as the end of a sentence; "" if it does."""

    @abstractmethod
    def paths(self, folder: Path) -> tuple[Path, ...]:
        """Files that `read` reads, of a folder that lacks nothing."""

    @abstractmethod
    def read(self, folder: Path) -> Pictures:
        """Read the set from a folder that lacks nothing.

        Raises:
            FileFault: A file is unreadable, truncated, corrupt, another file or of another set.
        """


@attrs.frozen
class Download:
    """A file to download.

    Attributes:
        url: Its address; the last part is its name.
        md5: Its checksum as published, in hexadecimal digits.
    """

    url: str
    md5: str

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.url.rpartition("/")[2]


@attrs.frozen(kw_only=True)
class PublishedSet:
    """A set of pictures that its authors publish.

    Attributes:
        name: Its name on the command line, and of its folder in the cache.
        title: Its name in a sentence.
        shape: Shape of a picture.
        num_classes: Number of classes.
        files: What its files are called and how they are read.
        contents: What its files are, in a sentence.
        downloads: Files to download.
        size: How much that is, for people.
        package: Package of Debian and its folder, where there is one.
    """

    name: str
    title: str
    shape: tuple[int, ...]
    num_classes: int = 10
    files: PictureFiles
    contents: str
    downloads: tuple[Download, ...]
    size: str
    package: tuple[str, Path] | None = None

    @property
    def fix(self) -> str:
        """Sentence on how to get the set where its files are missing or wrong."""
        return f"Download it with `cosim data get {self.name}`, or {self.without_download}."

    @property
    def without_download(self) -> str:
        """Ways to get the set where it cannot be downloaded."""
        install = f"`apt-get install {self.package[0]}`, or " if self.package else ""
        copy = f"copy {self.contents} from elsewhere and name their folder with --data-dir or $COSIM_DATA"
        return f"{install}{copy}"

    def places(self) -> tuple[Path, ...]:
        """Folders that are searched where the user names none."""
        cache = cache_folder()
        return (*([cache / self.name] if cache else ()), *([self.package[1]] if self.package else ()))

    def find(self, data_dir: Path | None = None) -> Path:
        """Folder with the set.

        If the user names a folder, by `data_dir` or else $COSIM_DATA, only that one is searched; otherwise
        `places`, in turn.

        Raises:
            MissingFiles: The named folder, or each of the others, lacks a file.
        """
        if (named := named_folder(data_dir)) is not None:
            return self._checked(*named)
        lacking = {}
        for folder in self.places():
            lacking[folder] = self._lack(folder)
            if not lacking[folder]:
                return folder
        looked_at = "; ".join(f"{folder} {lack}" for folder, lack in lacking.items())
        raise MissingFiles(f"{self.title} is not on this machine: {looked_at}. {self.fix}")

    def read(self, folder: Path) -> Pictures:
        """Read and check the set in a folder.

        Raises:
            MissingFiles: The folder lacks a file.
            ConfigurationError: A file is unreadable, truncated, corrupt, another file or of another set.
        """
        self._checked(folder, "the folder to read")
        try:
            return self.files.read(folder)
        except FileFault as fault:
            raise ConfigurationError(
                f"{fault.path}: {fault}. Remove this file, then get the set again. {self.fix}"
            ) from None

    def stamps(self, folder: Path) -> tuple[tuple[str, int, int], ...]:
        """Path, modification time in nanoseconds and size in bytes of each file that `read` reads.

        Raises:
            MissingFiles: The folder lacks a file.
        """
        self._checked(folder, "the folder to read")
        found = [(path, path.stat()) for path in self.files.paths(folder)]
        return tuple((str(path), stat.st_mtime_ns, stat.st_size) for path, stat in found)

    def _lack(self, folder: Path) -> str:
        try:
            return self.files.lack(folder) if folder.is_dir() else "is no folder"
        except OSError as error:  # of another user, for instance
            return f"cannot be read ({error.strerror})"

    def _checked(self, folder: Path, source: str) -> Path:
        if lack := self._lack(folder):
            raise MissingFiles(
                f"{source} = {folder} {lack}: {self.title} is {self.contents}. Name the folder that holds "
                f"them, or none to search the usual ones. {self.fix}"
            )
        return folder


def named_folder(data_dir: Path | None) -> tuple[Path, str] | None:
    """Folder that the user names, and by what: `data_dir`, else $COSIM_DATA; None if neither does."""
    if data_dir is not None:
        return data_dir, "--data-dir"
    variable = os.environ.get("COSIM_DATA")
    return (Path(variable), "$COSIM_DATA") if variable else None


def cache_folder() -> Path | None:
    """The user's folder for sets that are downloaded; None if the user has no home."""
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(cache) / "cosim"
