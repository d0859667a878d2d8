"""Memory of rules about clients goes by their numbers, so that it holds where clients move between cells."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cosim
from cosim.clock.simulation import Simulation
from cosim.jobs.job import Job
from cosim.selection.by_client import ByClient

pytestmark = pytest.mark.quick


class Some:
    """Clients by their numbers, as a cell has them at a time."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = np.array(numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def some(self, chosen: np.ndarray) -> "Some":
        return Some(*sorted(self.numbers[chosen]))

    def places_in(self, others: "Some") -> np.ndarray:
        return np.searchsorted(others.numbers, self.numbers)


def test_columns_keep_their_values_where_clients_come_in_between():
    seen = ByClient(count=0, mean=0.5)
    places = seen.places(Some(3, 7))
    seen["count"][places] += (1, 2)
    assert seen.places(Some(7)).tolist() == [1]
    assert seen.places(Some(1, 5, 7, 9)).tolist() == [0, 2, 3, 4]
    assert seen["count"].tolist() == [0, 1, 0, 2, 0]
    assert seen["mean"].tolist() == [0.5] * 5
    assert seen["count"].dtype == np.int64


def chosen(rule: Any, kept: dict, round: int, clients: Some, **given: Any) -> list[int]:
    """Numbers of clients that a rule chooses in a round of these clients."""
    edge: Any = SimpleNamespace(name="edge-00", clients=clients, kept=kept)
    coming: Any = SimpleNamespace(clients=clients, job=Job(round, 0, round), last=None, **given)
    return rule.participants(Simulation(seed=1), edge, coming).numbers.tolist()


def test_a_client_keeps_its_mean_snr_when_another_leaves_its_cell():
    rule, kept = cosim.selection.ProportionalFair(num_participants=1), {}
    usual = {2: 1.0, 4: 8.0, 6: 2.0}

    def snr(clients):
        return np.array([usual[number] for number in clients.numbers])

    for round in range(3):
        chosen(rule, kept, round, Some(2, 4, 6), known_snr=snr)
    usual |= {4: 8.0, 6: 3.0}
    assert chosen(rule, kept, 3, Some(4, 6), known_snr=snr) == [6]  # better than its mean, which is its own


def test_a_client_whose_update_has_arrived_is_known_in_a_smaller_cell():
    rule, kept = cosim.selection.Oort(num_participants=1, exploration=0.0, least_exploration=0.0), {}
    given = {
        "num_samples": lambda clients: np.ones(len(clients)),
        "losses": lambda clients: np.ones(len(clients)),
        "training_s": lambda clients: np.ones(len(clients)),
    }
    (first,) = chosen(rule, kept, 0, Some(2, 4, 6), **given)
    others = [number for number in (2, 4, 6) if number != first]
    clients = Some(*sorted([first, max(others)]))
    edge: Any = SimpleNamespace(name="edge-00", clients=clients, kept=kept)
    last = SimpleNamespace(clients=Some(first), arrived=np.array([True]), durations_s=np.array([0.1]))
    coming: Any = SimpleNamespace(clients=clients, job=Job(1, 0, 1), last=last, **given)
    for _ in range(5):
        assert rule.participants(Simulation(seed=1), edge, coming).numbers.tolist() == [first]
