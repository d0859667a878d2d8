"""Vertical SGD: a client's own part of a network, and the gradient of the server's part from its samples.

This is only the rule; its program is in `vertical_program`. An update's steps are whole epochs of the
client's samples.
"""

from typing import TYPE_CHECKING

from typing_extensions import override

from cosim.configuration import ConfigurationError, knob, not_negative, part
from cosim.schedules.port import Rate
from cosim.training.port import LocalTraining, Trainable

if TYPE_CHECKING:
    from cosim.training.programs.program import Program


@part
class VerticalSgd(LocalTraining):
    """Local epochs of plain SGD, with the central part's gradient.

    Attributes:
        batch_size: Samples in a mini-batch B; the last one of an epoch may have fewer. [no source]
        learning_rate: Step size of the clients' SGD. [no source]
        central_learning_rate: Step size of the server's model, once in an update. [no source]
    """

    central_learning_rate: Rate = knob(not_negative, default=0.05)

    def num_steps(self, num_samples: int, num_epochs: int) -> int:
        """Number of steps in `num_epochs` epochs."""
        return num_epochs * -(-num_samples // self.batch_size)

    @override
    def program(self) -> "Program":
        from scenarios.papers.vhfl.vertical_program import VerticalProgram

        return VerticalProgram(self.central_learning_rate)

    @override
    def check(self, learner: Trainable) -> None:
        super().check(learner)
        if learner.shape.moving:
            raise ConfigurationError(
                "System.model: keeps running statistics or other state "
                f"({next(iter(learner.shape.moving))}), which the epochs of VHFL do not update. Use "
                "Hist or HFedAvg, or a normalisation without running statistics.",
                "System.model",
            )
        if learner.dropout:
            raise ConfigurationError(
                f"System.model: dropout in {', '.join(learner.dropout)}, but VHFL trains all clients "
                "in one program, where they would share a mask. Use Hist or HFedAvg, or p = 0.",
                "System.model",
            )
        if learner.manner is not None and learner.manner.cannot_batch is not None:
            raise ConfigurationError(
                f"System.model: torch.func cannot batch it ({learner.manner.cannot_batch}), but VHFL "
                "trains all clients in one program. Use Hist or HFedAvg, or other operations.",
                "System.model",
            )
