"""Floating-point operations of training, as torch counts them on tensors without values.

Scope and limitations: matrix products and convolutions, each multiplication and each addition once;
normalisation, activations and pooling are left out. A product that no gradient needs (with respect to the
samples) is not counted, as it is not computed. The clients' part of a network in two parts takes outputs of
the server's part, whose gradient is needed, and local features as one tensor, so torch computes both.
"""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call
from torch.utils.flop_counter import FlopCounterMode

from cosim.learning.submodels import Shapes


def training_flops(
    network: nn.Module, shapes: Shapes, x_BD: NDArray[Any], wants_input_gradient: bool = False
) -> int:
    """Operations of one forward and one backward pass.

    Args:
        network: Its forward pass, in evaluation mode.
        shapes: Tensor name -> shape, of the whole network or of a part.
        x_BD: Samples; their values do not matter.
        wants_input_gradient: The backward pass goes on to the gradient with respect to the samples.
    """
    named = dict(network.named_parameters()) | dict(network.named_buffers())
    # Fake tensors in place of meta ones, because transformers asks meta tensors for values.
    fake, counter = FakeTensorMode(allow_non_fake_inputs=True), FlopCounterMode(display=False)
    with torch.enable_grad(), fake, counter:
        tensors = {
            name: torch.empty(
                shapes.get(name, tuple(values.shape)), dtype=values.dtype, requires_grad=values.requires_grad
            )
            for name, values in named.items()
        }
        samples = torch.empty(x_BD.shape, dtype=torch.tensor(x_BD).dtype, requires_grad=wants_input_gradient)
        outputs = functional_call(network, tensors, (samples.clone(),))  # the counter's hooks take no leaf
        wanted = [values for values in (samples, *(tensors[name] for name in shapes)) if values.requires_grad]
        torch.autograd.grad(outputs.sum(), wanted, allow_unused=True)
    return counter.get_total_flops()
