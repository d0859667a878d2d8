"""Described: what docstrings say of the fields of a class."""

import docstring_parser


def described(cls: type) -> dict[str, str]:
    """Descriptions of a class's fields, from its docstring and its base classes' docstrings."""
    found = {}
    for owner in reversed(cls.__mro__):
        for parameter in docstring_parser.parse(owner.__doc__ or "").params:
            found[parameter.arg_name] = " ".join((parameter.description or "").split())
    return found
