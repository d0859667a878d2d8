"""Parts that an installed package offers by an entry point go by their bare names, as ours do."""

import json
from collections import defaultdict
from importlib.metadata import EntryPoint

import own_parts
import pytest

import cosim
from cosim import doors
from cosim.configuration import ConfigurationError, from_dict, kinds, to_dict
from cosim.configuration.kinds import kind_of, kinds_of, known_kinds
from cosim.selection import Selection

GROUP = "cosim.parts"


@pytest.fixture
def offered(monkeypatch):
    """Offers of one more installed package."""
    there = kinds.offers(GROUP)

    def offer(*pairs):
        made = [EntryPoint(name=name, value=value, group=GROUP) for name, value in pairs]
        monkeypatch.setattr(kinds, "offers", lambda group: (*there, *made))

    return offer


def test_an_offered_class_is_written_read_and_listed_by_its_bare_name(offered):
    training = cosim.EdgeTraining(selection=own_parts.Fastest(num_participants=2))
    assert to_dict(training)["selection"]["kind"] == "own_parts:Fastest"
    offered(("Fastest", "own_parts:Fastest"))
    written = json.loads(json.dumps(to_dict(training)))
    assert written["selection"]["kind"] == "Fastest"
    assert from_dict(cosim.EdgeTraining, written) == training
    assert own_parts.Fastest in kinds_of(Selection)
    assert "Fastest" in known_kinds((Selection,))
    assert kind_of(own_parts.Patient) == "own_parts:Patient"


def test_a_class_of_the_same_name_that_is_not_offered_keeps_its_module(offered):
    offered(("Fastest", "own_parts:Fastest"))
    other = type("Fastest", (Selection,), {"__module__": "elsewhere"})
    assert kind_of(other) == "elsewhere:Fastest"


@pytest.mark.parametrize(
    ("kind", "pairs", "words"),
    [
        (
            "Fastest",
            [("Fastest", "no_such_module:Fastest")],
            r"no_such_module:Fastest cannot be loaded",
        ),
        (
            "Fastest",
            [("Fastest", "own_parts:NoSuchClass")],
            r"own_parts:NoSuchClass cannot be loaded",
        ),
        (
            "Quickest",
            [("Quickest", "own_parts:Fastest")],
            r"own_parts:Fastest is no class of this name",
        ),
        ("sorted", [("sorted", "builtins:sorted")], r"sorted: builtins:sorted is no class of this name"),
        (
            "A",
            [("A", "own_parts:A"), ("A", "others:A")],
            r"by others:A and by own_parts:A",
        ),
        (
            "Fastest",
            [("Oort", "others:Oort")],
            r"by others:Oort and by cosim\.selection\.oort",
        ),
    ],
)
def test_an_offer_that_cannot_be_taken_is_refused_in_one_sentence(offered, kind, pairs, words):
    offered(*pairs)
    with pytest.raises(ConfigurationError, match=words):
        from_dict(cosim.EdgeTraining, {"selection": {"kind": kind}})


def test_a_name_of_ours_stands_for_one_class():
    homes = defaultdict(set)
    for stub in doors.FOLDER.glob(f"*/{doors.STUB}"):
        for name, home in doors.homes(f"cosim.{stub.parent.name}").items():
            homes[name].add(home)
    assert len(homes) > 200
    assert {name: of for name, of in homes.items() if len(of) > 1} == {}
