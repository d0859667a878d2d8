"""Softmax of many samples over a few classes, with torch's own bits, in a third of its time.

On a CPU with vectors of 16 numbers, torch's softmax over a last axis of fewer classes adds them number by
number: 200 ns for a sample of 10 classes, as long as all the matrix products of a small network take. Here
each operation takes all samples, and rounds as torch's: the same exponential, a sum in the order of the
classes, its reciprocal, a product. Where the bits are others than torch's, which a trial finds out, and for
few samples, torch's own is called.

Scope and limitations: the exponential is the one that `log_sigmoid_forward` leaves beside its result;
`torch.exp` has another, which rounds differently.

Validation: tests/training/test_softmax.py.

Shape suffixes: R samples, K classes.
"""

from functools import cache

import torch
from torch import Tensor

from cosim.training.programs.compiled import compiled

FEWEST, MOST_CLASSES = 100, 15
"""Fewest samples and most classes. Its operations take 12 us, torch's 0.16 us a sample of 10 classes."""

NUM_TRIED = 512
"""Samples of the trial."""


def softmax_into(probabilities_RK: Tensor, scores_RK: Tensor, memory: list[Tensor]) -> None:
    """Write a softmax over the last axis, class by class in memory of a `Softmax`; else torch's own."""
    if len(memory) == 0:
        torch.softmax(scores_RK, -1, None, out=probabilities_RK)
    else:
        below_KR, unused_KR, powers_KR, powers_RK, sums_R, sums_R1 = memory[:6]
        below_KR.copy_(scores_RK.t())
        torch.amax(below_KR, 0, out=sums_R)
        below_KR.sub_(sums_R)
        torch.ops.aten.log_sigmoid_forward(below_KR, output=unused_KR, buffer=powers_KR)
        torch.add(memory[6], memory[7], out=sums_R)
        for power_R in memory[8:]:
            sums_R.add_(power_R)
        sums_R.reciprocal_()
        torch.mul(powers_RK, sums_R1, out=probabilities_RK)


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
        by_class = is_faster and scores_RK.dtype == torch.float32 and has_torchs_bits(num_classes)
        self.memory = _memory_of(scores_RK) if by_class else []

    def into(self, probabilities_RK: Tensor, scores_RK: Tensor) -> None:
        """Write the softmax of scores over their last axis, shapes (samples, classes)."""
        compiled(softmax_into)(probabilities_RK, scores_RK, self.memory)


def _memory_of(scores_RK: Tensor) -> list[Tensor]:
    below_KR, unused_KR, powers_KR = (scores_RK.new_empty(scores_RK.shape[::-1]) for _ in range(3))
    sums_R = scores_RK.new_empty(len(scores_RK))
    return [below_KR, unused_KR, powers_KR, powers_KR.mT, sums_R, sums_R[:, None], *powers_KR.unbind(0)]


@cache
def has_torchs_bits(num_classes: int) -> bool:
    """True if probabilities are torch's own to the last bit, on this CPU and with this torch."""
    numbers = torch.arange(NUM_TRIED * num_classes, dtype=torch.float32, device="cpu")
    scores_RK = 8.0 * numbers.sin().view(-1, num_classes)
    found_RK, expected_RK = torch.empty_like(scores_RK), torch.softmax(scores_RK, -1)
    compiled(softmax_into)(found_RK, scores_RK, _memory_of(scores_RK))
    return torch.equal(found_RK, expected_RK)
