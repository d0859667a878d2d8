"""Arguments: what becomes of the words of a command.

Options are made of a configuration's own classes, by tyro. Before that, options that stand anywhere are taken
out, fields that are named by the end of their path get the whole path, and `none` is read in any spelling.
"""

import types
import typing
from typing import Annotated, Any, TypeVar

import attrs

from cosim.configuration import ConfigurationError, full_path, paths_of

T = TypeVar("T")
NONE = ("none", "null")


def values_of(option: str, arguments: list[str], example: str) -> tuple[list[str], list[str]]:
    """The values of an option, wherever it stands, and the other arguments.

    Raises:
        ConfigurationError: One without a value.
    """
    values, rest, words = [], [], iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if name != option:
            rest.append(word)
            continue
        value = value if equals else next(words, "")
        if not value or value.startswith("--"):
            raise ConfigurationError(f"{option}: needs a value. Usual fix: {option} {example}.")
        values.append(value)
    return values, rest


def one_value_of(option: str, arguments: list[str], example: str) -> tuple[str | None, list[str]]:
    """The value of an option that may stand anywhere, None without it, and the other arguments."""
    values, rest = values_of(option, arguments, example)
    if len(values) > 1:
        raise ConfigurationError(f"{option}: is given {len(values)} times. Usual fix: once.")
    return (values[0] if values else None), rest


def first_word(arguments: list[str]) -> tuple[str | None, list[str]]:
    """What a command is about, None where an option comes first, and the other arguments."""
    if not arguments or arguments[0].startswith("-"):
        return None, arguments
    return arguments[0], arguments[1:]


def parse(kind: type[T], program: str, arguments: list[str], default: T, description: str | None = None) -> T:
    """An object of a class whose fields are options."""
    return _parsed(kind, program, in_full(arguments, default), default, description)


def parse_with_system(
    options: T, system: Any, program: str, arguments: list[str], description: str | None
) -> tuple[T, Any]:
    """Options of a command, and a system whose fields are options too."""
    import tyro  # not before it is needed

    kinds, unnamed = (type(options), type(system)), tyro.conf.arg(name="")

    @attrs.frozen(kw_only=True)
    class Invocation:
        options: Annotated[kinds[0], unnamed]  # type: ignore[valid-type]
        system: Annotated[kinds[1], unnamed]  # type: ignore[valid-type]

    asked = Invocation(options=options, system=system)
    found = _parsed(Invocation, program, in_full(arguments, options, system), asked, description)
    return found.options, found.system


def _parsed(kind: type[T], program: str, words: list[str], default: T, description: str | None) -> T:
    import tyro

    config = (tyro.conf.AvoidSubcommands,)
    return tyro.cli(kind, prog=program, args=words, default=default, description=description, config=config)


def usage(
    command: str, what: str, options: Any, arguments: list[str], description: str, known: list[str]
) -> int:
    """Help of a command that nothing was named for; exit code 0 where it was asked for.

    Raises:
        ConfigurationError: Options were given.
    """
    names = f"Known: {', '.join(known)}." if known else ""
    question = description.partition("\n")[0]
    if arguments not in ([], ["-h"], ["--help"]):
        raise ConfigurationError(f"cosim {command}: needs {what}, before any option. {names}".rstrip())
    parse(type(options), f"cosim {command} {what}", ["--help"], options, f"{question}\n\n{names}".rstrip())
    return 0


def in_full(arguments: list[str], *configs: Any) -> list[str]:
    """The arguments with whole paths of fields, and with None where a field that may be none is.

    Raises:
        ConfigurationError: The end of several fields' paths.
    """
    annotations: dict[str, Any] = {}
    for config in configs:
        for path in paths_of(config):
            annotations.setdefault(path, _annotation(config, path))
    switches = {f"{p.rpartition('.')[0]}.no_{p.rpartition('.')[2]}".lstrip(".") for p in annotations}
    words, annotation = [], None
    for word in arguments:
        if not word.startswith("--"):
            words.append(_with_none(word, annotation))
            continue
        name, equals, value = word.partition("=")
        path = full_path(name[2:].replace("-", "_"), annotations)
        if path not in annotations:
            path = full_path(path, switches)
        annotation = annotations.get(path)
        is_known = annotation is not None or path in switches
        name = f"--{path.replace('_', '-')}" if is_known else name
        words.append(f"{name}={_with_none(value, annotation)}" if equals else name)
    return words


def _annotation(config: Any, path: str) -> Any:
    """The type of the field at a path; of a kind, a text."""
    annotation: Any = str
    for name in path.split("."):
        fields = attrs.fields_dict(type(config)) if attrs.has(type(config)) else {}
        if name not in fields:
            return str
        annotation, config = fields[name].type, getattr(config, name)
    return annotation


def _with_none(word: str, annotation: Any) -> str:
    """The word, or `None` where that is meant."""
    choices = typing.get_args(annotation)
    if word.lower() not in NONE:
        return word
    if types.NoneType in choices:
        return "None"
    return "none" if "none" in choices else word
