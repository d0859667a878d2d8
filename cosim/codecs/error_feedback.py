"""Error feedback: what a codec leaves out of an update is added to the client's next one.

With the memory e of a client, 0 at first, and the change x that its training made:

    p = x + e,   what arrives is C(p) / (1 + w),   e <- p - C(p) / (1 + w).

C is the codec, and w bounds E ||C(p) - p||^2 / ||p||^2 where C is unbiased (`Codec.relative_variance`), else
0. An unbiased codec alone would make the memory grow where w > 1; divided by 1 + w it is a contraction, for E
||C(p) / (1 + w) - p||^2 <= w / (1 + w) ||p||^2. RandomK, with w = d / k - 1, then sends its values unscaled.
The server knows w as it knows d, so nothing more is sent.

Scope and limitations: the memory is one more model for each client that has taken part. It is updated when
the training has ended, so if the upload is lost, what was sent is lost and what was left out is not; if the
training itself is cut, the memory stays as it was. HIST refuses it, since a cell trains different units in
every global round.

Source: Karimireddy, Rebjock, Stich, Jaggi, "Error Feedback Fixes SignSGD", ICML 2019, arXiv 1901.09847,
Algorithm 2; division: Beznosikov, Horvath, Richtarik, Safaryan, arXiv 2002.12410, Section 2.
"""

from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from cosim.codecs.port import BITS_ASKED, Codec, SentView
from cosim.codecs.sparse import TopK
from cosim.configuration import part, refuse
from cosim.values.submodels import NetworkShape

if TYPE_CHECKING:
    from cosim.values.weights import Weights


@part
class ErrorFeedback(Codec):
    """A codec with compensation of its errors.

    Attributes:
        codec: Codec that leaves something out.
    """

    asks = (BITS_ASKED,)

    keeps_state: ClassVar[bool] = True

    codec: Codec = TopK()

    def __attrs_post_init__(self) -> None:
        kind = type(self.codec).__name__
        if self.codec.form == "uncoded":
            raise refuse(
                "ErrorFeedback",
                "codec",
                kind,
                f"{kind} loses nothing that could be fed back",
                f"Use {kind} itself.",
            )
        if method := self.codec.void.get("relative_variance"):
            rule = f"{method} says what arrives, but relative_variance comes from another class"
            raise refuse(
                "ErrorFeedback",
                "codec",
                kind,
                rule,
                f"Define relative_variance in {kind}, 0.0 if it is biased.",
            )
        if self.codec.keeps_state:
            raise refuse(
                "ErrorFeedback", "codec", kind, f"{kind} keeps a state itself", f"Use {kind} itself."
            )

    @override
    def check(self, shape: NetworkShape) -> None:
        self.codec.check(shape)

    @override
    def training_values(self, num_parameters: int, num_values: int) -> int:
        return num_parameters

    @override
    def kept_values(self, shape: NetworkShape) -> int:
        """One value for each that is coded; companions are not counted."""
        return shape.num_coded()

    @override
    def bits(self, num_values: float) -> float:
        return self.codec.bits(num_values)

    @override
    def cycles(self, num_values: int) -> float:
        return self.codec.cycles(num_values)

    @override
    def transmit(self, sent: SentView) -> "Weights":
        """Code the change plus what was left out before; returns what is left out now."""
        from cosim.codecs.coding import code

        wanted = {name: values + sent.state.get(name, 0.0) for name, values in sent.change.items()}
        sent.change = {name: values.clone() for name, values in wanted.items()}
        code(self.codec, sent)
        divisor = 1.0 + self.codec.relative_variance(sum(values.numel() for values in wanted.values()))
        for values in sent.change.values():
            values.div_(divisor)
        return {name: values - sent.change[name] for name, values in wanted.items()}
