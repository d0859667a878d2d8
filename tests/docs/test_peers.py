"""Beside other tools: cosim's and the loop's programs run the numbers of the work; checks; the page."""

from pathlib import Path

import pytest

from benchmarks.peers import entry, in_cosim, in_loop, networks, page, rows, run, work

ROOT = Path(__file__).resolve().parents[2]
SMALL = work.Learning(6, 4, 3, 2, 5, 0.1, (64,))


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Folder with the samples of a small W3."""
    monkeypatch.setitem(work.LEARNING, "W3", SMALL)
    work.write_samples("W3", tmp_path)
    return tmp_path


def test_cosim_and_the_loop_do_the_same_work(small):
    ours = in_cosim.learned("W3", small)
    loops = in_loop.learned(entry.Asked("W3", small, 1, ""))
    assert ours.client_steps == 3 * 4 * 2
    assert ours.loss == pytest.approx(loops.loss, abs=0.2)  # other clients are drawn


def test_the_numbers_of_the_work_are_those_of_cosims_systems():
    for name, own in work.LEARNING.items():
        system = in_cosim.system(name)
        training, local = system.protocol.training, system.protocol.training.local
        assert (system.num_clients, system.end.num_global_rounds) == (own.num_clients, own.num_rounds)
        assert training.selection.most(own.num_clients) == own.num_participants
        assert training.steps.num_local_steps == own.num_steps
        assert (local.batch_size, local.learning_rate) == (
            own.batch_size,
            own.learning_rate,
        )
        parameters = networks.network(name).state_dict()
        assert {key: tuple(of.shape) for key, of in parameters.items()} == work.SHAPES[name]


def test_versions_are_made_when_arithmetic_says_so():
    for name in work.TIMES:
        assert in_cosim.timed(name).times_s == pytest.approx(work.version_times_s(name), abs=1e-9)


def test_a_run_that_did_other_work_ends_the_benchmark():
    row = rows.Row("W3", "pfl", 1)
    told = {"client_steps": work.LEARNING["W3"].client_steps, "loss": 1.0}
    run.check(row, told, 1.01)
    with pytest.raises(RuntimeError, match="client-steps"):
        run.check(row, told | {"client_steps": 7}, 1.0)
    with pytest.raises(RuntimeError, match="loss"):
        run.check(row, told, 1.1)
    late = work.version_times_s("W4 rounds") + 1e-8
    with pytest.raises(RuntimeError, match="arithmetic"):
        run.check(rows.Row("W4 rounds", "appfl", 1), {"times_s": late}, 0.0)


def test_the_page_has_a_place_for_every_table():
    text = (ROOT / "docs" / "peers.md").read_text()
    for name in ("versions", "stages", *rows.ROWS):
        assert page.written(text, {name: "own"}).count("```text\nown\n```") == 1
