"""Protocols: who works when, and what the server makes of what arrives."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
