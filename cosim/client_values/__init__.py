"""Client values: a number for each client, such as a frequency or a rate."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
