"""Queues: links on which updates wait with packets of the public."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
