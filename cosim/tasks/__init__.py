"""Tasks: the loss that is minimised, and the scores of a model."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
