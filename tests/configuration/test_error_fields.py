"""An error says of which field it is, wherever it goes."""

import pickle

import pytest

import cosim
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError
from cosim.configuration.rules import Broken, refuse


def test_a_refused_field_is_named_with_its_class():
    with pytest.raises(ConfigurationError) as refused:
        cosim.System(num_clients=0)
    assert refused.value.field == "System.num_clients"
    with pytest.raises(ConfigurationError) as refused:
        cosim.System(end=30)
    assert refused.value.field == "System.end"


def test_parts_that_do_not_go_together_name_the_one_that_lacks():
    with pytest.raises(ConfigurationError) as refused:
        cosim.System(uplink=cosim.Radio(outage_probability=0.1), protocol=cosim.Hist())
    assert refused.value.field == "System.uplink"


def test_what_is_of_no_field_has_none():
    assert ConfigurationError("no runs. Use another folder.").field is None


def test_a_field_survives_a_worker_process_and_the_clock():
    error = refuse("Band", "bandwidth_hz", -1.0, "must be above 0")
    for again in (pickle.loads(pickle.dumps(error)), type(error)(*error.args)):
        assert (str(again), again.field) == (str(error), "Band.bandwidth_hz")

    def crash(sim):
        yield sim.at(1.0)
        raise error

    sim = Simulation(seed=0)
    with pytest.raises(ConfigurationError) as refused:
        sim.run(crash(sim))
    assert refused.value.field == "Band.bandwidth_hz"


@pytest.mark.parametrize(
    ("name", "default", "fix"),
    [
        ("bandwidth_hz", None, "Use the default, None."),
        ("bandwidth_hz", 1e6, "Use the default, 1e+06 Hz."),
        ("num_rounds", 3, "Use the default, 3."),
    ],
)
def test_a_fix_without_words_follows_from_the_default(name, default, fix):
    assert str(refuse("Band", name, 0, "must be above 0", default=default)).endswith(f"above 0. {fix}")


def test_a_fix_without_a_default_asks_for_another_value():
    assert str(refuse("Band", "bandwidth_hz", 0, "must be above 0")).endswith("Give bandwidth_hz in Hz.")
    assert str(refuse("Band", "num_rounds", 0, "must be above 0")).endswith("Use another num_rounds.")


def test_the_fix_of_a_rule_goes_before_the_default():
    said = str(refuse("Band", "kind", "x", Broken("is unknown", "Use y."), default="z"))
    assert said == "Band.kind = 'x': is unknown. Use y."
