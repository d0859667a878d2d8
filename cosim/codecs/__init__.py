"""Codecs: size on the air and content of an update, or of a model on its way down."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
