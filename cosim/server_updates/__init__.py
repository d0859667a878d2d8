"""Server updates: what a server makes of its model when updates have arrived."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
