"""HIST of convolutional networks on the clock: bits, cycles, deadlines, sums over the air, resuming."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import worlds
from here import Stopped

import cosim
import models
from cosim import (
    AfterRounds,
    ConfigurationError,
    Deadline,
    Digits,
    FashionMnist,
    FixedShares,
    GivenSnr,
    HFedAvg,
    Hist,
    Never,
    PerGroup,
    Sgd,
    System,
    evolve,
)
from cosim.data import Iid
from cosim.devices import CyclesPerOperation
from cosim.ends import EveryVersions
from cosim.engine.store.checkpoint import Checkpoint
from cosim.protocols import LatencyOptimal
from cosim.radio import OverTheAir
from cosim.values.submodels import NetworkShape
from scenarios.papers.vhfl import Vhfl

TRAINING = worlds.training(steps=cosim.SameSteps(num_local_steps=2))
RESNET = worlds.alike(
    2,
    2,
    model="resnet18grey-2-8-10",
    data=Digits(split=Iid()),
    uplink=worlds.still(1000.0, sharing=FixedShares()),
    protocol=Hist(training=TRAINING),
    end=AfterRounds(num_global_rounds=2),
)


def run_of(system: System, **options) -> cosim.Result:
    return cosim.run(system, num_workers=1, **options)


def half(name: str) -> tuple[int, int, int, int]:
    """Trained parameters and uploaded values of half the units of every group, and of all."""
    shape = NetworkShape.of(models.build(name))
    units = shape.num_units
    cut = [{n: a for cuts in (shape.unit_groups[g],) for n, a in cuts} for g in units]
    whole_parameters = sum(int(np.prod(s)) for s in shape.parameters.values())
    whole_values = whole_parameters + sum(int(np.prod(s)) for s in shape.statistics.values())
    names = set(itertools.chain.from_iterable(cut))
    cut_values = sum(int(np.prod(shape.tensors[name])) for name in names)
    cut_parameters = sum(int(np.prod(shape.parameters[name])) for name in names & shape.parameters.keys())
    return (
        whole_parameters - cut_parameters // 2,
        whole_values - cut_values // 2,
        whole_parameters,
        whole_values,
    )


def test_uploads_hold_the_running_statistics_and_steps_cost_the_trained_parameters():
    result = run_of(evolve(RESNET, evaluation=Never()))
    parameters, values, whole_parameters, whole_values = half(RESNET.model)
    assert values - parameters == (whole_values - whole_parameters) - 2 * 2 * (2 + 4 + 8 + 16) // 2
    assert set(result.transfers["payload_bits"]) == {32 * values}
    training = result.spans[result.spans["activity"] == "train"]
    seconds = 2 * 1e6 * (parameters / whole_parameters) / 1e9
    assert (training["end_s"] - training["start_s"]).to_numpy() == pytest.approx(seconds, rel=1e-9)


def conv_flops(positions: int, num_in: int, num_out: int, size: int, needs_input: bool) -> int:
    return (3 if needs_input else 2) * 2 * positions * num_in * num_out * size


def resnet_flops(inner_share: float) -> float:
    """Of width 2 on 8 x 8 grey levels, by hand: outputs, weight gradients, input gradients but the stem's."""
    total = conv_flops(64, 1, 2, 9, False)
    num_in = 2
    for stage, width in enumerate((2, 4, 8, 16)):
        positions = (8 // 2**stage) ** 2
        inner = width * inner_share
        total += conv_flops(positions, num_in, inner, 9, True) + conv_flops(positions, inner, width, 9, True)
        total += 2 * conv_flops(positions, width, inner, 9, True)
        if stage:
            total += conv_flops(positions, num_in, width, 1, True)
        num_in = width
    return total + 3 * 2 * 16 * 10


def test_steps_cost_the_operations_where_the_user_asks_for_it():
    """Convolutions of early stages hold few parameters and compute much."""
    by_flops = evolve(RESNET, cycles=CyclesPerOperation(), evaluation=Never())
    training = run_of(by_flops).spans.query("activity == 'train'")
    seconds = 2 * 0.125 * resnet_flops(0.5) * 10 / 1e9
    assert (training["end_s"] - training["start_s"]).to_numpy() == pytest.approx(seconds, rel=1e-9)
    parameters, _, whole_parameters, _ = half(RESNET.model)
    assert abs(resnet_flops(0.5) / resnet_flops(1.0) - parameters / whole_parameters) > 1e-3
    whole = evolve(by_flops, protocol=HFedAvg(training=TRAINING), end=AfterRounds(num_global_rounds=1))
    training = run_of(whole).spans.query("activity == 'train'")
    seconds = 2 * 0.125 * resnet_flops(1.0) * 10 / 1e9
    assert (training["end_s"] - training["start_s"]).to_numpy() == pytest.approx(seconds, rel=1e-9)
    sizes = evolve(RESNET.protocol, submodel_sizes=LatencyOptimal())
    with pytest.raises(ConfigurationError, match=r"LatencyOptimal plans by parameters\. Use "):
        evolve(by_flops, protocol=sizes)


def test_with_a_deadline_late_clients_waste_what_they_spent():
    """One client in four is too slow; the others' models still learn."""
    system = evolve(
        RESNET,
        devices=worlds.processors(1e9, 1e9, 1e9, 1e7),
        protocol=evolve(RESNET.protocol, training=evolve(TRAINING, waiting=Deadline(deadline_s=0.05))),
    )
    result = run_of(system)
    late = result.spans[result.spans["outcome"] == "deadline"]
    assert set(late["node"]) == {"client-0003"}
    assert result.summary.num_dropped == 2 * 2
    assert late["energy_j"].sum() > 0.0
    assert np.isfinite(result.evaluations["loss_nats"]).all()


def test_over_the_air_statistics_arrive_with_the_noise_too():
    """A sum takes a symbol for every value; without noise worth the name it is what fixed shares learn.

    After one global round: training magnifies rounding from round to round.
    """
    air = evolve(
        RESNET,
        uplink=evolve(RESNET.uplink, sharing=OverTheAir(), link=GivenSnr(snr_db=PerGroup(values=(200.0,)))),
    )
    result = run_of(air)
    _, values, _, _ = half(RESNET.model)
    sending = result.spans[
        (result.spans["activity"] == "send") & (result.spans["node"].str.startswith("client"))
    ]
    symbols = values / (air.uplink.sharing.bandwidth_hz / air.uplink.sharing.subcarrier_hz)
    airtime_s = symbols * air.uplink.sharing.symbol_s
    assert (sending["end_s"] - sending["start_s"]).to_numpy() == pytest.approx(airtime_s, rel=1e-9)
    fixed = run_of(RESNET)
    learned, wanted = (run.evaluations["loss_nats"].iloc[:2] for run in (result, fixed))
    np.testing.assert_allclose(learned, wanted, rtol=1e-6)
    noisy = run_of(evolve(air, uplink=evolve(air.uplink, link=GivenSnr(snr_db=PerGroup(values=(-10.0,))))))
    assert np.isfinite(noisy.evaluations["loss_nats"]).all()
    assert abs(noisy.evaluations["loss_nats"].iloc[-1] - fixed.evaluations["loss_nats"].iloc[-1]) > 1e-3


def test_lenet_goes_over_the_air_too():
    """A part of 60 of the 120 units in each of two cells, a symbol for each value."""
    radio = evolve(RESNET.uplink, sharing=OverTheAir(), link=GivenSnr(snr_db=PerGroup(values=(20.0,))))
    result = run_of(
        evolve(
            RESNET,
            model="lenet5-10",
            data=FashionMnist(split=Iid()),
            uplink=radio,
            evaluation=EveryVersions(num_versions=2),
        )
    )
    airtime_s = (
        (3506 + 341 * 60)
        / (radio.sharing.bandwidth_hz / radio.sharing.subcarrier_hz)
        * radio.sharing.symbol_s
    )
    sending = result.spans[(result.spans["activity"] == "send") & (result.spans["energy_j"] > 0.0)]
    assert (sending["end_s"] - sending["start_s"]).to_numpy() == pytest.approx(airtime_s, rel=1e-9)
    assert set(result.transfers["payload_bits"]) == {32 * (3506 + 341 * 60)}
    assert np.isfinite(result.evaluations["loss_nats"]).all()


def test_batches_of_one_and_vertical_epochs_are_refused():
    for protocol, words in (
        (evolve(RESNET.protocol, training=evolve(TRAINING, local=Sgd(batch_size=1))), "batch_size = 1"),
        (Vhfl(), "the epochs of VHFL do not update"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            run_of(evolve(RESNET, num_cells=1, protocol=protocol))


def test_a_stopped_run_goes_on_with_its_running_statistics(tmp_path: Path):
    def stop(report):
        if report.version == 1:
            raise Stopped

    run_of(RESNET, out=tmp_path / "whole")
    with pytest.raises(Stopped):
        run_of(RESNET, out=tmp_path / "stopped", listener=stop)
    run_of(RESNET, out=tmp_path / "stopped", resume=True)
    found, wanted = (Checkpoint.load(tmp_path / name) for name in ("stopped", "whole"))
    assert any(name.endswith("running_var") for name in wanted.weights)
    for name, values in wanted.weights.items():
        np.testing.assert_array_equal(found.weights[name], values)
    for name in ("spans", "evaluations"):
        assert (tmp_path / "stopped" / f"{name}.parquet").read_bytes() == (
            tmp_path / "whole" / f"{name}.parquet"
        ).read_bytes()
