"""Forms: a part is written in one form, and the engine derives the others.

A port names the forms that its kinds may have, and the methods of each::

    class Waiting(Port):
        forms = one_of(numbers=("deadline_s", "num_wanted"), events=("wait",))

What the port itself defines is a default, or derived from what a kind gives. A class that gives methods of
two forms, by itself, by a base or by a mixin, cannot be made: one clock would bypass one of them. A class
that gives none is a base for others, and has no instances. What wraps another part of its port names the
field (`wraps`), passes the methods on, and has the form of what it wraps (`form_of`).

A form without methods is that of the classes that give none of the others: what the port defines is enough::

    class Task(Port):
        forms = one_of(cross_entropy=(), loss=("loss",))

A method without which a kind does is declared `@optional`; the port asks whether it is None.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, cast

from cosim.configuration.rules import ConfigurationError

Method = TypeVar("Method", bound=Callable[..., Any])


def one_of(**forms: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Form -> its methods."""
    return MappingProxyType(forms)


class Forms:
    """Base of what is written in one form.

    Attributes:
        forms: Form -> its methods; a port names them.
        form: The form of a class. None means that it has none, or has the form of what it wraps.
        wraps: The field with the part that it wraps. None means that it wraps no part.
    """

    __slots__ = ()
    forms: ClassVar[Mapping[str, tuple[str, ...]]] = one_of()
    form: ClassVar[str | None] = None
    wraps: ClassVar[str | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        given = _given(cls)
        if given and cls.wraps is not None:
            method = next(iter(given.values()))
            raise ConfigurationError(
                f"{method}: a {cls.__name__} takes its form from the {cls.wraps} that it wraps, so one "
                f"of the clocks would not call this method. Write a {_port(cls).__name__} of your own, "
                f"and use it as {cls.wraps}."
            )
        if len(given) > 1:
            (one, first), (other, second) = list(given.items())[:2]
            raise ConfigurationError(
                f"{cls.__name__} has two forms, {one} ({first}) and {other} ({second}): a part is written in "
                "one, and the other follows from it. Leave one of them out, or derive from "
                f"{_port(cls).__name__}."
            )
        cls.form = next(iter(given), next((form for form, methods in cls.forms.items() if not methods), None))

    def __new__(cls, *_args: Any, **_fields: Any) -> Any:
        if _gives_none(cls):
            methods = " or ".join(methods[0] for methods in cls.forms.values())
            raise ConfigurationError(
                f"{cls.__name__} gives none of the forms of a {_port(cls).__name__}. Write {methods}."
            )
        return super().__new__(cls)


def is_base(cls: Any) -> bool:
    """True of a class without instances: an abstract one, or one that gives none of its forms."""
    return inspect.isabstract(cls) or (isinstance(cls, type) and issubclass(cls, Forms) and _gives_none(cls))


def _gives_none(cls: type[Forms]) -> bool:
    return bool(cls.forms) and cls.form is None and cls.wraps is None


def form_of(part: Forms) -> str | None:
    """The form of a part, or of what it wraps."""
    return part.form if part.wraps is None else form_of(getattr(part, part.wraps))


def _port(cls: type) -> type:
    """The class that names the forms."""
    return next(kind for kind in cls.__mro__ if "forms" in vars(kind))


def _given(cls: type[Forms]) -> dict[str, str]:
    """Form -> the first of its methods that a class gives below its port or wrapper, as Class.method."""
    base = next(kind for kind in cls.__mro__ if vars(kind).get("wraps") or "forms" in vars(kind))
    below = cls.__mro__[: cls.__mro__.index(base)]
    found = {}
    for form, methods in cls.forms.items():
        for kind, method in ((kind, method) for kind in below for method in methods):
            if method in vars(kind):
                found.setdefault(form, f"{kind.__name__}.{method}")
    return found


def optional(method: Method) -> Method:
    """Declare a method that a kind may leave out: where it does, it is None."""
    return cast(Method, None)


def for_each(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Write a rule for one client where a port asks for the numbers of many.

    The rule gets a client in place of `clients`, and its own element of every array that has one for each, or
    what an object says that it sees (`of_one`)::

        @for_each
        def of_clients(self, sim, client, job):
            return 2e6 if client.endswith("7") else 1e6
    """

    @wraps(rule)
    def of_many(self: Any, sim: Any, clients: Any, *given: Any, **named: Any) -> Any:
        import numpy as np  # what lists and helps needs none

        num = len(clients)

        def own(value: Any, place: int) -> Any:
            if hasattr(value, "of_one"):
                return value.of_one(place)
            is_each = isinstance(value, np.ndarray) and value.shape[:1] == (num,)
            return value[place] if is_each else value

        return np.array(
            [
                rule(
                    self,
                    sim,
                    client,
                    *(own(value, place) for value in given),
                    **{name: own(value, place) for name, value in named.items()},
                )
                for place, client in enumerate(clients)
            ]
        )

    return of_many
