"""Waiting: the time that a server waits for the updates of an edge round."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
