"""Mat arrays: the arrays of MATLAB's and Octave's files, up to version 7."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.configuration import ConfigurationError
from cosim.tables.arrays import DAMAGED, Arrays
from cosim.tables.faults import fault, unreadable
from cosim.tables.room import check_room_for

_HDF5 = (b"\x89HDF", b"MATLAB 7.3")
_WIDEST = 16
"""Bytes of a complex number."""


def arrays_of(path: Path) -> Arrays:
    """The arrays of a mat file or of an npz, by the end of its name."""
    return MatArrays(path) if path.suffix.lower() == ".mat" else Arrays(path)


class MatArrays(Arrays):
    """The arrays of a mat file; texts, structures and cells are no numbers."""

    @override
    def _read(self, path: Path) -> dict[str, NDArray[Any]]:
        from scipy.io import loadmat, whosmat  # slow to import
        from scipy.io.matlab import MatReadError

        try:
            with path.open("rb") as file:
                beginning = file.read(16)
            if beginning.startswith(_HDF5):
                what = "is a mat file of version 7.3, which is HDF5"
                raise fault(path, what, "save(file, name, '-v7') in MATLAB")
            sizes = [int(np.prod(shape)) for _, shape, _ in whosmat(path)]
            check_room_for(path, _WIDEST * sum(sizes))
            found = loadmat(path)
        except ConfigurationError:
            raise
        except (*DAMAGED, MatReadError) as error:
            raise unreadable(path, error, "a whole mat file of version 7 or before") from None
        arrays = {
            name: values
            for name, values in found.items()
            if not name.startswith("__") and isinstance(values, np.ndarray)
        }
        if not arrays:
            raise fault(path, "holds no arrays", "save(file, name) of an array in MATLAB")
        return arrays
