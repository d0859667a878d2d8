"""Protocols: the course of a run, and how the server uses the updates that arrive."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
