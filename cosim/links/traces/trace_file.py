"""Trace file: the file that a part of a system reads its trace from."""

from pathlib import Path

from cosim.configuration import ConfigurationError, refuse
from cosim.files import located, shown


def trace_file(owner: type, text: str, kinds: tuple[str, ...]) -> Path:
    """The file of a path in a configuration.

    Args:
        owner: Whose field `file` it is.
        kinds: Ends that its name may have.

    Raises:
        ConfigurationError: There is no such file.
    """
    if not text.endswith(kinds):
        raise refuse(owner, "file", text, f"must end in {', '.join(kinds)}", f"the path of a {kinds[0]} file")
    path = located(text)
    if not path.is_file():
        raise refuse(owner, "file", text, f"there is no file {shown(path)}", "the path of one that is there")
    return path


def unreadable(path: Path, error: Exception) -> ConfigurationError:
    """The error of a file that cannot be read."""
    why = (str(error) or type(error).__name__).strip().splitlines()[0]
    return ConfigurationError(f"{shown(path)}: cannot be read ({why}). Usual fix: a whole file.")
