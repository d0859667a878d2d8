"""Scenarios: a function that returns a system, ours by name or a user's by module and function.

`hist` is ours, `mine.py:system` and `package.module:function` are a user's. A module with a function
`paper_scale` has a second size; what its function `report` says of a result is printed when a run has ended.
"""

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import attrs

from cosim.configuration import ConfigurationError, own_function
from cosim.configuration.functions import names_of_a_file
from cosim.configuration.rules import did_you_mean
from cosim.files.on_disk import shown
from scenarios.command_line.catalogue import catalogue, find
from scenarios.command_line.console import console
from scenarios.command_line.kinds import other_kinds
from scenarios.command_line.modules import IMPORT, files_in, module_of, what_failed

if TYPE_CHECKING:  # the engine is loaded when a scenario is
    from cosim.results.result import Result
    from cosim.system import System

PAPER_SCALE = "--paper-scale"
FOR_SCENARIOS = {
    f"{IMPORT} MODULE": "load your module, so that options and files may name its parts and functions",
    PAPER_SCALE: "at the paper's scale, for scenarios that are smaller by default",
}
"""Options that every command about a scenario has, and what they do."""


@attrs.frozen
class Scenario:
    """Origin of a system.

    Attributes:
        name: What config.json calls it, such as hist or mine:system.
        module: Where its function is.
        function: Name of the function.
    """

    name: str
    module: ModuleType
    function: str

    @property
    def question(self) -> str | None:
        """Question of the module's docstring."""
        return self.module.__doc__

    def system(self, *, paper_scale: bool = False) -> "System":
        """The configuration, in the size that it usually has or in the paper's.

        Raises:
            ConfigurationError: It has no such size, or its function fails or returns something else.
        """
        function = "paper_scale" if paper_scale else self.function
        if not callable(getattr(self.module, function, None)):
            where, rule = self.name, f"there is no function {function}"
            fix = f"Write def {function}(), which returns a System."
            hint = did_you_mean(function, [name for name in vars(self.module) if name[0] != "_"])
            if paper_scale:
                where, rule, fix, hint = PAPER_SCALE, f"{self.name} has one size only", "Leave it out.", ""
            raise ConfigurationError(f"{where}: {rule}.{hint} {fix}")
        try:
            system = getattr(self.module, function)()
        except Exception as error:
            raise ConfigurationError(f"{self.name}: {what_failed(error)}") from None
        from cosim.system import System

        if not isinstance(system, System):
            raise ConfigurationError(
                f"{self.name}: {function}() gives {type(system).__name__}. Return a cosim.System."
            )
        return system

    def title(self, system: "System") -> str:
        """Its name for folders, with the kinds of parts that are others than its own."""
        own = self.name.removesuffix(":system").replace(":", "-")
        return "-".join((own, *other_kinds(self.system(), system)))

    def print_report(self, result: "Result") -> None:
        """Print what the module says of a result, if it says anything."""
        if not hasattr(self.module, "report"):
            return
        try:
            said = self.module.report(result)
        except Exception as error:
            raise ConfigurationError(
                f"{self.name}: report(): {what_failed(error, ' The run is saved. Mend it.')}"
            ) from None
        console.print(said)


def known_scenarios() -> list[str]:
    """Names of known scenarios."""
    return [*catalogue("run"), "FILE.py:FUNCTION", "MODULE:FUNCTION"]


def scenario_of(word: str) -> Scenario:
    """The scenario that a user names, whose module is loaded.

    Raises:
        ConfigurationError: There is none.
    """
    if ":" not in word and not word.endswith(".py"):
        return Scenario(word, find("run", word, files_in(Path())), "system")
    target, _, function = word.partition(":")
    module = module_of(target, word)
    return Scenario(f"{module.__name__}:{function or 'system'}", module, function or "system")


def scenario_in(
    config: str | None, named: Scenario | None, modules: list[str], file: Path
) -> Scenario | None:
    """The scenario that a config.json names; None where it names none that there is.

    Args:
        named: The scenario that the user names.
        modules: Modules that the user names.

    Raises:
        ConfigurationError: The user names another, or does not name its module.
    """
    if named is not None and named.name != config:
        raise ConfigurationError(
            f"{file}: a run of {config or 'no scenario'}, not of {named.name}. Leave the name out."
        )
    if named is not None or config is None:
        return named
    if ":" not in config:
        return scenario_of(config) if config in catalogue("run") else None
    module, _, function = config.partition(":")
    with names_of_a_file(modules):
        broken = own_function(config)
    if broken is not None:
        raise ConfigurationError(f"{shown(file)}: scenario = {config!r}: {broken.rule}. {broken.fix}")
    return Scenario(config, module_of(module, config), function)
