"""cosim: a discrete-event network-and-learning co-simulator for wireless federated learning.

Usage::

    import cosim

    radio = cosim.Radio(sharing=cosim.FixedShares(bandwidth_hz=5e6))
    system = cosim.System(num_cells=2, uplink=radio)
    result = cosim.run(system)

What most programs use stands here, everything else in its room, such as `cosim.waiting.FirstK`.
"""

from cosim.doors import door as _door
from cosim.own_code.packages import warn_of_hidden as _warn_of_hidden

__getattr__, __dir__, __all__ = _door(__name__)

_warn_of_hidden()
