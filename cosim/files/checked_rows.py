"""Checked rows: tables that a field of a part names, csv or Parquet files.

Every fault is an error that names file, row (of a csv file the line, the header's is 1; of Parquet counted
from 1) and column. Columns that no reader asks for are ignored.

Scope and limitations: whole tables in memory; units are not checked.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError, refuse
from cosim.files.on_disk import located, shown
from cosim.files.room import check_gzip, check_parquet

if TYPE_CHECKING:
    import pandas as pd

KINDS = (".csv", ".csv.gz", ".parquet")
LARGEST = 1e30
"""Largest number that is read, the same as for the numbers of a configuration."""


def named_file(owner: type, text: str, kinds: tuple[str, ...] = KINDS) -> Path:
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


def _unfolded(path: Path) -> "pd.DataFrame":
    """The table of a Parquet file, where there is room for it."""
    import pandas as pd
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        check_parquet(path, file)
    return pd.read_parquet(path)


def unreadable(path: Path, error: Exception) -> ConfigurationError:
    """The error of a file that cannot be read."""
    why = (str(error) or type(error).__name__).strip().splitlines()[0]
    return ConfigurationError(f"{shown(path)}: cannot be read ({why}). Usual fix: a whole file.")


def exactly() -> dict[str, Any]:
    """How pandas reads decimals as Python does: before 3.1 only when it is told, and warns of that since."""
    import pandas as pd

    is_told = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    return {"float_precision": "round_trip"} if is_told else {}


class CheckedRows:
    """The rows of a table, whose column `device` is text.

    Args:
        path: Of the file, which is read now.

    Attributes:
        path: Of the file.

    Raises:
        ConfigurationError: It cannot be read.
    """

    def __init__(self, path: Path) -> None:
        import pandas as pd  # not before there is a table

        self.path = path
        try:
            if path.name.endswith(".parquet"):
                self._frame = _unfolded(path)
            else:
                if path.name.endswith(".gz"):
                    check_gzip(path)
                self._frame = pd.read_csv(
                    path, dtype={"device": str}, skip_blank_lines=False, skipinitialspace=True, **exactly()
                )
        except (OSError, EOFError, ValueError) as error:  # of both readers
            raise unreadable(path, error) from None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(map(str, self._frame.columns))

    def check_not_empty(self) -> None:
        """Refuse a table without rows.

        Raises:
            ConfigurationError: It has none.
        """
        if self._frame.empty:
            raise ConfigurationError(
                f"{shown(self.path)}: no rows after the header. Usual fix: give the data."
            )

    def column(self, name: str, *needed: str) -> "pd.Series[Any]":
        """A column as it was read.

        Args:
            needed: Columns that the table must have; none: this one.

        Raises:
            ConfigurationError: There is none.
        """
        if name not in self._frame.columns:
            columns = f"the columns {', '.join(needed)}" if needed else f"a column {name}"
            raise ConfigurationError(
                f"{shown(self.path)}: has no column {name!r}; the columns are {', '.join(self.columns)}. "
                f"Usual fix: {columns}."
            )
        return self._frame[name]

    def values(
        self, name: str, *, least: float = 0.0, most: float = LARGEST, gaps: bool = False
    ) -> NDArray[np.float64]:
        """A column of numbers from the smallest to the largest that may be, shape (rows,).

        Args:
            gaps: True if a row may have none, which becomes a NaN.

        Raises:
            ConfigurationError: There is no such column, or something else in it.
        """
        import pandas as pd

        column = self.column(name)
        found = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=math.nan)
        is_wrong = np.isnan(found) & ~(gaps & column.isna().to_numpy(dtype=bool))
        self.check(name, is_wrong, "is no number", "fill the gap, or leave the row out")
        self.check(name, found < least, f"is below {least:g}", "check the column")
        self.check(name, found > most, f"is above {most:g}", "check the unit")
        return found

    def check(self, name: str, is_wrong: NDArray[np.bool_], what: str, fix: str) -> None:
        """Refuse rows for what is in a column.

        Raises:
            ConfigurationError: The first of them.
        """
        if is_wrong.any():
            row = int(is_wrong.argmax())
            value: Any = self._frame[name].iloc[row]
            line = row + (1 if self.path.name.endswith(".parquet") else 2)
            raise ConfigurationError(
                f"{shown(self.path)}, row {line}: {name} = {value} {what}. Usual fix: {fix}."
            )
