"""Selection rules by hand: which of six clients are chosen, from what a rule is told."""

import math
import pickle
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
import worlds
from scipy import stats

import cosim
from cosim import ConfigurationError, HFedAvg, Never, Selection
from cosim.clock.simulation import Simulation
from cosim.configuration import from_dict, part, parts_of, to_dict
from cosim.engine.clients.fleet import Clients
from cosim.jobs.job import Job
from cosim.jobs.past_round import PastRound
from cosim.selection import (
    BySamples,
    DeadlineFeasible,
    FedCs,
    Oort,
    PowerOfChoice,
    ProportionalFair,
    RoundRobin,
    SomeClients,
)
from cosim.selection.deadlines import one_by_one
from cosim.selection.port import drawn
from cosim.testing import check_selection, small_system

NUM_CLIENTS = 6
SYSTEM = attrs.evolve(small_system(), num_cells=1, num_clients=NUM_CLIENTS)


class Told:
    """A cell of six, and rounds with given knowledge of its clients, by their places."""

    def __init__(self, rule: Selection, **known: object) -> None:
        (self.edge,) = worlds.built(SYSTEM)[2].edges
        self.rule, self.sim, self.round, self.asked = rule, Simulation(1), 0, []
        self.known = known
        self.last: PastRound | None = None
        self.there = self.edge.clients

    def choose(self, **known: object) -> list[int]:
        """Places of participants of the next round."""
        known = self.known | known

        def of(name: str):
            def answer(clients, **_):
                places = self.edge.clients.these(clients).numbers
                self.asked.append((name, places.tolist()))
                return np.array(known[name], dtype=float)[places]

            return answer

        names = ("losses", "num_samples", "training_s", "upload_s", "known_snr")
        job = Job.of_round(1 + self.round, 0, 1)
        coming = SimpleNamespace(
            job=job, last=self.last, clients=self.there, **{name: of(name) for name in names}
        )
        clients = self.rule.participants(self.sim, self.edge, coming)
        self.chosen, self.job = clients, job
        self.round += 1
        return clients.numbers.tolist()

    def end(self, durations_s: list[float], arrived: list[bool]) -> None:
        """Outcomes of the clients that were chosen last."""
        self.last = PastRound(self.chosen, self.job, 5.0, 5.0 + np.array(durations_s), np.array(arrived))


def test_turns_go_by_number():
    told = Told(RoundRobin(num_participants=4))
    assert [told.choose() for _ in range(3)] == [[0, 1, 2, 3], [0, 1, 4, 5], [2, 3, 4, 5]]


def test_draws_without_replacement_are_in_proportion_one_after_the_other():
    """First a, then b: p_a p_b / (1 - p_a), of weights 1, 2, 3; that of equal ones must fail."""
    weights, num = np.array([1.0, 2.0, 3.0]), 6000
    rng = np.random.default_rng(1)
    found = np.array([drawn(rng, weights, 2) for _ in range(num)])
    p = weights / 6
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    counts = [int(((found[:, 0] == a) & (found[:, 1] == b)).sum()) for a, b in pairs]
    expected = np.array([p[a] * p[b] / (1 - p[a]) for a, b in pairs]) * num
    assert stats.chisquare(counts, expected).pvalue > 0.001
    assert stats.chisquare(counts, np.full(6, num / 6)).pvalue < 1e-6
    assert drawn(rng, np.array([0.0, 1.0, 0.0]), 2).tolist() == [1, 0]


def test_who_has_many_samples_is_drawn_often():
    told = Told(BySamples(num_participants=1), num_samples=[1, 1, 1, 1, 1, 5])
    counts = np.bincount([told.choose()[0] for _ in range(400)], minlength=NUM_CLIENTS)
    assert abs(counts[5] - 200) < 3.3 * math.sqrt(400 * 0.25)  # 99.9 %


def test_proportional_fair_is_the_best_for_itself():
    """Means so far: (1, 1, ..), then (1.5, 1, 5.5, ..), so 2 / 1.5 beats 10 / 5.5 not, nor 1."""
    told = Told(ProportionalFair(num_participants=1))
    told.choose(known_snr=[1, 1, 1, 50, 1, 1])
    assert told.choose(known_snr=[2, 1, 10, 60, 1, 1]) == [2]  # 10 / 5.5 > 2 / 1.5 > 60 / 55
    assert told.choose(known_snr=[3, 1, 4, 60, 1, 1]) == [0]  # 3 / 2 > 60 / 56.7 > 4 / 5


def test_constant_channels_are_no_reason():
    told = Told(ProportionalFair(num_participants=1), known_snr=[1, 2, 3, 4, 5, 0.1])
    counts = np.bincount([told.choose()[0] for _ in range(300)], minlength=NUM_CLIENTS)
    assert stats.chisquare(counts).pvalue > 0.001


def test_clients_one_by_one_are_the_first_to_have_sent():
    """Training 1, 4, 2 s, uploads 2, 1, 4 s: 0 ends at 3, 1 at max(4, 3) + 1 = 5, 2 at 5 + 4 = 9."""
    train_s, upload_s = np.array([1.0, 4.0, 2.0]), np.array([2.0, 1.0, 4.0])
    assert one_by_one(train_s, upload_s, 1, 9.0) == [0, 1, 2]
    assert one_by_one(train_s, upload_s, 1, 8.9) == [0, 1]
    assert one_by_one(train_s, upload_s, 1, 4.9) == [0]
    assert one_by_one(train_s, upload_s, 1, 0.1) == [0]
    assert one_by_one(train_s, upload_s, 2, 7.0) == [0, 1, 2]  # two send at the same time: 3, 5, 3 + 4
    assert one_by_one(train_s, upload_s, 2, 6.9) == [0, 1]


class SharedBand:
    """Uploads of n clients take n times as long."""

    num_at_once = None


SHARED = SimpleNamespace(link=SimpleNamespace(known_to=lambda asker: SharedBand))


@pytest.mark.parametrize(
    ("deadline_s", "expected"),
    [(0.5, [3]), (2.0, [3]), (3.1, [1, 3]), (7.0, [0, 1, 2, 3]), (100.0, list(range(6)))],
)
def test_fedcs_side_by_side_is_the_most_that_fit(deadline_s, expected):
    """Training 3, 1, 3, 0.5, 9, 9 s, n uploads n s: one ends at 1.5, two at 3, three at 6, four at 7."""
    train_s, rule = np.array([3.0, 1.0, 3.0, 0.5, 9.0, 9.0]), FedCs(deadline_s=deadline_s)
    edge = SimpleNamespace(route=SimpleNamespace(uplink=SHARED))
    coming = SimpleNamespace(
        clients=worlds.built(SYSTEM)[2].edges[0].clients,
        training_s=lambda clients: train_s,
        upload_s=lambda clients, among: np.full(len(clients), float(among)),
    )
    assert rule.participants(Simulation(1), edge, coming).numbers.tolist() == expected  # type: ignore[arg-type]


def test_feasible_ones_are_drawn():
    told = Told(
        DeadlineFeasible(num_participants=2, deadline_s=3.0),
        training_s=[1, 1, 1, 2.5, 9, 9],
        upload_s=[1] * 6,
    )
    pairs = {tuple(told.choose()) for _ in range(40)}
    assert pairs == {(0, 1), (0, 2), (1, 2)}
    assert told.choose(training_s=[9, 9, 1, 9, 9, 9]) == [2]
    assert told.choose(training_s=[9, 9, 8, 7, 9, 9]) == [3]


def test_power_of_choice_asks_candidates_only():
    told = Told(PowerOfChoice(num_participants=2, num_candidates=3), num_samples=[5, 5, 5, 0, 0, 0])
    assert told.choose(losses=[0.1, 0.7, 0.3, 9, 9, 9]) == [1, 2]
    assert told.asked[-1] == ("losses", [0, 1, 2])
    with pytest.raises(
        ConfigurationError, match=r"num_candidates = 3: must not be below num_participants = 4"
    ):
        PowerOfChoice(num_participants=4, num_candidates=3)


def oort(**changes: object) -> Oort:
    usual = Oort(num_participants=2, exploration=0.5, least_exploration=0.5, wanted_s=2.0, pacer_rounds=1)
    return attrs.evolve(usual, **changes)


def test_oort_weighs_utility_staleness_and_slowness():
    """By hand: (U + sqrt(0.1 ln R / L)) min(1, T / D)^2."""
    told = Told(oort(num_participants=3), num_samples=[10] * 6, training_s=[1] * 6, losses=[1, 2, 3, 4, 5, 6])
    first = told.choose()
    assert told.asked[-1] == ("losses", first)
    assert told.asked[-2] == ("num_samples", first)
    told.end([1.0, 4.0, 1.0], [True, True, False])
    told.choose()
    memory = told.edge.kept[told.rule]
    utility = [10.0 * (1 + place) for place in first]
    stale = math.sqrt(0.1 * math.log(2) / 1)
    worth = memory.worth(np.arange(6), 2, 2.0)
    assert worth[first[0]] == pytest.approx(utility[0] + stale, rel=1e-12)
    assert worth[first[1]] == pytest.approx((utility[1] + stale) / 4, rel=1e-12)
    assert np.isnan(worth[first[2]]), "never arrived, so nobody knows"


def test_oort_explores_by_speed_and_exploits_the_best():
    told = Told(oort(), num_samples=[10] * 6, losses=[1] * 6, training_s=[1, 1, 1e9, 1e9, 1e9, 1e9])
    assert told.choose() == [0, 1]
    told.end([1.0, 1.0], [True, True])
    second = told.choose(losses=[1, 1, 80, 80, 80, 80])
    assert len({0, 1} & set(second)) == 1
    told.end([1.0, 1.0], [True, True])
    new = max(second)
    for _ in range(10):  # 800 is the best by far, so it is always taken, with a new one
        assert new in told.choose(losses=[1] * 6)
        told.last = None


def test_the_pacer_waits_longer_when_utilities_fall():
    told = Told(oort(pacer_step_s=0.5), num_samples=[10] * 6, training_s=[1] * 6)
    for losses in (4.0, 3.0, 3.5, 1.0):
        told.choose(losses=[losses] * 6)
        told.end([1.0, 1.0], [True, True])
    told.choose(losses=[1] * 6)
    assert told.edge.kept[told.rule].wanted_s == 2.0 + 2 * 0.5  # 4 to 3, and 3.5 to 1


RULES = [
    BySamples(num_participants=2),
    RoundRobin(num_participants=2),
    ProportionalFair(num_participants=1),
    FedCs(deadline_s=2e-3),
    DeadlineFeasible(num_participants=2, deadline_s=2e-3),
    PowerOfChoice(num_participants=1, num_candidates=2),
    Oort(num_participants=1, wanted_s=1e-3, pacer_rounds=1),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_rules_keep_the_laws_of_runs(rule):
    """Killed and resumed among them: what a rule remembers comes from the same rounds."""
    check_selection(rule)


def test_what_cannot_be_is_refused():
    def system(rule, **changes):
        training = attrs.evolve(small_system().protocol.training, selection=rule)
        return attrs.evolve(small_system(), protocol=HFedAvg(training=training), **changes)

    with pytest.raises(
        ConfigurationError, match=r"Oort\.num_participants = 3: the smallest cell has 2 clients"
    ):
        system(Oort(num_participants=3))
    with pytest.raises(ConfigurationError, match=r"num_candidates = 4: the smallest cell has 2 clients"):
        system(PowerOfChoice(num_participants=1, num_candidates=4))
    for rule in (Oort(num_participants=2), PowerOfChoice(num_participants=1, num_candidates=2)):
        with pytest.raises(
            ConfigurationError,
            match=rf"only times are asked for, and .*\.selection = {type(rule).__name__} reads",
        ):
            system(rule, evaluation=Never())
    with pytest.raises(ConfigurationError, match="FedCs: asks for rates"):
        cosim.run(system(FedCs(), uplink=cosim.QueuedLink()))


def test_the_last_round_is_told_as_the_tables_have_it():
    """On both clocks: durations and arrivals agree with the fates."""

    class Looking(Selection):
        """Everyone, and a look back."""

        def participants(self, sim, edge, coming):
            """Everyone."""
            if coming.last is not None:
                last = coming.last
                names = [client.name for client in last.clients]
                seen.extend(
                    zip(names, [last.job.number] * len(names), last.durations_s, last.arrived, strict=True)
                )
            return edge.clients

    training = attrs.evolve(worlds.some_late().protocol.training, selection=Looking())
    system = attrs.evolve(worlds.some_late(), protocol=HFedAvg(training=training), evaluation=Never())
    for clock in ("events", "arrays"):
        seen: list[tuple] = []
        fates = cosim.run(system, clock=clock).fates
        known = fates[fates["job"] < fates["job"].max()]
        expected = {
            (row.client, row.job): (row.end_s - row.start_s, row.outcome == "done")
            for row in known.itertuples()
        }
        assert {row[:2]: (pytest.approx(row[2], rel=1e-9), row[3]) for row in seen} == expected
        assert {arrived for *_, arrived in seen} == {True, False}


@part
class InTurns(SomeClients):
    """The clients one after the other; a rule that counts its own turns."""

    def participants(self, sim, edge, coming):
        edge.kept[self] = turn = edge.kept.get(self, -1) + 1
        return coming.clients.some(np.arange(turn, turn + self.num_participants) % len(coming.clients))


@part
class Alternating(Selection):
    """One rule in an edge round, the other in the next."""

    first: Selection = InTurns(num_participants=1)
    second: Selection = InTurns(num_participants=1)

    def participants(self, sim, edge, coming):
        rule = (self.first, self.second)[coming.job.number % 2]
        return rule.participants(sim, edge, coming)


def alternating(first: Selection, second: Selection) -> cosim.System:
    training = cosim.EdgeTraining(num_edge_rounds=4, selection=Alternating(first=first, second=second))
    end = cosim.AfterRounds(num_global_rounds=1)
    return attrs.evolve(SYSTEM, protocol=HFedAvg(training=training), end=end, evaluation=Never())


def test_equal_rules_remember_what_is_their_own():
    """Equal by their fields, one object at two places, and what a file of that gives: each counts alone."""
    rule = InTurns(num_participants=1)
    for system in (
        alternating(InTurns(num_participants=1), InTurns(num_participants=1)),
        alternating(rule, rule),
        from_dict(cosim.System, to_dict(alternating(rule, rule))),
        pickle.loads(pickle.dumps(alternating(rule, rule))),
    ):
        uploads = cosim.run(system).uploads.sort_values("start_s")
        assert uploads["client"].tolist() == [f"client-{place:04d}" for place in (0, 0, 1, 1)]


def test_a_rule_that_another_makes_in_every_round_goes_on():
    class Made(SomeClients):
        """Makes the rule that chooses."""

        def participants(self, sim, edge, coming):
            return InTurns(num_participants=1).participants(sim, edge, coming)

    told = Told(Made(num_participants=1))
    assert [told.choose() for _ in range(3)] == [[0], [1], [2]]


def test_parts_of_a_system_stand_alone():
    """Also those within a part that stands at two places; what stands once is left as it is."""
    rule = Alternating(first=InTurns(num_participants=1), second=RoundRobin(num_participants=2))
    other = InTurns(num_participants=2)
    outer = Alternating(first=Alternating(first=rule, second=rule), second=other)
    system = alternating(outer, rule)
    ids = [id(part) for part in parts_of(system)]
    assert len(ids) == len(set(ids))
    found = system.protocol.training.selection
    assert found == Alternating(first=outer, second=rule)
    assert found.first.second is other


def test_turns_go_on_from_the_last_who_was_there():
    """Clients 0 and 1 are away: the four others are chosen as often as each other."""
    told = Told(RoundRobin(num_participants=3))
    told.there = Clients(told.edge.clients.fleet, np.arange(2, NUM_CLIENTS))
    assert [told.choose() for _ in range(4)] == [[2, 3, 4], [2, 3, 5], [2, 4, 5], [3, 4, 5]]
    told.there = told.edge.clients
    assert told.choose() == [0, 1, 2]


@pytest.mark.parametrize(("train_s", "upload_s", "deadline_s"), [(0.1, 0.2, 0.3), (0.7, 0.1, 0.8)])
def test_who_ends_with_the_deadline_is_in_time(train_s, upload_s, deadline_s):
    """0.1 + 0.2 is a bit more than 0.3; a client that needs a nanosecond more is late."""
    uploads_s = [upload_s, upload_s + 1e-9] * 3
    told = Told(DeadlineFeasible(num_participants=6, deadline_s=deadline_s), training_s=[train_s] * 6)
    assert told.choose(upload_s=uploads_s) == [0, 2, 4]
    all_s = np.full(6, train_s)
    assert one_by_one(all_s, np.array(uploads_s), num_at_once=6, deadline_s=deadline_s) == [0, 2, 4]
    coming = SimpleNamespace(
        clients=told.edge.clients,
        training_s=lambda clients: all_s,
        upload_s=lambda clients, among: np.array(uploads_s),
    )
    edge = SimpleNamespace(route=SimpleNamespace(uplink=SHARED))
    assert FedCs(deadline_s=deadline_s).participants(Simulation(1), edge, coming).numbers.tolist() == [
        0,
        2,
        4,
    ]


@part
class OthersToo(Selection):
    """Clients of the first cell, in every cell."""

    def participants(self, sim, edge, coming):
        if edge.name == "edge-00":
            others.append(coming.clients)
        return others[0]


others: list[object] = []


def test_clients_of_another_cell_are_refused_as_a_view_of_them_too():
    training = attrs.evolve(small_system().protocol.training, selection=OthersToo())
    two = attrs.evolve(small_system(), protocol=HFedAvg(training=training), evaluation=Never())
    with pytest.raises(
        ConfigurationError, match=r"chose client-0000, .* in edge-01: must be clients of this"
    ):
        cosim.run(two)
