"""Loading: the system of a config.json."""

import re
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from cosim.configuration import ConfigurationError, from_dict
from cosim.configuration.functions import names_of_a_file
from cosim.system.system import System

SCENARIO = r"[\w-]+|[\w.-]+:\w+"
"""A scenario's name, or module:function."""


def load_system(config: dict[str, Any], modules: Iterable[str | ModuleType] = ()) -> System:
    """System of a config.json, which may come from a stranger.

    Args:
        modules: Modules whose functions it may name, besides `__main__`'s; a package with its submodules.

    Raises:
        ConfigurationError: It is none, or names a function that is not defined in one of these modules.
    """
    fix = "Give the config.json of a run folder."
    if not isinstance(config, dict) or "system" not in config:
        raise ConfigurationError(f"no 'system' in it. {fix}")
    if unknown := sorted(config.keys() - {"scenario", "system", "network"}):
        raise ConfigurationError(
            f"unknown {', '.join(map(repr, unknown))} beside 'scenario', 'system' and 'network'. {fix}"
        )
    scenario = config.get("scenario")
    if scenario is not None and not (isinstance(scenario, str) and re.fullmatch(SCENARIO, scenario)):
        raise ConfigurationError(
            f"scenario = {scenario!r:.80}: must be a scenario's name, module:function, or null. {fix}"
        )
    with names_of_a_file(modules):
        return from_dict(System, config["system"])
