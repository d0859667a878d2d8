"""Reproductions: one figure of a paper, or all of them, one after the other.

A figure that fails does not stop the others. However the command was stopped, the same one
goes on: runs that have ended are not repeated.
"""

import shlex
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import attrs

from cosim.configuration import ConfigurationError
from scenarios.command_line.arguments import parse
from scenarios.command_line.catalogue import catalogue, find

if TYPE_CHECKING:
    from rich.table import Table

    from scenarios.reproduce.figures import Options

ALL = "--all"
FAILED = 2
MEANINGS = {
    0: "required claims come out",
    1: "a required claim does not show",
    FAILED: "bad input, or a run failed",
    3: "a required claim is too noisy to tell",
}
"""Exit code -> its meaning; 3 only where no required claim fails."""
CODES = f"Exit codes: {', '.join(f'{code} {meaning}' for code, meaning in MEANINGS.items())}."
ABOUT = f"""\
cosim reproduce {ALL} --quick         all of them, one after the other, and one table

{CODES}"""


@attrs.frozen
class Outcome:
    """How a figure has ended.

    Attributes:
        code: Exit code.
        error: Why it failed; empty if it did not.
        told: Content of its NAME.json; empty where there is none.
    """

    code: int
    error: str
    told: Mapping[str, Any]

    @property
    def row(self) -> list[str]:
        """Number of claims by verdict, processor time, exit code and its meaning."""
        from scenarios.reproduce.claims import COMES_OUT, DOES_NOT_SHOW, TOO_NOISY

        verdicts = [claim["verdict"] for claim in self.told.get("claims", ())]
        counts = [verdicts.count(verdict) for verdict in (COMES_OUT, DOES_NOT_SHOW, TOO_NOISY)]
        minutes = f"{60.0 * self.told['core_hours']:.3g}" if self.told else ""
        return [*(str(count or "") for count in counts), minutes, f"{self.code}: {self.words}"]

    @property
    def words(self) -> str:
        """Its error, or the meaning of its exit code."""
        return self.error or MEANINGS[self.code]


def run_one(name: str, words: list[str]) -> int:
    """`cosim reproduce NAME`; the exit code."""
    module = find("reproduce", name)
    about = f"{(module.__doc__ or '').rstrip()}\n\n{ABOUT}"
    options = parse(module.Options, f"cosim reproduce {name}", words, module.Options(), about)
    _say_how_long({name: options})
    return _run(name, options)


def run_every(words: list[str]) -> int:
    """`cosim reproduce --all`; the exit code, of a figure that failed before all others.

    Raises:
        ConfigurationError: A folder is given, which figures cannot share.
    """
    from cosim.display.progress import say
    from scenarios.command_line.console import console
    from scenarios.reproduce import figures  # not before it is needed

    usual, to_go_on = figures.Options(), shlex.join(["cosim", "reproduce", ALL, *words])
    options = parse(figures.Options, f"cosim reproduce {ALL}", words, usual, f"{__doc__}\n{ABOUT}")
    if options.out is not None:
        raise ConfigurationError(
            f"--out {options.out}: each figure has a folder of its own, and some share one. Leave --out out."
        )
    asked = {name: _as_its_own(options, find("reproduce", name).Options) for name in catalogue("reproduce")}
    _say_how_long(asked)
    try:
        outcomes = {name: _outcome(name, own) for name, own in asked.items()}
    except KeyboardInterrupt:
        say(f"To resume: {to_go_on}")
        raise
    console.print(table_of(outcomes))
    codes = {outcome.code for outcome in outcomes.values()}
    if FAILED in codes:
        console.print(f"Run what failed again: {to_go_on}", soft_wrap=True)
    return next(code for code in (FAILED, 1, 3, 0) if code in codes)


def _as_its_own(options: "Options", kind: type[Any]) -> Any:
    """The options of a figure, with what was asked of all and what it has."""
    known = {field.name for field in attrs.fields(kind)}
    changed = {
        field.name: getattr(options, field.name)
        for field in attrs.fields(type(options))
        if field.name in known and getattr(options, field.name) != field.default
    }
    return kind(**changed)


def _say_how_long(asked: Mapping[str, Any]) -> None:
    """Say how long full forms take, before they start."""
    from cosim.display.progress import say
    from scenarios.reproduce import figures, kept

    full = {
        name: options
        for name, options in asked.items()
        if isinstance(options, figures.Options) and not options.quick  # a study says so itself
    }
    for words in kept.expected(full):
        say(words)


def _run(name: str, options: Any) -> int:
    from analysis.plots import drawing  # not before there is something to draw

    with drawing():
        return find("reproduce", name).main(options)


def _outcome(name: str, options: Any) -> Outcome:
    """How a figure ends, whatever happens in it."""
    from scenarios.command_line.console import console

    console.print(f"\n{name}")
    try:
        code, error = _run(name, options), ""
    except ConfigurationError as refused:
        code, error = FAILED, str(refused)
    except Exception as failed:  # the others are still to be run
        traceback.print_exc()
        code, error = FAILED, f"{type(failed).__name__}: {failed}"
    return Outcome(code, error, {} if error else _told(name, options))


def _told(name: str, options: Any) -> Mapping[str, Any]:
    """Content of the NAME.json that a figure has just left in figures/, by its command."""
    from cosim.files.on_disk import place, read_json

    for path in place("figures").glob(f"*/{name}.json"):
        with suppress(ValueError, OSError):
            told = read_json(path)
            if told["command"] == options.command(name):
                return told
    return {}


def table_of(outcomes: Mapping[str, Outcome]) -> "Table":
    """A figure in a line."""
    from rich.table import Table

    printed = Table(title=f"{len(outcomes)} figures", title_justify="left")
    for heading in ("figure", "come out", "do not show", "too noisy", "core-minutes", "exit code"):
        printed.add_column(heading, overflow="fold")
    for name, outcome in outcomes.items():
        printed.add_row(name, *outcome.row)
    return printed
