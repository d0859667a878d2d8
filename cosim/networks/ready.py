"""Ready: whether a network can be taken as it is: its layers have shapes, and it can be copied."""

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from cosim.configuration import ConfigurationError
from cosim.values.weights import own_copy


def check_shapes(network: nn.Module) -> None:
    """Refuse lazy layers that have not seen a sample.

    Raises:
        ConfigurationError: The first of them.
    """
    for name, layer in network.named_modules():
        tensors = (*layer.parameters(recurse=False), *layer.buffers(recurse=False))
        if any(map(is_lazy, tensors)):
            kind = type(layer).__name__
            raise ConfigurationError(
                f"the network's {name or 'only layer'} ({kind}) has no shape yet. Pass it a sample "
                f"before you return it, or use {kind.removeprefix('Lazy')} with its number of inputs."
            )


def ready_copy(network: nn.Module) -> nn.Module:
    """A copy of a network, as `own_copy`.

    Raises:
        ConfigurationError: A layer has no shape yet or is compiled, a gradient has a hook, or something that
            the network holds cannot be copied.
    """
    check_shapes(network)
    if any(isinstance(layer, torch.jit.ScriptModule) for layer in network.modules()):
        raise ConfigurationError(
            "the network is compiled by torch.jit, which cannot run with the values of clients. Use "
            "the module from which it was compiled."
        )
    for name, values in network.named_parameters():
        if values._backward_hooks or getattr(values, "_post_accumulate_grad_hooks", None):
            raise ConfigurationError(
                f"the network's {name} has a hook on its gradient, which is not called for the values "
                "of clients. Remove the hook, or use a rule with a method train that changes "
                "gradients."
            )
    try:
        return own_copy(network)
    except Exception as error:  # whatever a user's attribute raises
        reason = str(error).partition(".")[0].partition("\n")[0]
        raise ConfigurationError(
            f"the network cannot be copied, and each thread needs its own ({reason}). Keep no outputs, "
            "locks or open files in its attributes, or detach() them; use "
            "torch.nn.utils.parametrizations in place of older norms of weights."
        ) from None
