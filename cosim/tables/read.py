"""Read: the table of a file that a field names, by the end of its name."""

from pathlib import Path

from cosim.configuration import refuse
from cosim.files.on_disk import located, shown
from cosim.tables.parquet import table_of_parquet
from cosim.tables.table import Table
from cosim.tables.text import table_of_text

KINDS = (".csv", ".csv.gz", ".parquet")


def named_file(owner: type, text: str, kinds: tuple[str, ...] = KINDS) -> Path:
    """The file that a configuration names in a field `file`.

    Args:
        owner: The class of the configuration.
        kinds: Ends that its name may have.

    Raises:
        ConfigurationError: There is no such file.
    """
    if not text.endswith(kinds):
        raise refuse(
            owner, "file", text, f"must end in {', '.join(kinds)}", f"Use the path of a {kinds[0]} file."
        )
    path = located(text)
    if not path.is_file():
        raise refuse(
            owner, "file", text, f"there is no file {shown(path)}", "Use the path of an existing file."
        )
    return path


def table_of(path: Path) -> Table:
    """The table of a file.

    Raises:
        ConfigurationError: It cannot be read, or holds no table.
    """
    return table_of_parquet(path) if path.name.endswith(".parquet") else table_of_text(path)
