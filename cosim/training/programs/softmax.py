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

FEWEST, MOST_CLASSES = 512, 15
"""Fewest samples and most classes. Its operations take 25 us, torch's 0.2 us a sample. But if several threads
train, each operation waits for Python's lock: rounds of 150 samples took 1.3 times as long with it."""

NUM_TRIED = 512
"""Samples of the trial."""

_exponential = torch.ops.aten.log_sigmoid_forward.output


class Softmax:
    """Softmax with memory of its own.

    Args:
        scores_RK: Scores that it will be taken of; their size, type and device count.
    """

    def __init__(self, scores_RK: Tensor) -> None:
        num_samples, num_classes = scores_RK.shape
        is_faster = scores_RK.is_cpu and num_samples >= FEWEST and 1 < num_classes <= MOST_CLASSES
        self._by_class = is_faster and scores_RK.dtype == torch.float32 and has_torchs_bits(num_classes)
        if self._by_class:
            self._classes = _ByClass(scores_RK)

    def into(self, probabilities_RK: Tensor, scores_RK: Tensor) -> None:
        """Write the softmax of scores over their last axis, shapes (samples, classes)."""
        if self._by_class:
            self._classes.into(probabilities_RK, scores_RK)
        else:
            torch.softmax(scores_RK, -1, out=probabilities_RK)


class _ByClass:
    """Softmax of which each operation takes all samples."""

    def __init__(self, scores_RK: Tensor) -> None:
        self._scores_KR, self._unused_KR, self._powers_KR = (
            scores_RK.new_empty(scores_RK.shape[::-1]) for _ in range(3)
        )
        self._powers = self._powers_KR.unbind(0)
        self._sums_R, self._powers_RK = torch.empty_like(self._powers[0]), self._powers_KR.mT

    def into(self, probabilities_RK: Tensor, scores_RK: Tensor) -> None:
        below_KR, sums_R = self._scores_KR.copy_(scores_RK.mT), self._sums_R
        below_KR.sub_(torch.amax(below_KR, 0, out=sums_R))
        _exponential(below_KR, output=self._unused_KR, buffer=self._powers_KR)
        first, second, *others = self._powers
        torch.add(first, second, out=sums_R)
        for power_R in others:
            sums_R.add_(power_R)
        torch.mul(self._powers_RK, sums_R.reciprocal_()[:, None], out=probabilities_RK)


@cache
def has_torchs_bits(num_classes: int) -> bool:
    """True if probabilities are torch's own to the last bit, on this CPU and with this torch."""
    numbers = torch.arange(NUM_TRIED * num_classes, dtype=torch.float32, device="cpu")
    scores_RK = 8.0 * numbers.sin().view(-1, num_classes)
    found_RK, expected_RK = torch.empty_like(scores_RK), torch.softmax(scores_RK, -1)
    _ByClass(scores_RK).into(found_RK, scores_RK)
    return torch.equal(found_RK, expected_RK)
