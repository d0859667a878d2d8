"""Softmax of many samples over a few classes, with torch's own bits, in a fifth of its time.

On a CPU with vectors of 16 numbers, torch's softmax over a last axis of fewer classes adds them number by
number: 150 ns for a sample of 10 classes, as long as all the matrix products of a small network take. Here
each operation takes all samples, and rounds as torch's: the same exponential, a sum in the order of the
classes, its reciprocal, a product. Where the bits are others than torch's, which a trial finds out, and for
few samples, torch's own is called.

Scope and limitations: one torch thread. The exponential is the one inside `elu_backward`; `torch.exp` has
another, which rounds differently. Both it and the sum treat numbers beyond whole vectors in another way, so
memory is padded to whole vectors.

Validation: tests/training/test_softmax.py.

Shape suffixes: R samples, P samples with padding, K classes.
"""

from functools import cache

import torch
from torch import Tensor

from cosim.training.programs.compiled import compiled

FEWEST, MOST_CLASSES = 60, 15
"""Fewest samples and most classes. Its operations take 6 us, torch's 0.15 us a sample of 10 classes."""

WHOLE = 64
"""Numbers that torch's sum over a first axis takes at a time: four vectors."""

NUM_TRIED = 512
"""Samples of the trial."""


def softmax_into(probabilities_RK: Tensor, scores_RK: Tensor, memory: list[Tensor]) -> None:
    """Write a softmax over the last axis, class by class in memory of a `Softmax`; else torch's own."""
    if len(memory) == 0:
        torch.softmax(scores_RK, -1, None, out=probabilities_RK)
    else:
        scores_KR, below_KP, ones_KP, powers_KP, powers_RK, sums_P = memory
        scores_KR.copy_(scores_RK.t())
        torch.amax(below_KP, 0, out=sums_P)
        below_KP.sub_(sums_P)
        torch.ops.aten.elu_backward(ones_KP, 1.0, 1.0, 1.0, False, below_KP, grad_input=powers_KP)
        torch.sum(powers_KP, [0], out=sums_P)
        sums_P.reciprocal_()
        powers_KP.mul_(sums_P)
        probabilities_RK.copy_(powers_RK)


class Softmax:
    """Softmax with memory of its own.

    Args:
        scores_RK: Scores that it will be taken of; their size, type and device count.

    Attributes:
        memory: Memory for `softmax_into`.
    """

    def __init__(self, scores_RK: Tensor) -> None:
        num_samples, num_classes = scores_RK.shape
        is_faster = scores_RK.is_cpu and num_samples >= FEWEST and 1 < num_classes <= MOST_CLASSES
        is_usual = scores_RK.dtype == torch.float32 and torch.get_num_threads() == 1
        by_class = is_faster and is_usual and has_torchs_bits(num_classes)
        self.memory = _memory_of(scores_RK) if by_class else []

    def into(self, probabilities_RK: Tensor, scores_RK: Tensor) -> None:
        """Write the softmax of scores over their last axis, shapes (samples, classes)."""
        compiled(softmax_into)(probabilities_RK, scores_RK, self.memory)


def _memory_of(scores_RK: Tensor) -> list[Tensor]:
    num_samples, num_classes = scores_RK.shape
    num_padded = num_samples + -num_samples % WHOLE
    below_KP, ones_KP, powers_KP = scores_RK.new_ones((3, num_classes, num_padded)).unbind(0)
    scores_KR, powers_RK = below_KP[:, :num_samples], powers_KP.mT[:num_samples]
    return [scores_KR, below_KP, ones_KP, powers_KP, powers_RK, scores_RK.new_empty(num_padded)]


@cache
def has_torchs_bits(num_classes: int) -> bool:
    """True if probabilities are torch's own to the last bit, on this CPU and with this torch."""
    numbers = torch.arange(NUM_TRIED * num_classes, dtype=torch.float32, device="cpu")
    scores_RK = 8.0 * numbers.sin().view(-1, num_classes)
    scores_RK[::2] *= 10.0  # so that some exponentials underflow
    found_RK, expected_RK = torch.empty_like(scores_RK), torch.softmax(scores_RK, -1)
    compiled(softmax_into)(found_RK, scores_RK, _memory_of(scores_RK))
    return torch.equal(found_RK, expected_RK)
