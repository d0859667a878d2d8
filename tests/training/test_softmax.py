"""Softmax over a few classes: the bits of torch's own."""

import math

import pytest
import torch

from cosim.training.programs import softmax as module
from cosim.training.programs.softmax import FEWEST, Softmax, has_torchs_bits

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_thread")]


@pytest.mark.parametrize("num_classes", [1, 2, 3, 8, 10, 15, 16, 40])
@pytest.mark.parametrize("scale", [0.1, 3.0, 90.0])
@pytest.mark.parametrize("num", [FEWEST, FEWEST + 3, 64, 555])
def test_probabilities_are_torchs_to_the_last_bit(num_classes: int, scale: float, num: int):
    generator = torch.Generator().manual_seed(num_classes)
    softmax = Softmax(torch.empty(num, num_classes))
    for _ in range(2):  # in the same memory
        scores_RK = scale * torch.randn(num, num_classes, generator=generator)
        scores_RK[0, 0], scores_RK[1, 0], scores_RK[2, -1] = math.nan, math.inf, -math.inf
        found_RK = torch.empty_like(scores_RK)
        softmax.into(found_RK, scores_RK)
        torch.testing.assert_close(found_RK, scores_RK.softmax(-1), rtol=0.0, atol=0.0, equal_nan=True)


def test_many_samples_of_few_classes_are_taken_class_by_class_where_bits_allow_it():
    sizes = (FEWEST, 10), (FEWEST, 16), (FEWEST - 1, 10), (FEWEST, 1)
    expected = [has_torchs_bits(10), False, False, False]
    assert [len(Softmax(torch.empty(size)).memory) > 0 for size in sizes] == expected


def test_several_torch_threads_take_torchs_own(monkeypatch: pytest.MonkeyPatch):
    """Each would have a part of the samples, which may end within a vector."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert not Softmax(torch.empty(FEWEST, 10)).memory


def test_an_exponential_that_rounds_otherwise_is_found_out(monkeypatch: pytest.MonkeyPatch):
    def rounded(found_RK: torch.Tensor, scores_RK: torch.Tensor, memory: list[torch.Tensor]) -> None:
        powers_RK = (scores_RK - scores_RK.amax(1, keepdim=True)).exp() * (1.0 + 2e-7)
        torch.div(powers_RK, powers_RK.sum(1, keepdim=True), out=found_RK)

    monkeypatch.setattr(module, "compiled", lambda _: rounded)
    assert not has_torchs_bits.__wrapped__(10)
