"""Described: what docstrings say of the fields of a class."""

import docstring_parser


def described(cls: type) -> dict[str, str]:
    """What the docstrings of a class and of those that it inherits from say of its fields."""
    found = {}
    for owner in reversed(cls.__mro__):
        for parameter in docstring_parser.parse(owner.__doc__ or "").params:
            found[parameter.arg_name] = " ".join((parameter.description or "").split())
    return found
