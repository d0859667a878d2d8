"""Payload: what an upload or a download carries."""

from typing import NamedTuple


class Payload(NamedTuple):
    """Values of a model, and their bits on the air.

    Attributes:
        num_values: Numbers of the model, or beside it; a planner may ask for a part of one.
        bits: What they are on the air; a whole number, unless a planner asks.
    """

    num_values: float
    bits: float
