"""Kinds: options such as `--protocol.policy.kind Unconstrained`, which put another class into a field.

What both classes have, such as the number of rounds, is kept.

Options are made from a configuration's own classes, so a field that takes one of several classes must have
the wanted one before they are made.
"""

import importlib
import os
import sys
from typing import Any, TypeVar

import attrs

from cosim import ConfigurationError
from cosim.configuration import fit_later, is_configuration, with_kind

C = TypeVar("C")
ENDING, IMPORT = ".kind", "--import"


def imported(arguments: list[str]) -> list[str]:
    """The arguments without `--import MODULE`, whose modules are loaded, those of this folder too.

    Raises:
        ConfigurationError: A module that is not there, or fails.
    """
    rest, words = [], iter(arguments)
    for word in words:
        option, equals, module = word.partition("=")
        if option != IMPORT:
            rest.append(word)
            continue
        module = module if equals else next(words, "")
        if not module:
            raise ConfigurationError(f"{IMPORT}: needs the name of a module. Usual fix: {IMPORT} rules.")
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as error:
            raise ConfigurationError(
                f"{IMPORT} {module}: {type(error).__name__}: {error}. Usual fix: the name of a module, such "
                "as rules for rules.py in this folder."
            ) from None
    return rest


def other_kinds(usual: Any, config: Any) -> list[str]:
    """Names of the classes in a configuration that are others than in another, outer ones first."""
    found = []
    for attribute in attrs.fields(type(config)):
        before, now = getattr(usual, attribute.name, None), getattr(config, attribute.name)
        if not is_configuration(type(now)):
            continue
        if type(now) is type(before):
            found += other_kinds(before, now)
        else:
            found.append(type(now).__name__)
    return found


def with_kinds(config: C, arguments: list[str]) -> tuple[C, list[str]]:
    """The configuration with the classes that options ask for, in turn, and the other options.

    Raises:
        ConfigurationError: There is no such field, or no such class.
    """
    rest, words = [], iter(arguments)
    for word in words:
        option, equals, kind = word.partition("=")
        if not (option.startswith("--") and option.endswith(ENDING)):
            rest.append(word)
            continue
        path = option[2 : -len(ENDING)].replace("-", "_").split(".")
        try:
            with fit_later():  # the options that follow may change what does not fit
                config = with_kind(config, path, kind if equals else next(words, None))
        except ConfigurationError as error:
            raise ConfigurationError(f"{option}: {error}") from None
    return config, rest
