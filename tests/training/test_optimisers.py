"""Momentum, weight decay, Adam, many clients at a time, as torch.optim does it one after the other."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from data_sets import loaded
from torch import nn

import models
from cosim import Sgd
from cosim.configuration import ConfigurationError
from cosim.data.dataset import Dataset
from cosim.data.synthetic import Synthetic
from cosim.engine.learning.learner import Learner
from cosim.testing import check_local_training
from cosim.training import Adam, Momentum, Proximal
from cosim.training.port import LocalTraining
from cosim.training.programs.sgd_steps import mini_batches
from cosim.values.combinations import mean
from cosim.values.pending import PendingModel, PendingState, PendingUpdate
from scenarios.papers.rawhfl.recurring_rows import RecurringRows

DATA = loaded(Synthetic())
NUM_CLASSES = 4
ROWS = Dataset(
    name="rows",
    train_x=DATA.train_x[:60],
    train_y=None,
    batching=RecurringRows,
    test_x=DATA.test_x,
    test_y=DATA.test_y,
    num_classes=NUM_CLASSES,
)
"""The same features without labels of their own: a sample is row * num_classes + label."""
BATCH, DECAY = 8, 0.03
Optimizer = Callable[..., torch.optim.Optimizer]
RULES: dict[str, tuple[LocalTraining, Optimizer]] = {
    "decay": (
        Sgd(batch_size=BATCH, learning_rate=0.1, weight_decay=DECAY),
        lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=DECAY),
    ),
    "momentum": (
        Momentum(batch_size=BATCH, learning_rate=0.1, momentum=0.8, keeps_state=True),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8),
    ),
    "nesterov": (
        Momentum(
            batch_size=BATCH,
            learning_rate=0.1,
            momentum=0.8,
            nesterov=True,
            weight_decay=DECAY,
            keeps_state=True,
        ),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8, nesterov=True, weight_decay=DECAY),
    ),
    "adam": (
        Adam(batch_size=BATCH, learning_rate=0.01, weight_decay=DECAY, keeps_state=True),
        lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=DECAY),
    ),
}


class Smooth(nn.Sequential):
    """A network whose gradients were never derived by hand."""

    def __init__(self):
        super().__init__(nn.Linear(12, 9), nn.Tanh(), nn.Linear(9, NUM_CLASSES))


class Convolving(nn.Sequential):
    """A network that is trained client by client."""

    def __init__(self):
        super().__init__(
            nn.Unflatten(1, (1, 12)), nn.Conv1d(1, 2, 5), nn.ReLU(), nn.Flatten(), nn.Linear(16, NUM_CLASSES)
        )


NETWORKS = {"relu layers": lambda: models.build("mlp-12-9-4"), "vmap": Smooth, "alone": Convolving}


def an_update(
    start: PendingModel, number: int, round_: int, training: LocalTraining, state: PendingState | None = None
) -> PendingUpdate:
    """Of a client with its own samples and its own number of steps, another in every round."""
    return PendingUpdate(
        client=f"client-{number}",
        model=start,
        samples=np.arange(40 * number, 40 * number + 25),
        num_steps=2 + (number + round_) % 3,
        training=training,
        key=10 * round_ + number,
        state=state,
    )


def labelled(dataset: Dataset, batch: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    if dataset.train_y is not None:
        return torch.tensor(dataset.train_x[batch]), torch.tensor(dataset.train_y[batch])
    return torch.tensor(dataset.train_x[batch // NUM_CLASSES]), torch.tensor(batch % NUM_CLASSES)


def looped(
    make: Callable[[], nn.Module], dataset: Dataset, weights: dict[str, np.ndarray], optimizer: Optimizer
) -> dict[str, np.ndarray]:
    """Two rounds of four clients, each with an optimiser that lives as long as the run."""
    networks = [make() for _ in range(4)]
    optimizers = [optimizer(network.parameters()) for network in networks]
    for round_ in range(2):
        ends = []
        for number, (network, own) in enumerate(zip(networks, optimizers, strict=True)):
            network.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})
            asked = an_update(PendingModel(), number, round_, Sgd())
            for batch in mini_batches(asked.samples, asked.num_steps, BATCH, asked.key):
                x, y = labelled(dataset, batch)
                own.zero_grad()
                nn.functional.cross_entropy(network(x), y).backward()
                own.step()
            ends.append({name: p.detach().numpy().copy() for name, p in network.named_parameters()})
        weights = {name: np.mean([end[name] for end in ends], axis=0) for name in weights}
    return weights


def learned(
    network: nn.Module, dataset: Dataset, rule: LocalTraining, num_workers: int = 1
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The same two rounds: weights before, and after."""
    learner = Learner(network, dataset, num_workers=num_workers)
    model = learner.initial_model(key=3)
    before, states = learner.weights(model), [None] * 4
    for round_ in range(2):
        asked = [an_update(model, number, round_, rule, states[number]) for number in range(4)]
        states = [update.next_state if rule.keeps_state else None for update in asked]
        model = mean(asked)
    return before, learner.weights(model)


@pytest.mark.parametrize("dataset", [DATA, ROWS], ids=["samples", "rows"])
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", RULES)
def test_two_rounds_are_those_of_an_optimiser_for_each_client(name: str, network: str, dataset: Dataset):
    rule, optimizer = RULES[name]
    before, after = learned(NETWORKS[network](), dataset, rule)
    expected = looped(NETWORKS[network], dataset, before, optimizer)
    for tensor, values in after.items():
        np.testing.assert_allclose(values, expected[tensor], rtol=1e-4, atol=2e-6, err_msg=tensor)
        assert np.abs(values - before[tensor]).max() > 1e-3


@pytest.mark.parametrize("kind", [Momentum, Adam])
def test_without_a_state_every_round_begins_anew(kind: type[Momentum] | type[Adam]):
    learner = Learner(models.build("mlp-12-9-4"), DATA, num_workers=1)
    rule = kind(batch_size=BATCH)
    model = mean([an_update(learner.initial_model(key=3), 0, 0, rule)])
    again = mean([an_update(learner.stored_model(learner.weights(model)), 0, 1, rule)])
    on = mean([an_update(model, 0, 1, rule)])
    np.testing.assert_equal(learner.weights(on), learner.weights(again))


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize(
    "rule",
    [
        Momentum(batch_size=BATCH, momentum=0.0),
        Proximal(batch_size=BATCH, mu=0.0),
        Sgd(batch_size=BATCH, weight_decay=0.0),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_a_term_of_weight_zero_is_plain_sgd_bit_for_bit(rule: LocalTraining, network: str):
    plain = learned(NETWORKS[network](), DATA, Sgd(batch_size=BATCH))
    np.testing.assert_equal(learned(NETWORKS[network](), DATA, rule), plain)


@pytest.mark.parametrize("name", RULES)
def test_results_do_not_depend_on_the_number_of_workers(name: str):
    one, two = (learned(Smooth(), DATA, RULES[name][0], num_workers) for num_workers in (1, 2))
    np.testing.assert_equal(one, two)


# --- by hand: one weight ------------------------------------------------------------------------------------


class OneWeight(nn.Module):
    """Predicts w for everything."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([2.0]))

    def forward(self, x):
        """The same for each sample."""
        return self.w.expand(len(x), 1)


TARGETS = (0.0, 1.0)
"""Of the only sample of each client; half the gradient of (w - target)^2 is w - target."""
QUANTITIES = Dataset(
    name="quantities",
    train_x=np.zeros((2, 1), np.float32),
    train_y=np.array(TARGETS, np.float32),
    test_x=np.zeros((1, 1), np.float32),
    test_y=np.zeros(1, np.float32),
    num_classes=None,
)


def three_steps(rule: LocalTraining) -> float:
    """The mean of two clients' weights after three steps each, from w = 2."""
    learner = Learner(OneWeight(), QUANTITIES, num_workers=1, brings_weights=True)
    start, work = learner.initial_model(key=1), {"num_steps": 3, "training": rule}
    asked = [PendingUpdate(client=f"client-{n}", model=start, samples=[n], key=n, **work) for n in range(2)]
    return float(learner.weights(mean(asked))["w"][0])


def by_hand(step: Callable[[float, float, int, dict[str, float]], float]) -> float:
    """The same with a step from w, the gradient 2 (w - target), the number of the step, and a state."""
    ends = []
    for target in TARGETS:
        w, state = 2.0, {"b": 0.0, "v": 0.0}
        for number in (1, 2, 3):
            w = step(w, 2.0 * (w - target), number, state)
        ends.append(w)
    return sum(ends) / 2


def decayed(w: float, g: float, number: int, state: dict[str, float]) -> float:
    return w - 0.1 * (g + 0.5 * w)


def pulled(w: float, g: float, number: int, state: dict[str, float]) -> float:
    return w - 0.1 * (g + 0.7 * (w - 2.0))


def pushed(w: float, g: float, number: int, state: dict[str, float]) -> float:
    state["b"] = 0.6 * state["b"] + g
    return w - 0.1 * state["b"]


def pushed_ahead(w: float, g: float, number: int, state: dict[str, float]) -> float:
    state["b"] = 0.6 * state["b"] + g
    return w - 0.1 * (g + 0.6 * state["b"])


def adapted(w: float, g: float, number: int, state: dict[str, float]) -> float:
    state["b"] = 0.9 * state["b"] + 0.1 * g
    state["v"] = 0.99 * state["v"] + 0.01 * g * g
    first, second = state["b"] / (1 - 0.9**number), state["v"] / (1 - 0.99**number)
    return w - 0.1 * first / (second**0.5 + 1e-3)


@pytest.mark.parametrize(
    ("rule", "step"),
    [
        (Sgd(batch_size=1, learning_rate=0.1, weight_decay=0.5), decayed),
        (Proximal(batch_size=1, learning_rate=0.1, mu=0.7), pulled),
        (Momentum(batch_size=1, learning_rate=0.1, momentum=0.6), pushed),
        (Momentum(batch_size=1, learning_rate=0.1, momentum=0.6, nesterov=True), pushed_ahead),
        (Adam(batch_size=1, learning_rate=0.1, beta2=0.99, epsilon=1e-3), adapted),
    ],
    ids=["decay", "proximal", "momentum", "nesterov", "adam"],
)
def test_three_steps_of_two_clients_by_hand(rule, step):
    assert three_steps(rule) == pytest.approx(by_hand(step), rel=1e-6)


# --- in a run -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        Momentum(batch_size=10, nesterov=True, keeps_state=True),
        Adam(batch_size=10, keeps_state=True),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_the_contract_of_local_training(rule: LocalTraining):
    check_local_training(rule)


def test_a_momentum_that_is_no_factor_is_refused():
    with pytest.raises(ConfigurationError, match=r"Momentum\.momentum = 1\.5: must lie from 0 to 1"):
        Momentum(momentum=1.5)
