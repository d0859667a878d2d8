"""Descents: the steps of SGD and of momentum, as torch.optim takes them.

Validation: tests/training/test_optimisers.py, against torch.optim.

Shape suffix: C clients of the cohort.
"""

from collections.abc import Sequence

from cosim.training.programs.moves import GRADIENT, VALUES, WHOLE, Move, MovesStep
from cosim.training.programs.steps import kept
from cosim.values.pending import PendingUpdate
from cosim.values.weights import Weights


class SgdStep(MovesStep):
    """Step against the gradient.

    Args:
        rate: Step size.
        decay: Weight decay.
        pull: Weight of half the squared distance from where the weights started.
    """

    def __init__(
        self,
        parameters_C: Weights,
        companions_C: Weights,
        cohort: Sequence[PendingUpdate],
        *,
        rate: float,
        decay: float = 0.0,
        pull: float = 0.0,
    ) -> None:
        share = rate * pull
        moves = [Move(VALUES, GRADIENT, -rate, 1.0 - share - rate * decay)]
        starts_C: Weights = {}
        if share:
            starts_C = {name: values_C.clone() for name, values_C in parameters_C.items()}
            moves.append(Move(VALUES, "start", share))
        super().__init__({"start": starts_C}, moves)
        self._rate = rate


class MomentumStep(MovesStep):
    """Step along the running sum b <- momentum b + g, as torch.optim.SGD without dampening.

    Args:
        rate: Step size.
        momentum: Factor of the sum before.
        nesterov: True if the step is g + momentum b in place of b.
        decay: Weight decay, part of g.
    """

    keeps = ("momentum",)

    def __init__(
        self,
        parameters_C: Weights,
        companions_C: Weights,
        cohort: Sequence[PendingUpdate],
        *,
        rate: float,
        momentum: float,
        nesterov: bool,
        decay: float,
    ) -> None:
        gradient = WHOLE if nesterov else GRADIENT
        moves = [Move("momentum", gradient, 1.0, momentum)]
        if decay:
            moves.append(Move("momentum", VALUES, decay))
        if nesterov:
            moves.append(Move(VALUES, gradient, -rate, 1.0 - rate * decay))
        moves.append(Move(VALUES, "momentum", -rate * momentum if nesterov else -rate))
        super().__init__({"momentum": kept("momentum", parameters_C, cohort)}, moves)
