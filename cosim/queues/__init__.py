"""Queues: links through a public network with other traffic."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
