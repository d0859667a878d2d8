"""Payload: the content of an upload or a download."""

from typing import NamedTuple


class Payload(NamedTuple):
    """Values of a model, and their bits on the air.

    Attributes:
        num_values: Numbers of the model and of what is sent with it; a planner may ask for a part of a
            number.
        bits: Bits on the air; a whole number, unless a planner asks.
    """

    num_values: float
    bits: float
