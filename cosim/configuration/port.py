"""Port: what every open part of a system has in common.

A port is a small base class that says what the engine asks of a part; kinds of the part are its subclasses,
ours and others alike. The engine asks ports and names no kind.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from cosim.configuration.asks import Ask, Lack, placed
from cosim.configuration.claims import Claims
from cosim.configuration.fields import part
from cosim.configuration.forms import Forms

Picture = str | Callable[[Any, Any], None]
"""Name of a picture of ours, or a function of axes of Matplotlib and a result."""


@part
class Port(Claims, Forms):
    """Base of the ports; a port says what the engine asks of a part, and what the part is given.

    Attributes:
        lacks: What a class lacks that other parts may ask for (`cosim.configuration.asks`).
        asks: What it asks of the other parts of a system.
        reads_history: True if it reads what has become of the jobs of clients (`cosim.recording.history`),
            which is kept then; a class says so.
    """

    lacks: ClassVar[tuple[Lack, ...]] = ()
    asks: ClassVar[tuple[Ask, ...]] = ()
    reads_history: ClassVar[bool] = False

    @classmethod
    def may_be(cls, field: str) -> bool:
        """False if the class is not for the field of this name, which takes other kinds of its port."""
        return True

    def fit(self, system: Any) -> None:
        """Refuse a system that the part does not fit, as soon as the system is made.

        Raises:
            ConfigurationError: What does not fit, and what to do instead.
        """

    def kept_values(self, shape: Any) -> int:
        """How many values each client keeps from one training to its next, for a network of a shape."""
        return 0

    @property
    def samples_at_once(self) -> int:
        """Samples whose activations a client holds while it trains."""
        return 0

    def training_values(self, num_parameters: int, num_values: int) -> int:
        """How many values a client holds while it trains, beside weights, gradients and activations.

        Args:
            num_parameters: Parameters that it trains.
            num_values: Parameters and running statistics.
        """
        return 0

    def files(self) -> tuple[str, ...]:
        """Paths of files that the part reads because its fields name them; a run is known by them again."""
        return ()

    def remarks(self) -> tuple[str, ...]:
        """Sentences on what is legal in the part's files, and looks like a mistake."""
        return ()

    def pictures(self) -> tuple[Picture, ...]:
        """Pictures that the overview of a run shows because of the part: names of ours, or own functions.

        Ours are presence, rates, late, staleness and contributions (`analysis.plots.overview`). A
        function draws a result into axes of Matplotlib.
        """
        return ()


def pictures_of(config: Any) -> tuple[Picture, ...]:
    """Pictures that the parts of a configuration bring, each once."""
    return tuple(dict.fromkeys(own for part in parts_of(config) for own in part.pictures()))


def parts_of(config: Any) -> "Iterator[Port]":
    """Parts of a configuration, and their parts, outer ones first."""
    return (part for _, part in placed(config))
