"""Results: what it took to reach a target, by a loop over evaluations."""

import attrs
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosim import Result
from cosim.records import Measure
from cosim.records.rows import Evaluation
from cosim.records.tables import TABLES
from cosim.results.result import AtTarget
from cosim.results.summary import Summary

pytestmark = pytest.mark.quick


def evaluated(scores: list[float], higher_is_better: bool = True) -> Result:
    """A run with these headlines at 0 s, 2 s, 4 s, ..."""
    count = range(len(scores))
    evaluations = pd.DataFrame(
        {
            "time_s": [2.0 * n for n in count],
            "version": list(count),
            "score": scores,
            "energy_j": [3.0 * n for n in count],
            "bits_per_client": [5.0 * n for n in count],
        }
    )
    summary = Summary(
        status="complete",
        num_global_rounds=len(scores) - 1,
        time_s=2.0 * len(scores),
        scores={"score": scores[-1]},
        measures={"score": Measure("score", higher_is_better)},
        energy_j=0.0,
        num_updates=0,
        num_dropped=0,
        bits_per_client=0.0,
        received_bits_per_client=0.0,
    )
    tables = {name: pd.DataFrame() for name in TABLES} | {"evaluations": evaluations}
    return Result(config={}, summary=summary, tables=tables)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=10), st.integers(1, 3), st.booleans())
def test_a_target_is_reached_where_so_many_in_a_row_are_good_enough(scores, held, higher_is_better):
    good = [score >= 2 if higher_is_better else score <= 2 for score in scores]
    wanted = None
    for start in reversed(range(len(scores))):
        if start + held <= len(scores) and all(good[start : start + held]):
            wanted = start + held - 1
    found = evaluated([float(score) for score in scores], higher_is_better).at_target(2.0, held)
    assert found == (None if wanted is None else AtTarget(2.0 * wanted, 3.0 * wanted, 5.0 * wanted, wanted))


def test_a_streak_that_the_end_cuts_is_none():
    run = evaluated([0.1, 0.9, 0.2, 0.9])
    assert run.time_to_target_s(0.9) == 2.0
    assert run.time_to_target_s(0.9, held=2) is None
    assert evaluated([0.1, 0.9, 0.2, 0.9, 0.95]).time_to_target_s(0.9, held=2) == 8.0
    assert run.time_to_target_s(0.9, held=99) is None


@pytest.mark.parametrize("target", [float("nan"), 0.91])
def test_a_target_that_nothing_reaches(target):
    assert evaluated([0.1, 0.9]).at_target(target) is None


INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("higher_is_better", "can_be_nan", "sound", "unsound"),
    [
        (True, False, [0.0, 1.0, INF], [-INF, NAN]),
        (False, False, [0.0, 1.0, -INF], [INF, NAN]),
        (True, True, [0.5, NAN], [-INF]),
        (False, True, [0.5, NAN], [INF]),
    ],
)
def test_scores_of_a_sound_model(higher_is_better, can_be_nan, sound, unsound):
    measure = Measure("score", higher_is_better, can_be_nan=can_be_nan)
    for values, wanted in ((sound, True), (unsound, False)):
        assert [bool(measure.is_sound(value)) for value in values] == [wanted] * len(values)
        assert (measure.is_sound(np.array(values)) == wanted).all()


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 1.0, NAN]), st.sampled_from([0.5, INF, NAN])), min_size=1, max_size=8
    ),
    st.integers(1, 2),
)
def test_a_diverged_model_reaches_no_target_in_a_run_or_at_its_end(rows, held):
    """The first score is the target's; the second one tells of a diverged model, too."""
    measures = {"share": Measure("share", True, is_share=True), "loss": Measure("loss", False)}
    evaluated_rows = [
        Evaluation(2.0 * n, n, dict(zip(measures, scores, strict=True)), measures)
        for n, scores in enumerate(rows)
    ]
    good = [share == 1.0 and loss == 0.5 for share, loss in rows]
    assert [row.reaches(0.9) for row in evaluated_rows] == good
    run = evaluated([share for share, _ in rows])
    summary = run.summary._replace(measures=measures, scores=evaluated_rows[-1].scores)
    table = run.evaluations.assign(share=run.evaluations["score"], loss=[loss for _, loss in rows])
    found = attrs.evolve(run, summary=summary).with_tables(evaluations=table).at_target(0.9, held)
    ends = [n for n in range(len(good)) if n + 1 >= held and all(good[n + 1 - held : n + 1])]
    assert (found and found.version) == (ends[0] if ends else None)
    assert summary.is_diverged == (rows[-1] not in [(0.0, 0.5), (1.0, 0.5)])
