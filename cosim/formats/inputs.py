"""Inputs: the files that a user names, and the client of each."""

import os
from collections import Counter
from pathlib import Path

from cosim.configuration import ConfigurationError
from cosim.files.on_disk import place, shown
from cosim.formats.converted import AnyPath


def files_of(paths: tuple[AnyPath, ...]) -> dict[str, Path]:
    """Files by the names of their clients; a folder stands for the files in it, hidden ones left out.

    A client is named by its file, without the end of the name where that tells the files apart.

    Raises:
        ConfigurationError: There is no such file; a folder is empty; two files have one name.
    """
    found = [file for path in paths for file in _files(place(os.fspath(path)))]
    if not found:
        raise ConfigurationError("no file is named. Use the path of a file or of a folder with files.")
    stems = [file.stem for file in found]
    names = stems if len({*stems}) == len(stems) else [file.name for file in found]
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise ConfigurationError(
            f"{count} files are called {name}, and clients are named by their files. Use another name for "
            "each."
        )
    return dict(zip(names, found, strict=True))


def one_file(path: AnyPath) -> Path:
    """The file of a format that takes one; a folder with one file stands for it.

    Raises:
        ConfigurationError: There is no such file; a folder is empty, or has several.
    """
    first, *others = files_of((path,)).values()
    if others:
        raise ConfigurationError(
            f"{shown(first.parent)}: has {1 + len(others)} files, and this format takes one. Use the path "
            f"of one of them, such as {shown(first)}."
        )
    return first


def device_of(file: str, within: str, num_files: int) -> str:
    """Name of a client that is one of several in a file.

    Args:
        file: Name of the file's client.
        within: Name within the file.
        num_files: Number of files; of one the name is left out.
    """
    return within if num_files == 1 else f"{file}/{within}"


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        if not found:
            raise ConfigurationError(f"{shown(path)}: holds no file. Use a folder with files.")
        return found
    if not path.is_file():
        raise ConfigurationError(f"{shown(path)}: there is no such file. Use the path of an existing file.")
    return [path]
