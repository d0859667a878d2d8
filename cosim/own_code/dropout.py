"""Dropout whose masks are drawn from an update's key.

torch's dropout layers draw from one generator of the whole process. Threads that train side by side take
turns on it, so what a client draws would depend on which came first. Here every layer of a network has a
stream of its own for every update: it follows from the update's key and the layer's name, and from nothing
else.

Scope and limitations: torch's six kinds of dropout layer, and classes made from them that keep their forward
pass; `cosim.networks.probe` finds what draws otherwise. A layer does with a mask what torch's does, and drops
a share of p up to 2**-24. Masks belong to one client, and a batched program would have one for all its
clients; so networks with dropout are trained client by client on every device (`probe.manner`). Masks
are drawn on the CPU.

Usage::

    with keyed_dropout(network, update.key):
        ...  # training steps, the same for the same key

Validation: tests/own_code/test_dropout.py against torch's layers and against a loop that holds the masks.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd as DropoutLayer

from cosim.own_code.unchanged import kept_modes

KINDS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)

SATURATION = 1.7580993408473766
"""Limit of a SELU for large negative inputs, with the sign changed: lambda times alpha. [Klambauer et
al., "Self-normalizing neural networks", NIPS 2017, Section 3]"""


def dropout_layers(network: nn.Module) -> dict[str, DropoutLayer]:
    """Name -> layer, for all that can draw from a key."""
    forwards = {kind.forward for kind in KINDS}
    return {
        name: layer
        for name, layer in network.named_modules()
        if isinstance(layer, DropoutLayer) and type(layer).forward in forwards
    }


def dropping_layers(network: nn.Module) -> tuple[str, ...]:
    """Names of the dropout layers that drop something while the network trains."""
    if not any(layer.p > 0 for layer in dropout_layers(network).values()):
        return ()
    with kept_modes(network):
        network.train()  # which a network may keep from some of its layers
        return tuple(
            name for name, layer in dropout_layers(network).items() if layer.training and layer.p > 0
        )


@contextmanager
def keyed_dropout(network: nn.Module, key: int) -> Iterator[None]:
    """Dropout layers of a network draw from a key while this lasts, each from the beginning of its stream.

    Args:
        network: No other thread may use the same module meanwhile.
        key: Of an update.
    """
    layers = dropout_layers(network)
    for name, layer in layers.items():
        layer.__dict__["forward"] = partial(_dropped, layer, mask_stream(key, name))
    try:
        yield
    finally:
        for layer in layers.values():
            del layer.__dict__["forward"]


def mask_stream(key: int, layer: str) -> np.random.Generator:
    """The stream of one layer's masks in one update."""
    # A torch.Generator on a CPU keeps 32 bits of its seed, and takes as long or longer for a mask.
    return np.random.Generator(np.random.Philox(key=stream_key(key, f"dropout\0{layer}")))


def stream_key(key: int, what: str) -> int:
    """The key of one of an update's streams, 0 to 2**128 - 1."""
    digest = hashlib.blake2b(f"{key}\0{what}".encode(), digest_size=16).digest()
    return int.from_bytes(digest, "big")


def kept(layer: DropoutLayer, size: torch.Size, masks: np.random.Generator) -> Tensor:
    """A mask: what is kept of an input, of a size that broadcasts to the input's."""
    if not isinstance(layer, nn.Dropout | nn.AlphaDropout):  # whole channels
        num_axes = 2 if isinstance(layer, nn.Dropout1d) else 4 if isinstance(layer, nn.Dropout3d) else None
        num_drawn = 1 if len(size) == num_axes else 2  # torch takes such an input for one sample
        size = torch.Size((*size[:num_drawn], *(1 for _ in size[num_drawn:])))
    return torch.from_numpy(masks.random(tuple(size), dtype=np.float32) >= layer.p)


def masked(layer: DropoutLayer, x: Tensor, mask: Tensor) -> Tensor:
    """Output of a dropout layer for an input and a mask of the kept values.

    Inputs are scaled by 1 / (1 - p). Alpha dropout sets them to -`SATURATION` instead of 0, and then scales
    and shifts all, which keeps mean 0 and variance 1. [Klambauer et al., Section 3]
    """
    p, noise = layer.p, mask.to(x.device, x.dtype)
    is_alpha = isinstance(layer, nn.AlphaDropout | nn.FeatureAlphaDropout)
    if p == 1.0:
        noise.zero_()
    elif is_alpha:
        scale = ((SATURATION**2 * p + 1.0) * (1.0 - p)) ** -0.5
        shift = (noise - 1.0).mul_(SATURATION * scale).add_(SATURATION * scale * p)
        return (x * noise.mul_(scale)).add_(shift)
    else:
        noise.div_(1.0 - p)
    return x.mul_(noise) if layer.inplace and not is_alpha else x * noise  # torch's alpha kinds never are


def _dropped(layer: DropoutLayer, masks: np.random.Generator, input: Tensor) -> Tensor:
    """The forward pass of a dropout layer; `input` is torch's name, which callers may use."""
    if not layer.training or layer.p == 0.0:
        return input
    return masked(layer, input, kept(layer, input.shape, masks))
