"""Shortcuts: what a class says beside a method so that the method need not be asked one by one.

Arrays in place of events, a program for many clients in place of a function for each, a property that says
what a method does. A port names its shortcuts, and the methods that each of them stands for::

    class Link(Shortcuts):
        shortcuts = stand_for(uploads=("open", HELPERS))

A shortcut stands for a method as long as no class that is more derived than the shortcut's own overrides the
method, by the order in which Python looks methods up: a mixin counts. Else the class has the port's own
shortcut, which knows nothing beforehand, or asks the method. So no method that a class overrides goes
unasked.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import GetSetDescriptorType, MappingProxyType, MemberDescriptorType
from typing import Any, ClassVar

HELPERS = "helpers"
"""Among the methods that a shortcut stands for: all that the port does not know, and private ones."""


def stand_for(**methods: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Shortcut -> the methods that it stands for."""
    return MappingProxyType(methods)


class Shortcuts:
    """Base of what has shortcuts.

    Attributes:
        shortcuts: Shortcut -> the methods that it stands for; a class may add to those of its bases.
        passed_over: Shortcut that a class has lost -> the method because of which, as Class.method.
    """

    __slots__ = ()
    shortcuts: ClassVar[Mapping[str, tuple[str, ...]]] = stand_for()
    passed_over: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in {name: None for kind in cls.__mro__ for name in vars(kind).get("shortcuts", ())}:
            kinds = [kind for kind in cls.__mro__ if name in vars(kind)]
            own, port = kinds[0], kinds[-1]
            method = _more_derived(cls, name, own, port)
            if method is not None:
                setattr(cls, name, vars(port)[name])
                cls.passed_over = {**cls.passed_over, name: method}
            elif name in cls.passed_over and vars(own)[name] is not vars(port)[name]:
                cls.passed_over = {lost: of for lost, of in cls.passed_over.items() if lost != name}


def _more_derived(cls: type, name: str, own: type, port: type) -> str | None:
    """The first method that a shortcut of a class does not stand for; None: it stands for all."""
    if own is port:
        return None
    place = cls.__mro__.index(own)
    before, known = cls.__mro__[:place], cls.__mro__[place:]
    stands_for = {method for kind in cls.__mro__ for method in vars(kind).get("shortcuts", {}).get(name, ())}
    for kind in before:
        for method in _methods(kind):
            is_helper = method.startswith("_") or not hasattr(port, method)
            is_meant = method in stands_for or (is_helper and HELPERS in stands_for)
            if is_meant and _overrides(kind, method, known):
                return f"{kind.__name__}.{method}"
    return None


def _overrides(kind: type, method: str, bases: Sequence[type]) -> bool:
    """Whether a class has a method of its own in place of that of bases, and not only a lost shortcut."""
    before = [vars(base)[method] for base in bases if method in vars(base)]
    return bool(before) and all(vars(kind)[method] is not one for one in before)


def own_methods(kind: type, base: type) -> list[str]:
    """The methods of a base that a class overrides."""
    before = kind.__mro__[: kind.__mro__.index(base)]
    return [name for one in before for name in _methods(one) if hasattr(base, name)]


def _methods(kind: type) -> Iterator[str]:
    for name, value in vars(kind).items():
        is_slot = isinstance(value, MemberDescriptorType | GetSetDescriptorType)
        if hasattr(type(value), "__get__") and not is_slot and not name.startswith("__"):
            yield name
