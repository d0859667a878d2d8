"""Devices: the numbers and the behaviour of clients' devices."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
