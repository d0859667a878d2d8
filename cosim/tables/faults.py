"""Faults: what is wrong with a file of a user's, and where."""

import difflib
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import short
from cosim.files.on_disk import shown

Reading = TypeVar("Reading", bound=Callable[..., Any])


def reads(field: str) -> Callable[[Reading], Reading]:
    """Mark a method of a part as reading the file of a field, which errors name that name no other.

    Args:
        field: Name of the field.
    """

    def marked(method: Reading) -> Reading:
        @wraps(method)
        def read(self: Any, *given: Any, **named: Any) -> Any:
            try:
                return method(self, *given, **named)
            except ConfigurationError as error:
                raise error.of_field(f"{type(self).__name__}.{field}") from error.__cause__

        return read  # type: ignore[return-value]

    return marked


class WrongType(ValueError):
    """A column or an array holds something else than is asked for: what, and what to use instead."""

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(what, instead)
        self.what, self.instead = what, instead


def fault(
    path: Path, what: str, instead: str, *, row: int | None = None, column: str | None = None
) -> ConfigurationError:
    """The error of a file.

    Args:
        what: What is wrong, as a predicate.
        instead: What to use in its place.
        row: Row as the user counts. None means that the fault concerns no row.
        column: Name of the column. None means that the fault concerns no column.
    """
    return ConfigurationError(f"{place(path, row, column)}: {what}. Use {instead}.")


def place(path: Path, row: int | None = None, column: str | None = None) -> str:
    """Place in a file, as far as it is known."""
    of_row = "" if row is None else f", row {row}"
    return shown(path) + of_row + ("" if column is None else f", column {short(repr(column))}")


def unreadable(path: Path, error: Exception, instead: str = "a whole file") -> ConfigurationError:
    """The error of a file that cannot be read."""
    why = (str(error) or type(error).__name__).strip().splitlines()[0]
    return fault(path, f"cannot be read ({short(why)})", instead)


def missing(path: Path, name: str, known: Sequence[str], kind: str = "column") -> ConfigurationError:
    """The error of a column or an array that is not there."""
    listed = short(", ".join(known)) or "none"
    folded = {one.lower().replace(" ", "_"): one for one in known}
    close = difflib.get_close_matches(name.lower(), folded, n=1)
    mean = f" Did you mean {folded[close[0]]}?" if close else ""
    return ConfigurationError(
        f"{shown(path)}: has no {kind} {name!r}; the {kind}s are {listed}.{mean} Use the name {name}."
    )
