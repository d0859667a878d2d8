"""Cost of a local step, by arithmetic, and the sentence that says so."""

import numpy as np
import pandas as pd
import pytest
import worlds
from fixtures.refusals import refused

import cosim
from cosim import (
    AfterVersions,
    ConfigurationError,
    DrawnDevices,
    EdgeTraining,
    FedAsync,
    FedBuff,
    HFedAvg,
    Hist,
    Never,
    PerGroup,
    SameSteps,
    Simulation,
    evolve,
    run,
)
from cosim.clock.draws import Numbers, uniforms
from cosim.configuration import for_each, part
from cosim.devices import Cycles, CyclesPerBit, CyclesPerOperation, CyclesPerStep
from cosim.devices.cycles import LocalStep
from cosim.engine.servers.workload import Costs
from cosim.names import ClientNames
from cosim.protocols import AsynchronousTraining, WholeCells
from cosim.testing import small_system
from cosim.training import StepsInTime

FIRST = Numbers.of(["client-0000"])


def of_step(rule: Cycles, batch_size: int = 320, fraction: float = 1.0, flops: int = 1000) -> float:
    step = LocalStep(batch_size, fraction, lambda: flops)
    return Costs(Simulation(seed=1), rule).of_one(FIRST, step)


def test_a_step_takes_what_it_is_given_and_a_part_its_share():
    assert of_step(CyclesPerStep(step_cycles=7.0)) == 7.0
    assert of_step(CyclesPerStep(step_cycles=7.0), fraction=0.25) == 1.75


def test_cycles_by_the_bit_by_hand():
    """RawHFL, eq. 10: 320 samples of 1,408 bits at 30 cycles per bit."""
    rule = CyclesPerBit(cycles_per_bit=(30.0,), sample_bits=1408)
    assert of_step(rule) == pytest.approx(320 * 1408 * 30.0, rel=1e-12)
    assert of_step(rule, fraction=0.25) == pytest.approx(80 * 1408 * 30.0, rel=1e-12)


def test_cycles_by_the_operation_by_hand():
    """A quarter of a cycle for each of 1,000 operations a sample, whatever share of the parameters."""
    rule = CyclesPerOperation(cycles_per_flop=0.25)
    assert of_step(rule) == pytest.approx(0.25 * 1000 * 320, rel=1e-12)
    assert of_step(rule, fraction=0.5) == of_step(rule)


def test_operations_are_counted_only_where_they_cost():
    def counted() -> int:
        raise AssertionError("counted")

    for rule in (CyclesPerStep(), CyclesPerBit()):
        assert rule.of_clients(Simulation(seed=1), FIRST, LocalStep(1, 1.0, counted)) > 0.0


def test_training_without_operations_is_refused():
    with pytest.raises(ConfigurationError, match=r"System\.model has no matrix products or convolutions"):
        of_step(CyclesPerOperation(), flops=0)


def test_cycles_per_bit_are_each_clients_own():
    sim = Simulation(seed=1)
    step = LocalStep(1, 1.0, lambda: 0)
    drawn = CyclesPerBit().of_clients(sim, Numbers.of(ClientNames(0, 300)), step) / 1408
    assert 25.0 <= drawn.min() < 26.0
    assert 39.0 < drawn.max() <= 40.0
    some = Numbers.of(ClientNames(0, 300)).some(np.array([3, 255, 256, 299]))
    assert list(some) == ["client-0003", "client-0255", "client-0256", "client-0299"]
    assert (CyclesPerBit().of_clients(sim, some, step) / 1408).tolist() == drawn[[3, 255, 256, 299]].tolist()


def test_cycles_per_bit_leave_frequencies_alone():
    """Each has a draw of its own."""
    sim, again = Simulation(seed=1), Simulation(seed=1)
    (device,) = DrawnDevices().of_clients(sim, (1,))
    per_bit = CyclesPerBit(sample_bits=1).of_clients(sim, FIRST, LocalStep(1, 1.0, lambda: 0)).item()
    first = again.of_client("client-0000", "frequency", uniforms)
    second = again.of_client("client-0000", "cycles per bit", uniforms)
    assert device.frequency_hz == pytest.approx(2e9 + 2e9 * first, rel=1e-12)
    assert per_bit == pytest.approx(25.0 + 15.0 * second, rel=1e-12)


ON_A_SUBMODEL = "on a submodel it takes the submodel's share of the trained parameters."


class Own(Cycles):
    """A user's rule, by what it is given."""

    @for_each
    def of_clients(self, sim, client, step):
        return {"client-0003": 0.0}.get(client, 1e6)


@pytest.mark.parametrize(
    ("cycles", "rule"),
    [
        (
            CyclesPerStep(),
            "A local step takes 1e+06 cycles, whatever the network (cycles.step_cycles); " + ON_A_SUBMODEL,
        ),
        (
            CyclesPerBit(),
            "A local step takes 25 to 40 cycles for each bit of the mini-batch, whatever the network "
            "(cycles.cycles_per_bit); " + ON_A_SUBMODEL,
        ),
        (
            CyclesPerBit(cycles_per_bit=(30.0,)),
            "A local step takes 30 cycles for each bit of the mini-batch, whatever the network "
            "(cycles.cycles_per_bit); " + ON_A_SUBMODEL,
        ),
        (
            CyclesPerOperation(),
            "A local step takes 0.125 cycles for each floating-point operation of training this network, or "
            "the part of it that a client trains, on the mini-batch (cycles.cycles_per_flop).",
        ),
        (Own(), "A local step takes the cycles of Own."),
    ],
)
def test_the_rule_of_cycles_in_words(cycles, rule):
    assert cycles.rule == rule


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        (CyclesPerStep, {"step_cycles": 0.0}),
        (CyclesPerBit, {"cycles_per_bit": (40.0, 25.0)}),
        (CyclesPerBit, {"sample_bits": 0}),
        (CyclesPerOperation, {"cycles_per_flop": 0.0}),
    ],
)
def test_rules_that_cannot_be_are_refused(kind, broken):
    (name,) = broken
    with refused(f"{kind.__name__}.{name}"):
        kind(**broken)


def test_a_step_without_cycles_is_refused_before_the_clock_starts():
    with pytest.raises(ConfigurationError, match=r"a local step of client-0003 on one sample takes 0 cycles"):
        run(evolve(small_system(), cycles=Own(), evaluation=Never()))


class OneTooFew(Cycles):
    """Forgets a client."""

    def of_clients(self, sim, clients, step):
        return np.full(len(clients) - 1, 1e6)


def test_a_number_for_each_client_is_asked_for():
    rule = r"OneTooFew\.of_clients gives .*must be one number, or one for each of \d+ clients.*@for_each"
    with pytest.raises(ConfigurationError, match=rule):
        run(evolve(small_system(), cycles=OneTooFew(), evaluation=Never()))


# --- When they are asked ------------------------------------------------------------------------------------


@part
class Warming(Cycles):
    """More and more as the clock runs."""

    per_s: float = 1e8

    @for_each
    def of_clients(self, sim, client, step):
        """By the clock."""
        return self.at(sim.now_s)

    def at(self, now_s):
        """Of a step at an instant."""
        return 1e6 + self.per_s * now_s


@part
class WarmingOnArrays(Warming):
    """The same for many."""

    def of_clients(self, sim, clients, step):
        """By the clock."""
        return np.full(len(clients), self.at(sim.now_s))


HZ = 1e9
SAME = DrawnDevices(min_frequency_hz=PerGroup(values=(HZ,)), max_frequency_hz=PerGroup(values=(HZ,)))
SMALL = evolve(small_system(), devices=SAME, evaluation=Never())
EDGE = EdgeTraining(num_edge_rounds=3, steps=SameSteps(num_local_steps=3))
IN_TIME = evolve(EDGE, steps=StepsInTime(training_s=0.01))
ONE_BY_ONE = FedBuff(training=cosim.ClientTraining(num_local_steps=3), num_updates=2)
IN_CELLS = AsynchronousTraining(protocol=ONE_BY_ONE, turn=AfterVersions(num_versions=3))
VERSIONS = AfterVersions(num_versions=9)
ASKING = {
    "HFedAvg": evolve(SMALL, protocol=HFedAvg(training=EDGE)),
    "Hist": evolve(SMALL, protocol=Hist(training=EDGE)),
    "StepsInTime": evolve(SMALL, protocol=HFedAvg(training=IN_TIME)),
    "Vhfl": worlds.vhfl(devices=SAME, evaluation=Never()),
    "RawHfl": worlds.rawhfl(evaluation=Never()),
    "FedBuff": evolve(SMALL, protocol=ONE_BY_ONE, end=VERSIONS),
    "FedAsync, cells": evolve(SMALL, protocol=FedAsync(training=WholeCells(training=EDGE)), end=VERSIONS),
    "FedBuff in cells": evolve(SMALL, protocol=HFedAvg(training=IN_CELLS)),
}


@pytest.mark.parametrize("kind", [Warming, WarmingOnArrays], ids=["each", "many"])
@pytest.mark.parametrize("name", ASKING)
def test_a_job_costs_what_a_step_costs_when_it_begins(name, kind):
    """A training from t on takes a whole number of steps of 1e6 + a t cycles, in every protocol."""
    cycles = kind(per_s=1e4 if name == "RawHfl" else 1e8)
    result = run(evolve(ASKING[name], cycles=cycles))
    trained = result.spans[result.spans["activity"] == "train"].set_index(["node", "job"])
    trained = trained.loc[trained.index.isin(result.uploads.set_index(["client", "job"]).index)]
    frequency_hz = np.full(len(trained), HZ)
    if name == "RawHfl":
        plans = result.tables["plans"]
        number = 2 * (plans["global_round"] - 1) + plans["edge_round"]
        planned = plans.set_index([plans["client"], number]).loc[trained.index]
        frequency_hz = planned["frequency_hz"].to_numpy()
        np.testing.assert_array_equal(planned["time_s"], trained["start_s"])
        ends_s = result.uploads.set_index(["client", "job"])["end_s"].loc[trained.index]
        np.testing.assert_allclose(planned["planned_s"], ends_s - trained["start_s"], rtol=1e-9)
    costs = cycles.at(trained["start_s"].to_numpy())
    steps = (trained["end_s"] - trained["start_s"]).to_numpy() * frequency_hz / costs
    assert len(np.unique(costs)) > 2
    if name == "StepsInTime":
        np.testing.assert_allclose(steps, np.maximum(1.0, np.floor(0.01 * HZ / costs)), rtol=1e-9)
    else:
        np.testing.assert_allclose(steps, np.maximum(1.0, np.rint(steps)), rtol=1e-9)


@pytest.mark.parametrize("kind", [Warming, WarmingOnArrays], ids=["each", "many"])
def test_costs_by_the_clock_are_the_same_on_both(kind):
    system = evolve(SMALL, protocol=HFedAvg(training=IN_TIME), cycles=kind())
    by_events, on_arrays = (run(system, clock=clock).spans for clock in ("events", "arrays"))
    pd.testing.assert_frame_equal(by_events, on_arrays, check_exact=True)
