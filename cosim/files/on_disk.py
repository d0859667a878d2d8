"""Files: where they lie, written whole or not at all, and read or refused in one sentence.

A file is written beside its place, under a name that carries the machine and the process, and put there when
it is on the disk; also when the disk is full, the process is killed or the power goes. What a killed process
has left beside is removed by the next start in that place (`sweep`).
"""

import errno
import hashlib
import json
import os
import platform
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cosim.configuration import ConfigurationError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_MOST_BYTES = 100
"""Of a name within that of its partial file, which has to stay below 255. [no source]"""


def place(path: str | Path) -> Path:
    """The absolute path that a user means; ~ is their home.

    Raises:
        ConfigurationError: No file can be there.
    """
    try:
        found = Path(path).expanduser().absolute()
        with suppress(FileNotFoundError, NotADirectoryError):
            found.stat()
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigurationError(
            f"{str(path)!r:.80}: cannot be the path of a file ({_why(error)}). Use another path."
        ) from None
    return found


def located(text: str) -> Path:
    """Path of a file of a configuration: a path, or `package:path` within an installed package.

    The package, such as that of `scenarios:walk.csv`, is found without being loaded.
    """
    package, _, within = text.partition(":")
    spec = find_spec(package) if within and package.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        return place(text)
    return Path(spec.submodule_search_locations[0], within)


def shown(path: Path) -> str:
    """A path in messages: relative to this folder if it lies within; bytes that are not UTF-8 as escapes."""
    return as_text(_from_here(path))


def as_text(name: str) -> str:
    r"""A name of a file as text that any table and page can hold, such as caf\xe9 for a byte of Latin-1."""
    try:
        content = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, which no file system has given
        content = name.encode("utf-8", "backslashreplace")
    return content.decode("utf-8", "backslashreplace")


def typed(path: Path) -> str:
    """A path as a shell takes it."""
    name = _from_here(path)
    if as_text(name) == name:
        return shlex.quote(name)
    plain = bytes(range(32, 127)).translate(None, b"\\'")
    bytes_typed = (chr(byte) if byte in plain else rf"\x{byte:02x}" for byte in os.fsencode(name))
    return f"$'{''.join(bytes_typed)}'"


def _from_here(path: Path) -> str:
    with suppress(OSError):
        path = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return str(path)


def partial_of(path: Path) -> Path:
    """Path where this process writes a file before it is moved to its place."""
    name = os.fsdecode(os.fsencode(path.name)[:_MOST_BYTES])
    return path.with_name(f".{name}.{machine()}.{os.getpid()}.partial")


def sweep(folder: Path) -> None:
    """Remove what processes of this machine that are no more have left half written in a folder."""
    with suppress(OSError):
        for path in folder.glob(".*.partial"):
            *_, of, process, _ = path.name.rsplit(".", 3)
            if of == machine() and process.isdecimal() and not is_alive(int(process)):
                with suppress(OSError):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()


def is_alive(process: int) -> bool:
    """True if this machine has a process of that number."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def replace(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file beside its place, and put it there when it is on the disk.

    Args:
        path: Its place; what was there before stays until the new one is whole.
        write: Writes it to a path.

    Raises:
        ConfigurationError: It cannot be written.
    """
    partial = partial_of(path)
    try:
        with told(path):
            write(partial)
            with partial.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(partial, path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Say in one sentence that what is written for a place cannot be.

    Raises:
        ConfigurationError: It cannot.
    """
    try:
        yield
    except OSError as error:
        raise cannot_be_written(path, error) from None


def cannot_be_written(path: Path, error: OSError) -> ConfigurationError:
    """The error for a file or a folder that the system does not write."""
    full = any(error.errno == number or f"errno {number}]" in str(error) for number in _FULL)
    fix = "Make room on the disk" if full else "Use a folder of yours"
    saved, again = "", ""
    if any((folder / "config.json").is_file() for folder in list(path.parents)[:2]):  # a run, or a study
        saved, again = " What was saved before is whole.", ", for a run cosim run --resume"
    return ConfigurationError(
        f"{shown(path)}: cannot be written ({_why(error)}).{saved} {fix}, then give the same command "
        f"again{again}."
    )


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON file."""
    text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
    # What is no text, such as bytes of a file's name, becomes JSON's own \udcff.
    replace(path, lambda partial: partial.write_text(text, encoding="utf-8", errors="backslashreplace"))


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        ValueError: It cannot be read, is damaged or holds something else; says so in a few words.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))  # some editors put a byte order mark before
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (OSError, ValueError) as error:
        raise ValueError(_why(error)) from None
    if not isinstance(found, dict):
        raise ValueError(f"a {type(found).__name__} in place of an object")
    return found


def machine() -> str:
    """The name of this machine."""
    return platform.node().partition(".")[0] or "localhost"


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
