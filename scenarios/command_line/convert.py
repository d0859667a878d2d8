"""`cosim data convert`: files of another tool, or of a measurement, as a file that a scenario uses.

cosim data convert mahimahi lte.up --out trace.parquet
cosim data convert throughput walks/ --stamp ends --out trace.parquet    # a folder: a client for each file
cosim data convert mahimahi --help                                       # what the format is, and its options
cosim data convert mine.py:rates log.txt --out trace.parquet             # a function of your own
"""

import inspect
import typing
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any

import attrs
import docstring_parser
from rich.table import Table

from cosim.configuration import ConfigurationError
from cosim.configuration.rules import did_you_mean
from cosim.files.on_disk import shown, typed
from cosim.system.drafts import draft
from scenarios.command_line.arguments import first_word, one_value_of, parse, with_options
from scenarios.command_line.console import console
from scenarios.command_line.modules import module_of

ANYWHERE = {"--out FILE": "where to write; its name ends as the kind of file does, such as .parquet or .csv"}
_COMMAND = "cosim data convert"


def main(arguments: list[str]) -> int:
    """Convert what the arguments name."""
    name, rest = first_word(arguments)
    if name is None:
        if rest not in ([], ["-h"], ["--help"]):
            raise ConfigurationError(f"{_COMMAND}: needs a format, before any option. {_known()}")
        console.print(f"usage: {_COMMAND} FORMAT FILE ... --out FILE [OPTIONS]\n\n{__doc__}")
        console.print(table())
        return 0
    function = _format(name)
    out, rest = one_value_of("--out", rest, "trace.parquet")
    files = list(takewhile(lambda word: not word.startswith("-"), rest))
    options = _options(function, f"{_COMMAND} {name} FILE ... --out FILE", rest[len(files) :])
    for missing, what in ((not files, "a file or a folder to read"), (out is None, "--out, where to write")):
        if missing:
            raise ConfigurationError(
                f"{_COMMAND} {name}: needs {what}. Use {_COMMAND} {name} FILE --out OUT."
            )
    convert(function, files, options, str(out))
    return 0


def convert(function: Callable[..., Any], files: list[str], options: Mapping[str, Any], out: str) -> None:
    """Write what a format makes of files, and say what it is."""
    name = getattr(function, "__name__", "the function")
    try:
        inspect.signature(function).bind(*files, **options)
    except TypeError as error:
        raise ConfigurationError(
            f"{name}: does not take {len(files)} files ({error}). Use a command for each file."
        ) from None
    found = function(*files, **options)
    if not hasattr(found, "save"):
        raise ConfigurationError(
            f"{name}: returns {type(found).__name__}. Use return cosim.formats.Rates(frame), or another "
            "Converted of that room."
        )
    written = found.save(out)
    console.print(f"{shown(written)}: {found.summary}. Use: {found.use(typed(written))}", soft_wrap=True)


def formats() -> dict[str, Callable[..., Any]]:
    """Name on the command line -> function, of the formats of cosim."""
    import cosim

    names = (name for name in cosim.formats.__all__ if name.islower())
    return {name.replace("_", "-"): getattr(cosim.formats, name) for name in names}


def table() -> Table:
    """The formats, each in a line."""
    found = Table(title="Formats", title_justify="left")
    found.add_column("format", no_wrap=True)
    found.add_column("files")
    for name, function in formats().items():
        found.add_row(name, _said(function).short_description or "")
    return found


def _format(name: str) -> Callable[..., Any]:
    """The function with a format's name, or named by `mine.py:function`."""
    module, colon, function = name.rpartition(":")
    if not colon:
        found = formats()
        if name not in found:
            raise ConfigurationError(f"no format {name!r}.{did_you_mean(name, found)} {_known()}")
        return found[name]
    own = getattr(module_of(module, name), function, None)
    if not callable(own):
        raise ConfigurationError(f"{name}: there is no function {function}. Use one that {module} has.")
    return own


def _known() -> str:
    return f"Known: {', '.join(formats())}, or mine.py:function."


def asked(function: Callable[..., Any]) -> dict[str, Any]:
    """Keyword argument -> default, or `attrs.NOTHING`, of a function."""
    each = inspect.signature(function).parameters.values()
    return {
        one.name: attrs.NOTHING if one.default is one.empty else one.default
        for one in each
        if one.kind is one.KEYWORD_ONLY
    }


def _options(function: Callable[..., Any], program: str, arguments: list[str]) -> Mapping[str, Any]:
    """The keyword arguments of a function, as options."""
    hints, said = typing.get_type_hints(function), _said(function)
    described = {one.arg_name: one.description or "" for one in said.params}
    fields = {
        name: attrs.field(type=hints.get(name, str), default=default, kw_only=True)
        for name, default in asked(function).items()
    }
    kind = attrs.make_class("Options", fields, frozen=True)
    lines = [f"    {name}: {' '.join(described.get(name, '').split())}" for name in fields]
    kind.__doc__ = "\n".join(["Options of a format.", "", "Attributes:", *lines])
    about = "\n\n".join(filter(None, (said.short_description, said.long_description)))
    found = parse(kind, program, arguments, draft(kind, {}), with_options(about, ANYWHERE))
    return attrs.asdict(found, recurse=False)


def _said(function: Callable[..., Any]) -> docstring_parser.Docstring:
    return docstring_parser.parse(inspect.getdoc(function) or "")
