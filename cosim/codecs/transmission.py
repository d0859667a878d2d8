"""Transmission: what arrives of a trained update if a codec changes it (`cosim.codecs.port`)."""

from collections.abc import Mapping

import torch
from torch import Tensor

from cosim.codecs.coding import code, names_of
from cosim.configuration import ConfigurationError
from cosim.own_code.own_functions import generator, kept_copies, without_shared_draws
from cosim.values.pending import PendingUpdate
from cosim.values.weights import Weights


class _Sent:
    def __init__(self, update: PendingUpdate, initial: Weights, change: Weights) -> None:
        kept = {} if update.codec_state is None else update.codec_state.settled
        self.client, self.change = update.client, change
        self.initial, self.state = _copies(initial), _copies(kept)
        self.generator = generator(update.key, "codec")


def transmitted(update: PendingUpdate, weights_C: Weights, client: int) -> Weights:
    """Replace a client's sent update by what arrives; returns what its codec keeps.

    Args:
        weights_C: Trained weights and codes that a cohort sends.
        client: Place of the client in the cohort.
    """
    codec = update.codec
    if codec is None:
        return {}
    begun = update.model.settled
    start = {
        name: begun[name] if name in begun else torch.zeros(()).to(values_C).expand(values_C.shape[1:])
        for name, values_C in weights_C.items()
    }
    learned = {name: values_C[client] - start[name] for name, values_C in weights_C.items()}
    function, source = names_of(codec)

    def sent() -> tuple[_Sent, Weights]:
        view = _Sent(update, start, _copies(learned))
        with torch.no_grad():
            return view, kept_copies(function, codec.keeps_state, code(codec, view))

    view, left = without_shared_draws(function, source, sent)
    shapes = {name: values.shape for name, values in view.change.items()}
    if shapes != {name: values.shape for name, values in start.items()}:
        raise ConfigurationError(
            f"{function} put other tensors into sent.change than were sent. Change the sent ones in place."
        )
    for name, values_C in weights_C.items():
        change = view.change[name]
        is_whole = change == learned[name]  # a value that arrives unchanged is not rounded again
        values_C[client] = torch.where(is_whole, values_C[client], start[name] + change)
    return left


def _copies(tensors: Mapping[str, Tensor]) -> Weights:
    return {name: values.clone() for name, values in tensors.items()}
