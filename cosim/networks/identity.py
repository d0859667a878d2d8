"""Network identity: by what a network is known again, so that no run goes on, or is repeated, with another.

Usage::

    identity(network)  # {"class": "models.relu_network:ReluNetwork", "structure": "5c0d..."}

Scope and limitations: a network is what it prints (its layers and their settings) and its tensors' names,
shapes and types. A forward pass that was rewritten while all of these stayed the same is not seen.
"""

import hashlib
import re

from torch import nn

from cosim.configuration.kinds import name_of
from cosim.networks.ready import check_shapes


def identity(network: nn.Module) -> dict[str, str]:
    """Class of a network, and a hash of its structure; values do not matter.

    Raises:
        ConfigurationError: A layer has no shape yet.
    """
    check_shapes(network)
    tensors = [
        (name, tuple(tensor.shape), str(tensor.dtype), tensor.requires_grad)
        for name, tensor in (*network.named_parameters(), *network.named_buffers())
    ]
    printed = re.sub(r"0x[0-9a-f]+", "", repr(network))  # addresses differ from process to process
    structure = hashlib.sha256(f"{printed}\0{tensors}".encode()).hexdigest()
    return {"class": name_of(type(network)), "structure": structure[:16]}
