"""System: the whole configuration of a run, its variations, and what can be said of it before it runs."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
