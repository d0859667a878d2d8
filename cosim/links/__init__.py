"""Links: the channels between clients and their edge servers, up and down."""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
