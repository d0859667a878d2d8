"""A study over protocols, with rounds and without: an end that all share, and what each keeps."""

import attrs

from cosim import AfterSeconds, ClientTraining, Never, Sgd, evolve
from cosim.ends import EverySeconds
from cosim.studies.designs import designs
from cosim.studies.study import Study
from scenarios import quickstart

GRID = {"protocol.kind": ("HFedAvg", "FedBuff", "FedAsync")}


def test_asynchronous_protocols_train_as_the_others_did() -> None:
    base = evolve(quickstart.system(), end=AfterSeconds(duration_s=1.0))
    barrier, *asynchronous = (design.system for design in designs({"base": base}, GRID))
    assert barrier is not None
    assert barrier.protocol.training == base.protocol.training
    local = Sgd(batch_size=10, learning_rate=0.1)
    for system in asynchronous:
        assert system is not None
        assert system.protocol.training == ClientTraining(num_local_steps=20, local=local)
        assert attrs.evolve(system, protocol=base.protocol) == base


def test_an_end_that_not_all_share_is_said_by_name() -> None:
    found = designs({"base": quickstart.system()}, GRID)
    assert [design.error is None for design in found] == [True, False, False]
    assert "FedBuff: it has no global rounds, and System.end = AfterRounds counts" in str(found[1].error)


def test_with_a_shared_end_all_last_equally_long_on_the_same_seeds(tmp_path) -> None:
    base = evolve(quickstart.system(), end=AfterSeconds(duration_s=0.2), evaluation=Never())
    runs = Study(base, GRID, 2).run(tmp_path / "study")
    assert (runs["status"] == "complete").all()
    assert (runs["time_s"] == 0.2).all()
    assert sorted(runs["seed"]) == [1, 1, 1, 2, 2, 2]


def test_ends_and_evaluation_times_change_kind_without_values() -> None:
    kinds = {
        "end.kind": ("AfterVersions", "AfterUpdates", "AfterSeconds"),
        "evaluation.kind": ("EverySeconds",),
    }
    found = designs({"base": quickstart.system()}, kinds)
    assert [design.error for design in found] == [None] * 3
    assert found[0].system is not None
    assert found[0].system.evaluation == EverySeconds()
