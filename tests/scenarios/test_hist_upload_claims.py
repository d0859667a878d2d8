"""Claims of the figures over upload, of the HIST papers, on curves made up for them."""

import math
from types import SimpleNamespace

import pandas as pd
import pytest
from run_here import MISSING, NO, NOISY, YES, Captured, claimed, each_seed, verdicts

import models
from cosim.configuration import to_dict
from cosim.files.on_disk import read_json
from scenarios.reproduce.figures import num_rounds
from scenarios.reproduce.hist import fig4, fig5, fig5_dropout
from scenarios.reproduce.hist.conf import fig2, fig3

pytestmark = pytest.mark.usefixtures("unwritten_pictures")
WHOLE_BITS = 32 * (784 * 300 + 300 * 10)
NEVER = math.inf
OF_A_SPLIT = 8
"""Claims of Fig. 2 of a split: of each N, of uploads, HIST's rise, HFedAvg's fall, HIST's fall."""

ACCURACIES = {"HIST": {2: 0.80, 3: 0.81, 4: 0.82, 5: 0.81}, "HFedAvg": {2: 0.74, 3: 0.73, 4: 0.72, 5: 0.71}}
UPLOADS = {"HIST": {2: 20.0, 3: 15.0, 4: 10.0, 5: 14.0}, "HFedAvg": {2: 25.0, 3: 30.0, 4: 35.0, 5: 40.0}}
"""Curves of the paper: accuracies at any upload, and uploads from which 75 % are held."""


def as_the_paper(table, changes):
    """A number for each label and seed: the paper's, or one of the changes, for each seed its own."""

    def number(label, system):
        own = changes.get(label, table[label.partition(" ")[0]][system.num_cells])
        return own[system.seed - 1] if isinstance(own, tuple) else own

    return number


def evaluated(accuracy, hist_share=lambda num_cells: 1 / num_cells, *, of_hist=False):
    """In place of `run_all`: evaluations with the accuracy of a label and a system after some uploads.

    Args:
        of_hist: True if all labels are of HIST.
    """

    def result(label, system):
        share = hist_share(system.num_cells) if of_hist or label.startswith("HIST") else 1.0
        versions = range(num_rounds(system) + 1)
        at = [5 * version * share for version in versions]
        evaluations = pd.DataFrame(
            {
                "version": versions,
                "bits_per_client": [WHOLE_BITS * own for own in at],
                "accuracy": [accuracy(label, system, own) if own else 0.1 for own in at],
            }
        )
        uploads = pd.DataFrame({"payload_bits": [WHOLE_BITS * share]})
        config = {"system": to_dict(system)}
        return SimpleNamespace(evaluations=evaluations, uploads=uploads, config=config, folder=None)

    return each_seed(result)


def judged(figure, folder, monkeypatch, run):
    """Exit code and verdicts over two seeds, in the full form."""
    monkeypatch.setattr(figure, "run_all", run)
    code = figure.main(figure.Options(seeds=2, out=folder))
    return code, verdicts(folder, figure.FIGURE)


FIG2 = {
    "as the paper": ({}, {}),
    "HIST with 4 cells is worst": ({"HIST N=4, shards": 0.5}, {2: NO, 5: NO, 7: NO}),
    "the same where cells are alike": ({"HIST N=4, cell-iid": 0.5}, {10: NO, 13: NO, 15: NO}),
    "HIST gains at N = 5": ({"HIST N=5, shards": 0.83}, {7: NO}),
    "HFedAvg gains at N = 5": ({"HFedAvg N=5, cell-iid": 0.73}, {14: NO}),
    "N is nothing to HFedAvg": ({f"HFedAvg N={n}, shards": 0.7 for n in (2, 3, 4, 5)}, {6: NO}),
    "seeds differ": ({"HIST N=3, shards": (0.5, 0.9)}, {1: NOISY, 5: NOISY}),
}


@pytest.mark.parametrize("case", FIG2)
def test_fig2_compares_accuracies_at_equal_upload(case, tmp_path, monkeypatch):
    changes, wrong = FIG2[case]
    number = as_the_paper(ACCURACIES, changes)
    run = evaluated(lambda label, system, at: number(label, system))
    expected = [wrong.get(claim, YES) for claim in range(2 * OF_A_SPLIT)]
    assert judged(fig2, tmp_path, monkeypatch, run) == (0, expected)


def test_fig2_wants_hist_ahead_at_the_end_too(tmp_path, monkeypatch):
    number = as_the_paper(ACCURACIES, {})

    def accuracy(label, system, at):
        return 0.5 if label == "HIST N=3, shards" and at > 55 else number(label, system)

    _, found = judged(fig2, tmp_path, monkeypatch, evaluated(accuracy))
    assert found[1] == NO
    mean, end = claimed(tmp_path, fig2.FIGURE)[1]["quantities"]
    assert mean["estimate"] == pytest.approx((11 * 8.0 + 0.5 * 100 - 73.0) / 12, rel=1e-9)
    assert end["estimate"] == pytest.approx(50.0 - 73.0, rel=1e-9)


def test_fig2_wants_a_cells_share_of_the_uploads(tmp_path, monkeypatch):
    number = as_the_paper(ACCURACIES, {})
    run = evaluated(lambda label, system, at: number(label, system), lambda num_cells: 1.01 / num_cells)
    code, found = judged(fig2, tmp_path, monkeypatch, run)
    assert (code, found[4], found[4 + OF_A_SPLIT]) == (1, NO, NO)


FIG3 = {
    "as the paper": ({}, {}),
    "HIST with 4 cells needs most": ({"HIST N=4, shards": 50.0}, {0: NO, 1: NO, 2: NO}),
    "HIST with 4 cells never": ({"HIST N=4, cell-iid": NEVER}, {3: NO, 4: NO, 5: NOISY}),
    "HFedAvg with 4 cells never": ({"HFedAvg N=4, shards": NEVER}, {2: NOISY}),
    "HFedAvg gains with cells": (
        {"HFedAvg N=2, cell-iid": 45.0, "HFedAvg N=3, cell-iid": 40.0, "HFedAvg N=4, cell-iid": 35.0},
        {},
    ),
    "HFedAvg gains as much": (
        {f"HFedAvg N={n}, cell-iid": own for n, own in ((2, 45.0), (3, 35.0), (4, 20.0))},
        {5: NO},
    ),
    "nobody with 2 cells": ({"HIST N=2, shards": NEVER, "HFedAvg N=2, shards": NEVER}, {0: NOISY, 2: NOISY}),
    "seeds differ": ({"HIST N=3, shards": (5.0, 25.0)}, {0: NOISY, 1: NOISY}),
}


@pytest.mark.parametrize("case", FIG3)
def test_fig3_compares_uploads_to_75_percent(case, tmp_path, monkeypatch):
    changes, wrong = FIG3[case]
    number = as_the_paper(UPLOADS, changes)
    run = evaluated(lambda label, system, at: 0.75 if at >= number(label, system) else 0.7)
    expected = [wrong.get(claim, YES) for claim in range(6)]
    assert judged(fig3, tmp_path, monkeypatch, run) == (0, expected)
    table = pd.read_csv(tmp_path / f"{fig3.FIGURE}.csv").set_index(["curve", "seed"])["uploads_per_client"]
    if not changes:
        assert table["HIST N=2, shards", 1] == pytest.approx(20.0, rel=1e-12)
        assert table["HFedAvg N=5, cell-iid", 2] == pytest.approx(40.0, rel=1e-12)


# The journal paper's.

JOURNAL_ACCURACIES = {"HIST": {2: 0.80, 4: 0.81, 6: 0.82}, "HFedAvg": {2: 0.74, 4: 0.73, 6: 0.72}}
JOURNAL_UPLOADS = {
    "HIST": {2: 20.0, 4: 15.0, 6: 10.0, 8: 14.0, 10: 18.0},
    "HFedAvg": {2: 30.0, 4: 40.0, 6: 50.0, 8: 60.0, 10: 70.0},
}
FIG4 = {
    "as the paper": ({}, {}),
    "HIST with 4 cells is worst": ({"HIST N=4, shards": 0.5}, {2: NO, 6: NO}),
    "HFedAvg gains": ({"HFedAvg N=6, shards": 0.745}, {7: NO}),
    "HFedAvg gains where cells are alike": ({"HFedAvg N=6, cell-iid": 0.745}, {}),
    "seeds differ": ({"HFedAvg N=4, shards": (0.7295, 0.7325)}, {7: NOISY}),
}


@pytest.mark.parametrize("case", FIG4)
def test_fig4_compares_accuracies_at_equal_upload(case, tmp_path, monkeypatch):
    changes, wrong = FIG4[case]
    number = as_the_paper(JOURNAL_ACCURACIES, changes)
    run = evaluated(lambda label, system, at: number(label, system))
    code, found = judged(fig4, tmp_path, monkeypatch, run)
    assert (code, found) == (int(2 in wrong), [wrong.get(claim, YES) for claim in range(8 + 7)])
    told = read_json(tmp_path / f"{fig4.FIGURE}.json")["claims"]
    assert [number for number, claim in enumerate(told) if claim["is_ours"]] == [14]


FIG5 = {
    "as the paper": ({}, {}),
    "HIST with 4 cells needs most": ({"HIST N=4, shards": 60.0}, {0: NO, 1: NO, 3: NO}),
    "HIST gains at N = 8": ({"HIST N=8, shards": 5.0}, {4: NO}),
    "HFedAvg gains as much": ({"HFedAvg N=2, cell-iid": 60.0}, {7: NO}),
    "HIST with 2 cells never": ({"HIST N=2, cell-iid": NEVER}, {5: NO, 7: NOISY}),
    "HFedAvg gains": ({"HFedAvg N=6, shards": 35.0}, {2: NO}),
    "HFedAvg gains where cells are alike": ({"HFedAvg N=6, cell-iid": 35.0}, {}),
    "seeds differ": ({"HFedAvg N=4, shards": (25.0, 60.0)}, {0: NOISY, 2: NOISY, 3: NOISY}),
}


@pytest.mark.parametrize("case", FIG5)
def test_fig5_compares_uploads_to_80_percent(case, tmp_path, monkeypatch):
    changes, wrong = FIG5[case]
    number = as_the_paper(JOURNAL_UPLOADS, changes)
    run = evaluated(lambda label, system, at: 0.8 if at >= number(label, system) else 0.75)
    expected = [*(wrong.get(claim, YES) for claim in range(5 + 4)), MISSING]
    assert judged(fig5, tmp_path, monkeypatch, run) == (0, expected)


DROPOUT = {
    "as with the code's network": ({}, {}),
    "N = 8 is no worse": ({"dropout N=8, shards": 0.78}, {0: NO, 2: NO}),
    "N = 10 is no worse where cells are alike": ({"dropout N=10, cell-iid": 0.78}, {3: NO, 5: NO}),
    "the text's network loses as well": ({"plain N=8, shards": 0.76}, {1: NO, 2: NO}),
    "seeds differ": ({"dropout N=6, shards": (0.70, 0.85)}, {0: NOISY, 2: NOISY}),
    "dropout is nothing": ({f"dropout N={n}, shards": 0.78 + n / 1000 for n in (6, 8)}, {0: NO, 2: NO}),
}


@pytest.mark.parametrize("case", DROPOUT)
def test_fig5_with_dropout_compares_accuracies_at_7_5_to_15_uploads(case, tmp_path, monkeypatch):
    """Of N cells within 3 N rounds; the first half of a run says nothing."""
    changes, wrong = DROPOUT[case]

    def accuracy(label, system, at):
        assert num_rounds(system) == 3 * system.num_cells
        usual = 0.78 + system.num_cells / 1000 * (1 if label.startswith("plain") else -1)
        own = changes.get(label, usual)
        return (own[system.seed - 1] if isinstance(own, tuple) else own) if at > 7.49 else 0.3

    run = evaluated(accuracy, lambda num_cells: 1 / num_cells, of_hist=True)
    expected = [wrong.get(claim, YES) for claim in range(6)]
    assert judged(fig5_dropout, tmp_path, monkeypatch, run) == (0, expected)


def test_a_run_with_dropout_counts_by_its_mean_from_half_of_the_upload_on():
    run = pd.DataFrame({"uploads_per_client": [0, 1, 2, 3, 4], "accuracy": [0.1, 0.2, 0.5, 0.9, 0.7]})
    assert fig5_dropout.later(run) == pytest.approx(0.7)


def test_fig5_with_dropout_has_the_network_of_the_code(monkeypatch):
    """Half of the hidden units dropped, with biases; the quick form asks of N = 8 only."""
    asked = {}

    def capture(figure, systems, options):
        asked.update(systems)
        raise Captured

    monkeypatch.setattr(fig5_dropout, "run_all", capture)
    with pytest.raises(Captured):
        fig5_dropout.main(fig5_dropout.Options(quick=True))
    assert [num_rounds(system) for system in asked.values()] == [12, 16]
    assert list(asked) == ["dropout N=6, shards", "dropout N=8, shards"]
    for system in asked.values():
        network = models.build(system.model)
        assert network.dropout.p == 0.5
        assert sum(own.numel() for own in network.parameters()) == 784 * 300 + 300 + 300 * 10 + 10
