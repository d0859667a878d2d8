"""Mistakes of a first day: fields by place, words of other programs, parts in the wrong place."""

import attrs
import pytest

import cosim
from cosim import ConfigurationError
from cosim.configuration import part
from cosim.configuration.kinds import kinds_of
from cosim.configuration.rules import COMMON_WORDS


@part
class OwnDeadline(cosim.Deadline):
    """Loaded with the tests; hints name kinds of ours, in the same order whatever is loaded."""


@part
class OtherDeadline(OwnDeadline):
    """One more."""


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: cosim.Hist(cosim.EdgeTraining()),
            "Hist takes fields by their names only. Use Hist(training=EdgeTraining).",
        ),
        (
            lambda: cosim.Deadline(0.3),
            "Deadline takes fields by their names only. Use Deadline(deadline_s=0.3).",
        ),
        (lambda: cosim.PerGroup(1e9), r"Use PerGroup(values=(1000000000.0,))."),
        (lambda: cosim.Radio(cosim.FixedShares(), 2.0), "Radio(sharing=FixedShares, csi_error_db=2)."),
        (lambda: cosim.PerGroup(), "PerGroup lacks values: no default. Give values with a list, "),
        (lambda: cosim.PerGroup(values=1e9), "Use a list of one, (1e+09,)."),
        (lambda: cosim.System(end=30), "Use AfterRounds(num_global_rounds=30), for instance."),
        (
            lambda: cosim.System(uplink=cosim.FixedShares()),
            "Use Radio(sharing=FixedShares), for instance.",
        ),
        (lambda: cosim.System(protocol=cosim.HFedAvg), "Use an object of the class, HFedAvg()."),
        (
            lambda: cosim.System(protocol=cosim.server_updates.FedAdam()),
            "FedAdam is a kind of ServerUpdate).",
        ),
        (lambda: cosim.System(protocol={"kind": "FedAdam"}), "FedAdam is a kind of ServerUpdate)."),
        (
            lambda: cosim.System(protocol={"kind": "FedAvg"}),
            "FedAvg is HFedAvg in one cell ",
        ),
        (lambda: cosim.System(protocol={"kind": "FedProx"}), "FedProx is Proximal, as the local training"),
        (lambda: cosim.EdgeTraining(local={"kind": "SGD"}), "Did you mean Sgd?)."),
        (lambda: cosim.Sgd(lr=0.1), "Sgd has no field 'lr'. Did you mean learning_rate? Known fields: "),
        (lambda: cosim.training.Adam(lr=0.1), "Adam has no field 'lr'. Did you mean learning_rate? "),
        (lambda: cosim.Sgd(batch=8), "Sgd has no field 'batch'. Did you mean batch_size? "),
        (lambda: cosim.Sgd(momentum=0.9), "Sgd has no field 'momentum'. Momentum has it. "),
        (lambda: cosim.Sgd(mu=0.9), "Sgd has no field 'mu'. Proximal has it. "),
        (lambda: cosim.Sgd(epochs=2), "epochs is Epochs(num_epochs=...), as the steps of EdgeTraining"),
        (lambda: cosim.EdgeTraining(num_local_steps=20), "Use steps=SameSteps(num_local_steps=...). "),
        (
            lambda: cosim.System().but(deadline_s=0.1),
            " Deadline has it: protocol.training.waiting.kind = Deadline. ",
        ),
        (
            lambda: cosim.System().but({"uplnk.sharing.bandwidth_hz": 5e6}),
            "there is no field 'uplnk'. Did you mean uplink?",
        ),
        (lambda: cosim.run(cosim.System(), sizes=(3,)), "run has no argument 'sizes'. Known: "),
        (lambda: cosim.System().but({"kind": "Oort"}), "topology.kind or 31 others. Give more of its path."),
        (lambda: cosim.run(cosim.System(), seed=2), "Use run(system.but(seed=...)). "),
        (
            lambda: cosim.System(rounds=3),
            "Its part end has num_global_rounds. Use end=AfterRounds(num_global_rounds=...). ",
        ),
        (lambda: cosim.System(lr=3), "Its part protocol.training.local has learning_rate. "),
    ],
)
def test_a_refusal_says_how(make, message):
    with pytest.raises(ConfigurationError) as refused:
        make()
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("FedAvg", "Did you mean HFedAvg? FedAvg is HFedAvg in one cell"),
        ("FedProx", "Did you mean Proximal?"),
        ("SGD", "Did you mean Sgd?"),
        ("HFedavg", "Did you mean HFedAvg?"),
    ],
)
def test_a_name_that_the_package_has_not_may_be_another(name, message):
    with pytest.raises(AttributeError, match="module 'cosim' has no attribute") as refused:
        getattr(cosim, name)
    assert message in str(refused.value)


def test_words_of_the_field_name_what_there_is():
    """Each stands for a field or a class that is there, so that a renamed one is noticed."""
    fields = {name for cls in kinds_of(object) for name in attrs.fields_dict(cls)}
    known = {*fields, *(cls.__name__ for cls in kinds_of(object))}
    assert COMMON_WORDS.keys() <= known
