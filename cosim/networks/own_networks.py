"""Own networks: a copy of a network for each thread.

`functional_call` swaps a module's parameters while it runs. What is frozen in a network is on the device
once, for all copies.
"""

import threading

from torch import nn
from torch.nn.modules.batchnorm import _NormBase as NormLayer

from cosim.values.weights import frozen_on, own_copy


class OwnNetworks:
    """The copies of a network.

    Args:
        network: A network whose values stay as they are.
        device: "cpu" or "cuda".
    """

    def __init__(self, network: nn.Module, device: str) -> None:
        self._network, self._device = network, device
        self._frozen = frozen_on(network, device)
        self._of_threads = threading.local()

    def of_this_thread(self) -> nn.Module:
        """Network of the calling thread."""
        if not hasattr(self._of_threads, "own"):
            own = own_copy(self._network, self._frozen).to(self._device)
            for layer in own.modules():
                if isinstance(layer, NormLayer):
                    layer.register_buffer("num_batches_tracked", None)  # nothing asks for it
            self._of_threads.own = own
        return self._of_threads.own
