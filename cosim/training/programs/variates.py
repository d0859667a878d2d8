"""Variates: the steps of SCAFFOLD (`cosim.training.scaffold`).

The companion that arrives with the weights is c + c_i+ - c_i = (x - y) / (H eta), so its mean minus c is the
mean change.

Shape suffix: C clients of the cohort.
"""

from collections.abc import Sequence

from typing_extensions import override

from cosim.training.programs.descents import SgdStep
from cosim.training.programs.moves import VALUES, Move
from cosim.training.programs.steps import kept, kept_name
from cosim.values.pending import PendingUpdate
from cosim.values.weights import Weights


class VariateStep(SgdStep):
    """Step against the gradient, corrected by the server's variate minus the client's.

    Args:
        companions_C: The server's variate, which is replaced by the companion that is sent.
        rate: Step size.
        decay: Weight decay.
    """

    keeps = ("variate",)

    def __init__(
        self,
        parameters_C: Weights,
        companions_C: Weights,
        cohort: Sequence[PendingUpdate],
        *,
        rate: float,
        decay: float,
    ) -> None:
        super().__init__(parameters_C, companions_C, cohort, rate=rate, decay=decay)
        sent_C = {n: of for n, of in parameters_C.items() if kept_name("variate", n) in companions_C}
        own_C = kept("variate", sent_C, cohort)
        self.beside_C |= {
            "variate": own_C,
            "drift": {n: (of - companions_C[kept_name("variate", n)]) * rate for n, of in own_C.items()},
        }
        self.moves = [*self.moves, Move(VALUES, "drift", 1.0)]  # personal tensors have no variate
        self._starts_C = {name: values_C.clone() for name, values_C in sent_C.items()}
        self._server_C = companions_C

    @override
    def end(self, parameters_C: Weights, cohort: Sequence[PendingUpdate]) -> Sequence[Weights]:
        """Clients' next variates; the server's turn into the companions that are sent."""
        num_steps_C = next(iter(parameters_C.values())).new_tensor([update.num_steps for update in cohort])
        for name, start_C in self._starts_C.items():
            values_C = parameters_C[name]
            lasted_C = num_steps_C.view(-1, *[1] * (values_C.dim() - 1)) * self._rate
            moved_C = (start_C - values_C) / lasted_C
            server_C = self._server_C[kept_name("variate", name)]
            self.beside_C["variate"][name].add_(moved_C - server_C)
            server_C.copy_(moved_C)
        return super().end(parameters_C, cohort)
