"""Ends: the end of a run, and the times of its evaluations."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
