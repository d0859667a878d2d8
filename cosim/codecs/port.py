"""Codec: the port of an update's size on the air, and of what arrives.

| kind | bits of a change of d parameters | what arrives |
|---|---|---|
| Uncompressed | 32 d | all of it |
| BFloat16, Float16 | 16 d | every value, rounded |
| Qsgd | 32 + ceil(log2(2 s + 1)) for each value, by buckets | multiples of norm / s, unbiased |
| TopK | 32 k, and indices or a bitmap | the k largest, by magnitude |
| RandomK | 32 k + 32 | k drawn values times d / k, unbiased |
| Signs | d | a step up or down (`MajorityVote`: what most say) |
| ErrorFeedback | its codec's | its codec's; what is left out goes with the next |

A codec with a method `transmit` changes what arrives. It is a plain torch function of the change that a
client's training made, tensor by tensor, before the change is added to the start again (`SentView`, below)::

    @part
    class ScaledSigns(Codec):
        def bits(self, num_values):
            return num_values + 32.0

        def transmit(self, sent):
            import torch

            size = torch.cat([values.flatten() for values in sent.change.values()]).abs().mean()
            for values in sent.change.values():
                values.sign_().mul_(size)

A codec with `arrived` in its place takes the change as one row of values, and a codec with `step` sends only
signs (`cosim.codecs.flat.FlatCodec` says what coding costs). A codec with `keeps_state = True` in its class
gets what its `transmit` returned at the client's last training as `sent.state`, empty at first: what was left
out, for the next update. As with a rule of local training, it is kept when the training has ended, even if
the upload is lost.

Scope and limitations: updates are coded, models are not: downloads, unless a model codec changes them
(`cosim.codecs.model_codec`), and models between cells and cloud have 32 bits a value if the codec changes
values (`model_bits`). Decoding takes no time. Running statistics and other state are not coded: they arrive
unchanged, at 32 bits a value, which `cosim.engine.servers.workload` adds. Frozen tensors and constants do not
travel.

Usage: `Uncompressed(bits_per_parameter=16).payload(1000).bits` is 16,000.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Protocol

from cosim.configuration import Ask, Port, one_of, part, said_of
from cosim.configuration.going_together import ONE_BY_ONE
from cosim.jobs.payload import Payload
from cosim.units import least_whole

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from cosim.values.submodels import NetworkShape
    from cosim.values.weights import Weights

BITS_ASKED = Ask(
    ONE_BY_ONE,
    "makes bits of an update, and over the air analog values add up",
    "codec = Uncompressed",
    at="codec",
)
FLOAT_BITS = 32
"""Bits of a value that is not coded."""


@part
class Codec(Port, ABC):
    """Form of an update on the air: its bits, and what arrives of it.

    Attributes:
        keeps_state: True if what `transmit` returns is kept for the client's next update; set in the class.
    """

    forms = one_of(uncoded=(), signs=("step",), row=("arrived",), tensors=("transmit",))
    claims = said_of(relative_variance=("transmit", "arrived"))
    keeps_state: ClassVar[bool] = False

    @abstractmethod
    def bits(self, num_values: float) -> float:
        """Bits of an update of a number of values."""

    def model_bits(self, num_values: float) -> float:
        """Bits of a number of values of a model that is downloaded, or sent between cells and cloud."""
        return num_values * FLOAT_BITS if self.form != "uncoded" else self.bits(num_values)

    def cycles(self, num_values: int) -> float:
        """Cycles of the client's processor that coding an update takes, after its training."""
        return 0.0

    def transmit(self, sent: "SentView") -> "Weights | None":
        """Turn a change into what arrives of it, in place; returns what the client keeps."""
        raise NotImplementedError

    def arrived(self, change_D: "Tensor", generator: "torch.Generator") -> "Tensor":
        """Change that arrives, as one row.

        Args:
            change_D: All values of the change, float32, shape (values,), the tensors one after the other,
                each in row-major order; not to be changed.
            generator: Generator of the random draws, on the CPU; it follows from the update's key. On
                another device use `torch.rand(..., generator=generator).to(change_D.device)`.
        """
        raise NotImplementedError

    def relative_variance(self, num_values: int) -> float:
        """Bound of the mean of |arrived - change|^2 / |change|^2 of an unbiased codec; 0 for other codecs."""
        return 0.0

    @property
    def step(self) -> float | None:
        """Step of every value, up or down, if only signs are sent; None means values are sent."""
        return None

    def check(self, shape: "NetworkShape") -> None:
        """Refuse a network whose updates cannot be coded, before the clock starts.

        Raises:
            ConfigurationError: The network cannot be coded; the message says why and what to use.
        """

    def payload(self, num_values: int) -> Payload:
        """Payload of an update with a number of values, rounded up to whole bits."""
        return Payload(num_values, least_whole(self.bits(num_values)))

    def model_payload(self, num_values: int) -> Payload:
        """Payload of a model with a number of values, rounded up to whole bits."""
        return Payload(num_values, least_whole(self.model_bits(num_values)))


class SentView(Protocol):
    """An update as a codec sees it; its tensors may be changed.

    Attributes:
        client: Name of the client that sends it.
        initial: Name -> values that the training started from, of trained parameters and companions.
        change: Name -> what training has added to them; its final content arrives.
        state: Name -> what `transmit` returned the last time; empty at first.
        generator: Generator of the random draws, on the CPU; it follows from the update's key.
    """

    client: str
    initial: "Weights"
    change: "Weights"
    state: "Weights"
    generator: "torch.Generator"
