"""Codes: what arrives of a change or of a model does not say more than its bits can.

Of n independent normal values no code of b bits, with whatever is known on both sides, leaves less than the
2^(-2 b / n)-th part of their variance on the average (rate-distortion function of a Gaussian source).

Source: Cover, Thomas, "Elements of information theory", 2nd edition, Theorem 10.3.2.
"""

import math
from collections.abc import Callable

from cosim.codecs.model_codec import ModelCodec
from cosim.codecs.port import Codec
from cosim.testing.laws.broken import broken

SHAPE = (50, 80)
"""Of the values that are coded."""
FLOAT_BITS = 24
"""Significant bits of a float32; a code with as many for each value can send it as it is."""
SLACK = 0.9
"""Of the bound, which holds on the average; one sample may leave a little less."""


def check_code(codec: Codec) -> None:
    """Check the bits of a codec, and that what arrives of a change fits into them.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    from cosim.testing.laws.code_check import left_of_changes

    check_bits(codec.bits)
    for num_values in (1, 1000):
        bits, payload = codec.bits(num_values), codec.payload(num_values)
        if payload != (num_values, math.ceil(bits)):
            where = f"a payload of {payload.bits} bits for {num_values} values, which have {bits}"
            raise broken("bits", where, "a payload of its own; bits are rounded up")
    num_values = math.prod(SHAPE)
    if codec.form == "uncoded":
        if codec.bits(num_values) < num_values:
            where = f"{codec.bits(num_values):g} bits for {num_values} values, all of which arrive"
            raise broken("code", where, "fewer bits than values, and no `transmit` that says what is lost")
        return
    _check_information(left_of_changes(codec, SHAPE), codec.bits(num_values))


def check_model_code(codec: ModelCodec) -> None:
    """Check the bits of a model codec, and that what arrives of a model fits into them.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    from cosim.testing.laws.code_check import left_of_models

    check_bits(codec.bits)
    _check_information(left_of_models(codec, SHAPE), codec.bits(math.prod(SHAPE)))


def check_bits(bits: Callable[[float], float]) -> None:
    """Check that bits are numbers above 0, and more for more values.

    Raises:
        BrokenLaw: They are not.
    """
    sizes = [bits(num_values) for num_values in (1, 2, 10, 1000, 1_000_000)]
    if not all(0.0 < size < math.inf for size in sizes):
        raise broken("bits", f"{sizes} for 1 to 1,000,000 values", "bits that are no number above 0")
    if sizes != sorted(sizes):
        raise broken("bits", f"{sizes} for 1 to 1,000,000 values", "more values in fewer bits")


def _check_information(left: float, bits: float) -> None:
    bits_each = bits / math.prod(SHAPE)
    least = 2.0 ** (-2.0 * bits_each)
    if bits_each < FLOAT_BITS and left < SLACK * least:
        where = (
            f"{bits_each:.3g} bits a value leave at least {least:.3g} of the variance of independent values, "
            f"and what arrives leaves {left:.3g}"
        )
        raise broken("code", where, "bits that do not count all that `transmit` lets through")
