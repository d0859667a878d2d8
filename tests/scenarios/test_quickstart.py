"""The quickstart: what a new user sees first must hold."""

import re
import struct
from pathlib import Path

import pytest

from cosim import AfterRounds, Deadline, Never, Result, evolve
from cosim.records.rows import DONE
from scenarios.command_line.run import Options
from scenarios.command_line.running import run_and_show
from scenarios.quickstart import system

README = Path(__file__).resolve().parents[2] / "README.md"


def size_of_png(path: Path) -> tuple[int, int]:
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert content[-8:-4] == b"IEND"
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def assert_consistent(result: Result, output: str) -> None:
    """Printed numbers, summary and tables say the same."""
    summary = result.summary
    edge_rounds = result.rounds[result.rounds["level"] == "edge"]
    training = result.config["system"]["protocol"]["training"]
    num_rounds = result.config["system"]["end"]["num_global_rounds"]
    num_updates = num_rounds * training["num_edge_rounds"] * result.config["system"]["num_clients"]
    num_cut = int((result.spans["outcome"] != DONE).sum())
    assert (summary.num_global_rounds, summary.num_updates) == (num_rounds, num_updates)
    assert summary.num_dropped == num_updates - edge_rounds["num_arrived"].sum() == num_cut
    assert (edge_rounds["end_s"] - edge_rounds["start_s"]).max() <= training["waiting"]["deadline_s"] * (
        1 + 1e-9
    )
    words = " ".join(output.split())
    assert f"{num_rounds} global rounds, complete" in words
    assert f"{summary.time_s:.4g} s" in words
    assert f"{summary.energy_j:.4g} J" in words
    assert f"{100 * summary.scores['accuracy']:.1f} %" in words
    assert f"{summary.num_dropped} of {num_updates}" in words
    assert f"{summary.bits_per_client / 1e6:.4g} Mbit" in words
    assert str(result.folder) in words.replace(" ", "")


def test_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run_and_show("quickstart", system(), Options(out=tmp_path / "a"))
    output = capsys.readouterr()
    assert_consistent(Result.load(tmp_path / "a"), output.out)
    assert output.err.count("\n") == 11  # before the first round and at every tenth
    (sample,) = re.findall(r"^│.*│$", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (printed,) = re.findall(r"^│.*│$", output.out, flags=re.MULTILINE)
    by_clock = [
        slice(0, 1),
        slice(2, None),
    ]  # what is learned may differ in the last digit on another machine
    words, expected = (re.split(r" *│ *", line.strip("│ ")) for line in (printed, sample))
    assert [words[part] for part in by_clock] == [expected[part] for part in by_clock]
    assert 0.0 < result.summary.num_dropped / result.summary.num_updates < 0.5
    assert result.summary.scores["accuracy"] > 0.7
    assert result.evaluations["accuracy"].iloc[0] < 0.3
    width, height = size_of_png(tmp_path / "a" / "overview.png")
    assert 1000 <= width <= 3000
    assert 500 <= height <= 2000


def test_small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = system()
    small = evolve(whole, num_cells=2, num_clients=6, end=AfterRounds(num_global_rounds=2))
    run_and_show("quickstart", small, Options(out=tmp_path / "a", quiet=True))
    output = capsys.readouterr()
    assert output.err == ""
    assert_consistent(Result.load(tmp_path / "a"), output.out)
    size_of_png(tmp_path / "a" / "overview.png")


@pytest.mark.parametrize(("deadline_s", "is_said"), [(1e-4, True), (22e-3, False)])
def test_where_nothing_arrives_the_fix_is_named(
    deadline_s: float, is_said: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = evolve(
        system(), num_cells=2, num_clients=6, evaluation=Never(), end=AfterRounds(num_global_rounds=1)
    )
    training = evolve(small.protocol.training, waiting=Deadline(deadline_s=deadline_s))
    run_and_show(
        "quickstart",
        evolve(small, protocol=evolve(small.protocol, training=training)),
        Options(out=tmp_path / "a"),
    )
    assert ("Every update was dropped. Use a longer wait." in capsys.readouterr().out) is is_said
