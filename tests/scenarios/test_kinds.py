"""Options that put another class into a field."""

import pytest

from cosim import ConfigurationError, EdgeTraining, HFedAvg, Hist, Link, Selection, Sgd, System, evolve
from cosim.configuration import from_dict, part
from cosim.protocols import LatencyOptimal
from cosim.queues import Exponential
from scenarios import rawhfl, vhfl
from scenarios.command_line.kinds import with_kinds
from scenarios.papers.rawhfl import CommonSteps, RawHfl, Unconstrained

pytestmark = pytest.mark.quick


@part
class Misspelt(Selection):
    """Everyone, by a method of another name."""

    def participant(self, sim, edge, coming):
        """Everyone."""
        return coming.clients


@part
class Mute(Link):
    """No method at all."""


def test_other_kinds_come_with_their_defaults():
    system, rest = with_kinds(
        rawhfl.system(), ["--seed", "3", "--protocol.policy.kind", "CommonSteps", "--out=x"]
    )
    assert system.protocol.policy == CommonSteps()
    assert system.end == rawhfl.system().end
    assert rest == ["--seed", "3", "--out=x"]
    other, _ = with_kinds(vhfl.system(), ["--uplink.service.kind=Exponential"])
    assert other.uplink.service == Exponential()


def test_a_kind_within_a_kind():
    arguments = ["--protocol.kind", "RawHfl", "--protocol.policy.kind", "Unconstrained"]
    assert with_kinds(System(), arguments)[0].protocol == RawHfl(policy=Unconstrained())
    with pytest.raises(ConfigurationError, match=r"--protocol\.policy\.kind: Hist has no part 'policy'"):
        with_kinds(System(), arguments[2:])


def test_a_kind_that_does_not_fit_yet_waits_for_the_options_that_follow():
    system, rest = with_kinds(System(), ["--uplink.link.snr-db.kind", "PerClient", "--num-clients", "4"])
    assert rest == ["--num-clients", "4"]
    with pytest.raises(ConfigurationError, match="2 values for 60 clients"):
        evolve(system, seed=2)


def test_another_kind_keeps_what_both_have():
    """The training; what only the one has is gone, and what only the other has is its default."""
    training = EdgeTraining(num_edge_rounds=2, local=Sgd(learning_rate=0.3))
    before = System(protocol=Hist(training=training, submodel_sizes=LatencyOptimal(largest=2.0)))
    system, _ = with_kinds(before, ["--protocol.kind", "HFedAvg"])
    assert system.protocol == HFedAvg(training=training)
    again, _ = with_kinds(system, ["--protocol.kind", "Hist"])
    assert again.protocol == Hist(training=training)


def test_without_such_options_nothing_changes():
    system = System(protocol=HFedAvg())
    assert with_kinds(system, ["--seed", "3"]) == (system, ["--seed", "3"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--uplink.kind", "X"],
            "must be one of GivenRates, Instantaneous, QueuedLink, Radio, TracedLink, ",
        ),
        (["--seed.kind", "X"], "--seed.kind: System has no part 'seed'"),
        (["--nothing.at.all.kind", "X"], "System has no part 'nothing'"),
        (
            ["--protocol.kind", "LargeScale"],
            r"'kind' must be one of FedAsync, FedBuff, Gen.*, HFedAvg, Hist, RawHfl",
        ),
        (["--protocol.kind", "elsewhere:Rule"], "the module elsewhere is not loaded.*--import elsewhere"),
        (
            ["--protocol.kind", "Hits"],
            r"'kind' must be one of FedAsync, FedBuff, Gen.*, HFedAvg, Hist, RawHfl",
        ),
        (["--protocol.kind"], "'kind' must be one of"),
    ],
)
def test_what_there_is_not_is_refused(arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        with_kinds(System(), arguments)


def test_a_class_of_ones_own_that_misspells_a_method_is_told_which_it_lacks():
    with pytest.raises(ConfigurationError) as refused:
        with_kinds(System(), ["--selection.kind", f"{__name__}:Misspelt"])
    assert str(refused.value) == (
        f"--selection.kind: {__name__}:Misspelt: lacks participants, which every Selection has. It has "
        "participant. Add a method participants(self, sim, edge, coming)."
    )
    with pytest.raises(ConfigurationError, match="Mute: lacks of_cells, which every Link has"):
        from_dict(System, {"uplink": {"kind": f"{__name__}:Mute"}})
