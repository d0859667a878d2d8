"""Fates: what became of jobs and of their energy, by hand and against rows of edge rounds."""

import attrs
import pytest

import cosim
from analysis.fates import UNKNOWN, Fates
from cosim.engine.store.row_groups import RowGroups
from cosim.recording.kept_rows import KeptRows
from cosim.records.rows import DONE, END_OF_RUN, NO_JOB, NO_ROUND, Fate, Span
from cosim.testing import small_system

TIMED = attrs.evolve(small_system(cosim.Deadline(deadline_s=2e-3)), evaluation=cosim.Never())


def test_fates_by_hand():
    trace = KeptRows()
    for row in (
        Span("client-0000", "train", 0.0, 1.0, 1.0, DONE, 0),
        Span("client-0000", "send", 1.0, 2.0, 2.0, DONE, 0),
        Fate("client-0000", "edge-00", 0, 1, 0, 0.0, 2.0, DONE),
        # Cut while it sends, and again at nothing worth a reason.
        Span("client-0001", "train", 0.0, 1.0, 4.0, DONE, 0),
        Span("client-0001", "send", 1.0, 3.0, 8.0, "deadline", 0),
        Fate("client-0001", "edge-00", 0, 1, 0, 0.0, 3.0, "deadline"),
        # All it did was done, and yet it was dropped.
        Span("client-0002", "train", 0.0, 1.0, 16.0, DONE, 0),
        Fate("client-0002", "edge-00", 0, 1, 0, 0.0, 1.0, "after the first 1"),
        # Not asked for, not ended, and no client's.
        Span("client-0002", "train", 3.0, 4.0, 32.0, DONE, NO_JOB),
        Span("client-0002", "train", 4.0, 5.0, 64.0, END_OF_RUN, 1),
        Fate("client-0002", "edge-00", 1, NO_ROUND, NO_ROUND, 4.0, 5.0, END_OF_RUN),
        Span("edge-00", "send", 4.0, 5.0, 128.0, DONE),
    ):
        trace.record(row)
    fates = Fates.of(RowGroups(trace, 3).result({}, "complete", 9.0))
    assert fates.spent_j == {
        ("arrived", "send"): 2.0,
        ("arrived", "train"): 1.0,
        ("no job", "train"): 32.0,
        ("not ended", "train"): 64.0,
        ("wasted", "send"): 8.0,
        ("wasted", "train"): 20.0,
    }
    assert list(fates.spent_j) == sorted(fates.spent_j)
    assert fates.energy_j() == 127.0
    assert fates.energy_j("wasted") == 28.0
    assert fates.energy_j(activity="train") == 117.0
    assert fates.wasted_percent() == pytest.approx(100 * 28 / 127, rel=1e-12)
    assert fates.reasons() == {"deadline, while sending": 1, "after the first 1": 1}
    of = fates.attempts.set_index("client")
    assert of["energy_j"].to_dict() == {"client-0000": 3.0, "client-0001": 12.0, "client-0002": 16.0}
    assert of["arrived"].to_dict() == {"client-0000": True, "client-0001": False, "client-0002": False}


def test_rows_of_edge_rounds_tell_energy_by_activity_and_nothing_of_its_fate():
    rows, few = (Fates.of(cosim.run(TIMED, records=kept)) for kept in ("all", "rounds"))
    assert rows.is_known
    assert rows.energy_j("wasted") > 0.0
    assert not few.is_known
    assert set(few.spent_j) == {(UNKNOWN, "train"), (UNKNOWN, "send")}
    for activity in (None, "train", "send"):
        assert few.energy_j(activity=activity) == pytest.approx(rows.energy_j(activity=activity), rel=1e-9)
    assert few.energy_j("wasted") is None
    assert few.wasted_percent() is None
