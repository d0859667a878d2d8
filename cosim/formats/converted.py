"""Converted: what a format becomes, and the file that holds it."""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import attrs
from typing_extensions import override

from cosim.configuration import ConfigurationError
from cosim.files.on_disk import place, replace, shown

if TYPE_CHECKING:
    import pandas as pd

AnyPath = str | os.PathLike[str]


def clients_of(num: int) -> str:
    """A number of clients, in words."""
    return "1 client" if num == 1 else f"{num} clients"


class Converted(ABC):
    """Content of a file in a form that cosim reads.

    Attributes:
        ends: Ends that the name of its file may have.
    """

    ends: ClassVar[tuple[str, ...]]

    def save(self, path: AnyPath) -> Path:
        """Write it, whole or not at all.

        Raises:
            ConfigurationError: The name has another end, or it cannot be written.
        """
        found = place(os.fspath(path))
        if not found.name.endswith(self.ends):
            raise ConfigurationError(
                f"{shown(found)}: cannot be written; a name ends in {', '.join(self.ends)}. "
                f"Use {shown(found.with_suffix(self.ends[0]))}."
            )
        replace(found, lambda partial: self.write(partial, found.name))
        return found

    @abstractmethod
    def write(self, path: Path, name: str) -> None:
        """Write it to a path, in the form that the end of its later name asks for."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """Sentence on its content, such as "3 clients, 60 s, mean 9.1, median 12.3 Mbit/s"."""

    @abstractmethod
    def use(self, file: str) -> str:
        """Options of a command by which a scenario uses it.

        Args:
            file: Its path, as a shell takes it.
        """


@attrs.frozen(eq=False)
class ConvertedTable(Converted):
    """A table in the columns that a part asks for.

    Attributes:
        table: The table.
    """

    ends: ClassVar[tuple[str, ...]] = (".parquet", ".csv", ".csv.gz")
    table: "pd.DataFrame"

    @override
    def write(self, path: Path, name: str) -> None:
        if name.endswith(".parquet"):
            self.table.to_parquet(path, index=False)
        else:
            self.table.to_csv(path, index=False, compression="gzip" if name.endswith(".gz") else None)
