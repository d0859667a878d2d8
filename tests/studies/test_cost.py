"""Cost of a study: the arithmetic, on a clock that the test turns."""

import pytest

from cosim import AfterRounds, AfterSeconds, Never, System, evolve
from cosim.data import Synthetic
from cosim.ends.port import Progress
from cosim.engine.servers.cloud import VersionReport
from cosim.studies import cost

pytestmark = pytest.mark.quick

SYSTEM = System(num_clients=4, num_cells=2, data=Synthetic(), end=AfterRounds(num_global_rounds=50))
BEGIN_S, EVENTS_S, LEARNING_S, UPDATES = 7.0, 0.25, 0.5, 4
EVALUATING_S = 0.125
LOSES_ALL = 17
"""Seed with which no update arrives."""


@pytest.fixture(autouse=True)
def turned(monkeypatch):
    """Runs that take 0.25 s of events for each round, and 0.5 s of learning for an update.

    A round without updates is evaluated in 0.125 s.
    """
    clock = [100.0]

    def noted(system, *, listener, data_dir, num_workers):
        if system.seed == 13:
            raise RuntimeError("cannot begin")
        learns, updates = system.evaluation.learns, 0 if system.seed == LOSES_ALL else system.num_clients
        clock[0] += BEGIN_S if learns else 0.0
        for number in range(1000):
            listener(VersionReport(Progress(number, number, number * updates, float(number)), None, None, {}))
            clock[0] += EVENTS_S + ((LEARNING_S * updates or EVALUATING_S) if learns else 0.0)

    monkeypatch.setattr(cost, "run", noted)
    monkeypatch.setattr(cost.time, "monotonic", lambda: clock[0])


def wanted_s(num_clients: int, num_units: float = 50.0) -> float:
    return BEGIN_S + num_units * (EVENTS_S + LEARNING_S * num_clients)


def test_learning_is_measured_once_and_counted_by_updates():
    designs = [evolve(SYSTEM, num_clients=number) for number in (4, 8, 40)]
    found = cost.costs_s(designs, None)
    assert found == pytest.approx([wanted_s(4), wanted_s(8), wanted_s(40)], rel=1e-12)


def test_an_end_may_count_something_else():
    longer = evolve(SYSTEM, end=AfterSeconds(duration_s=80.0))
    assert cost.costs_s([SYSTEM, longer], None) == pytest.approx([wanted_s(4), wanted_s(4, 80.0)], rel=1e-12)


def test_timing_only_costs_its_events():
    timed = evolve(SYSTEM, evaluation=Never())
    assert cost.costs_s([timed], None) == pytest.approx([50 * EVENTS_S], rel=1e-12)


def test_a_first_design_that_cannot_begin_says_nothing():
    assert cost.costs_s([evolve(SYSTEM, seed=13), SYSTEM], None) is None


@pytest.mark.parametrize("places", [(0, 1), (1, 0)])
def test_where_a_design_loses_every_update_learning_is_measured_in_another(places):
    designs = [evolve(SYSTEM, seed=LOSES_ALL), SYSTEM]
    found = cost.costs_s([designs[place] for place in places], None)
    assert found == pytest.approx([[wanted_s(0), wanted_s(4)][place] for place in places], rel=1e-12)


def test_where_all_designs_lose_every_update_a_round_costs_what_it_does_in_the_first():
    designs = [evolve(SYSTEM, seed=LOSES_ALL, num_clients=number) for number in (4, 8)]
    assert cost.costs_s(designs, None) == pytest.approx([wanted_s(0) + 50 * EVALUATING_S] * 2, rel=1e-12)


def test_later_probes_give_way_to_time(monkeypatch):
    monkeypatch.setattr(cost, "_ALL_PROBES_WALL_S", 0.1)
    found = cost.costs_s([SYSTEM, evolve(SYSTEM, num_clients=40)], None)
    assert found == pytest.approx([wanted_s(4)] * 2, rel=1e-12)
