"""Claims: statements of a class about its own methods, void in a subclass that overrides one of them.

A port names its claims, and the methods that each claim is about; its own statement holds for any method::

    class Metric(Port):
        claims = said_of(takes_no_answers=("scores",))
        takes_no_answers: ClassVar[bool] = False

A kind with `takes_no_answers = True` claims it for its `scores`. In a subclass with other `scores` the port's
statement holds again, unless the subclass makes its own claim; the same goes for mixins, in the order of
Python's method resolution.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar


def said_of(**methods: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Claim -> the methods that it is about."""
    return MappingProxyType(methods)


class Claims:
    """Base of what makes claims.

    Attributes:
        claims: Claim -> the methods that it is about; a port names them.
        void: Claim that a class has lost -> the method because of which, as Class.method.
    """

    __slots__ = ()
    claims: ClassVar[Mapping[str, tuple[str, ...]]] = said_of()
    void: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        void, lost = dict(cls.void), {}
        for claim, methods in cls.claims.items():
            makers = [kind for kind in cls.__mro__ if claim in vars(kind)]
            usual = vars(makers[-1])[claim]
            before = cls.__mro__[: cls.__mro__.index(makers[0])]
            others = [f"{kind.__name__}.{name}" for kind in before for name in methods if name in vars(kind)]
            if others and makers[0] is not makers[-1]:
                lost[claim], void[claim] = usual, others[0]
            elif vars(makers[0])[claim] is not usual:
                void.pop(claim, None)
        for claim, usual in lost.items():
            setattr(cls, claim, usual)
        if void != cls.void:
            cls.void = void
