"""Numbers and choices as typed: held against their field before a system is made of them.

So a message names the option that was typed, and the value that the scenario has in its place. What depends
on several fields is left to the system.
"""

import types
import typing
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import attrs

from cosim.configuration import ConfigurationError
from cosim.configuration.field_types import options_of, type_name
from cosim.configuration.kinds import is_configuration
from cosim.configuration.rules import did_you_mean, shown
from cosim.units import unit_of


class Typed(NamedTuple):
    """An option with its words.

    Attributes:
        option: As it was typed, such as --bandwidth-hz.
        path: Of the field.
    """

    option: str
    path: str
    words: list[str]


def check_numbers(config: Any, typed: Sequence[Typed]) -> None:
    """Refuse words that are no numbers or choices, or numbers that break a rule of their field.

    Raises:
        ConfigurationError: Option, value, rule, and the value without the option.
    """
    for option, path, words in typed:
        *outer, name = path.split(".")
        owner = config
        for part in outer:
            owner = getattr(owner, part, None)
        attribute = attrs.fields_dict(type(owner)).get(name) if attrs.has(type(owner)) else None
        number = None if attribute is None else _number_in(attribute.type)
        if attribute is None or "None" in words:
            continue
        usual = getattr(owner, name)
        choices = typing.get_args(attribute.type) if typing.get_origin(attribute.type) is Literal else words
        for word in words:
            if word not in choices:
                hint = did_you_mean(word, choices)
                known = ", ".join(map(str, choices))
                raise ConfigurationError(f"{option} {word}: no such choice.{hint} Known: {known}.")
        if number is None:
            continue
        for word in words:
            if not _is(number, word):
                unit = unit_of(name)
                fix = f"Use the default, {shown(usual)}{f' {unit}' if unit else ''}."
                if usual is None or usual is attrs.NOTHING:
                    in_unit = f"Give it in {unit}." if unit else "Give another one."
                    fix = "Leave it out." if usual is None else in_unit
                if word.endswith("%") and number is float and _is(float, word[:-1]):
                    fix = f"Use {float(word[:-1]) / 100.0:g}."
                rule = f"must be {type_name(attribute.type)}"
                raise ConfigurationError(f"{option} {word}: {rule}. {fix}")
        many = typing.get_origin(attribute.type) is tuple
        if is_configuration(type(owner)) and words and (many or len(words) == 1):
            found = [number(word) for word in words]
            _check(owner, attribute.evolve(default=usual), found if many else found[0], option)


def _check(owner: Any, field: Any, value: Any, option: str) -> None:
    """Hold a value against a field, whose default is that of the scenario."""
    try:
        value = field.converter.converter(value, owner, field)
        if field.validator is not None:
            field.validator(owner, field, value)
    except ConfigurationError as error:
        raise ConfigurationError(f"{option}: {error}", error.field) from None


def _number_in(annotation: Any) -> type | None:
    """Type of each word of an option, int or float; None for anything else."""
    kinds = options_of(annotation)
    arguments = [a for a in typing.get_args(annotation) if a not in (types.NoneType, Ellipsis, *kinds)]
    if not arguments:
        return annotation if annotation in (int, float) else None
    if typing.get_origin(annotation) is tuple or kinds or types.NoneType in typing.get_args(annotation):
        found = {_number_in(argument) for argument in arguments}
        return found.pop() if len(found) == 1 else None
    return None


def _is(number: type, word: str) -> bool:
    try:
        number(word)
    except ValueError:
        return False
    return True
