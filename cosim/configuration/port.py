"""Port: what every open part of a system has in common.

A port is a small base class that says what the engine asks of a part; kinds of the part are its subclasses,
ours and others alike. The engine asks ports and names no kind.
"""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, ClassVar

import attrs

from cosim.configuration.asks import Ask, Lack, placed
from cosim.configuration.claims import Claims
from cosim.configuration.fields import part
from cosim.configuration.forms import Forms
from cosim.configuration.kinds import is_configuration

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


def check_fit(system: Any) -> None:
    """Ask every part whether the system fits it, outer ones first.

    Raises:
        ConfigurationError: One that it does not fit.
    """
    for one in parts_of(system):
        one.fit(system)


def parts_of(config: Any) -> "Iterator[Port]":
    """Parts of a configuration, and their parts, outer ones first."""
    return (part for _, part in placed(config))


def apart(config: Any) -> dict[str, Any]:
    """Field -> its value, of the fields that hold an object which stands elsewhere in the configuration too.

    In these values it is a copy, so that each place has a part of its own and two equal ones can be told
    apart, whether they come from a file or are one object in a program.
    """
    seen: set[int] = set()
    found = {}
    for name in attrs.fields_dict(type(config)):
        value = getattr(config, name)
        if (own := _own(value, seen)) is not value:
            found[name] = own
    return found


def _own(value: Any, seen: set[int]) -> Any:
    if not is_configuration(type(value)):
        return value
    own = copy(value) if id(value) in seen else value
    seen.add(id(own))
    for attribute in attrs.fields(type(own)):
        part = getattr(own, attribute.name)
        if (other := _own(part, seen)) is not part:
            if own is value:
                own = copy(value)
                seen.add(id(own))
            object.__setattr__(own, attribute.name, other)
    return own
