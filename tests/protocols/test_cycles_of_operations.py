"""Training times that follow the operations of the network, against counts by hand; and others that do not.

By hand, for one sample: a layer computes its outputs, the gradient of its weights and, if it is not the
first, the gradient of its inputs; each is a multiplication and an addition for every weight (and position).
"""

from itertools import pairwise

import numpy as np
import pytest
import worlds

from cosim import AfterRounds, EdgeTraining, HFedAvg, Hist, Never, Sgd, evolve
from cosim.data.dataset import Dataset
from cosim.devices import Cycles, CyclesPerBit, CyclesPerOperation, CyclesPerStep
from cosim.protocols import Fractions
from cosim.recording.recorder import Recorder
from cosim.training.local_steps import SameSteps
from scenarios.papers.rawhfl import RawHfl, Unconstrained

FREQUENCY_HZ, STEPS, BATCH = 1e9, 3, 20
CAPACITANCE = 2e-28
TRAINING = EdgeTraining(
    num_edge_rounds=1, steps=SameSteps(num_local_steps=STEPS), local=Sgd(batch_size=BATCH)
)
DEVICES = worlds.processors(FREQUENCY_HZ, capacitance_j_per_hz2=CAPACITANCE)
BY_FLOPS, BY_PARAMETERS = CyclesPerOperation(), CyclesPerStep()


def recorder_of(model: str, cycles: Cycles, protocol: HFedAvg | Hist | RawHfl, **fields: object) -> Recorder:
    """Two cells on pictures of 28 x 28 that are never looked at: only the clock runs."""
    rng = np.random.default_rng(1)
    dataset = Dataset(
        name="noise",
        train_x=rng.random((200, 784), dtype=np.float32),
        train_y=np.arange(200) % 10,
        test_x=rng.random((20, 784), dtype=np.float32),
        test_y=np.arange(20) % 10,
        num_classes=10,
    )
    usual = worlds.alike(
        2,
        2,
        model=model,
        devices=DEVICES,
        cycles=cycles,
        protocol=protocol,
        end=AfterRounds(num_global_rounds=1),
        evaluation=Never(),
    )
    system = evolve(usual, **fields)
    sim, _, cloud = worlds.built(system, dataset)
    sim.run(system.protocol.run(sim, cloud))
    return sim.recorder


def training(trace: Recorder, edge: str | None = None) -> tuple[float, float]:
    """Seconds and joules of a client's first training, the same for all clients (of a cell)."""
    clients = {row.client for row in trace.transfers if edge in (None, row.edge)}
    found = {
        (span.end_s, span.energy_j)
        for span in trace.spans
        if span.activity == "train" and span.start_s == 0.0 and span.node in clients
    }
    assert len(clients) == (4 if edge is None else 2)
    (only,) = found
    return only


def dense(sizes: tuple[int, ...]) -> int:
    first, *rest = [num_inputs * num_outputs for num_inputs, num_outputs in pairwise(sizes)]
    return 2 * (2 * first + 3 * sum(rest))


def lenet5(num_units: int) -> int:
    """Network with some of the 120 units of its first dense layer."""
    first = 24 * 24 * 5 * 5 * 1 * 6  # from 28 x 28, without padding
    second = 8 * 8 * 5 * 5 * 6 * 16  # from 12 x 12, after the pool
    return 2 * (2 * first + 3 * (second + 16 * 4 * 4 * num_units + num_units * 84 + 84 * 10))


WHOLE = HFedAvg(training=TRAINING)
BY_HAND = {
    "relu-784-30-10": 2 * (2 * 23_520 + 3 * 300),
    "relu-784-300-10": 2 * (2 * 235_200 + 3 * 3_000),
    "lenet5-10": lenet5(120),
}


@pytest.mark.parametrize("model", BY_HAND)
@pytest.mark.parametrize("cycles_per_flop", [0.125, 0.25])
def test_every_network_takes_what_its_operations_take(model, cycles_per_flop):
    seconds, joules = training(recorder_of(model, evolve(BY_FLOPS, cycles_per_flop=cycles_per_flop), WHOLE))
    cycles = STEPS * cycles_per_flop * BY_HAND[model] * BATCH
    assert seconds == pytest.approx(cycles / FREQUENCY_HZ, rel=1e-12)
    assert joules == pytest.approx(0.5 * CAPACITANCE * cycles * FREQUENCY_HZ**2, rel=1e-12)  # eq. 11
    assert len(set(BY_HAND.values())) == 3


def test_eight_operations_a_cycle_are_the_default():
    assert CyclesPerOperation().cycles_per_flop == 1 / 8


def test_a_step_takes_its_mini_batch():
    """Twice the samples take twice the time, where a fixed number of cycles takes what it takes."""
    double = evolve(WHOLE, training=evolve(TRAINING, local=Sgd(batch_size=2 * BATCH)))
    for cycles, factor in ((BY_FLOPS, 2.0), (BY_PARAMETERS, 1.0)):
        seconds, twice = (training(recorder_of("relu-784-30-10", cycles, p))[0] for p in (WHOLE, double))
        assert twice == pytest.approx(factor * seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "operations"),
    [
        ("relu-784-40-10", (dense((784, 30, 10)), dense((784, 10, 10)))),
        ("relu-784-40-20-10", (dense((784, 30, 20, 10)), dense((784, 10, 20, 10)))),
        ("lenet5-10", (lenet5(90), lenet5(30))),
    ],
)
def test_a_part_takes_what_its_own_layers_take(model, operations):
    """Three quarters and one of the units of the first hidden dense layer; what is not cut costs both all."""
    hist = Hist(training=TRAINING, submodel_sizes=Fractions(values=(0.75, 0.25)))
    trace = recorder_of(model, BY_FLOPS, hist)
    for edge, flops in zip(("edge-00", "edge-01"), operations, strict=True):
        seconds, _ = training(trace, edge)
        assert seconds == pytest.approx(STEPS * 0.125 * flops * BATCH / FREQUENCY_HZ, rel=1e-12)


def test_plans_count_operations_too():
    """RawHFL, M steps of 10 mini-batches: the span and the plan take what arithmetic says."""
    protocol = RawHfl(num_edge_rounds=1, max_local_rounds=4, policy=Unconstrained())
    trace = recorder_of("relu-784-30-10", BY_FLOPS, evolve(protocol, local=Sgd(batch_size=BATCH)))
    seconds, _ = training(trace)
    assert seconds == pytest.approx(
        4 * 0.125 * BY_HAND["relu-784-30-10"] * 10 * BATCH / FREQUENCY_HZ, rel=1e-12
    )
    sent_s = {row.client: row.end_s - row.start_s for row in trace.transfers}
    for plan in trace.plans:
        assert plan.planned_s == pytest.approx(seconds + sent_s[plan.client], rel=1e-9)


def test_what_the_papers_fix_no_network_changes():
    """Cycles of a step and cycles per bit, whatever the network."""
    for rule, cycles in (
        (CyclesPerStep(), 1e6),
        (CyclesPerStep(step_cycles=7e6), 7e6),
        (CyclesPerBit(cycles_per_bit=(30.0,)), 30.0 * 1408 * BATCH),
    ):
        for model in BY_HAND:
            seconds, _ = training(recorder_of(model, rule, WHOLE))
            assert seconds == pytest.approx(STEPS * cycles / FREQUENCY_HZ, rel=1e-12)
