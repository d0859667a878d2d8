"""The critical path of a global round: unbroken, of real spans, as long as the round, and exact by hand."""

from fractions import Fraction

import own_parts
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cosim
from analysis.activities import IDLE, of_node
from analysis.critical_path import CriticalPath
from cosim import (
    AfterRounds,
    Deadline,
    DrawnDevices,
    EdgeTraining,
    FixedShares,
    HFedAvg,
    Never,
    PerGroup,
    Radio,
    System,
    WaitForAll,
)
from cosim.configuration import asks_in
from cosim.configuration.going_together import DOWNLOADS_APART
from cosim.data import Synthetic
from cosim.engine.store.row_groups import RowGroups
from cosim.recording.kept_rows import KeptRows
from cosim.records.rows import DONE, Fate, Round, Span
from cosim.topology import Disc
from cosim.waiting import AtLeast, FirstK, UploadDeadline
from scenarios.papers.rawhfl import CommonSteps, RawHfl, Unconstrained

SLOW = DrawnDevices(min_frequency_hz=PerGroup(values=(0.5e9,)), max_frequency_hz=PerGroup(values=(4e9,)))


def result_of(protocol=None, **fields):
    """A run of timing only."""
    system = System(
        **{
            "num_cells": 2,
            "num_clients": 6,
            "model": "relu-12-8-4",
            "data": Synthetic(),
            "devices": SLOW,
            "uplink": Radio(sharing=FixedShares(bandwidth_hz=1e6)),
            "protocol": protocol
            or HFedAvg(training=EdgeTraining(num_edge_rounds=3, steps=cosim.SameSteps(num_local_steps=2))),
            "end": AfterRounds(num_global_rounds=2),
            "evaluation": Never(),
        }
        | fields
    )
    return cosim.run(system)


WAITING = st.one_of(
    st.just(WaitForAll()),
    st.floats(2e-4, 4e-3).map(lambda s: Deadline(deadline_s=s)),
    st.floats(2e-5, 2e-3).map(lambda s: UploadDeadline(upload_deadline_s=s)),
    st.integers(1, 2).map(lambda k: FirstK(num_updates=k)),
    st.floats(2e-4, 4e-3).map(lambda s: AtLeast(lasting_s=s, rule=Deadline(deadline_s=s))),
    st.floats(2e-4, 4e-3).map(lambda s: AtLeast(lasting_s=s)),
)
HIERARCHICAL = st.builds(
    lambda rounds, waiting: HFedAvg(
        training=EdgeTraining(
            num_edge_rounds=rounds, steps=cosim.SameSteps(num_local_steps=2), waiting=waiting
        )
    ),
    st.integers(1, 3),
    WAITING,
)
RAW = st.builds(
    lambda deadline_s, budget_j, policy: RawHfl(
        num_edge_rounds=2,
        deadline_s=deadline_s,
        energy_budget_j=(budget_j,),
        max_local_rounds=3,
        num_mini_batches=1,
        policy=policy,
    ),
    st.floats(1e-3, 5e-2),
    st.floats(1e-2, 1.0),
    st.sampled_from((CommonSteps(), Unconstrained())),
)


def check(result):
    """Laws of every run's paths."""
    path = CriticalPath.of(result)
    whole = result.rounds[result.rounds["level"] == "global"]
    spans = result.spans
    for row in whole.itertuples():
        pieces = path.pieces[path.pieces["global_round"] == row.global_round]
        starts, ends = pieces["start_s"].tolist(), pieces["end_s"].tolist()
        assert [row.start_s, *ends] == [*starts, row.end_s]  # end to end, from the round's start to its end
        lasted = [Fraction(end) - Fraction(start) for start, end in zip(starts, ends, strict=True)]
        assert sum(lasted) == Fraction(row.end_s) - Fraction(row.start_s)
        assert (pieces["end_s"] > pieces["start_s"]).all()
        for piece in pieces[pieces["doing"] != IDLE].itertuples():
            own = spans[spans["node"] == piece.node]
            own = own[(own["start_s"] <= piece.start_s) & (own["end_s"] >= piece.end_s)]
            assert piece.doing in {of_node(piece.node, activity) for activity in own["activity"]}
    assert (path.jobs["slack_s"] >= 0.0).all()
    assert (path.cells["slack_s"] >= 0.0).all()
    enders = path.jobs.groupby(["edge", "global_round", "edge_round"])["ended_round"].sum()
    assert (enders <= 1).all()
    total_s = (whole["end_s"] - whole["start_s"]).sum()
    for table in (path.by_activity(), path.by_round().sum(), path.by_cell()["on_path_s"]):
        assert table.sum() == pytest.approx(total_s, rel=1e-12)
    return path


@settings(max_examples=25)
@given(
    protocol=st.one_of(HIERARCHICAL, RAW),
    seed=st.integers(0, 50),
    sizes=st.lists(st.integers(2, 4), min_size=1, max_size=3),
    delay_s=st.sampled_from((0.0, 3e-4)),
    has_downlink=st.booleans(),
)
def test_a_path_is_unbroken_and_as_long_as_its_round(protocol, seed, sizes, delay_s, has_downlink):
    downlink = (
        {"downlink": own_parts.CableDown()} if has_downlink and not asks_in(protocol, DOWNLOADS_APART) else {}
    )
    check(
        result_of(
            protocol,
            seed=seed,
            num_cells=len(sizes),
            num_clients=sum(sizes),
            cell_sizes=tuple(sizes),
            topology=Disc(backhaul_delay_s=delay_s),
            **downlink,
        )
    )


def by_hand():
    """Two cells, two edge rounds: a deadline that cuts one, a first K of one, a cloud at work."""
    trace = KeptRows()
    rows = [
        Span("edge-00", "receive", 0.0, 1.0, 0.0, DONE),
        Span("edge-01", "receive", 0.0, 1.0, 0.0, DONE),
        # Edge round 0: both train; 0 waits for its turn and arrives last. In cell 1 the deadline cuts 3.
        Span("client-0000", "receive", 1.0, 1.5, 0.0, DONE, 0),
        Span("client-0000", "train", 1.5, 2.5, 1.0, DONE, 0),
        Span("client-0000", "wait", 2.5, 3.0, 0.0, DONE, 0),
        Span("client-0000", "send", 3.0, 5.0, 1.0, DONE, 0),
        Span("client-0001", "train", 1.0, 2.0, 1.0, DONE, 0),
        Span("client-0001", "send", 2.0, 3.0, 1.0, DONE, 0),
        Span("client-0002", "train", 1.0, 2.0, 1.0, DONE, 0),
        Span("client-0003", "train", 1.0, 4.0, 1.0, "deadline", 0),
        Fate("client-0000", "edge-00", 0, 1, 0, 1.0, 5.0, DONE),
        Fate("client-0001", "edge-00", 0, 1, 0, 1.0, 3.0, DONE),
        Fate("client-0002", "edge-01", 0, 1, 0, 1.0, 2.0, DONE),
        Fate("client-0003", "edge-01", 0, 1, 0, 1.0, 4.0, "deadline"),
        Round("edge", "edge-01", 1, 0, 1.0, 4.0, 2, 2, 2, 1),
        Round("edge", "edge-00", 1, 0, 1.0, 5.0, 2, 2, 2, 2),
        # Edge round 1 begins after half a second in which the edge server compares; 1 is the first, 0 is cut.
        Span("edge-00", "compare", 5.0, 5.5, 0.0, DONE),
        Span("client-0001", "train", 5.5, 6.0, 1.0, DONE, 1),
        Span("client-0001", "send", 6.25, 7.0, 1.0, DONE, 1),
        Span("client-0000", "train", 5.5, 7.0, 1.0, "after the first 1", 1),
        Fate("client-0001", "edge-00", 1, 1, 1, 5.5, 7.0, DONE),
        Fate("client-0000", "edge-00", 1, 1, 1, 5.5, 7.0, "after the first 1"),
        Round("edge", "edge-00", 1, 1, 5.5, 7.0, 2, 2, 2, 1),
        Span("edge-01", "collect", 4.0, 6.0, 0.0, DONE),
        Round("edge", "edge-01", 1, 1, 4.0, 6.0, 0, 0, 0, 0),
        Span("edge-01", "send", 6.0, 6.5, 0.0, DONE),
        Span("edge-00", "send", 7.0, 8.0, 0.0, DONE),
        Span("cloud", "aggregate", 8.25, 8.75, 0.0, DONE),
        Round("global", "cloud", 1, -1, 0.0, 9.0, 2, 2, 2, 2),
    ]
    for row in rows:
        trace.record(row)
    return RowGroups(trace, 4).result({}, "complete", 9.0)


def test_a_path_by_hand():
    path = check(by_hand())
    assert [tuple(piece)[2:] for piece in path.pieces.itertuples(index=False)] == [
        (-1, "edge-00", "backhaul", 0.0, 1.0),
        (0, "client-0000", "receiving", 1.0, 1.5),
        (0, "client-0000", "training", 1.5, 2.5),
        (0, "client-0000", "waiting to send", 2.5, 3.0),
        (0, "client-0000", "sending", 3.0, 5.0),
        (-1, "edge-00", "compare", 5.0, 5.5),
        (1, "client-0001", "training", 5.5, 6.0),
        (1, "client-0001", IDLE, 6.0, 6.25),
        (1, "client-0001", "sending", 6.25, 7.0),
        (-1, "edge-00", "backhaul", 7.0, 8.0),
        (-1, "edge-00", IDLE, 8.0, 8.25),
        (-1, "cloud", "aggregate", 8.25, 8.75),
        (-1, "edge-00", IDLE, 8.75, 9.0),
    ]
    assert tuple(path.rounds.iloc[0]) == (1, 0.0, 9.0, "edge-00", "client-0001", "sending", DONE)
    assert path.edge_rounds["ended_by"].tolist() == ["client-0003", "client-0000", "edge-01", "client-0001"]
    assert path.edge_rounds["outcome"].tolist() == ["deadline", DONE, DONE, DONE]


def test_slacks_and_ranks_by_hand():
    path = CriticalPath.of(by_hand())
    slack_s = path.jobs.groupby("client")["slack_s"].apply(list).to_dict()
    assert slack_s == {
        "client-0000": [0.0, 0.0],
        "client-0001": [2.0, 0.0],
        "client-0002": [2.0],
        "client-0003": [0.0],
    }
    ranked = path.stragglers()
    assert ranked.index.tolist() == ["client-0000", "client-0001", "client-0003", "client-0002"]
    assert ranked["on_path_s"].tolist() == [4.0, 1.5, 0.0, 0.0]
    assert ranked["rounds_ended"].tolist() == [1, 1, 1, 0]
    assert ranked["mean_slack_s"].tolist() == [0.0, 1.0, 0.0, 2.0]
    assert path.cells["slack_s"].tolist() == [0.0, 1.5]
    assert path.by_cell()["rounds_ended"].tolist() == [1, 0]


def test_a_run_without_rounds_has_no_path():
    path = CriticalPath.of(RowGroups(KeptRows(), 1).result({}, "complete", 0.0))
    for table in (path.pieces, path.rounds, path.by_round(), path.stragglers(), path.by_cell()):
        assert table.empty


def test_a_rule_that_lasts_longer_than_all_is_the_servers_time():
    lasting = EdgeTraining(
        num_edge_rounds=2, steps=cosim.SameSteps(num_local_steps=2), waiting=AtLeast(lasting_s=1.0)
    )
    path = check(result_of(HFedAvg(training=lasting)))
    assert path.by_activity().to_dict() == {"collecting": pytest.approx(4.0, rel=1e-12)}
    assert (path.jobs["slack_s"] > 0.9).all()
