"""Coding: how a codec changes an update, whichever form the codec has."""

import torch
from torch import Tensor

from cosim.codecs.port import Codec, SentView
from cosim.values.weights import Weights


def code(codec: Codec, sent: SentView) -> Weights | None:
    """Turn a change into what arrives of it, in place; returns what the client keeps."""
    if codec.form == "tensors":
        return codec.transmit(sent)
    tensors = list(sent.change.values())
    change_D = torch.cat([values.flatten() for values in tensors])
    arrived = row_of(codec, change_D, sent.generator).split([values.numel() for values in tensors])
    for values, found in zip(tensors, arrived, strict=True):
        values.copy_(found.view_as(values))
    return None


def row_of(codec: Codec, change_D: Tensor, generator: torch.Generator) -> Tensor:
    """Change that arrives, as one row, shape (values,); for signs, plus or minus the step.

    Args:
        codec: With `arrived`, or with `step`.
        change_D: All values of the change; not to be changed.
        generator: Generator of the random draws.
    """
    if codec.step is None:
        return codec.arrived(change_D, generator)
    return change_D.new_full(change_D.shape, codec.step).where(change_D >= 0.0, -codec.step)


def names_of(codec: Codec) -> tuple[str, str]:
    """Names, for messages, of the method that codes and of the generator that it uses."""
    method, source = ("transmit", "sent.generator") if codec.form == "tensors" else ("arrived", "generator")
    return f"{type(codec).__name__}.{method}", source
