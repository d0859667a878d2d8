"""Training: what a client computes from a model, its samples and a key."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
