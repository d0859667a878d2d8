"""Local steps: each rule by arithmetic; time, energy and updates follow from them, on both clocks."""

import attrs
import numpy as np
import pytest
import worlds

import cosim
from cosim import ConfigurationError, HFedAvg, Never, SameSteps
from cosim.clock.simulation import Simulation
from cosim.engine.servers.cloud import Cloud
from cosim.jobs.job import Job
from cosim.testing import check_protocol, small_system
from cosim.training import DrawnSteps, Epochs, StepsInTime


def nodes(system: cosim.System) -> Cloud:
    return worlds.built(system)[2]


def of(rule: cosim.training.LocalSteps, number: int = 0, seed: int = 1) -> np.ndarray:
    """Steps of the three clients of the first cell, whose steps take 1, 2 and 4 ms, with batches of 10."""
    edge = nodes(small_system()).edges[0]
    step_s = np.array([1e-3, 2e-3, 4e-3])
    return rule.of_clients(Simulation(seed), edge.clients, Job.of_round(1, number, 2), 10, step_s)


def test_each_rule_by_arithmetic():
    assert of(SameSteps(num_local_steps=7)).tolist() == [7, 7, 7]
    sizes = [len(client.samples) for client in nodes(small_system()).edges[0].clients]
    assert of(Epochs(num_epochs=3)).tolist() == [-(-3 * size // 10) for size in sizes]
    assert of(StepsInTime(training_s=6.5e-3)).tolist() == [6, 3, 1]
    assert of(StepsInTime(training_s=1e-4)).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("training_s", "step_cycles"), [(0.3, 1e6), (0.7, 1e6), (0.29, 1e5), (2.3, 1e5), (1.1, 1e4)]
)
def test_a_step_that_ends_with_the_time_is_one_of_them(training_s, step_cycles):
    """Steps of 0.1, 0.01 and 0.001 s by cycles over hertz, neither of which is a whole number."""
    hz = cosim.PerGroup(values=(1e6 / 0.1,))
    devices = cosim.DrawnDevices(min_frequency_hz=hz, max_frequency_hz=hz)
    training = cosim.EdgeTraining(num_edge_rounds=1, steps=StepsInTime(training_s=training_s))
    system = attrs.evolve(
        small_system(),
        devices=devices,
        cycles=cosim.devices.CyclesPerStep(step_cycles=step_cycles),
        protocol=HFedAvg(training=training),
        end=cosim.AfterRounds(num_global_rounds=1),
        evaluation=Never(),
    )
    for clock in ("events", "arrays"):
        spans = cosim.run(system, clock=clock).spans
        lasted_s = (spans["end_s"] - spans["start_s"])[spans["activity"] == "train"]
        assert lasted_s.to_numpy() == pytest.approx(training_s, rel=1e-12)


def test_drawn_steps_are_uniform_and_anew_in_every_round():
    rule = DrawnSteps(range_of_steps=(2, 5))
    drawn = np.array([of(rule, number) for number in range(100)])
    counts = np.bincount(drawn.ravel(), minlength=6)
    assert counts[:2].tolist() == [0, 0]
    assert (np.abs(counts[2:] - 75) < 3.3 * np.sqrt(300 * 0.25 * 0.75)).all()  # 99.9 %
    assert of(rule).tolist() == of(rule).tolist() != of(rule, seed=2).tolist()


@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_time_and_energy_follow(clock):
    """Two edge rounds of DrawnSteps take, client by client, a multiple of one step."""
    system = attrs.evolve(small_system(), end=cosim.AfterRounds(num_global_rounds=1), evaluation=Never())

    def trained(rule: cosim.training.LocalSteps):
        training = attrs.evolve(system.protocol.training, steps=rule)
        spans = cosim.run(attrs.evolve(system, protocol=HFedAvg(training=training)), clock=clock).spans
        spans = spans[spans["activity"] == "train"].sort_values(["node", "job"])
        return (spans["end_s"] - spans["start_s"]).to_numpy(), spans["energy_j"].to_numpy()

    rule = DrawnSteps(range_of_steps=(1, 9))
    one_s, one_j = trained(SameSteps(num_local_steps=1))
    drawn_s, drawn_j = trained(rule)
    steps = [
        int(of_cell[place])
        for edge in nodes(system).edges
        for place in range(len(edge.clients))
        for number in range(2)
        for of_cell in [rule.of_clients(Simulation(1), edge.clients, Job.of_round(1, number, 2), 10, one_s)]
    ]
    assert len(set(steps)) > 2
    assert drawn_s == pytest.approx(one_s * steps, rel=1e-9)
    assert drawn_j == pytest.approx(one_j * steps, rel=1e-9)


@pytest.mark.parametrize("steps", [DrawnSteps(range_of_steps=(1, 4)), Epochs()])
def test_rules_keep_the_laws_of_runs(steps):
    training = attrs.evolve(
        small_system().protocol.training, steps=steps, server=cosim.server_updates.FedNova()
    )
    check_protocol(HFedAvg(training=training))


class Idle(cosim.training.LocalSteps):
    """Forgets that at least one client must work."""

    def of_clients(self, sim, clients, job, batch_size, step_s):
        """Nothing."""
        return np.zeros(len(clients), dtype=int)


def test_steps_that_are_none_are_refused():
    training = attrs.evolve(small_system().protocol.training, steps=Idle())
    system = attrs.evolve(small_system(), protocol=HFedAvg(training=training))
    with pytest.raises(ConfigurationError, match=r"Idle\.of_clients gives .*whole numbers from 1"):
        cosim.run(system)


def test_a_plan_of_times_wants_the_same_steps_for_all():
    training = cosim.EdgeTraining(steps=Epochs())
    protocol = cosim.Hist(training=training, submodel_sizes=cosim.protocols.LatencyOptimal())
    with pytest.raises(ConfigurationError, match=r"EdgeTraining\.steps = 'Epochs': .* one number for all"):
        cosim.run(attrs.evolve(small_system(), protocol=protocol))
