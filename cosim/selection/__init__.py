"""Selection: the participants of an edge round."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
