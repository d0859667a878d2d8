"""Options that put another class into a field."""

import pytest

from cosim import CommonSteps, ConfigurationError, Exponential, HFedAvg, RawHfl, System, Unconstrained
from scenarios import rawhfl, vhfl
from scenarios.kinds import with_kinds


def test_other_kinds_come_with_their_defaults():
    system, rest = with_kinds(
        rawhfl.system(), ["--seed", "3", "--protocol.policy.kind", "CommonSteps", "--out=x"]
    )
    assert system.protocol.policy == CommonSteps()
    assert system.protocol.num_global_rounds == rawhfl.system().protocol.num_global_rounds
    assert rest == ["--seed", "3", "--out=x"]
    assert with_kinds(vhfl.system(), ["--public-network.service.kind=Exponential"])[
        0
    ].public_network.service == (Exponential())


def test_a_kind_within_a_kind():
    arguments = ["--protocol.kind", "RawHfl", "--protocol.policy.kind", "Unconstrained"]
    assert with_kinds(System(), arguments)[0].protocol == RawHfl(policy=Unconstrained())
    with pytest.raises(ConfigurationError, match=r"--protocol\.policy\.kind: no such field"):
        with_kinds(System(), arguments[2:])


def test_without_such_options_nothing_changes():
    system = System(protocol=HFedAvg())
    assert with_kinds(system, ["--seed", "3"]) == (system, ["--seed", "3"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--radio.kind", "X"], "--radio.kind: no such field has several kinds"),
        (["--nothing.at.all.kind", "X"], "no such field"),
        (["--protocol.kind", "Hits"], r"'kind' must be one of Hist, HFedAvg, Vhfl, RawHfl"),
        (["--protocol.kind"], "'kind' must be one of"),
    ],
)
def test_what_there_is_not_is_refused(arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        with_kinds(System(), arguments)
