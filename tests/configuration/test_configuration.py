"""Configurations check themselves: types, rules, names, and a JSON form that gives back the same object."""

import json
import math
import sys
from pathlib import Path
from typing import Any, Literal

import attrs
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cosim
from cosim.configuration import (
    ConfigurationError,
    a_share,
    at_least,
    between,
    from_dict,
    knob,
    not_empty,
    not_negative,
    part,
    positive,
    to_dict,
)
from cosim.configuration.kinds import is_configuration


@part
class Wait:
    """Wait for all."""


@part
class Deadline:
    """Wait so long."""

    deadline_s: float = knob(positive, default=1.0)


@part
class Band:
    """Nested: one class, no choice."""

    bandwidth_hz: float = knob(positive, default=20e6)
    shares: tuple[float, ...] = knob(not_empty, between(0.0, 1.0), default=(1.0,))


@part
class Portion:
    """A share."""

    portion: float = knob(a_share, default=1.0)


@part
class Small:
    """Every kind of field there is."""

    num_rounds: int = knob(at_least(1), default=3)
    power_w: float = knob(not_negative, default=0.5)
    name: str = "a"
    shuffled: bool = False
    split: Literal["iid", "shards"] = "iid"
    every: int | None = knob(at_least(2), default=None)
    delay_s: float | None = None
    range_hz: tuple[float, float] = (1.0, 2.0)
    sizes: tuple[int, ...] | None = None
    steps: tuple[tuple[int, float], ...] = ()
    band: Band = Band()
    spare: Band | None = None
    stop: Wait | Deadline = Wait()
    late: Wait | Deadline | None = None


@part
class Required:
    """Two fields without a default."""

    rate_bps: float
    num_cells: int = attrs.field()
    label: str = "x"


def refused(make: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        make()
    return str(caught.value)


# --- Types ------------------------------------------------------------------------------------------------

NOT_AN_INT = [True, False, 1.5, 1.0, "1", None, (1,), math.nan, np.float64(1.0)]
NOT_A_FLOAT = [True, False, "1.0", None, (1.0,), 1j, math.nan, math.inf, -math.inf, 10**400, -(10**400)]
NOT_A_STR = [1, None, b"a", ("a",)]
NOT_A_BOOL = [0, 1, "true", None, 1.0]
WRONG = [
    *(("num_rounds", value) for value in NOT_AN_INT),
    *(("power_w", value) for value in NOT_A_FLOAT),
    *(("name", value) for value in NOT_A_STR),
    *(("shuffled", value) for value in NOT_A_BOOL),
    *(("split", value) for value in ["IID", "", 1, None, ("iid",)]),
    *(("every", value) for value in NOT_AN_INT if value is not None),
    *(("delay_s", value) for value in NOT_A_FLOAT if value is not None),
    *(
        ("range_hz", value)
        for value in [(1.0,), (1.0, 2.0, 3.0), (), 1.0, "12", None, (1.0, True), (1.0, math.nan)]
    ),
    *(("sizes", value) for value in [3, "12", (1.5,), (1, True), (1, None), {1: 2}, {1, 2}]),
    *(("steps", value) for value in [(1, 2.0), ((1,),), ((1.5, 2.0),), ((1, 2.0), (1, "2"))]),
    *(("band", value) for value in [None, 1, "Band", (20e6,), Wait()]),
    *(("spare", value) for value in [1, Wait(), ()]),
    *(("stop", value) for value in [None, "Wait", 1, {}, {"kind": "Band"}, {"deadline_s": 1.0}, Band()]),
    *(("late", value) for value in ["Wait", {}, {"kind": None}, Band()]),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=lambda value: f"{value!r:.12}")
def test_a_value_of_another_type_is_refused_by_python_and_by_json(name, value):
    for make in (
        lambda: Small(**{name: value}),
        lambda: from_dict(Small, {name: value}),
        lambda: attrs.evolve(Small(), **{name: value}),
    ):
        message = refused(make)
        assert name in message or "Band" in message


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("power_w", 1, 1.0),
        ("power_w", np.float64(0.25), 0.25),
        ("power_w", np.float32(0.25), 0.25),
        ("power_w", np.array(0.25), 0.25),
        ("num_rounds", np.int64(3), 3),
        ("shuffled", np.True_, True),
        ("name", np.str_("b"), "b"),
        ("name", Path("b/c"), "b/c"),
        ("sizes", range(1, 3), (1, 2)),
        ("sizes", np.array([1, 2]), (1, 2)),
        ("range_hz", pd.Series([1, 2]), (1.0, 2.0)),
        ("power_w", sys.float_info.max, sys.float_info.max),
        ("power_w", 10**300, 1e300),
        ("num_rounds", 10**400, 10**400),
        ("delay_s", 2, 2.0),
        ("delay_s", None, None),
        ("range_hz", [1, 2], (1.0, 2.0)),
        ("sizes", [], ()),
        ("sizes", [1, 2], (1, 2)),
        ("steps", [[1, 2], (3, 4.5)], ((1, 2.0), (3, 4.5))),
        ("band", {"bandwidth_hz": 5}, Band(bandwidth_hz=5.0)),
        ("spare", {}, Band()),
        ("spare", None, None),
        ("stop", {"kind": "Wait"}, Wait()),
        ("stop", {"kind": "Deadline", "deadline_s": 2}, Deadline(deadline_s=2.0)),
        ("stop", Deadline(), Deadline()),
        ("late", None, None),
        ("late", {"kind": "Deadline"}, Deadline()),
        ("late", Wait(), Wait()),
    ],
    ids=lambda value: f"{value!r:.12}",
)
def test_a_value_of_the_right_kind_becomes_the_right_type(name, given, kept):
    for config in (
        Small(**{name: given}),
        from_dict(Small, {name: given}),
        attrs.evolve(Small(), **{name: given}),
    ):
        value = getattr(config, name)
        assert value == kept
        assert type(value) is type(kept)


def test_whole_numbers_become_floats_in_tuples_too():
    config = Small(range_hz=(1, 2), steps=((1, 2),))
    assert [type(value) for value in (*config.range_hz, *config.steps[0])] == [float, float, int, float]


# --- Rules and messages -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Small(power_w=-0.5),
            "Small.power_w = -0.5: must be 0 or above. Use the default, 0.5 W.",
        ),
        (
            lambda: Small(num_rounds=0),
            "Small.num_rounds = 0: must be at least 1. Use the default, 3.",
        ),
        (
            lambda: Small(num_rounds=1.5),
            "Small.num_rounds = 1.5: must be a whole number (got float). Use the default, 3.",
        ),
        (
            lambda: Small(num_rounds=True),
            "Small.num_rounds = True: must be a whole number (got bool). Use the default, 3.",
        ),
        (
            lambda: Small(power_w=math.nan),
            "Small.power_w = nan: must be a finite number. Use the default, 0.5 W.",
        ),
        (lambda: Small(every=1), "Small.every = 1: must be at least 2. Use the default, None."),
        (
            lambda: Small(split="dirichlet"),
            "Small.split = 'dirichlet': must be one of 'iid', 'shards' (no such choice). "
            "Use the default, 'iid'.",
        ),
        (
            lambda: Small(delay_s="1"),
            "Small.delay_s = '1': must be a finite number or none (off) (got str). Use the default, None.",
        ),
        (
            lambda: Small(range_hz=(1.0,)),
            "Small.range_hz = (1.0,): must be a list of 2, each a finite number (got 1 items). "
            "Use the default, (1.0, 2.0) Hz.",
        ),
        (
            lambda: Band(shares=()),
            "Band.shares = (): must have at least one item. Use the default, (1.0,).",
        ),
        (
            lambda: Band(shares=(0.5, 1.5)),
            "Band.shares = (0.5, 1.5): must lie from 0 to 1. Use the default, (1.0,).",
        ),
        (
            lambda: Portion(portion=80.0),
            "Portion.portion = 80: must lie from 0 to 1. Use 0.8 for 80 %.",
        ),
        (
            lambda: Portion(portion=101.0),
            "Portion.portion = 101: must lie from 0 to 1. Use the default, 1.",
        ),
        (
            lambda: Portion(portion=-5.0),
            "Portion.portion = -5: must lie from 0 to 1. Use the default, 1.",
        ),
        (
            lambda: Required(rate_bps=math.inf, num_cells=1),
            "Required.rate_bps = inf: must be a finite number. Give rate_bps in bit/s.",
        ),
        (
            lambda: Required(rate_bps=1.0, num_cells="2"),
            "Required.num_cells = '2': must be a whole number (got str). Use another num_cells.",
        ),
        (
            lambda: Small(stop={"kind": "Never"}),
            "Small.stop = {'kind': 'Never'}: must be a Wait or a Deadline "
            "(its 'kind' must be one of Wait, Deadline, or module:Class of your own. Never is a kind of "
            "EvaluationTimes). Use the default, Wait.",
        ),
    ],
)
def test_a_refusal_names_class_field_value_rule_and_usual_fix(make, message):
    assert refused(make) == message


@pytest.mark.parametrize(
    "make",
    [
        lambda: Small(band={"bandwidth_hz": -1.0}),
        lambda: from_dict(Small, {"band": {"bandwidth_hz": -1.0}}),
        lambda: from_dict(Small, {"spare": {"bandwidth_hz": -1.0}}),
    ],
)
def test_a_refusal_deep_inside_names_the_inner_class(make):
    assert refused(make).startswith("Band.bandwidth_hz = -1: must be above 0.")


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (positive, [1e-300, 5, (1.0, 2.0), ()], [0, 0.0, -1.0, (1.0, 0.0)]),
        (not_negative, [0, 0.0, 1.0, (0.0, 1.0)], [-1e-300, (1.0, -1.0)]),
        (not_empty, [(1,), "a"], [(), ""]),
        (at_least(2), [2, 2.0, 3, (2, 5)], [1, 1.999, (2, 1)]),
        (between(-1.0, 1.0), [-1.0, 0, 1.0, (-1.0, 1.0)], [1.0000001, -2, (0.0, 3.0)]),
    ],
)
def test_rules_at_their_limits(rule, good, bad):
    assert [rule(value) for value in good] == [None] * len(good)
    assert all(isinstance(rule(value), str) for value in bad)


def test_rules_hold_after_evolve_and_none_skips_them():
    assert refused(lambda: attrs.evolve(Small(), every=0)).startswith("Small.every = 0: must be at least 2")
    assert attrs.evolve(Small(every=4), every=None).every is None


# --- Names ------------------------------------------------------------------------------------------------


def test_an_unknown_field_lists_the_known_ones_and_suggests_the_nearest():
    assert refused(lambda: from_dict(Band, {"bandwith_hz": 1.0})) == (
        "Band has no field 'bandwith_hz'. Did you mean bandwidth_hz? Known fields: bandwidth_hz, shares."
    )
    assert refused(lambda: from_dict(Small, {"band": {"zzz": 1.0}})) == (
        "Band has no field 'zzz'. Known fields: bandwidth_hz, shares."
    )
    assert refused(lambda: from_dict(Small, {"stop": {"kind": "Deadline", "deadline": 1.0}})) == (
        "Deadline has no field 'deadline'. Did you mean deadline_s? Known fields: deadline_s."
    )


@pytest.mark.parametrize("make", [lambda: Small(num_round=3), lambda: attrs.evolve(Small(), num_round=3)])
def test_an_unknown_field_in_python_is_refused_in_the_same_words(make):
    assert refused(make).startswith(
        "Small has no field 'num_round'. Did you mean num_rounds? Known fields: num_rounds, power_w, "
    )


def test_an_unknown_field_that_a_part_has_is_found_there():
    assert refused(lambda: attrs.evolve(cosim.System(), bandwidth_hz=1e6)).startswith(
        "System has no field 'bandwidth_hz'. Its part uplink.sharing has it. "
        "Use uplink=Radio(sharing=FixedShares(bandwidth_hz=...)). Known fields: seed, "
    )


def test_a_missing_field_is_named():
    assert refused(lambda: from_dict(Required, {})) == (
        "Required lacks rate_bps and num_cells: no default. Give rate_bps with a finite number and "
        "num_cells with a whole number."
    )
    assert refused(lambda: from_dict(Required, {"rate_bps": 1.0})).startswith("Required lacks num_cells:")
    lacks = "Required lacks num_cells: no default. Give num_cells with a whole number."
    assert refused(lambda: Required(rate_bps=1.0)) == lacks


@pytest.mark.parametrize("values", [None, 3, "Band", [1.0], (("bandwidth_hz", 1.0),)])
def test_what_is_no_object_is_refused(values):
    assert refused(lambda: from_dict(Band, values)).endswith(
        "must be an object with named fields. Give the fields by their names."
    )


def test_no_field_is_given_by_position():
    names = "Band takes fields by their names only. Use Band(bandwidth_hz=2e+07)."
    assert refused(lambda: Band(20e6)) == names


# --- Frozen -----------------------------------------------------------------------------------------------


def test_a_configuration_cannot_be_changed_and_equal_ones_are_one_key():
    config = Small()
    with pytest.raises(attrs.exceptions.FrozenInstanceError, match=r"cosim\.evolve\(\.\.\., power_w=2\)"):
        config.power_w = 2.0
    assert {config: 1} == {Small(): 1}
    assert attrs.evolve(config, power_w=2.0) != config
    assert is_configuration(Small)
    assert not is_configuration(config)
    assert not is_configuration(dict)


# --- JSON -------------------------------------------------------------------------------------------------

finite = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(1, 10**20)
bands = st.builds(
    Band,
    bandwidth_hz=st.floats(5e-324, sys.float_info.max),
    shares=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=3),
)
stops = st.builds(Wait) | st.builds(Deadline, deadline_s=st.floats(1e-9, 1e9))
smalls = st.builds(
    Small,
    num_rounds=counts,
    power_w=st.floats(0.0, sys.float_info.max) | st.integers(0, 10**300),
    name=st.text(),
    shuffled=st.booleans(),
    split=st.sampled_from(["iid", "shards"]),
    every=st.none() | st.integers(2),
    delay_s=st.none() | finite,
    range_hz=st.tuples(finite, finite),
    sizes=st.none() | st.lists(st.integers(), max_size=4),
    steps=st.lists(st.tuples(st.integers(), finite), max_size=3),
    band=bands,
    spare=st.none() | bands,
    stop=stops,
    late=st.none() | stops,
)


def through_json(config: Any) -> Any:
    return from_dict(type(config), json.loads(json.dumps(to_dict(config), allow_nan=False)))


@given(config=smalls)
@settings(max_examples=200)
def test_the_json_form_gives_back_the_same_configuration(config):
    again = through_json(config)
    assert again == config
    assert repr(again) == repr(config)
    assert from_dict(Small, to_dict(config)) == config


SYSTEMS = [
    cosim.System(),
    cosim.System(protocol=cosim.HFedAvg()),
    cosim.System(protocol=cosim.Hist(submodel_sizes=cosim.protocols.Fractions(values=(0.1, 0.2, 0.3, 0.4)))),
    cosim.System(num_cells=2, num_clients=5, cell_sizes=(2, 3), evaluation=cosim.Never()),
    cosim.System(seed=0, topology=cosim.topology.Disc(backhaul_delay_s=0.1, backhaul_rate_bps=1e9)),
    cosim.System(
        devices=cosim.DrawnDevices(
            min_frequency_hz=cosim.PerGroup(values=(1e9,)), max_frequency_hz=cosim.PerGroup(values=(1.1e9,))
        )
    ),
    cosim.System(
        uplink=cosim.Radio(
            link=cosim.radio.LinkBudget(
                large_scale=cosim.radio.LargeScale(environment="rma", height_bs_m=50, shadowing=False)
            ),
            fading=cosim.Rayleigh(redrawn=cosim.radio.CoherenceTime(coherence_time_s=0.1)),
        )
    ),
    cosim.System(
        protocol=cosim.HFedAvg(
            training=cosim.EdgeTraining(
                selection=cosim.selection.Uniform(num_participants=3), waiting=cosim.Deadline(deadline_s=0.5)
            )
        )
    ),
]


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_json_form_of_a_system_gives_back_the_same_system(system):
    again = through_json(system)
    assert again == system
    assert repr(again) == repr(system)


def test_a_choice_carries_its_kind_and_nothing_else_does():
    values = to_dict(Small(stop=Deadline(deadline_s=2.0), spare=Band()))
    assert values["stop"] == {"kind": "Deadline", "deadline_s": 2.0}
    assert values["band"] == values["spare"] == {"bandwidth_hz": 20e6, "shares": [1.0]}
    assert values["late"] is None


def test_an_empty_object_is_the_default():
    assert from_dict(Small, {}) == Small()
    assert from_dict(cosim.System, {}) == cosim.System()
