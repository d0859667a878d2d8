"""Claims hold of the methods of which they are made, mixins among the classes."""

from collections.abc import Iterator

import pytest

from cosim.configuration import said_of
from cosim.configuration.claims import Claims
from cosim.configuration.kinds import kinds_of


class Way(Claims):
    claims = said_of(is_quick=("one",))
    is_quick = None

    def one(self):
        return "one"

    def rate(self):
        return 1


class Quick(Way):
    is_quick = True

    def one(self):
        return "quick"


class OwnOne:
    def one(self):
        return "mine"


class OwnClaim:
    is_quick = "mine"


class OwnRate:
    def rate(self):
        return 2


SLOW = type("Slow", (OwnOne, Quick), {})


@pytest.mark.parametrize(
    ("bases", "said", "void"),
    [
        ((Quick,), True, {}),
        ((OwnOne, Quick), None, {"is_quick": "OwnOne.one"}),
        ((Quick, OwnOne), True, {}),
        ((OwnRate, Quick), True, {}),
        ((OwnClaim, OwnOne, Quick), "mine", {}),
        ((OwnOne, OwnClaim, Quick), None, {"is_quick": "OwnOne.one"}),
        ((SLOW,), None, {"is_quick": "OwnOne.one"}),
        ((OwnClaim, SLOW), "mine", {}),
        ((type("Slower", (SLOW,), {"is_quick": True}),), True, {}),
        ((OwnOne, Way), None, {}),
    ],
)
def test_a_claim_is_void_where_a_more_derived_class_has_the_method(bases, said, void):
    made = type("Made", bases, {})
    assert made().is_quick == said
    assert made.void == void


def claims_of(of: type) -> Iterator[tuple[type, str, str]]:
    """Each class of ours that makes a claim, the claim, and each method that it is about."""
    for cls in of.__subclasses__():
        if cls.__module__.startswith("cosim."):
            for claim, methods in cls.claims.items():
                makers = [kind for kind in cls.__mro__ if claim in vars(kind)]
                if makers[0] is not makers[-1]:
                    yield from ((cls, claim, method) for method in methods if hasattr(cls, method))
        yield from claims_of(cls)


def test_every_claim_of_ours_is_void_below_a_mixin():
    kinds_of(object)  # loads all
    found = dict.fromkeys(claims_of(Claims))
    assert {claim for _, claim, _ in found} == {
        *("num_gradients", "takes_no_answers", "relative_variance", "outline"),
        *("most_rounds", "most_versions", "jobs_per_round", "num_jobs"),
    }
    for cls, claim, method in found:
        if any(method in of for form, of in cls.forms.items() if form != cls.form):
            continue  # such a class would have two forms
        port = [kind for kind in cls.__mro__ if claim in vars(kind)][-1]
        own = type("Own", (type("Mixin", (), {method: lambda self: None}), cls), {})
        assert vars(own)[claim] is vars(port)[claim], (cls, claim, method)
        assert own.void[claim] == f"Mixin.{method}"
    lost = {(cls.__name__, claim) for cls, claim, _ in found if claim in cls.void}
    assert lost == {("Scaffold", "num_gradients")}  # its steps add up to more than gradients
