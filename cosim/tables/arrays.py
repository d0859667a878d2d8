"""Arrays: an npz archive, as `numpy.savez` writes it, whose arrays are of integers or floats.

No array is unpickled, so a file of a stranger's runs no code.
"""

import math
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.configuration import ConfigurationError
from cosim.tables.faults import fault, missing, unreadable
from cosim.tables.room import check_npz

_NPY = b"\x93NUMPY"
_ZIP = b"PK"
DAMAGED = (
    OSError,
    EOFError,
    KeyError,
    MemoryError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)
"""Errors that numpy, scipy and zipfile raise for damaged files."""
_OBJECTS = np.empty(0, dtype=object)
"""In place of an array of Python objects, which is not unpickled."""
_INSTEAD = {
    "m": "seconds as floats: values / numpy.timedelta64(1, 's')",
    "M": "seconds since the start as floats: (values - values[0]) / numpy.timedelta64(1, 's')",
    "c": "power gains: abs(values) ** 2",
    "b": "integers or floats",
}


class Arrays:
    """The arrays of an npz file.

    Args:
        path: Of the file, which is read now.

    Raises:
        ConfigurationError: It cannot be read, or holds no arrays.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._arrays = self._read(path)

    def _read(self, path: Path) -> dict[str, NDArray[Any]]:
        """Name -> array, of any type but Python's objects."""
        try:
            with path.open("rb") as file:
                beginning = file.read(len(_NPY))
            if beginning == _NPY:
                raise fault(
                    path, "is one array, as numpy.save writes it", "numpy.savez(file, name=values, ...)"
                )
            if not beginning.startswith(_ZIP):
                raise fault(
                    path, "is no npz archive", "a file that numpy.savez(file, name=values, ...) has written"
                )
            check_npz(path)
            with zipfile.ZipFile(path) as archive:
                named = Counter(name.removesuffix(".npy") for name in archive.namelist())
            with np.load(path, allow_pickle=False) as arrays:
                found = {name: _plain(arrays, name) for name in named}
        except ConfigurationError:
            raise
        except DAMAGED as error:
            raise unreadable(path, error) from None
        if not named:
            raise fault(path, "holds no arrays", "numpy.savez(file, name=values, ...)")
        for name, count in named.items():
            if count > 1:
                raise fault(path, f"holds {count} arrays {name!r}", "one name for each array")
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arrays."""
        return tuple(self._arrays)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """An array of integers or floats, as float64, of any shape.

        Raises:
            ConfigurationError: There is none of that name, or it holds something else.
        """
        return self._of_kinds(name, "iuf").astype(np.float64)

    def values(self, name: str) -> NDArray[np.float64] | NDArray[np.complex128]:
        """An array as `numbers`, or of complex numbers, as complex128."""
        values = self._of_kinds(name, "iufc")
        return values.astype(np.complex128) if values.dtype.kind == "c" else values.astype(np.float64)

    def _of_kinds(self, name: str, kinds: str) -> NDArray[Any]:
        if name not in self._arrays:
            raise missing(self.path, name, self.names, "array")
        values = self._arrays[name]
        if values.dtype.kind not in kinds:
            instead = _INSTEAD.get(values.dtype.kind, "integers or floats")
            raise fault(self.path, f"array {name!r} is of type {values.dtype}, and no number", instead)
        return values

    def check(self, name: str, is_wrong: NDArray[np.bool_], what: str, instead: str) -> None:
        """Refuse values of an array.

        Args:
            is_wrong: Of the array's shape.

        Raises:
            ConfigurationError: The first of them.
        """
        if is_wrong.any():
            place = np.unravel_index(int(is_wrong.argmax()), is_wrong.shape)
            value = float(self._arrays[name][place])
            said = "is no number" if math.isnan(value) else f"{value:g} {what}"
            where = f"{name}[{', '.join(map(str, place))}]"
            raise fault(self.path, f"{where}: {said}", instead)


def _plain(arrays: "np.lib.npyio.NpzFile", name: str) -> NDArray[Any]:
    """An array of an archive, or `_OBJECTS`."""
    try:
        found = arrays[name]
    except ValueError as error:
        if "allow_pickle" in str(error):
            return _OBJECTS
        raise
    if not isinstance(found, np.ndarray):
        raise TypeError(f"{name} is no array")
    return found
