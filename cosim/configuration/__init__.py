"""Configuration: frozen classes that check themselves. What a part is made with; the rest by its file."""

from cosim.configuration.asks import Ask, Lack, asks_in, lacks_in
from cosim.configuration.claims import said_of
from cosim.configuration.fields import knob, part
from cosim.configuration.forms import Forms, for_each, one_of, optional
from cosim.configuration.functions import own_function
from cosim.configuration.json_form import from_dict, to_dict
from cosim.configuration.port import Port, parts_of
from cosim.configuration.rules import (
    ConfigurationError,
    a_share,
    at_least,
    below,
    between,
    lasting,
    not_empty,
    not_negative,
    one_or_range,
    positive,
    refuse,
)

__all__ = [
    "Ask",
    "ConfigurationError",
    "Forms",
    "Lack",
    "Port",
    "a_share",
    "asks_in",
    "at_least",
    "below",
    "between",
    "for_each",
    "from_dict",
    "knob",
    "lacks_in",
    "lasting",
    "not_empty",
    "not_negative",
    "one_of",
    "one_or_range",
    "optional",
    "own_function",
    "part",
    "parts_of",
    "positive",
    "refuse",
    "said_of",
    "to_dict",
]
