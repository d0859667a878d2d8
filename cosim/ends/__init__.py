"""Ends: when a run is over, and when it is evaluated."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
