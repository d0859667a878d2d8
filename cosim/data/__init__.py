"""Data: what is learned, and which client holds which samples."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
