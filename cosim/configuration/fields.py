"""Fields: configurations are frozen classes whose fields check themselves.

A configuration *is* the object it configures. Every value passes its type and its rules when the
object is made, by Python, command line or JSON alike, so nothing invalid reaches the clock. Types are
strict: a bool is no number, 1.5 is no count, and no float is NaN or infinite. A field takes objects of the
class that it names, and of its subclasses.

Usage::

    @part
    class Band:
        \"\"\"The uplink band of one cell.

        Attributes:
            bandwidth_hz: Width of the band. [HIST journal, Section VI-C]
        \"\"\"

        bandwidth_hz: float = knob(positive, default=20e6)

The text in brackets at the end of an attribute's description names its source; `cosim show` prints it.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, dataclass_transform

import attrs
import cattrs

from cosim.configuration.field_types import (
    Mismatch,
    check_names,
    example,
    field_for,
    strict,
    takes_number,
    type_name,
)
from cosim.configuration.kinds import is_configuration
from cosim.configuration.rules import ConfigurationError, Rule, refuse, shown

C = TypeVar("C")


class Unchangeable(ConfigurationError, attrs.exceptions.FrozenInstanceError):
    """A field of a configuration is assigned to."""


def knob(*rules: Rule, default: Any = attrs.NOTHING) -> Any:
    """Field of a part, with rules that its values keep.

    None skips the rules, because it means "off". Of a part that stands for a number, each number is checked.
    """

    def check(instance: Any, attribute: "attrs.Attribute[Any]", value: Any) -> None:
        is_kind = is_configuration(type(value)) and takes_number(attribute.type)
        for rule in () if value is None or is_kind else rules:
            broken = rule(value)
            if broken is not None:
                raise refuse(type(instance), attribute.name, value, broken, default=attribute.default)

    return attrs.field(default=default, validator=check)


def _typed(owner: type, fields: list["attrs.Attribute[Any]"]) -> list["attrs.Attribute[Any]"]:
    def conform(value: Any, _instance: Any, attribute: "attrs.Attribute[Any]") -> Any:
        try:
            return strict.structure(value, attribute.type)  # type: ignore[arg-type]
        except ConfigurationError:
            raise
        except cattrs.StructureHandlerNotFoundError:
            rule = f"a {type_name(attribute.type)} has no form in files"
            fix = "Use numbers, texts, tuples of them, or configurations."
            raise refuse(owner, attribute.name, value, rule, fix) from None
        except (ValueError, TypeError) as error:
            expected = type_name(attribute.type)
            why = f" ({error.of_field(attribute.name)})" if isinstance(error, Mismatch) else ""
            message = f"must be {expected}{why}"
            fix = example(value, attribute)
            raise refuse(owner, attribute.name, value, message, fix, default=attribute.default) from None

    converter = attrs.Converter(conform, takes_self=True, takes_field=True)  # type: ignore[call-overload]
    return [a.evolve(converter=converter) for a in fields]


def _check_body(cls: type) -> None:
    """Refuse what attrs passes over: a field's value without its type, and a constructor of one's own."""
    inherited = {a.name for base in cls.__mro__[1:] if attrs.has(base) for a in attrs.fields(base)}
    _refuse_body(cls, [name for name in vars(cls) if name in inherited and name not in _annotated(cls)])


def _check_class(config: Any) -> None:
    """Refuse an object of a subclass that has lost its decorator, and with it fields of its own."""
    for cls in type(config).__mro__:
        if "__attrs_attrs__" in vars(cls):
            return
        fields = attrs.fields_dict(type(config))
        _refuse_body(cls, [*_annotated(cls), *(name for name in vars(cls) if name in fields)])


def _annotated(cls: type) -> list[str]:
    return [
        name for name, kind in vars(cls).get("__annotations__", {}).items() if "ClassVar" not in str(kind)
    ]


def _refuse_body(cls: type, ignored: list[str]) -> None:
    if ignored:
        raise ConfigurationError(
            f"{cls.__name__}.{ignored[0]}: would be ignored. Write {ignored[0]}: TYPE = VALUE, in a "
            "class with @part.",
            f"{cls.__name__}.{ignored[0]}",
        )
    if "__init__" in vars(cls):
        raise ConfigurationError(
            f"{cls.__name__}.__init__: its values would not be saved. Use fields, in a class with @part."
        )


def _refuse_places(cls: type, given: tuple[Any, ...], named: dict[str, Any]) -> ConfigurationError:
    """The error for fields that are given by their place: their names, as they may have been meant."""
    taken, meant = [*named], []
    for value in given:
        name, one = next(
            ((name, one) for one in (value, (value,)) if (name := field_for(cls, one, taken))), ("...", value)
        )
        taken.append(name)
        meant.append(f"{name}={shown(one)}")
    return ConfigurationError(
        f"{cls.__name__} takes fields by their names only. Use {cls.__name__}({', '.join(meant)})."
    )


def _refuse_change(self: Any, name: str, value: Any) -> None:
    raise Unchangeable(
        f"{type(self).__name__}.{name}: a configuration never changes. Make another one: "
        f"cosim.evolve(..., {name}={shown(value)})."
    )


def _by_known_names(cls: type) -> Callable[..., None]:
    """The constructor of a class, which says what it takes where it is given something else."""
    init, known = cls.__init__, frozenset(attrs.fields_dict(cls))
    required = {a.name for a in attrs.fields(cls) if a.default is attrs.NOTHING}

    @wraps(init)
    def checked(self: Any, *given: Any, **named: Any) -> None:
        if given:
            raise _refuse_places(type(self), given, named)
        if not (known.issuperset(named) and required.issubset(named)):
            check_names(type(self), named)
        init(self, **named)

    return checked


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(knob, attrs.field))
def part(cls: type[C]) -> type[C]:
    """Make a class a part of a system: frozen, keyword-only, with fields that check their types and rules."""
    _check_body(cls)
    cls.__attrs_pre_init__ = _check_class  # type: ignore[attr-defined]
    made = attrs.frozen(cls, kw_only=True, field_transformer=_typed)
    made.__configuration__ = True  # type: ignore[attr-defined]
    made.__init__ = _by_known_names(made)  # type: ignore[method-assign]
    made.__setattr__ = _refuse_change  # type: ignore[method-assign,assignment]
    return made
