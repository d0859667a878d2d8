"""Codec: the port of those who say what an update is on the air: its size, and what of it arrives.

| kind | bits of a change of d parameters | what arrives |
|---|---|---|
| Uncompressed | 32 d | all of it |
| BFloat16, Float16 | 16 d | every value, rounded |
| Qsgd | 32 + ceil(log2(2 s + 1)) for each value, by buckets | multiples of norm / s, unbiased |
| TopK | 32 k, and indices or a bitmap | the k largest, by magnitude |
| RandomK | 32 k + 32 | k drawn values times d / k, unbiased |
| Signs | d | a step up or down (`MajorityVote`: what most say) |
| ErrorFeedback | its codec's | its codec's; what is left out goes with the next |

A codec with a method `transmit` changes what arrives: a plain torch function of the change that a client's
training has made, tensor by tensor, before it is added to the start again (`SentView`, below)::

    @part
    class ScaledSigns(Codec):
        def bits(self, num_values):
            return num_values + 32.0

        def transmit(self, sent):
            import torch

            size = torch.cat([values.flatten() for values in sent.change.values()]).abs().mean()
            for values in sent.change.values():
                values.sign_().mul_(size)

One with `arrived` in its place takes the change as one row of values, and one with `step` sends signs alone
(`cosim.codecs.flat.FlatCodec` says what coding costs). A codec with `keeps_state = True` in its
class gets what its `transmit` returned at the client's last training as `sent.state`, empty at first: what
was left out, for the next time. As with a rule of local training it is kept when the training has ended, also
where the upload is lost.

Scope and limitations: updates are coded, models are not: what a client downloads, unless a model codec
changes it (`cosim.codecs.model_codec`), and what cells and cloud send each other, has 32 bits a value where
the codec changes values (`model_bits`). Decoding takes no time.
Running statistics and other state are not coded: they arrive as they are, for 32 bits a value, which
`cosim.engine.servers.workload` adds. Frozen tensors and constants do not travel.

Usage: `Uncompressed(bits_per_parameter=16).payload(1000).bits` is 16,000.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Protocol

from cosim.configuration import Port, one_of, part, said_of
from cosim.jobs.payload import Payload
from cosim.units import least_whole

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from cosim.values.submodels import NetworkShape
    from cosim.values.weights import Weights

FLOAT_BITS = 32
"""Of a value that is not coded."""


@part
class Codec(Port, ABC):
    """What a model is on the air.

    Attributes:
        keeps_state: Whether what `transmit` returns is kept for the client's next update; a class says so.
    """

    forms = one_of(uncoded=(), signs=("step",), row=("arrived",), tensors=("transmit",))
    claims = said_of(relative_variance=("transmit", "arrived"))
    keeps_state: ClassVar[bool] = False

    @abstractmethod
    def bits(self, num_values: float) -> float:
        """Bits of an update of so many values."""

    def model_bits(self, num_values: float) -> float:
        """Bits of so many values of a model that somebody downloads, or that cells and cloud send."""
        return num_values * FLOAT_BITS if self.form != "uncoded" else self.bits(num_values)

    def cycles(self, num_values: int) -> float:
        """Cycles that coding an update of so many values takes the client's processor, after its training."""
        return 0.0

    def transmit(self, sent: "SentView") -> "Weights | None":
        """Make of a change what arrives of it, in place; returns what the client keeps."""
        raise NotImplementedError

    def arrived(self, change_D: "Tensor", generator: "torch.Generator") -> "Tensor":
        """What arrives of a change, as one row.

        Args:
            change_D: All its values, float32, shape (values,), the tensors one after the other, each rows
                first; not to be changed.
            generator: The source of what is drawn; it follows from the update's key.
        """
        raise NotImplementedError

    def relative_variance(self, num_values: int) -> float:
        """Bound of the mean of |what arrives - change|^2 / |change|^2, where a codec is unbiased; else 0."""
        return 0.0

    @property
    def step(self) -> float | None:
        """By how much every value moves, up or down, where only signs are sent; None: values are."""
        return None

    def check(self, shape: "NetworkShape") -> None:
        """Refuse a network whose updates cannot be coded, before the clock starts.

        Raises:
            ConfigurationError: What cannot be, and the usual fix.
        """

    def payload(self, num_values: int) -> Payload:
        """An update of so many values, and what it is on the air, rounded up to whole bits."""
        return Payload(num_values, least_whole(self.bits(num_values)))

    def model_payload(self, num_values: int) -> Payload:
        """A model of so many values, likewise."""
        return Payload(num_values, least_whole(self.model_bits(num_values)))


class SentView(Protocol):
    """What a codec is given of one update; all tensors are its own.

    Attributes:
        client: Name of who sends it.
        start: Name -> values that the training started from, of trained parameters and companions.
        change: Name -> what training has added to them; what it holds at the end arrives.
        state: Name -> what `transmit` returned the last time; empty at first.
        generator: The source of what is drawn; it follows from the update's key.
    """

    client: str
    start: "Weights"
    change: "Weights"
    state: "Weights"
    generator: "torch.Generator"
