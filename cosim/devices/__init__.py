"""Devices: what the clients are, in numbers and in how they behave."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
