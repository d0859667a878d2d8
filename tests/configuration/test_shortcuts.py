"""Shortcuts stand for methods by the order in which Python looks them up, mixins among the classes."""

import pytest

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
