"""Conversions by hand; every public float of ours carries its unit in its name."""

import importlib
import inspect
import math
import pkgutil
import types
import typing
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import attrs
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosim import units
from cosim.configuration import part
from cosim.units import (
    SUFFIXES,
    db_to_linear,
    dbm_to_w,
    least_whole,
    linear_to_db,
    most_whole,
    unit_of,
    w_to_dbm,
)

EXACTLY = {"rel": 1e-12, "abs": 0.0}

PACKAGES = ("cosim", "models", "analysis", "scenarios")

NO_UNIT = {
    "Met": {"factor", "gain"},
    "NumbersInWords": {"scale"},
    "SlottedAloha": {"transmit_probability"},
    "SlottedAlohaLaw": {"transmit_probability"},
    "Found": {"least", "most", "targets"},
    "Quantity": {"least", "most"},
    "Entry": {"accuracy"},
    "Compared": {"theory"},
    "Adaptive": {"adaptivity", "beta1", "learning_rate"},
    "FedAdam": {"beta2"},
    "FedAvgM": {"learning_rate", "momentum"},
    "FedYogi": {"beta2"},
    "Memory": {"arrived"},
    "Need": {"uses"},
    "Oort": {"exploration", "exploration_decay", "least_exploration", "slowness_penalty"},
    "Ranked": {"taken"},
    "Ranking": {"level"},
    "Rates": {"local", "server"},
    "Adam": {"beta1", "beta2", "epsilon", "weight_decay"},
    "AirEdgeRoundLatency": {"fraction"},
    "Algorithm2": {"penalty"},
    "Battery": {"initial_share", "returns_at_share"},
    "Check": {"margin", "theory"},
    "ByRound": {"values"},
    "ClosedNetwork": {"shares"},
    "Convergence": {
        "client_divergence",
        "edge_divergence",
        "gradient_variance",
        "initial_gap",
        "learning_rate",
        "local_divergence",
        "smoothness",
        "square_gradient",
    },
    "AuthoredText": {"concentration"},
    "Cosine": {"initial", "last"},
    "Dirichlet": {"alpha"},
    "EdgeRoundLatency": {"fraction"},
    "HistBound": {"largest_fraction", "mse"},
    "PartialHistBound": {"largest_fraction"},
    "HistSetting": {
        "cell_dissimilarity",
        "client_dissimilarity",
        "gradient_variance",
        "initial_gap",
        "learning_rate",
        "smoothness",
        "square_model",
    },
    "HyperExponential": {"weights"},
    "HyperExponentialTime": {"busy_factor", "busy_probability"},
    "Exact": {"estimate"},
    "FadedUpload": {"snr"},
    "Impatience": {"load", "waits_longer"},
    "Interval": {"estimate", "high", "level", "low"},
    "KeptShare": {"share"},
    "LatencyOptimal": {"largest"},
    "Law": {"stretch"},
    "Load": {"fraction", "num_parameters", "num_values"},
    "LocalStep": {"fraction"},
    "LocalTraining": {"learning_rate"},
    "LogNormalTime": {"spread"},
    "Momentum": {"momentum"},
    "Move": {"factor", "kept"},
    "CompiledStep": {"numbers"},
    "Criterion": {"level", "margin"},
    "Options": {"fast_weights", "margin", "size", "success_rates", "target"},
    "PaperTable": {"multiple"},
    "Payload": {"num_values"},
    "LawClock": {"size"},
    "PlannedUpload": {"outage_probability", "snr"},
    "Point": {"outage_probability"},
    "Problem": {"theta"},
    "Quality": {"achieved", "bound", "ratio"},
    "Radio": {"outage_probability"},
    "RawHfl": {"success_probability"},
    "Relaxation": {"bound", "value"},
    "RequestPrediction": {"genre_preferences", "similar_probability"},
    "PlotOptions": {"target"},
    "ReportOptions": {"target"},
    "ResourceAware": {"theta"},
    "Setting": {"accuracies"},
    "Sgd": {"weight_decay"},
    "Signs": {"step_size"},
    "Sojourn": {"weights"},
    "Order": {"targets"},
    "Study": {"targets"},
    "StepDecay": {"factor", "initial"},
    "SuccessCounts": {"success_rates"},
    "Counts": {"snrs"},
    "Together": {"snrs"},
    "Traffic": {
        "burst_coupling",
        "burst_decay",
        "burst_size",
        "bursts_per_day",
        "daily_cycle",
        "drift",
        "drift_memory",
        "level_spread",
        "noise",
        "weekly_cycle",
    },
    "VerticalSgd": {"central_learning_rate"},
    "VhflBound": {
        "central_variance",
        "client_variance",
        "initial_gap",
        "initial_gradient_ratio",
        "non_iid_extent",
        "pl_constant",
        "smoothness",
        "square_gradient",
        "success_rate",
    },
    "VideoRequests": {
        "active_probability",
        "genre_concentration",
        "genre_preferences",
        "similar_probability",
    },
    "Applied": {"weight"},
    "ClientTotals": {"num_labels", "num_samples", "accuracy"},
    "Dispatched": {"shares"},
    "Mixture": {"share"},
    "FedAsync": {"share"},
    "FedBuff": {"server_rate"},
    "GeneralisedAsync": {"server_rate"},
    "Hinge": {"free", "slope"},
    "Polynomial": {"exponent"},
    "Proximal": {"mu"},
    "WarmUp": {"then"},
}
"""Class -> its dimensionless numbers; subclasses have them from it."""

OTHER_UNIT = {
    "Claim.core_hours": "its whole name is the unit",
    "Trial.loss": "that of the task",
    "Trial.loss_of_twice": "that of the task",
    "Assignment.cycles": "its whole name is the unit",
    "Counted.done": "that of Counted.what",
    "Counted.of": "that of Counted.what",
    "Fractions.values": "that of the field they are for",
    "Measured.num_units": "that of Counted.what",
    "Measured.updates_per_unit": "that of Counted.what",
    "Payload.bits": "its whole name is the unit",
    "PerClient.values": "that of the field they are for",
    "PerGroup.values": "that of the field they are for",
    "AfterTarget.target": "that of the headline",
    "AtTarget.bits_per_client": "bits, and a mean over clients",
    "Summary.bits_per_client": "bits, and a mean over clients",
    "Summary.received_bits_per_client": "likewise",
    "Amounts.factor": "none: from a value to the number that is drawn",
    "Column.factor": "none: from a value to the number that is shown",
    "Metric.least": "that of its values",
    "Sample.latest": "that of what the runs took",
}
"""Numbers that say their unit, though not by a suffix."""


# --- Conversions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratio_db", "ratio"),
    [(0.0, 1.0), (10.0, 10.0), (-10.0, 0.1), (30.0, 1000.0), (3.0, 10**0.3), (-174.0, 10**-17.4)],
)
def test_decibels_by_hand(ratio_db, ratio):
    assert db_to_linear(ratio_db) == pytest.approx(ratio, **EXACTLY)
    assert linear_to_db(ratio) == pytest.approx(ratio_db, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("power_dbm", "power_w"),
    [(0.0, 1e-3), (30.0, 1.0), (23.0, 10**-0.7), (-174.0, 10**-20.4), (46.0, 10**1.6)],
)
def test_dbm_by_hand(power_dbm, power_w):
    assert dbm_to_w(power_dbm) == pytest.approx(power_w, **EXACTLY)
    assert w_to_dbm(power_w) == pytest.approx(power_dbm, rel=1e-12, abs=1e-12)


@given(st.floats(-300.0, 300.0), st.floats(-300.0, 300.0))
def test_levels_add_where_ratios_multiply(a_db, b_db):
    assert db_to_linear(a_db) * db_to_linear(b_db) == pytest.approx(db_to_linear(a_db + b_db), rel=1e-10)
    assert w_to_dbm(dbm_to_w(a_db)) == pytest.approx(a_db, rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("ratio", [0.0, -1.0])
def test_no_level_of_a_ratio_that_is_not_above_zero(ratio):
    with pytest.raises(ValueError, match=r"domain error|positive"):
        linear_to_db(ratio)


DECIMALS = st.decimals("0.0001", "1000000", places=4).filter(bool)


@given(DECIMALS, st.integers(1, 10**6), st.integers(1, 10**6))
def test_decimals_that_hold_each_other_do_so_whole_times(step, per_step, number):
    """Also where what one takes is a quotient of its own, as seconds are of cycles and hertz."""
    whole, one = float(step * number), float(step * per_step) / per_step
    assert most_whole(whole / one) == least_whole(whole / one) == number
    assert most_whole(np.array([whole / one])).tolist() == [number]


@given(DECIMALS, DECIMALS)
def test_decimals_that_do_not_are_rounded_down_and_up(whole, one):
    ratio = float(whole) / float(one)
    number, rest = divmod(Fraction(whole), Fraction(one))
    assert most_whole(ratio) == most_whole(np.array([ratio]))[0] == number
    assert least_whole(ratio) == number + bool(rest)


def test_thermal_noise():
    boltzmann_j_per_k, room_k = 1.380649e-23, 290.0
    exact_dbm_per_hz = 10.0 * math.log10(boltzmann_j_per_k * room_k / 1e-3)
    assert round(exact_dbm_per_hz) == units.THERMAL_NOISE_DBM_PER_HZ


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("duration_s", "s"),
        ("noise_w_per_hz", "W/Hz"),
        ("noise_dbm_per_hz", "dBm/Hz"),
        ("speed_m_per_s", "m/s"),
        ("arrivals_per_s", "1/s"),
        ("capacitance_j_per_hz2", "J/Hz²"),
        ("rate_bps", "bit/s"),
        ("payload_bits", "bit"),
        ("power_dbm", "dBm"),
        ("snr_db", "dB"),
        ("snr", ""),
        ("num_clients", ""),
        ("s", ""),
    ],
)
def test_a_name_says_its_unit(name, unit):
    assert unit_of(name) == unit


def test_longer_suffixes_come_first():
    """The first match wins, so no suffix may hide a longer one that ends in it."""
    suffixes = list(SUFFIXES)
    for place, suffix in enumerate(suffixes):
        assert not any(longer.endswith(suffix) for longer in suffixes[place + 1 :])


# --- Every public float carries its unit ------------------------------------------------------------------


NAMED = (
    *("Batching", "Client", "Clients", "Clock", "Cloud", "Codec", "Job", "Learner", "LocalTraining", "Rest"),
    *("TrainingFlops", "Uploads", "Waiting"),
)
FOR_TYPE_CHECKERS = dict.fromkeys(NAMED, object) | {"nx": nx, "pd": pd}
"""Names in annotations that are not imported before something is learned or written."""


def public_modules() -> Iterator[Any]:
    """Our modules; one that hangs on something not written yet is left out."""
    for package in PACKAGES:
        root = importlib.import_module(package)
        for found in pkgutil.walk_packages(root.__path__, f"{package}."):
            try:
                yield importlib.import_module(found.name)
            except ModuleNotFoundError as missing:
                if str(missing.name).split(".")[0] not in PACKAGES:
                    raise


def public_classes() -> Iterator[type]:
    for module in public_modules():
        for name, value in vars(module).items():
            is_own = inspect.isclass(value) and value.__module__ == module.__name__
            if is_own and not name.startswith("_"):
                yield value


def fields_of(cls: type) -> dict[str, Any]:
    """Names and types of the fields of an attrs class, a configuration or a named tuple."""
    if attrs.has(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields")):
        names = [a.name for a in attrs.fields(cls)] if attrs.has(cls) else cls._fields
        hints = typing.get_type_hints(cls, localns=FOR_TYPE_CHECKERS)
        return {name: hints[name] for name in names}
    return {}


def holds_floats(annotation: Any) -> bool:
    """A float, and a tuple or a choice with one in it; arrays are out of scope."""
    if annotation is float:
        return True
    is_plain = typing.get_origin(annotation) in (tuple, list, typing.Union, types.UnionType)
    return is_plain and any(map(holds_floats, typing.get_args(annotation)))


def is_excused(cls: type, name: str) -> bool:
    """True if the class that a field comes from is excused for it."""
    owner = [base.__name__ for base in cls.__mro__ if name in vars(base).get("__annotations__", {})][-1]
    return name in NO_UNIT.get(owner, ()) or f"{owner}.{name}" in OTHER_UNIT


def bare_floats(cls: type) -> list[str]:
    return [
        name
        for name, annotation in fields_of(cls).items()
        if holds_floats(annotation) and not unit_of(name) and not is_excused(cls, name)
    ]


def test_every_public_float_carries_its_unit():
    bare = {f"{c.__module__}.{c.__name__}": names for c in public_classes() if (names := bare_floats(c))}
    assert not bare


def test_the_walk_meets_what_it_should():
    """A walk that finds nothing would pass."""
    walked = {f"{c.__module__}.{c.__name__}" for c in public_classes() if fields_of(c)}
    assert walked >= {
        "cosim.records.rows.Span",
        "cosim.radio.radio.Radio",
        "cosim.devices.device.DeviceNumbers",
        "analysis.closed_forms.round_latency.EdgeRoundLatency",
    }


@part
class _Bare:
    """Every kind of bare float, beside what is none."""

    num_rounds: int = 1
    name: str = ""
    delay_s: float = 0.0
    delay: float = 0.0
    powers: tuple[float, ...] = ()
    pair: tuple[int, float] = (0, 0.0)
    limit: float | None = None
    limits: tuple[float, ...] | None = None


class _BareRow(NamedTuple):
    start_s: float
    end: float


def test_a_bare_float_is_caught():
    assert bare_floats(_Bare) == ["delay", "powers", "pair", "limit", "limits"]
    assert bare_floats(_BareRow) == ["end"]
