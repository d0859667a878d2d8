"""Arrays: a data set from a function of your own, as arrays or as torch data sets.

Usage, in a module that the program imports, or that `--import waves` names::

    def pictures(data_dir):
        train = datasets.MNIST(data_dir, train=True, transform=ToTensor())
        test = datasets.MNIST(data_dir, train=False, transform=ToTensor())
        return train, test

    data = Arrays(source="waves:pictures", split=Dirichlet(alpha=0.5))

The function is called with the folder of `--data-dir`, or None. It returns the training part and the test
part, and, if the largest label is not the last class, the number of classes. A part is a tuple of samples and
labels as arrays, or anything with a length whose items are such pairs, like torch's data sets (`Dataset.of`).
Samples keep their shape, so a network gets pictures unchanged. Labels that are whole numbers are classes;
other labels are quantities to be predicted. Draws that the function makes from global generators follow from
the run's seed (`cosim.data.loading`).

Samples that are float32 or int64 already are not copied, so an array that is mapped from a file, as
`np.load(file, mmap_mode="r")` maps it, stays there.

Scope and limitations: all else is in memory; a torch data set is read once, so its random transforms are
drawn once and not in every epoch. Reading a configuration imports no module, and a file names only functions
of modules that its reader names (`cosim.configuration.functions`).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
from typing_extensions import override

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, knob, own_function, part, refuse
from cosim.configuration.functions import loaded
from cosim.configuration.rules import shown
from cosim.data.dataset import Dataset
from cosim.data.split_data import SplitData

_FIX = "Use module:function, of a module that is loaded, such as waves:pictures."


@part
class Arrays(SplitData):
    """Arrays, or torch data sets, of a function of your own.

    Attributes:
        source: Function, as module:function; required. [no source]
    """

    source: str = knob(own_function, default="")

    @override
    def load(self, sim: Simulation, data_dir: Path | None) -> Dataset:
        function = (
            loaded(self.source, f"Arrays.source = {shown(self.source)}") if ":" in self.source else None
        )
        if not callable(function):
            raise refuse("Arrays", "source", self.source, "names no function", _FIX)
        found = function(data_dir)
        if not isinstance(found, tuple) or len(found) not in (2, 3):
            kind = type(found).__name__ + (f" of {len(found)}" if isinstance(found, tuple | list) else "")
            raise ConfigurationError(
                f"{self.source} returned a {kind}: must be a tuple of training and test part, and the number "
                "of classes if need be. Return (train_x, train_y), (test_x, test_y)."
            )
        return Dataset.of(self.source, *found)

    @override
    def __reduce__(self) -> tuple[Callable[..., "Arrays"], tuple[Any, ...]]:
        """Pickle the part with its function, so that another process loads the module, too."""
        try:
            function = loaded(self.source, "Arrays.source")
        except ConfigurationError:
            function = None
        values = {attribute.name: getattr(self, attribute.name) for attribute in attrs.fields(type(self))}
        return _unpickled, (type(self), values, function)


def _unpickled(cls: type[Arrays], values: dict[str, Any], _function: object) -> Arrays:
    return cls(**values)
