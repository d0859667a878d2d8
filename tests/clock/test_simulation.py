"""The clock's contract, line by line, and random trees of processes against a model without a clock."""

import gc
import math
import os
import signal
import subprocess
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cosim
from cosim.clock.draws import BlockRows, Numbers, draws_of_block, normals
from cosim.clock.instants import deadline_after, instant_after
from cosim.clock.side_by_side import Dropped
from cosim.clock.simulation import Process, Simulation
from cosim.configuration import ConfigurationError
from cosim.files.interrupts import Terminated
from cosim.names import ClientNames
from cosim.records.rows import DONE, Span
from scenarios.command_line import main
from scenarios.command_line.interrupts import interrupts_heard

TIE_ORDERS = (None, 0, 1, 2, 3, 4, 5)
"""Insertion order, and random orders of simultaneous events."""

every_tie_order = pytest.mark.parametrize("tie_order", TIE_ORDERS)


def just_after(time_s: float) -> float:
    """The next instant: 15 digits from 1 s on."""
    return time_s + 1e-14


def spans(sim: Simulation) -> list[Span]:
    return sorted(sim.recorder.spans)


# --- A model of trees of processes: when each ends, what it returns and writes, without events --------------


class Spend(NamedTuple):
    duration_s: float
    power_w: float


class Then(NamedTuple):
    trees: list[Any]


class Together(NamedTuple):
    trees: list[Any]


class Deadline(NamedTuple):
    deadline_s: float
    trees: list[Any]


class First(NamedTuple):
    trees: list[Any]


class FirstK(NamedTuple):
    """A number of first arrivals, and the ones that come within a time after that."""

    num: int
    grace_s: float
    trees: list[Any]


durations_s = st.sampled_from([0, 0.0, 0.5, 1, 1.0, 2.0, 3.0]) | st.floats(0.0, 4.0)
deadlines_s = st.sampled_from([0.5, 1, 1.0, 2.0, 3.0]) | st.floats(0.0, 4.0, exclude_min=True)


def trees_of(spends: st.SearchStrategy[Any], deadlines: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    def above(trees: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        several = st.lists(trees, max_size=4)
        return (
            st.builds(Then, several)
            | st.builds(Together, several)
            | st.builds(Deadline, deadlines, several)
            | st.builds(First, st.lists(trees, min_size=1, max_size=4))
            | st.builds(FirstK, st.integers(1, 5), st.just(0.0) | deadlines, several)
        )

    return st.recursive(spends, above, max_leaves=12)


any_trees = trees_of(st.builds(Spend, durations_s, st.floats(0.0, 10.0)), deadlines_s)
tied_trees = trees_of(
    st.builds(Spend, st.sampled_from([0.0, 1.0, 2.0]), st.sampled_from([0.5, 1.0])),
    st.sampled_from([1.0, 2.0]),
)


def name_of(path: str, index: int) -> str:
    return f"{path}{'abcd'[index]}"


def process_of(sim: Simulation, tree: Any, path: str, seen_s: list[float]) -> Any:
    """The tree as a process on the clock; what runs side by side is started against the order of names."""
    seen_s.append(sim.now_s)
    below = [] if isinstance(tree, Spend) else [name_of(path, index) for index in range(len(tree.trees))]
    processes = {
        n: process_of(sim, t, n, seen_s) for n, t in zip(below, getattr(tree, "trees", []), strict=True)
    }
    value: Any = path
    match tree:
        case Spend(duration_s, power_w):
            yield from sim.spend(path, "work", duration_s, power_w)
        case Then():
            value = []
            for process in processes.values():
                value.append((yield from process))
        case Together():
            value = yield from sim.together(processes.values())
        case Deadline(deadline_s, _):
            value = yield from sim.with_deadline(processes.values(), deadline_s)
        case First():
            value = yield from sim.first(dict(reversed(processes.items())))
        case FirstK(num, grace_s, _):
            branches = sim.side_by_side(dict(reversed(processes.items())))
            yield from branches.wait(num_arrived=num)
            if grace_s:
                yield from branches.wait(within_s=grace_s)
            value = yield from branches.cut("late", most=None if grace_s else num)
    seen_s.append(sim.now_s)
    return value


class Part(NamedTuple):
    """A span whose energy is not counted yet."""

    node: str
    start_s: float
    end_s: float
    power_w: float
    outcome: str


class Outcome(NamedTuple):
    """Outcome of a tree."""

    end_s: float
    value: Any
    parts: list[Part]

    def cut(self, at_s: float, reason: str) -> "Outcome":
        if self.end_s <= at_s:
            return self
        happened = [
            part if part.end_s <= at_s else part._replace(end_s=at_s, outcome=reason)
            for part in self.parts
            if part.start_s < at_s
        ]
        return Outcome(at_s, Dropped(reason), happened)


def model_of(tree: Any, path: str, start_s: float) -> Outcome:
    """The contract as arithmetic: a cut at an instant keeps what has ended by then, that instant included."""
    if isinstance(tree, Spend):
        end_s = instant_after(start_s, tree.duration_s)
        part = Part(path, start_s, end_s, tree.power_w, DONE)
        return Outcome(end_s, path, [part] if end_s > start_s else [])
    names = [name_of(path, index) for index in range(len(tree.trees))]
    if isinstance(tree, Then):
        outcomes = []
        for name, below in zip(names, tree.trees, strict=True):
            outcomes.append(model_of(below, name, outcomes[-1].end_s if outcomes else start_s))
        end_s = outcomes[-1].end_s if outcomes else start_s
    else:
        outcomes = [model_of(below, name, start_s) for name, below in zip(names, tree.trees, strict=True)]
        if isinstance(tree, Deadline):
            outcomes = [p.cut(deadline_after(start_s, tree.deadline_s), "deadline") for p in outcomes]
        if isinstance(tree, First):
            winner = min(range(len(names)), key=lambda index: (outcomes[index].end_s, names[index]))
            outcomes = [p.cut(outcomes[winner].end_s, f"{names[winner]} was first") for p in outcomes]
            return Outcome(
                outcomes[winner].end_s, (names[winner], outcomes[winner].value), parts_of(outcomes)
            )
        if isinstance(tree, FirstK):
            return first_k_of(tree, names, outcomes, start_s)
        end_s = max((p.end_s for p in outcomes), default=start_s)
    return Outcome(end_s, [p.value for p in outcomes], parts_of(outcomes))


def first_k_of(tree: FirstK, names: list[str], outcomes: list[Outcome], start_s: float) -> Outcome:
    """In reversed order, as they are started; all trees arrive, since none by itself returns Dropped."""
    places = sorted(range(len(names)), key=lambda index: (outcomes[index].end_s, names[index]))
    last_s = max((p.end_s for p in outcomes), default=start_s)
    over_s = outcomes[places[tree.num - 1]].end_s if len(places) >= tree.num else last_s
    if tree.grace_s:
        over_s = min(deadline_after(over_s, tree.grace_s), last_s)
    cut = [p.cut(over_s, "late") for p in outcomes]
    left_out = set() if tree.grace_s else set(places[tree.num :])
    values = [Dropped("late") if index in left_out else p.value for index, p in enumerate(cut)]
    return Outcome(over_s, values[::-1], parts_of(cut))


def parts_of(outcomes: list[Outcome]) -> list[Part]:
    return [part for p in outcomes for part in p.parts]


def spans_of(outcomes: Outcome) -> list[Span]:
    return sorted(
        Span(p.node, "work", p.start_s, p.end_s, p.power_w * (p.end_s - p.start_s), p.outcome)
        for p in outcomes.parts
    )


def run_tree(tree: Any, tie_order: int | None) -> tuple[Simulation, Any, list[float]]:
    sim = Simulation(seed=1, shuffle_ties=tie_order)
    seen_s: list[float] = []
    return sim, sim.run(process_of(sim, tree, "", seen_s)), seen_s


@given(tree=any_trees)
@settings(max_examples=300)
def test_every_tree_of_stories_is_what_the_contract_says(tree):
    expected = model_of(tree, "", 0.0)
    sim, value, _ = run_tree(tree, None)
    assert (sim.now_s, value, spans(sim)) == (expected.end_s, expected.value, spans_of(expected))


@given(tree=tied_trees)
@settings(max_examples=300)
def test_no_order_of_simultaneous_events_changes_what_is_written(tree):
    expected = model_of(tree, "", 0.0)
    for tie_order in TIE_ORDERS:
        sim, value, _ = run_tree(tree, tie_order)
        assert (sim.now_s, value, spans(sim)) == (expected.end_s, expected.value, spans_of(expected))


@given(tree=any_trees, tie_order=st.none() | st.integers(0, 99))
@settings(max_examples=200)
def test_time_never_goes_back(tree, tie_order):
    sim, _, seen_s = run_tree(tree, tie_order)
    ends_s = [span.end_s for span in sim.recorder.spans]
    assert seen_s == sorted(seen_s)
    assert ends_s == sorted(ends_s)
    assert all(span.start_s < span.end_s <= sim.now_s for span in sim.recorder.spans)


# --- Durations and spans ----------------------------------------------------------------------------------


@pytest.mark.parametrize("duration_s", [-1.0, -1, -5e-324, math.nan, math.inf, -math.inf])
def test_a_duration_that_cannot_pass_is_refused(duration_s):
    sim = Simulation(seed=1)
    with pytest.raises(ValueError, match=r"client-0 cannot train for .* s"):
        sim.run(sim.spend("client-0", "train", duration_s, power_w=1.0))
    assert (sim.now_s, sim.recorder.spans) == (0.0, [])


@pytest.mark.parametrize("deadline_s", [0.0, 0, -1.0, math.nan, math.inf, -math.inf])
def test_a_deadline_that_cannot_come_is_refused(deadline_s):
    sim = Simulation(seed=1)
    with pytest.raises(ValueError, match=r"must be above 0 and finite, or None"):
        sim.run(sim.with_deadline([sim.spend("a", "train", 1.0)], deadline_s))
    assert (sim.now_s, sim.recorder.spans) == (0.0, [])


def test_an_activity_writes_one_span_with_its_exact_energy():
    sim = Simulation(seed=1)

    def process():
        yield from sim.spend("a", "train", 0.1, power_w=0.3)
        yield from sim.spend("a", "send", 0.7, power_w=1.1)
        yield from sim.spend("a", "idle", 2)

    sim.run(process())
    times_s = [0.0, 0.1, 0.8, 2.8]
    assert sim.recorder.spans == [
        Span("a", "train", times_s[0], times_s[1], 0.3 * (times_s[1] - times_s[0]), DONE),
        Span("a", "send", times_s[1], times_s[2], 1.1 * (times_s[2] - times_s[1]), DONE),
        Span("a", "idle", times_s[2], times_s[3], 0.0, DONE),
    ]


def test_what_takes_no_time_writes_no_span():
    sim = Simulation(seed=1)
    come = sim.event().succeed("news")

    def process():
        yield from sim.spend("a", "blink", 0.0, power_w=5.0)
        yield from sim.spend("a", "blink", 0)
        return (yield from sim.spend("a", "listen", come, power_w=5.0))

    assert sim.run(process()) == "news"
    assert (sim.now_s, sim.recorder.spans) == (0.0, [])


def test_an_activity_can_last_until_an_event_and_returns_its_value():
    sim = Simulation(seed=1)
    event = sim.event()

    def fires():
        yield from sim.spend("a", "train", 1.5)
        event.succeed(42)

    values = sim.run(sim.together([sim.spend("b", "wait", event, power_w=2.0), fires()]))
    assert values == [42, None]
    assert spans(sim) == [Span("a", "train", 0.0, 1.5, 0.0, DONE), Span("b", "wait", 0.0, 1.5, 3.0, DONE)]


def test_a_timer_comes_after_its_delay_and_takes_nobodys_time():
    sim = Simulation(seed=1)

    def process():
        yield from sim.spend("a", "train", 1.0)
        timer, came_s = sim.timer(2.0), []
        timer.callbacks.append(lambda _: came_s.append(sim.now_s))
        yield from sim.spend("a", "train", 5.0)
        return came_s

    assert sim.run(process()) == [3.0]
    assert [span.node for span in sim.recorder.spans] == ["a", "a"]


def test_an_event_that_is_put_at_a_time_comes_then_and_once():
    sim = Simulation(seed=1)

    def process():
        event, came_s = sim.event(), []
        event.callbacks.append(lambda _: came_s.append(sim.now_s))
        yield from sim.spend("a", "wait", 1.0)
        sim.at(sim.now_s + 2.0, event)
        yield from sim.spend("b", "wait", event)
        yield from sim.spend("a", "wait", 5.0)
        return came_s

    assert sim.run(process()) == [3.0]
    assert [(span.node, span.end_s) for span in sim.recorder.spans] == [("a", 1.0), ("b", 3.0), ("a", 8.0)]


def test_what_a_block_of_clients_shares_is_made_once_of_the_draws_of_each():
    sim, made = Simulation(seed=3), []

    def twice(kind, block, *index):
        made.append((kind, block, *index))
        return 2.0 * draws_of_block(sim, kind, block, "luck", normals, *index)

    kept = BlockRows(twice)
    for number in (0, 255, 256, 700, 0):
        client = f"client-{number:04d}"
        assert kept.of(client, 4) == 2.0 * sim.of_client(client, "luck", normals, 4)
    assert made == [("client", 0, 4), ("client", 1, 4), ("client", 2, 4)]
    assert kept.of("client-0000", 5) != kept.of("client-0000", 4)
    with pytest.raises(ValueError, match="read-only"):
        kept.of(Numbers.of(ClientNames(0, 3)), 4)[0] = 1.0


def test_together_waits_for_the_last_and_keeps_the_given_order():
    sim = Simulation(seed=1)

    def process(name, duration_s):
        yield from sim.spend(name, "train", duration_s)
        return name

    assert sim.run(sim.together([process("c", 3.0), process("a", 1.0), process("b", 2.0)])) == ["c", "a", "b"]
    assert sim.now_s == 3.0
    assert sim.run(sim.together([])) == []


def test_a_deadline_that_nobody_misses_ends_with_the_last_and_costs_nothing():
    sim = Simulation(seed=1)

    def process():
        yield from sim.with_deadline([sim.spend("a", "train", 1.0), sim.spend("b", "train", 2.0)], 10.0)
        ended_s = sim.now_s
        yield from sim.spend("c", "train", 20.0)
        return ended_s

    assert sim.run(process()) == 2.0
    assert (sim.now_s, {span.outcome for span in sim.recorder.spans}) == (22.0, {DONE})


# --- Exactly at the deadline ------------------------------------------------------------------------------


@every_tie_order
@pytest.mark.parametrize(("ends_s", "value"), [(3.0, "a"), (just_after(3.0), Dropped("deadline"))])
def test_what_arrives_at_exactly_the_deadline_has_arrived_and_one_instant_later_has_not(
    tie_order, ends_s, value
):
    sim = Simulation(seed=1, shuffle_ties=tie_order)

    def process():
        yield from sim.spend("a", "send", ends_s, power_w=1.0)
        return "a"

    assert sim.run(sim.with_deadline([process()], 3.0)) == [value]
    outcome = DONE if value == "a" else "deadline"
    assert sim.recorder.spans == [Span("a", "send", 0.0, 3.0, 3.0, outcome)]


@every_tie_order
def test_a_chain_without_delay_at_the_instant_of_the_deadline_still_arrives(tie_order):
    sim = Simulation(seed=1, shuffle_ties=tie_order)

    def process(depth):
        yield from sim.spend("a", "blink", 0.0)
        if depth:
            yield from sim.together([process(depth - 1), sim.spend("b", "blink", 0.0)])
            yield from sim.first({"x": sim.spend("x", "blink", 0.0), "y": sim.spend("y", "run", 9.0)})
        return depth

    def late():
        yield from sim.spend("a", "send", 3.0)
        return (yield from process(5))

    assert sim.run(sim.with_deadline([late()], 3.0)) == [5]
    assert sim.now_s == 3.0


@every_tie_order
@pytest.mark.parametrize("fired_s", [3.0, just_after(3.0)])
def test_what_an_event_at_the_instant_of_the_deadline_frees_has_arrived(tie_order, fired_s):
    """A chain of events: each waiter fires the next one's, all at one instant."""
    sim = Simulation(seed=1, shuffle_ties=tie_order)
    events = [sim.event() for _ in range(20)]

    def waits(index):
        yield from sim.spend(f"node-{index}", "wait", events[index])
        if index + 1 < len(events):
            events[index + 1].succeed()
        return index

    def fires():
        yield from sim.spend("firer", "work", fired_s)
        events[0].succeed()
        return "fired"

    values = sim.run(sim.with_deadline([*(waits(index) for index in range(20)), fires()], 3.0))
    assert values == ([*range(20), "fired"] if fired_s == 3.0 else [Dropped("deadline")] * 21)


@every_tie_order
def test_of_two_alarms_at_one_instant_the_inner_comes_first(tie_order):
    """The process that an inner deadline ends at 3 s has arrived by the outer deadline of 3 s."""
    sim = Simulation(seed=1, shuffle_ties=tie_order)

    def cell():
        return (yield from sim.with_deadline([sim.spend("a", "send", 5.0, power_w=2.0)], 3.0))

    assert sim.run(sim.with_deadline([cell()], 3.0)) == [[Dropped("deadline")]]
    assert sim.recorder.spans == [Span("a", "send", 0.0, 3.0, 6.0, "deadline")]


@every_tie_order
def test_who_was_first_at_the_instant_of_a_deadline_has_arrived(tie_order):
    sim = Simulation(seed=1, shuffle_ties=tie_order)

    def race():
        return (yield from sim.first({"y": sim.spend("y", "run", 4.0), "x": sim.spend("x", "run", 3.0)}))

    assert sim.run(sim.with_deadline([race()], 3.0)) == [("x", None)]
    assert spans(sim) == [
        Span("x", "run", 0.0, 3.0, 0.0, DONE),
        Span("y", "run", 0.0, 3.0, 0.0, "x was first"),
    ]


@every_tie_order
def test_a_race_within_a_race_that_ends_at_the_same_instant_takes_part_in_the_tie(tie_order):
    sim = Simulation(seed=1, shuffle_ties=tie_order)

    def inner():
        return (yield from sim.first({"x": sim.spend("x", "run", 3.0), "y": sim.spend("y", "run", 4.0)}))

    assert sim.run(sim.first({"b": sim.spend("b", "run", 3.0), "a": inner()})) == ("a", ("x", None))


# --- Order of simultaneous events -------------------------------------------------------------------------


def order_of_ends(tie_order: int | None) -> list[str]:
    """Order: two later ones given first, then five at one instant, and a deadline at that instant."""
    sim = Simulation(seed=1, shuffle_ties=tie_order)
    acted = []

    def process(name, duration_s):
        yield from sim.spend(name, "work", duration_s)
        acted.append(name)

    def cell():
        yield from sim.with_deadline([sim.spend("late", "work", 9.0)], 1.0)
        acted.append("alarm")

    processes = [process(name, 2.0) for name in "fg"] + [cell()] + [process(name, 1.0) for name in "caebd"]
    sim.run(sim.together(processes))
    return acted


def test_events_come_by_time_then_priority_then_insertion():
    assert order_of_ends(None) == [*"caebd", "alarm", *"fg"]


def test_shuffled_ties_change_the_insertion_order_and_nothing_else():
    orders = [order_of_ends(tie_order) for tie_order in range(20)]
    assert len({tuple(order) for order in orders}) > 10
    for order in orders:
        assert [sorted(order[:5]), order[5], sorted(order[6:])] == [sorted("caebd"), "alarm", ["f", "g"]]
    assert order_of_ends(7) == order_of_ends(7)


# --- Cuts -------------------------------------------------------------------------------------------------


def test_an_activity_cut_short_writes_what_happened_and_its_story_ends():
    sim = Simulation(seed=1)
    reached = []

    def client():
        try:
            yield from sim.spend("a", "train", 1.0, power_w=4.0)
            yield from sim.spend("a", "send", 5.0, power_w=0.5)
            reached.append("the end")
        finally:
            reached.append(sim.now_s)

    def cell():
        values = yield from sim.with_deadline([client(), sim.spend("b", "train", 2.0)], 3.0)
        return values, sim.now_s

    assert sim.run(cell()) == ([Dropped("deadline"), None], 3.0)
    assert reached == [3.0]
    assert spans(sim) == [
        Span("a", "send", 1.0, 3.0, 1.0, "deadline"),
        Span("a", "train", 0.0, 1.0, 4.0, DONE),
        Span("b", "train", 0.0, 2.0, 0.0, DONE),
    ]


def test_a_wait_for_an_event_that_is_cut_writes_what_happened_and_the_event_may_still_come():
    sim = Simulation(seed=1)
    event = sim.event()

    def cell():
        values = yield from sim.with_deadline([sim.spend("a", "wait", event, power_w=2.0)], 0.5)
        event.succeed("too late")
        yield from sim.spend("b", "work", 1.0)
        return values

    assert sim.run(cell()) == [Dropped("deadline")]
    assert sim.recorder.spans == [
        Span("a", "wait", 0.0, 0.5, 1.0, "deadline"),
        Span("b", "work", 0.5, 1.5, 0.0, DONE),
    ]


@every_tie_order
def test_a_cut_parent_cuts_its_children_for_the_same_reason(tie_order):
    sim = Simulation(seed=1, shuffle_ties=tie_order)

    def client(name):
        yield from sim.together([sim.spend(name, "send", 9.0, power_w=1.0), sim.spend(name, "listen", 1.0)])

    def cell():
        yield from sim.spend("edge", "wait", 1.0)
        yield from sim.with_deadline([client("a"), client("b")], 7.0)
        yield from sim.first({"c": client("c")})

    assert sim.run(sim.with_deadline([cell()], 4.0)) == [Dropped("deadline")]
    assert sim.now_s == 4.0
    assert spans(sim) == [
        Span("a", "listen", 1.0, 2.0, 0.0, DONE),
        Span("a", "send", 1.0, 4.0, 3.0, "deadline"),
        Span("b", "listen", 1.0, 2.0, 0.0, DONE),
        Span("b", "send", 1.0, 4.0, 3.0, "deadline"),
        Span("edge", "wait", 0.0, 1.0, 0.0, DONE),
    ]


@every_tie_order
def test_a_race_that_is_cut_cuts_its_runners(tie_order):
    sim = Simulation(seed=1, shuffle_ties=tie_order)

    def race():
        yield from sim.first({"x": sim.spend("x", "run", 8.0), "y": sim.spend("y", "run", 9.0)})

    assert sim.run(sim.first({"race": race(), "z": sim.spend("z", "run", 2.0)})) == ("z", None)
    assert [span.outcome for span in spans(sim)] == ["z was first", "z was first", DONE]
    assert {span.end_s for span in sim.recorder.spans} == {2.0}


@every_tie_order
def test_two_cuts_at_one_instant_write_each_activity_once(tie_order):
    """The inner race ends at the very instant at which the outer deadline cuts everything."""
    sim = Simulation(seed=1, shuffle_ties=tie_order)

    def cell():
        yield from sim.first({"x": sim.spend("x", "run", 3.0), "y": sim.spend("y", "run", 4.0)})
        yield from sim.spend("edge", "work", 1.0)

    outcomes = sim.run(sim.with_deadline([cell(), sim.spend("z", "run", 5.0)], 3.0))
    assert outcomes == [Dropped("deadline")] * 2
    assert spans(sim) == [
        Span("x", "run", 0.0, 3.0, 0.0, DONE),
        Span("y", "run", 0.0, 3.0, 0.0, "x was first"),
        Span("z", "run", 0.0, 3.0, 0.0, "deadline"),
    ]


@every_tie_order
def test_the_first_of_several_at_once_goes_by_name_and_the_losers_are_cut(tie_order):
    sim = Simulation(seed=1, shuffle_ties=tie_order)
    durations_s = {"d": 2.0, "c": 2.0, "b": 2.0, "a": 5.0}

    def process(name):
        yield from sim.spend(name, "run", durations_s[name], power_w=1.0)
        return name.upper()

    assert sim.run(sim.first({name: process(name) for name in durations_s})) == ("b", "B")
    assert sim.now_s == 2.0
    assert [span.outcome for span in spans(sim)] == ["b was first", DONE, DONE, DONE]
    assert {span.energy_j for span in sim.recorder.spans} == {2.0}


# --- Bugs -------------------------------------------------------------------------------------------------


class OwnError(RuntimeError):
    """Process as a part of the simulator would define it."""


@pytest.mark.parametrize(
    "bug", [OwnError("broken"), ValueError("broken"), KeyError("broken"), AssertionError()]
)
@pytest.mark.parametrize("where", ["alone", "together", "deadline", "first", "cleanup"])
def test_a_bug_in_a_story_surfaces_as_itself(bug, where):
    sim = Simulation(seed=1)

    def broken():
        yield from sim.spend("a", "work", 1.0)
        raise bug

    def cleanup():
        try:
            yield from sim.spend("a", "work", 9.0)
        finally:
            raise bug

    others = [sim.spend("b", "work", 2.0), sim.spend("c", "work", 0.5)]
    process = {
        "alone": broken,
        "together": lambda: sim.together([sim.together([*others, broken()])]),
        "deadline": lambda: sim.with_deadline([sim.with_deadline([broken(), *others], 1.0)], 3.0),
        "first": lambda: sim.first({"a": sim.first({"a": broken(), "b": others[0]})}),
        "cleanup": lambda: sim.with_deadline([cleanup()], 1.0),
    }[where]()
    with pytest.raises(type(bug)) as caught:
        sim.run(process)
    assert type(caught.value) is type(bug)
    assert caught.value.args == bug.args


def test_two_bugs_at_one_instant_surface_as_bugs():
    sim = Simulation(seed=1)

    def broken(name):
        yield from sim.spend(name, "work", 1.0)
        raise OwnError(name)

    with pytest.raises(OwnError, match=r"^[ab]$"):
        sim.run(sim.together([broken("a"), broken("b")]))


def test_a_process_that_yields_no_event_is_refused():
    def process():
        yield 1.0

    with pytest.raises(
        ConfigurationError, match=r"process yielded 1\.0: must be an event of the clock\. Use yield from"
    ):
        Simulation(1).run(process())


def test_a_dropped_story_is_a_value_and_no_exception():
    sim = Simulation(seed=1)

    def process():
        (lost,) = yield from sim.with_deadline([sim.spend("a", "work", 2.0)], 1.0)
        return lost

    assert sim.run(process()) == Dropped(reason="deadline")


# --- Streams ----------------------------------------------------------------------------------------------

NAMES = [
    *(
        (node, purpose)
        for node in ("client-0001", "client-0010", "edge-01", "")
        for purpose in ("cpu", "fading")
    ),
    *(("client-0001", "fading", *index) for index in ((0,), (1,), (10,), (1, 0), (0, 1), (1, 1, 0), (11, 0))),
    *(("client-0002", "fading", *index) for index in ((0,), (1,), (10,), (1, 0), (0, 1), (1, 1, 0), (11, 0))),
    ("client-0001", "fading1"),
    ("client-0001fading", ""),
    ("client-000", "1fading"),
]


def test_different_names_and_seeds_have_different_streams():
    streams = [(seed, names) for seed in (0, 1, 2, 10) for names in NAMES]
    draws = {Simulation(seed).stream(*names).random(2).tobytes() for seed, names in streams}
    keys = {Simulation(seed).key(*names) for seed, names in streams}
    assert len(draws) == len(keys) == len(streams)
    assert all(0 <= key < 2**63 for key in keys)


@given(order=st.permutations(range(len(NAMES))), num_kept=st.integers(1, len(NAMES)))
@settings(max_examples=50)
def test_a_stream_depends_on_nothing_but_seed_and_names(order, num_kept):
    """Whatever others are drawn before, after or between."""
    alone = {names: Simulation(seed=3).stream(*names).random(4) for names in NAMES}
    sim = Simulation(seed=3)
    kept = [NAMES[index] for index in order[:num_kept]]
    streams = [sim.stream(*names) for names in kept]
    halves = [[stream.random(2) for stream in streams] for _ in range(2)]
    for names, first_half, second_half in zip(kept, *halves, strict=True):
        np.testing.assert_array_equal(np.concatenate([first_half, second_half]), alone[names])


def test_a_stream_goes_on_and_an_indexed_stream_is_fresh():
    sim = Simulation(seed=1)
    running = np.concatenate([sim.stream("a", "cpu").random(3), sim.stream("a", "cpu").random(3)])
    np.testing.assert_array_equal(running, Simulation(seed=1).stream("a", "cpu").random(6))
    fresh = [sim.stream("a", "fading", 5).random(3) for _ in range(2)]
    np.testing.assert_array_equal(fresh[0], fresh[1])


def test_streams_neither_move_the_clock_nor_hang_on_it():
    sim = Simulation(seed=1)

    def process():
        yield from sim.spend("a", "work", 5.0)
        return sim.stream("a", "cpu").random()

    assert sim.run(process()) == Simulation(seed=1).stream("a", "cpu").random()
    assert sim.now_s == 5.0


def test_streams_are_the_same_in_another_process():
    """Names are hashed by their letters: Python's own hash differs from process to process."""
    program = (
        "from cosim.clock.simulation import Simulation; sim = Simulation(7);"
        "print(sim.key('client-0001', 'fading', 3), sim.stream('client-0001', 'cpu').random())"
    )
    root = str(Path(cosim.__file__).parents[2])
    sim = Simulation(7)
    here = [sim.key("client-0001", "fading", 3), sim.stream("client-0001", "cpu").random()]
    environment = os.environ | {"PYTHONHASHSEED": "12345", "PYTHONPATH": root}
    there = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert there.stdout.split() == [str(value) for value in here]


# --- The end of an instant --------------------------------------------------------------------------------


@every_tie_order
def test_the_end_of_an_instant_comes_after_all_else_of_it_alarms_included(tie_order):
    """Asked for at the instant of three alarms; what the alarms lead to comes before it."""
    sim = Simulation(seed=1, shuffle_ties=tie_order)
    seen = []

    def asks():
        yield from sim.spend("asker", "wait", 1.0)
        sim.end_of_instant().callbacks.append(lambda _: seen.append(("end", sim.now_s)))

    def cell(name):
        yield from sim.with_deadline([sim.spend(name, "work", 9.0)], 1.0)
        yield from sim.first({"x": sim.together([]), "y": sim.spend("y", "work", 9.0)})
        seen.append((name, sim.now_s))
        yield from sim.spend(name, "work", 1.0)

    def outer():
        yield from sim.with_deadline([cell("a"), cell("b")], 5.0)

    sim.run(sim.together([asks(), outer(), cell("c")]))
    assert (sorted(seen[:3]), seen[3:]) == ([("a", 1.0), ("b", 1.0), ("c", 1.0)], [("end", 1.0)])


class Value:
    """Something that a process returns."""


@pytest.mark.parametrize("deadline_s", [None, 1.0, 3.0])
def test_nothing_but_the_reader_holds_what_stories_returned(deadline_s: float | None):
    """Also at the very instant at which they end, and without the garbage collector."""
    returned: list[weakref.ref[Value]] = []

    def process(sim: Simulation, duration_s: float) -> Process:
        yield from sim.spend("a", "work", duration_s)
        value = Value()
        returned.append(weakref.ref(value))
        return value

    def reader(sim: Simulation) -> Process:
        values = yield from sim.with_deadline([process(sim, 0.5), process(sim, 2.0)], deadline_s)
        assert isinstance(values[0], Value)
        values.clear()
        assert [reference() for reference in returned] == [None] * (1 if deadline_s == 1.0 else 2)
        winner = yield from sim.first({"b": process(sim, 1.0), "c": process(sim, 2.0)})
        assert winner[0] == "b"
        del winner
        assert returned[-1]() is None

    gc.disable()
    try:
        sim = Simulation(seed=1)
        sim.run(reader(sim))
    finally:
        gc.enable()


def test_rows_are_no_part_of_the_clock_that_parts_are_given():
    """On arrays there would be none of clients, and in folders some would lack."""
    assert not hasattr(Simulation(1), "trace")


# --- Without end ------------------------------------------------------------------------------------------


class Turns:
    """Turns that take a time, without end."""

    def __init__(self, lasts_s: float, first_s: float = 0.0) -> None:
        self.lasts_s, self.first_s = lasts_s, first_s

    def process(self, sim):
        yield from sim.spend("a", "begin", self.first_s)
        while True:
            yield from sim.spend("a", "turn", self.lasts_s)

    def chain(self, sim):
        """The same by callbacks, of no process."""
        sim.timer(self.lasts_s).callbacks.append(lambda _: next(self.chain(sim), None))
        yield sim.event()


@pytest.mark.parametrize(
    ("turns", "at"), [(Turns(1e-20), "0"), (Turns(1e-300), "0"), (Turns(1e-9, 1e8), "100000000")]
)
@pytest.mark.parametrize("shuffle_ties", [None, 1])
def test_time_that_stands_still_ends_the_run_and_names_its_process(turns, at, shuffle_ties, fewer_events):
    sim = Simulation(1, shuffle_ties=shuffle_ties)
    with pytest.raises(ConfigurationError, match=rf"still at {at}\S* s: .*in Turns\.process\. "):
        sim.run(turns.process(sim))


def test_callbacks_that_never_end_are_named_too(fewer_events):
    sim = Simulation(1)
    with pytest.raises(ConfigurationError, match=r"still at 0 s: .*in Turns\.chain\. "):
        sim.run(Turns(0.0).chain(sim))


def test_many_at_one_instant_are_no_standstill(fewer_events):
    """Some events of each node at least, and as many as there may be of a few nodes."""
    sim = Simulation(1)

    def quick(number):
        for _ in range(20):
            yield sim.timer(0.0)
        yield from sim.spend(f"node-{number}", "work", 1.0)

    sim.run(sim.together([quick(number) for number in range(300)]), num_nodes=300)
    assert sim.now_s == 1.0


@pytest.fixture
def fewer_events(monkeypatch):
    monkeypatch.setattr("cosim.clock.event_loop._MOST_EVENTS", 3000)
    monkeypatch.setattr("cosim.clock.event_loop._AT_ONCE", 100)


# --- Interrupts -------------------------------------------------------------------------------------------


@pytest.fixture
def signals():
    """The process hears of signals as before."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def terminated(sim):
    os.kill(os.getpid(), signal.SIGTERM)
    yield from sim.spend("a", "wait", 1.0)


def test_what_is_interrupted_lets_nobody_else_begin(signals):
    """Another process of the same instant may never come back, and a second SIGTERM is none."""
    sim, begun = Simulation(1), []

    def other():
        begun.append("other")
        yield from sim.spend("b", "wait", 1.0)

    with pytest.raises(Terminated), interrupts_heard():
        sim.run(sim.together([terminated(sim), other()]))
    assert begun == []


def test_a_part_that_swallows_an_interrupt_is_interrupted_again(signals, fewer_events):
    sim = Simulation(1)

    def deaf():
        with suppress(BaseException):
            yield from terminated(sim)
        for _ in range(1000):
            yield from sim.spend("a", "go on", 1.0)

    with pytest.raises(Terminated), interrupts_heard():
        sim.run(deaf())
    assert sim.now_s <= 100.0


def test_an_interrupt_that_a_library_tells_of_by_another_error_is_one(signals, monkeypatch, capsys):
    def exit_code(arguments):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt:
            raise ImportError("half loaded") from None

    monkeypatch.setattr("scenarios.command_line.commands.exit_code", exit_code)
    with pytest.raises(SystemExit) as ended:
        main(["list"])
    assert ended.value.code == 128 + signal.SIGTERM
    assert capsys.readouterr().err == "Interrupted. A run folder keeps what was finished.\n"


def test_a_second_sigterm_kills_only_after_a_while(signals, monkeypatch):
    """`timeout` sends it to the process and to its group."""
    kills, now_s = [], [10.0]
    monkeypatch.setattr("cosim.files.interrupts.time.monotonic", lambda: now_s[0])
    with pytest.raises(Terminated), interrupts_heard():
        os.kill(os.getpid(), signal.SIGTERM)
    send = os.kill
    monkeypatch.setattr("cosim.files.interrupts.os.kill", lambda *to: kills.append(to))
    for now_s[0], found in ((11.0, []), (13.0, [(os.getpid(), signal.SIGTERM)])):
        send(os.getpid(), signal.SIGTERM)
        assert kills == found
