"""Server updates: a server's next model when updates have arrived."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
