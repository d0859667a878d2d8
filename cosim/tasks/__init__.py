"""Tasks: what is minimised, and what is reported of a model."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
