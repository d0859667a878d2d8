"""Arguments: what becomes of the words of a command.

Options are made of a configuration's own classes, by tyro. Before that, options that stand anywhere are taken
out, fields that are named by the end of their path get the whole path, and `none`, `true` and `false` are
read in any spelling.
"""

import types
import typing
from collections.abc import Collection, Mapping
from typing import Annotated, Any, TypeVar

import attrs

from cosim.configuration import ConfigurationError
from cosim.configuration.field_types import options_of
from cosim.configuration.kinds import is_configuration
from cosim.configuration.rules import did_you_mean
from cosim.system.drafts import draft
from cosim.system.other_kinds import elsewhere, parts_by_path
from cosim.system.paths import KIND, check_closed, ends_of, full_path, paths_of
from scenarios.command_line.console import console
from scenarios.command_line.described import described
from scenarios.command_line.kinds import table_of_kinds
from scenarios.command_line.numbers import Typed, check_numbers

T = TypeVar("T")
SCENARIO = "SCENARIO"
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
            raise ConfigurationError(f"{option}: needs a value. Use {option} {example}.")
        values.append(value)
    return values, rest


def one_value_of(option: str, arguments: list[str], example: str) -> tuple[str | None, list[str]]:
    """The value of an option that may stand anywhere, None without it, and the other arguments."""
    values, rest = values_of(option, arguments, example)
    if len(values) > 1:
        raise ConfigurationError(f"{option}: is given {len(values)} times. Give it once.")
    return (values[0] if values else None), rest


def switched(option: str, arguments: list[str]) -> tuple[bool, list[str]]:
    """True if an option without value stands anywhere, and the other arguments."""
    return option in arguments, [word for word in arguments if word != option]


def first_word(arguments: list[str]) -> tuple[str | None, list[str]]:
    """Subject of a command, None where an option comes first, and the other arguments."""
    if not arguments or arguments[0].startswith("-"):
        return None, arguments
    return arguments[0], arguments[1:]


def parse(kind: type[T], program: str, arguments: list[str], default: T, description: str | None = None) -> T:
    """An object of a class whose fields are options; a field of the default that is open is required."""
    return _parsed(kind, program, in_full(arguments, default), _with_required(default), description)


def parse_with_system(
    options: T,
    system: Any,
    program: str,
    arguments: list[str],
    description: str | None,
    anywhere: Mapping[str, str],
) -> tuple[T, Any]:
    """Options of a command, and a system whose fields are options too; help names the kinds of its parts.

    Args:
        system: Maybe a draft, whose open fields are required.
        anywhere: Options that were taken out before, and what they do.
    """
    words, about = in_full(arguments, options, system, anywhere=anywhere), with_options(description, anywhere)

    import tyro  # not before it is needed

    kinds, unnamed = (type(options), type(system)), tyro.conf.arg(name="")

    @attrs.frozen(kw_only=True)
    class Invocation:
        options: Annotated[kinds[0], unnamed]  # type: ignore[valid-type]
        system: Annotated[kinds[1], unnamed]  # type: ignore[valid-type]

    asked = Invocation(options=options, system=_with_required(system))
    try:
        found = _parsed(Invocation, program, words, asked, about)
    except SystemExit as ended:
        if ended.code == 0:
            console.print(table_of_kinds(system))
        raise
    return found.options, found.system


def _with_required(config: Any) -> Any:
    """The configuration as tyro takes it, to which an open field of a draft is a required option."""
    import tyro

    values = {attribute.name: getattr(config, attribute.name) for attribute in attrs.fields(type(config))}
    for name, value in values.items():
        if is_configuration(type(value)):
            values[name] = _with_required(value)
        elif value is attrs.NOTHING:
            values[name] = tyro.MISSING
    return draft(type(config), values)


def _parsed(kind: type[T], program: str, words: list[str], default: T, description: str | None) -> T:
    import tyro

    registry = tyro.constructors.ConstructorRegistry()
    registry.struct_rule(_with_numbers)
    return tyro.cli(
        kind,
        prog=program,
        args=words,
        default=default,
        description=description,
        config=(tyro.conf.AvoidSubcommands,),
        registry=registry,
    )


def _with_numbers(found: Any) -> Any:
    """A class as tyro takes it, where a field that takes kinds of numbers, too, has a plain number."""
    from tyro.constructors import StructConstructorSpec, StructFieldSpec

    kinds = {a.name for a in attrs.fields(found.type) if options_of(a.type)} if attrs.has(found.type) else ()
    numbers = {name for name in kinds if type(getattr(found.default, name, None)) is float}
    if not numbers:
        return None
    said = described(found.type)
    fields = (
        StructFieldSpec(
            name=attribute.name,
            type=float if attribute.name in numbers else attribute.type,
            default=getattr(found.default, attribute.name),
            helptext=said.get(attribute.name),
        )
        for attribute in attrs.fields(found.type)
    )
    return StructConstructorSpec(instantiate=found.type, fields=tuple(fields))


def with_options(description: str | None, anywhere: Mapping[str, str]) -> str:
    """A description, and options that stand anywhere."""
    width = max(map(len, anywhere), default=0)
    lines = [f"  {option:{width}}  {says}" for option, says in anywhere.items()]
    return "\n".join([(description or "").rstrip(), *(["", "Anywhere:", *lines] if lines else [])])


def usage(
    command: str,
    what: str,
    options: Any,
    arguments: list[str],
    description: str,
    known: list[str],
    anywhere: Mapping[str, str],
) -> int:
    """Help of a command that nothing was named for; exit code 0 where it was asked for.

    Raises:
        ConfigurationError: Options were given.
    """
    names = f"Known: {', '.join(known)}." if known else ""
    if arguments not in ([], ["-h"], ["--help"]):
        hint = did_you_mean(arguments[0], map(_first_word, anywhere))
        raise ConfigurationError(f"cosim {command}: needs {what}, before any option.{hint} {names}".rstrip())
    examples = description.rstrip().replace("\ncosim ", "\n  cosim ")
    about = with_options(f"{examples}\n\n{names}", anywhere)
    fields = f"Every field of a system is also an option: cosim {command} hist --help lists them."
    about = f"{about}\n\n{fields}" if what == SCENARIO else about
    parse(type(options), f"cosim {command} {what}", ["--help"], options, about)
    return 0


def in_full(arguments: list[str], *configs: Any, anywhere: Collection[str] = ()) -> list[str]:
    """The arguments with whole paths of fields, and with None where a field that may be none is.

    Args:
        anywhere: Options that were taken out before.

    Raises:
        ConfigurationError: The end of several fields' paths, or of none.
    """
    annotations: dict[str, Any] = {}
    typed: list[Typed] = []
    for config in configs:
        for path in paths_of(config):
            annotations.setdefault(path, _annotation(config, path))
    switches = {f"{p.rpartition('.')[0]}.no_{p.rpartition('.')[2]}".lstrip(".") for p in annotations}
    words, annotation = [], None
    for word in arguments:
        if not word.startswith("--"):
            name, equals, value = word.partition("=")
            if equals and not typed and full_path(name.replace("-", "_"), annotations) in annotations:
                fix = f"--over {word}" if "over" in annotations else f"{_option(name)} {value}"
                raise ConfigurationError(f"{word}: an option begins with --. Use {fix}.")
            words.append(_as_asked(word, annotation))
            if typed:
                typed[-1].words.append(words[-1])
            continue
        name, equals, value = word.partition("=")
        path = full_path(name[2:].replace("-", "_"), annotations)
        if path not in annotations:
            path = full_path(path, switches)
        annotation = annotations.get(path)
        if name != "--help" and annotation is None and path not in switches:
            known = [*(_option(end) for end in ends_of(list(annotations))), *map(_first_word, anywhere)]
            close = did_you_mean(name[2:], [option[2:] for option in known]).replace("mean ", "mean --")
            hint = elsewhere(path, configs, lambda place, kind: f"{_option(place)} {kind}") or close
            if path == "timing_only" and "evaluation.kind" in annotations:
                hint = " Use --evaluation.kind Never."  # it is an option of studies
            raise ConfigurationError(f"no option {name}.{hint} See --help.")
        typed.append(Typed(name, path, [_as_asked(value, annotation)] if equals else []))
        name = _option(path)
        words.append(f"{name}={_as_asked(value, annotation)}" if equals else name)
    for config in () if {"-h", "--help"} & {*words} else configs:
        _check_names_no_part(config, typed)
        check_numbers(config, typed)
        check_closed(config, [one.path for one in typed], _option)
    return words


def _option(path: str) -> str:
    return f"--{path.replace('_', '-')}"


def _first_word(text: str) -> str:
    return text.partition(" ")[0]


def _check_names_no_part(config: Any, typed: Collection[Typed]) -> None:
    """Refuse an option that names a part and not its kind or a field of it.

    Raises:
        ConfigurationError: Names the option of its kind.
    """
    parts = {place for place, part, _ in parts_by_path(config) if is_configuration(type(part))}
    for name, path, words in typed:
        if path in parts:
            kind = words[0] if words else "NAME"
            raise ConfigurationError(
                f"{name}: names a part, which has no value of its own. Use {name}.{KIND} {kind}."
            )


def _annotation(config: Any, path: str) -> Any:
    """The type of the field at a path; of a kind, a text."""
    annotation: Any = str
    for name in path.split("."):
        fields = attrs.fields_dict(type(config)) if attrs.has(type(config)) else {}
        if name not in fields:
            return str
        annotation, config = fields[name].type, getattr(config, name)
    return annotation


def _as_asked(word: str, annotation: Any) -> str:
    """The word, or the value of `None`, `True` and `False`."""
    choices = typing.get_args(annotation)
    if annotation in (bool, bool | None) and word.lower() in ("true", "false"):
        return word.capitalize()
    if word.lower() not in NONE:
        return word
    if types.NoneType in choices:
        return "None"
    return "none" if "none" in choices else word
