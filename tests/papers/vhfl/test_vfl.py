"""VFL against two networks that hand over outputs and gradients; times and bits of its exchanges."""

import numpy as np
import pytest
import torch
import worlds

import models
from cosim import AfterRounds, ConfigurationError, QueuedLink, Sgd, System, evolve
from cosim.clock.simulation import Simulation
from cosim.codecs import Qsgd
from cosim.data import Iid
from cosim.data.dataset import Dataset
from cosim.queues import Deterministic, NoWork, OwnPaths, PoissonArrivals
from cosim.testing import check_protocol
from cosim.training.programs.sgd_steps import mini_batches
from scenarios.papers.vhfl import CellTraffic, Traffic, Vfl

NUM_GLOBAL, NUM_OUTPUTS, NUM_SAMPLES, BATCH, RATE = 4, 5, 30, 10, 0.1
NUM_ROUNDS, NUM_EXCHANGES = 2, 4
SERVICE_S, TRAIN_S = 0.3, 1e-3  # 1e6 cycles a step at 1 GHz
MODEL = "vertical-4-3-8-5"


def dataset() -> Dataset:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((NUM_SAMPLES + 10, 7)).astype(np.float32)
    y = (1.0 + x[:, 0] * x[:, 6] + x[:, 1]).astype(np.float32)
    return Dataset(
        name="toy",
        train_x=x[:NUM_SAMPLES],
        train_y=y[:NUM_SAMPLES],
        test_x=x[NUM_SAMPLES:],
        test_y=y[NUM_SAMPLES:],
        num_classes=None,
        num_global_features=NUM_GLOBAL,
        train_owners=np.zeros(NUM_SAMPLES, dtype=int),
    )


def system(batch_size: int = BATCH) -> System:
    """One client, no background traffic, 0.3 s of service for every message."""
    return System(
        seed=3,
        num_cells=1,
        num_clients=1,
        model=MODEL,
        data=CellTraffic(),
        devices=worlds.processors(1e9),
        uplink=QueuedLink(
            arrivals=PoissonArrivals(rate_per_s=0.0),
            service=Deterministic(duration_s=SERVICE_S),
            paths=OwnPaths(),
            initial_work=NoWork(),
        ),
        protocol=Vfl(num_exchanges=NUM_EXCHANGES, local=Sgd(batch_size=batch_size, learning_rate=RATE)),
        end=AfterRounds(num_global_rounds=NUM_ROUNDS),
    )


def two_agents(weights: dict[str, np.ndarray], batches: np.ndarray, *, along: float = 1.0) -> dict:
    """Eqs. 8 and 9: A knows its features and u, B its features, the labels and u; they share nothing else.

    Args:
        batches: Samples of each slot, shape (slots, batch).
        along: Factor of the gradient that B sends; 1 is the paper's.
    """
    data, network = dataset(), models.build(MODEL).double()
    network.load_state_dict({name: torch.tensor(w, dtype=torch.float64) for name, w in weights.items()})
    agent_a, agent_b = network.central, network.local
    of_a, of_b = (torch.tensor(x).double() for x in np.split(data.train_x, [NUM_GLOBAL], axis=1))
    labels = torch.tensor(data.train_y).double()
    for batch in batches:
        outputs = agent_a(of_a[batch])
        sent = outputs.detach().requires_grad_()
        loss = (agent_b(torch.cat((sent, of_b[batch]), 1)).squeeze(-1) - labels[batch]).square().mean()
        gradient, *of_parts = torch.autograd.grad(loss, (sent, *agent_b.parameters()))
        back = torch.autograd.grad(outputs, tuple(agent_a.parameters()), grad_outputs=along * gradient)
        with torch.no_grad():
            for part, step in zip(
                (*agent_b.parameters(), *agent_a.parameters()), (*of_parts, *back), strict=True
            ):
                part -= RATE * step
    return {name: values.detach().numpy() for name, values in network.named_parameters()}


@pytest.mark.parametrize("batch_size", [BATCH, NUM_SAMPLES])
def test_exchanges_of_outputs_and_gradients_train_both_parts(batch_size):
    """A batch of all samples is the paper's step; a wrong gradient from B is caught."""
    asked = system(batch_size)
    sim, learner, cloud = worlds.built(asked, dataset())
    found = learner.weights(sim.run(asked.protocol.run(sim, cloud)))
    draws = Simulation(3)
    first = learner.weights(learner.initial_model(draws.key("cloud", "initial weights")))
    last_jobs = [number * NUM_EXCHANGES - 1 for number in range(1, NUM_ROUNDS + 1)]
    batches = np.concatenate(
        [
            mini_batches(
                np.arange(NUM_SAMPLES),
                NUM_EXCHANGES,
                batch_size,
                draws.key("client-0000", "mini-batches", job),
            )
            for job in last_jobs
        ]
    )
    wanted, wrong = two_agents(first, batches), two_agents(first, batches, along=0.9)
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, rtol=0, atol=3e-6, err_msg=name)
    assert max(np.abs(found[name] - wrong[name]).max() for name in wrong) > 1e-4


def test_every_exchange_takes_a_step_and_an_upload():
    """Of a gradient for each output and sample of the mini-batch; no weights travel."""
    sim, _, cloud = worlds.built(system(), dataset())
    sim.run(system().protocol.run(sim, cloud))
    num = NUM_ROUNDS * NUM_EXCHANGES
    trace = sim.recorder
    each_s = TRAIN_S + SERVICE_S
    assert [row.end_s for row in trace.transfers] == pytest.approx(each_s * np.arange(1, num + 1), rel=1e-12)
    assert {row.payload_bits for row in trace.transfers} == {32 * BATCH * NUM_OUTPUTS}
    ends_s = [row.end_s for row in trace.rounds if row.level == "global"]
    assert ends_s == pytest.approx([each_s * NUM_EXCHANGES, each_s * num], rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"num_clients": 2, "data": CellTraffic(split=Iid())},
            r"num_clients = 2, System.num_cells = 1: VFL has one client .* num_clients = 1",
        ),
        ({"model": "horizontal-7-8-5"}, r"VFL needs a part of the network and features for the server"),
    ],
)
def test_two_agents_and_two_parts(changes, message):
    with pytest.raises(ConfigurationError, match=message):
        worlds.built(evolve(system(), **changes), dataset())


def test_codecs_of_models_are_refused():
    with pytest.raises(ConfigurationError, match=r"outputs and their gradients travel.* Use Uncompressed"):
        evolve(system(), codec=Qsgd())


def test_it_keeps_the_contract_of_protocols():
    traffic = CellTraffic(num_cells=4, traffic=Traffic(num_days=3), split=Iid())
    usual = evolve(system(), model="vertical-9-12-8-5", data=traffic)
    check_protocol(evolve(usual.protocol, num_exchanges=2), usual)
