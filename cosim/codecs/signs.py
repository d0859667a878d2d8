"""Signs: one bit for each value of a change, up or down by a common step.

A value arrives as start + step if training has moved it up or not at all, and as start - step if training has
moved it down: d bits, for both sides know the step. With `MajorityVote` at the edge servers a value moves
where most of the arrived updates point; with the mean of updates, by the step times the mean sign.

Scope and limitations: a step is of use only well above the rounding of the weights (2^-24 of each). A value
that did not move counts as up, since one bit has no third value.

Source: Bernstein, Wang, Azizzadenesheli, Anandkumar, "signSGD", ICML 2018, arXiv 1802.04434, Algorithm 3;
here of the change by several local steps, there of one gradient.
"""

from typing_extensions import override

from cosim.codecs.flat import FlatCodec
from cosim.configuration import knob, part, positive


@part
class Signs(FlatCodec):
    """Sign of every value.

    Attributes:
        step_size: Distance by which a value moves. [no source]
    """

    step_size: float = knob(positive, default=1e-3)

    @property
    @override
    def step(self) -> float | None:
        return self.step_size

    @override
    def bits(self, num_values: float) -> float:
        """One bit for each value; no header."""
        return num_values
