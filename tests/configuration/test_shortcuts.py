"""Shortcuts stand for methods by the order in which Python looks them up, mixins among the classes."""

from collections.abc import Iterator

import pytest

import cosim
from cosim.configuration import HELPERS, Shortcuts, passed_over, stand_for


class Way(Shortcuts):
    shortcuts = stand_for(many=("one", HELPERS))

    def one(self):
        return "one"

    def many(self):
        return None

    def rate(self):
        return 1


class Quick(Way):
    def one(self):
        return self.helper()

    def helper(self):
        return "quick"

    def _secret(self):
        return 0

    def many(self):
        return "many"


class OwnOne:
    def one(self):
        return "mine"


class OwnHelper:
    def helper(self):
        return "mine"


class OwnMany:
    def many(self):
        return "mine"


class OwnRate:
    def rate(self):
        return 2


class OwnSecret:
    def _secret(self):
        return 1


class OwnData:
    some = 3

    def another(self):
        return 4


@pytest.mark.parametrize(
    ("bases", "many", "method"),
    [
        ((Quick,), "many", None),
        ((OwnOne, Quick), None, "OwnOne.one"),
        ((Quick, OwnOne), "many", None),
        ((OwnHelper, Quick), None, "OwnHelper.helper"),
        ((OwnSecret, Quick), None, "OwnSecret._secret"),
        ((OwnRate, Quick), "many", None),
        ((OwnData, Quick), "many", None),
        ((OwnMany, OwnOne, Quick), "mine", None),
        ((OwnOne, OwnMany, Quick), None, "OwnOne.one"),
        ((OwnMany, type("Slow", (OwnOne, Quick), {})), "mine", None),
        ((type("Slow", (OwnOne, Quick), {}),), None, "OwnOne.one"),
        ((OwnOne, Way), None, None),
    ],
)
def test_the_more_derived_of_a_shortcut_and_its_methods_counts(bases, many, method):
    made = type("Made", bases, {})()
    assert made.many() == many
    assert passed_over(made) == method


def with_shortcuts(of: type) -> Iterator[tuple[type, str, str]]:
    """Each class of ours below, each shortcut that it has, and each method for which that stands."""
    for cls in of.__subclasses__():
        names = {name: None for kind in cls.__mro__ for name in vars(kind).get("shortcuts", {})}
        for name in names if cls.__module__.startswith("cosim.") else ():
            kinds = [kind for kind in cls.__mro__ if name in vars(kind)]
            stands_for = {m: None for k in cls.__mro__ for m in vars(k).get("shortcuts", {}).get(name, ())}
            if kinds[0] is not kinds[-1]:
                yield from ((cls, name, method) for method in stands_for if hasattr(cls, method))
        yield from with_shortcuts(cls)


def test_every_shortcut_of_ours_gives_way_to_a_mixin():
    for name in cosim.__all__:
        getattr(cosim, name)
    found = dict.fromkeys(with_shortcuts(Shortcuts))
    for cls, name, method in found:
        port = [kind for kind in cls.__mro__ if name in vars(kind)][-1]
        mixin = type("Mixin", (), {method: lambda self: None})
        if any(method in of for form, of in getattr(cls, "forms", {}).items() if form != cls.form):
            continue  # that class would have two forms
        own = type("Own", (mixin, cls), {})
        assert vars(own)[name] is vars(port)[name], (cls, name, method)
        assert own.passed_over[name] == f"Mixin.{method}"
