"""A digest of rows: the same however they are made and grouped, another where one bit is another."""

import math

import pytest
import worlds
from data_sets import loaded
from device_worlds import WORLDS, timed, unlike
from hypothesis import given, settings
from hypothesis import strategies as st
from random_systems import systems

import cosim
from cosim import ConfigurationError
from cosim.engine.learning.nothing_learned import NothingLearned
from cosim.engine.run.ground import Ground, ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.engine.run.run import _until_over
from cosim.engine.store.row_groups import RowGroups
from cosim.networks.of_run import network_of
from cosim.recording.digest import Digest
from cosim.recording.kept_rows import KeptRows, Moment
from cosim.records.rows import DONE, Allotment, Applied, Fate, Round, Span, Tally, Transfer, Version

SLEEPY = {"idle_w": 0.3, "sleep_w": 0.01, "sleeps_after_s": 4e-3}
RESTING = {
    "in rounds": unlike(devices=worlds.processors(3e9, 2e9, 1e9, 5e8, 3e8, **SLEEPY)),
    "now and then": cosim.evolve(
        WORLDS["asynchronous, now and then"], devices=worlds.processors(3e9, 2e9, 1e9, 5e8, 3e8, **SLEEPY)
    ),
}


def digests(
    system: cosim.System, clock: str = "events", group_rows: int = 10**9, shuffle_ties: int | None = None
) -> dict[int, dict[str, str]]:
    """Version -> digest of the rows up to it, where nothing is learned."""
    system, found = timed(system), {}
    ground = ground_of(system, clock, shuffle_ties=shuffle_ties)
    digest = Digest(ground.sim.recorder)
    groups = RowGroups(ground.sim.recorder, system.num_clients, group_rows=group_rows, digest=digest)

    def heard(report):
        groups.gather()
        found[report.version] = digest.at(report.moment)

    run_on(system, ground, heard, clock)
    return found


def run_on(system: cosim.System, ground: Ground, heard, clock: str = "events") -> None:
    outline = system.data.outline or loaded(system.data)
    learner = NothingLearned(network_of(system), outline, system.task)
    cloud = nodes_of(system, ground, learner, lambda: loaded(system.data))
    cloud.listener = heard
    ground.sim.run(_until_over(ground.sim, system, cloud))


@pytest.mark.parametrize("system", [*WORLDS.values(), *RESTING.values()], ids=[*WORLDS, *RESTING])
def test_it_hangs_neither_on_groups_nor_on_the_order_of_an_instant(system):
    usual = digests(system)
    assert len(set(map(str, usual.values()))) == len(usual)
    assert digests(system, group_rows=7) == usual
    assert digests(system, group_rows=40, shuffle_ties=3) == usual


@given(system=systems(), group_rows=st.sampled_from([5, 60, 10**9]))
@settings(max_examples=10)
def test_it_is_the_same_on_both_clocks(system, group_rows):
    try:
        by_events = digests(system)
    except ConfigurationError:
        return
    assert digests(system, "arrays", group_rows) == by_events


ROWS = (
    Span("client-0001", "train", 0.1, 0.5, 0.25, DONE, 3),
    Transfer("client-0001", "edge-00", 1, 0, 0.1, 0.5, 4096, 4095.0, True),
    Fate("client-0001", "edge-00", 3, 1, 0, 0.1, 0.5, DONE),
    Allotment("client-0001", "edge-00", 1, 0, 0.5, True, True, 3, 1e9, 0.1, 0.2, 0.3),
    Round("edge", "edge-00", 1, 0, 0.1, 0.5, 3, 3, 3, 2),
    Tally("edge-00", 1, 0, 0.1, 0.5, 3, 3, 2, *[0.5] * 10, 4096, *[0.25] * 8),
    Version("cloud", 4, 0.5, 2, 1),
    Applied("cloud", "client-0001", "edge-00", 3, 1, 2, 0, 0.5, 0.1, 0.4, 0.5),
)


def digest_of(*rows) -> dict[str, str]:
    trace = KeptRows()
    digest = Digest(trace)
    for row in rows:
        trace.record(row)
    return digest.at(Moment(1.0, 2.0, 0))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: type(row).__name__)
def test_every_column_counts_to_its_last_bit(row):
    usual = digest_of(row)
    for column, value in row._asdict().items():
        if isinstance(value, float):
            other = math.nextafter(value, math.inf)
        else:
            other = (not value) if isinstance(value, bool) else value + ("x" if isinstance(value, str) else 1)
        assert digest_of(row._replace(**{column: other})) != usual, column


def test_two_rows_are_not_one_and_none():
    (span, other) = ROWS[0], ROWS[0]._replace(node="client-0002")
    found = [digest_of(*rows) for rows in ((span,), (span, span), (span, other), (other, span))]
    assert found[2] == found[3]
    assert len(set(map(str, found))) == 3


@pytest.mark.parametrize("system", [*RESTING.values()], ids=[*RESTING])
def test_a_marked_moment_is_known_when_later_rows_were_forgotten(system):
    """Of every other version, asked for two versions later, with rows handed over as often as may be."""
    usual, marked, found = digests(system), [], {}
    ground = ground_of(timed(system))
    digest = Digest(ground.sim.recorder)
    groups = RowGroups(ground.sim.recorder, system.num_clients, group_rows=1, digest=digest)

    def heard(report):
        groups.gather()
        if report.version % 2:
            if marked:
                last = marked.pop()
                found[last.version] = digest.at(last.moment)
            digest.mark(report.moment)
            marked.append(report)

    run_on(timed(system), ground, heard)
    assert found == {version: usual[version] for version in found}
    assert found[1]
