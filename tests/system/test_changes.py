"""Changes: other values of some fields, by the names of the command line."""

import json
import math

import pytest

from cosim import (
    ConfigurationError,
    GivenSnr,
    HFedAvg,
    PerGroup,
    QueuedLink,
    Radio,
    SameSteps,
    System,
    evolve,
)
from cosim.configuration import from_dict, to_dict
from cosim.radio import RedividedShares
from cosim.selection import Oort
from cosim.system.drafts import finished, with_kind

pytestmark = pytest.mark.quick

BASE = System()


def test_a_value_is_changed_by_as_much_of_its_path_as_tells_it_from_the_others() -> None:
    radio = BASE.uplink
    assert isinstance(radio, Radio)
    wider = evolve(BASE, uplink=evolve(radio, sharing=evolve(radio.sharing, bandwidth_hz=2e6)))  # type: ignore[call-arg]
    assert BASE.but(bandwidth_hz=2e6) == wider
    assert BASE.but({"uplink.sharing.bandwidth_hz": 2e6}) == wider
    assert BASE.but() == BASE


def test_a_kind_keeps_what_both_have_and_comes_before_its_fields() -> None:
    found = BASE.but({"protocol.kind": "HFedAvg", "selection.num_participants": 3, "selection.kind": "Oort"})
    assert isinstance(found.protocol, HFedAvg)
    assert found.protocol.training.selection == Oort(num_participants=3)
    assert found.protocol.training.local == BASE.protocol.training.local


def test_a_part_may_be_given_whole() -> None:
    assert BASE.but(uplink=QueuedLink()).uplink == QueuedLink()
    assert BASE.but(sharing=RedividedShares()).uplink == Radio(sharing=RedividedShares())
    assert BASE.but(snr_db=PerGroup(values=(10.0,))).uplink.link.snr_db.numbers == (10.0,)  # type: ignore[attr-defined]


def test_a_plain_number_stands_for_the_kind_of_one_value() -> None:
    found = BASE.but(snr_db=20, min_frequency_hz=1e9, steps=7)
    assert found.uplink.link == GivenSnr(snr_db=PerGroup(values=(20.0,)))  # type: ignore[attr-defined]
    assert found.devices.min_frequency_hz == PerGroup(values=(1e9,))  # type: ignore[attr-defined]
    assert found.protocol.training.steps == SameSteps(num_local_steps=7)
    assert to_dict(found) == to_dict(from_dict(System, json.loads(json.dumps(to_dict(found)))))
    assert to_dict(found)["uplink"]["link"]["snr_db"] == {"kind": "PerGroup", "values": [20.0]}  # type: ignore[index]


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (-400.0, "must lie from -300 to 300"),
        (math.nan, "each a finite number"),
        (True, "must be a number or a Values"),
        ("20", "must be a number or a Values"),
    ],
)
def test_a_plain_value_obeys_the_rules_of_its_field(number: object, message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        GivenSnr(snr_db=number)  # type: ignore[arg-type]
    assert message in str(refused.value)


def test_a_number_of_steps_is_a_whole_one() -> None:
    with pytest.raises(ConfigurationError, match="must be a whole number"):
        BASE.but(steps=2.5)


@pytest.mark.parametrize(
    ("changes", "values", "message"),
    [
        ({}, {"bandwith_hz": 1e6}, "bandwith_hz: there is no such field. Did you mean bandwidth_hz"),
        ({}, {"bandwidth_hz": -1.0}, "FixedShares.bandwidth_hz = -1: must be above 0"),
        ({"seed": 1}, {"seed": 2}, "seed: is given twice"),
        ({"sharing.bandwidth_hz": 1e6}, {"bandwidth_hz": 2e6}, "uplink.sharing.bandwidth_hz is given twice"),
        ({"protocol.kind": "HFedAvgg"}, {}, "Did you mean HFedAvg"),
        (["seed"], {}, "must be names of fields with their values"),
        ({}, {"kind": "HFedAvg"}, "kind: may be"),
    ],
)
def test_what_cannot_be_is_refused(
    changes: dict[str, object], values: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        BASE.but(changes, **values)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "Sgd.learning_rate = {'kind': True}: must be a finite number or a Schedule"),
        (math.nan, "Sgd.learning_rate = nan: must be a finite number or a Schedule"),
    ],
)
def test_what_is_no_number_is_refused_where_a_kind_may_be_one(value: object, message: str) -> None:
    path = ["protocol", "training", "local", "learning_rate"]
    with pytest.raises(ConfigurationError) as refused:
        finished(with_kind(BASE, path, value))
    assert message in str(refused.value)
