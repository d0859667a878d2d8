"""Hints of the command line: words of other programs, training that diverges, numbers that few mean."""

import json
import math
from pathlib import Path

import pandas as pd
import pytest
from own_commands import exit_code

import cosim
from cosim.files.on_disk import checksum
from cosim.records.tables import TABLES
from cosim.results.summary import Summary
from scenarios import command_line
from scenarios.command_line.running import diverged

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("unwritten_pictures")]

SMALL = """
import cosim
from cosim.testing import small_system

def system():
    return cosim.evolve(small_system(), evaluation=cosim.Never())
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small scenario that learns nothing."""
    (tmp_path / "small.py").write_text(SMALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(command_line.sys.modules, "small", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("--lr 0.1", "no option --lr. Did you mean --learning-rate? See --help."),
        ("--rounds 3", "Did you mean --num-global-rounds?"),
        ("--batch 3", "Did you mean --batch-size?"),
        ("--users 3", "Did you mean --num-clients?"),
        ("--epochs 3", "epochs is Epochs(num_epochs=...), as the steps of EdgeTraining."),
        (
            "--deadline-s 0.1",
            "no option --deadline-s. Deadline has it: --protocol.training.waiting.kind Deadline.",
        ),
        (
            "--selection Oort",
            "--selection: names a part, which has no value of its own. Use --selection.kind Oort.",
        ),
        ("seed=3", "seed=3: an option begins with --. Use --seed 3."),
        ("--momentum 0.9", "Momentum has it: --protocol.training.local.kind Momentum."),
        ("--protocol.kind FedAvg", "Did you mean HFedAvg? FedAvg is HFedAvg in one cell (num_cells = 1))."),
        ("--protocol.kind FedAdam", "FedAdam is a kind of ServerUpdate)."),
        ("--local.kind FedProx", "Did you mean Proximal?"),
        ("--local.kind SGD", "Did you mean Sgd?"),
    ],
)
def test_options_by_words_of_other_programs(option, hint, capsys):
    assert exit_code("show", "small.py", *option.split()) == 2
    said = capsys.readouterr().err
    assert hint in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("study", "message"),
    [
        (
            "--over bandwidth_hz=1e6,x",
            'bandwidth_hz = "x": no design can have it. FixedShares.',
        ),
        (
            "--over num_cells=1,2.5",
            "num_cells = 2.5: no design can have it. System.num_cells = 2.5: m",
        ),
        ("--over protocol.kind=Hist,Hits", 'protocol.kind = "Hits": no design can have it.'),
        ("bandwidth_hz=1e6,2e6", "an option begins with --. Use --over bandwidth_hz=1e6,2e6."),
        ("--over lr=0.1,0.2", "lr: there is no such field. Did you mean learning_rate?"),
        (
            "--design A:uplink.kind=TracedLink;uplink.trace.file=no.csv --design B:",
            "no file 'no.csv'",
        ),
        ("--design A:bandwith_hz=2e6 --design B:", "there is no such field. Did you mean bandwidth_hz?"),
        ("--design A:num_cells=90 --design B:", "System.num_cells = 90: is more than num_clients = 5"),
        ("--design A:num_cells=1 --design A:num_cells=2", "is given twice"),
        ("--over num_cells=1,2 --out small.py/s", "small.py/s: cannot be written"),
    ],
)
def test_a_study_with_a_mistake_runs_nothing(study, message, here, capsys):
    assert exit_code("study", "small.py", *study.split()) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (here / "studies").exists()


@pytest.mark.filterwarnings("default::cosim.system.remarks.Remark")
def test_numbers_that_few_mean_are_told_beside_the_run(capsys):
    assert exit_code("run", "small.py", "--bandwidth-hz", "5", "--quiet", "--out", "run") == 0
    assert "uplink.sharing.bandwidth_hz = 5 Hz is little. Use 5e+06," in capsys.readouterr().err
    assert json.loads(Path("run/summary.json").read_text())["status"] == "complete"


@pytest.mark.filterwarnings("default::UserWarning")
def test_a_repeated_run_says_that_a_named_file_is_another_and_so_does_a_report(here, capsys):
    rows = [f"0,{client},{client + 1}e6" for client in range(5)]
    (here / "street.csv").write_text("\n".join(["time_s,device,rate_bps", *rows]))
    trace = "--uplink.kind TracedLink --uplink.trace.file street.csv --uplink.trace.past-end.kind HoldLast"
    assert exit_code("run", "small.py", *trace.split(), "--quiet", "--out", "a") == 0
    assert exit_code("run", "--config", "a/config.json", "--import", "small.py", "--quiet", "--out", "b") == 0
    assert "another file" not in capsys.readouterr().err
    before = checksum(here / "street.csv")[:12]
    (here / "street.csv").write_text("\n".join(["time_s,device,rate_bps", *reversed(rows), ""]))
    now = checksum(here / "street.csv")[:12]
    assert exit_code("run", "--config", "a/config.json", "--import", "small.py", "--quiet", "--out", "c") == 0
    said = capsys.readouterr().err
    assert (
        "--config a/config.json: its run had another file (which TracedLink reads): street.csv has changed "
        f"since (sha256 {before} then, {now} now). Restore that file to repeat the run."
    ) in said
    assert exit_code("report", "a", "c", "--out", "page.html") == 0
    both = ", ".join(sorted((before, now)))
    assert f"its runs had different contents of street.csv (sha256 {both})" in Path("page.html").read_text()


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        ([2.3, 1.0, 0.5], None),
        ([2.3, 2.5, 4.0], None),
        (
            [2.3, 30.0, 4e5],
            "The loss has grown from 2.3 to 4e+05: training has diverged.",
        ),
        (
            [2.3, math.nan, math.nan],
            "Not finite: test cross entropy (nats); training has diverged. Use a smaller",
        ),
        ([2.3, math.inf], "Not finite: test cross entropy (nats); training has diverged."),
        ([], None),
    ],
)
def test_training_that_has_diverged_is_told(losses, words):
    """The accuracy of class 3, which is not there, is not a number of sound models either."""
    of_3 = cosim.records.Measure("accuracy of class 3", higher_is_better=True, can_be_nan=True)
    measures = dict(cosim.tasks.Classification().measures()) | {"of_3": of_3}
    table = pd.DataFrame(
        {"accuracy": 0.5, "loss_nats": losses, "of_3": math.nan}, index=range(len(losses)), dtype=float
    )
    scores = {column: float(table[column].iloc[-1]) for column in measures} if losses else {}
    summary = Summary("complete", 1, 1.0, scores, measures if losses else {}, 0.0, 0, 0, 0.0, 0.0)
    tables = {name: pd.DataFrame() for name in TABLES} | {"evaluations": table}
    found = diverged(cosim.Result(config={}, summary=summary, tables=tables))
    assert found is None if words is None else str(found).startswith(words)
