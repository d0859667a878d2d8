"""A stopped run goes on where it was, and ends bit for bit where an uninterrupted one ends."""

import json
from pathlib import Path

import numpy as np
import pytest
import worlds
from fixtures.fixes import has_fix
from here import Stopped

import cosim
import models
from cosim import (
    AfterRounds,
    ConfigurationError,
    GivenSnr,
    HFedAvg,
    Hist,
    Never,
    PerGroup,
    Radio,
    Rayleigh,
    System,
    evolve,
    run,
)
from cosim.ends import EveryVersions
from cosim.engine.learning.learner import Learner
from cosim.engine.store.checkpoint import Checkpoint
from cosim.protocols import LatencyOptimal
from cosim.radio import EveryEdgeRound, OverTheAir
from cosim.records.tables import TABLES
from cosim.results.checkpoint_file import BEFORE, FILE
from scenarios.command_line import main

pytestmark = pytest.mark.usefixtures("unwritten_pictures")

ROOT = Path(__file__).parents[3]
TRAINING = worlds.training(waiting=worlds.DEADLINE)
SIX = AfterRounds(num_global_rounds=6)
HIST = worlds.some_late(protocol=Hist(training=TRAINING), end=SIX)
SYSTEMS = {
    "hist": HIST,
    "hfedavg": evolve(HIST, protocol=HFedAvg(training=TRAINING)),
    "raw-hfl": worlds.rawhfl(end=SIX),
    "vhfl": worlds.vhfl(end=SIX),
    "every second round": evolve(HIST, evaluation=EveryVersions(num_versions=2)),
    "over the air": evolve(
        HIST,
        uplink=Radio(
            sharing=OverTheAir(),
            link=GivenSnr(snr_db=PerGroup(values=(0.0,))),
            fading=Rayleigh(redrawn=EveryEdgeRound()),
        ),
        protocol=evolve(HIST.protocol, submodel_sizes=LatencyOptimal()),
    ),
}


def stop_at(global_round: int):
    def listener(report):
        if report.version == global_round:
            raise Stopped

    return listener


def run_in(system: System, folder: Path, **options: object) -> cosim.Result:
    return run(system, models.build(system.model), out=folder, num_workers=1, **options)


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES} | {
        "summary": (folder / "summary.json").read_bytes()
    }


@pytest.mark.parametrize("name", SYSTEMS)
def test_stopped_and_resumed_it_ends_where_an_uninterrupted_run_ends(tmp_path, name):
    """After the first round, and again later."""
    system, stopped = SYSTEMS[name], tmp_path / "stopped"
    run_in(system, tmp_path / "whole")
    wanted = Checkpoint.load(tmp_path / "whole")
    for number in (1, 4):
        with pytest.raises(Stopped):
            run_in(system, stopped, listener=stop_at(number), resume=number > 1)
    run_in(system, stopped, resume=True)
    assert tables(stopped) == tables(tmp_path / "whole")
    found = Checkpoint.load(stopped)
    assert found.version == wanted.version == 6
    for parameter, values in wanted.weights.items():
        np.testing.assert_array_equal(found.weights[parameter], values)


def test_what_was_learned_is_not_learned_again(tmp_path, monkeypatch):
    num_steps = []

    class Counting(Learner):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            num_steps.append(self)

    monkeypatch.setattr("cosim.engine.learning.learner.Learner", Counting)
    run_in(HIST, tmp_path / "whole", checkpoint_every=1)  # keeping a model, too, learns nothing
    with pytest.raises(Stopped):
        run_in(HIST, tmp_path / "stopped", listener=stop_at(4))
    run_in(HIST, tmp_path / "stopped", resume=True)
    whole, first, rest = (learner.num_local_steps for learner in num_steps)
    assert first + rest == whole
    assert 0 < rest < first


def test_the_checkpoint_of_a_complete_run_is_the_trained_model(tmp_path):
    result = run_in(HIST, tmp_path / "a")
    checkpoint = Checkpoint.load(tmp_path / "a")
    dataset = HIST.data.load(cosim.Simulation(1), None)
    learner = Learner(models.build(HIST.model), dataset)
    score = learner.evaluate(learner.stored_model(checkpoint.weights))
    assert score["accuracy"] == result.summary.scores["accuracy"]
    assert [row.scores["accuracy"] for row in checkpoint.evaluations] == list(result.evaluations["accuracy"])
    assert all(type(row.version) is int for row in checkpoint.evaluations)


def test_a_run_that_was_stopped_before_its_first_checkpoint_starts_anew(tmp_path):
    run_in(HIST, tmp_path / "whole")
    with pytest.raises(Stopped):
        run_in(HIST, tmp_path / "stopped", listener=stop_at(0))
    (tmp_path / "stopped" / FILE).unlink()
    run_in(HIST, tmp_path / "stopped", resume=True)
    assert tables(tmp_path / "stopped") == tables(tmp_path / "whole")


def test_provenance_names_every_process(tmp_path):
    with pytest.raises(Stopped):
        run_in(HIST, tmp_path / "a", listener=stop_at(2))
    first = json.loads((tmp_path / "a" / "provenance.json").read_text())
    run_in(HIST, tmp_path / "a", resume=True)
    both = json.loads((tmp_path / "a" / "provenance.json").read_text())
    assert {name: both[name] for name in first} == first
    assert len(both["resumed"]) == 1


def test_timing_only_runs_keep_no_weights(tmp_path):
    run_in(evolve(HIST, evaluation=Never()), tmp_path / "a")
    assert Checkpoint.load(tmp_path / "a") is None


# --- Another run ------------------------------------------------------------------------------------------


ELSEWHERE = {"wait_s": 0.25, "power_w": 0.0, "first": 0, "rounds": 6}
"""State that the parts below read and no configuration names, like a user's helper module."""


class Helped(cosim.Selection):
    """Takes one client after a wait."""

    def participants(self, sim, edge, coming):
        yield from sim.spend(edge.name, "idle", ELSEWHERE["wait_s"], ELSEWHERE["power_w"])
        return [coming.clients[(coming.job.number + ELSEWHERE["first"]) % len(coming.clients)]]


class Elsewhere(cosim.AfterRounds):
    """Ends when something elsewhere says so."""

    def is_reached(self, progress):
        return progress.num_global_rounds >= ELSEWHERE["rounds"]


def helped(num_versions: int = 1) -> System:
    training = worlds.training(num_edge_rounds=1, selection=Helped())
    usual = evolve(HIST, protocol=HFedAvg(training=training), end=Elsewhere(num_global_rounds=6))
    return evolve(usual, evaluation=EveryVersions(num_versions=num_versions))


def stopped_at(folder: Path, system: System, version: int, **options: object) -> dict[str, bytes]:
    """Content of the folder of a run that was stopped."""
    with pytest.raises(Stopped):
        run_in(system, folder, listener=stop_at(version), checkpoint_every=1, **options)
    return files_of(folder)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("change", "words", "group_rows"),
    [
        ({"wait_s": 2.25}, r"version 1 at \S+ s, and now makes it at \S+ s", 200_000),
        ({"power_w": 0.1}, r"other spans up to version 3, at \S+ s", 200_000),
        ({"power_w": 0.1}, r"other spans up to version 3, at \S+ s", 1),
        ({"first": 1}, r"version 1 at|other fates and spans and transfers up to version 3", 1),
        ({"rounds": 2}, "version 3, and now ends with 2", 200_000),
    ],
)
def test_a_rerun_with_other_rows_is_refused_and_leaves_the_folder_as_it_was(
    tmp_path, monkeypatch, change, words, group_rows
):
    before = stopped_at(tmp_path / "a", helped(), 3, group_rows=group_rows)
    for name, value in change.items():
        monkeypatch.setitem(ELSEWHERE, name, value)
    with pytest.raises(ConfigurationError, match=f"^resume: the stopped run made ({words})"):
        run_in(helped(), tmp_path / "a", resume=True, group_rows=group_rows)
    assert files_of(tmp_path / "a") == before
    monkeypatch.undo()
    run_in(helped(), tmp_path / "a", resume=True, clock="events", shuffle_ties=5)
    run_in(helped(), tmp_path / "whole")
    assert tables(tmp_path / "a") == tables(tmp_path / "whole")


# --- Killed -----------------------------------------------------------------------------------------------


KILLER = """
import os, random, signal, sys
from pathlib import Path
from scenarios.command_line import main

def dies(file):  # half of it is on the disk
    global num_files
    num_files -= 1
    if not num_files:
        os.ftruncate(file, os.fstat(file).st_size // 2)
        os.kill(os.getpid(), signal.SIGKILL)

begin, folder, log = sys.argv[1].split(), Path(sys.argv[2]), Path(sys.argv[3])
resume = ["run", "--resume", str(folder), "--quiet", "--workers", "1", "--checkpoint-every", "1"]
most, halved = map(int, sys.argv[4:])
moments, num_kills, num_halved = random.Random(1), 0, 0
for attempt in range(most):
    num_files, processor_s = moments.randint(1, 4), moments.uniform(0.02, 0.3)
    child = os.fork()
    if not child:
        sys.stdout = open(os.devnull, "w")
        if attempt % 2:
            os.fsync = dies
        else:
            signal.setitimer(signal.ITIMER_PROF, processor_s)
        main(resume if (folder / "config.json").exists() else begin)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        break
    num_kills += 1
    num_halved += next(folder.parent.rglob(".*.partial"), None) is not None
log.write_text(f"{num_kills} {num_halved}")
main(resume if (folder / "config.json").exists() else begin)  # a slow machine may have made no folder yet
"""


@pytest.mark.parametrize(
    ("scenario", "end", "version", "most", "halved"),
    [
        ("quickstart", "--num-global-rounds 100", 100, 12, 2),
        ("fedbuff", "--end.num-updates 200 --interval-s 0.02", 20, 3, 1),
    ],
)
def test_killed_at_many_moments_it_ends_where_an_uninterrupted_run_ends(
    scenario, end, version, most, halved, tmp_path, processes
):
    """Real processes, killed at random moments and while they write; each goes on where the last stopped.

    They are forked from one that has imported everything, so that kills meet runs, and not their imports. A
    moment is one of processor time, so that a busy machine kills where a quiet one does.
    """
    arguments = ["run", scenario, "--num-cells", "2", "--num-clients", "4", "--quiet", "--workers", "1"]
    arguments += [*end.split(), "--checkpoint-every", "1"]
    with pytest.raises(SystemExit) as done:
        main([*arguments, "--out", str(tmp_path / "whole")])
    assert done.value.code == 0
    folder, log = tmp_path / "killed", tmp_path / "log"
    begin = " ".join([*arguments, "--out", str(folder)])
    given = [begin, folder, log, str(most), str(halved)]
    assert processes.start(KILLER, given, ROOT).wait() == 0
    num_kills, num_halved = map(int, log.read_text().split())
    assert num_kills >= 2 * most // 3
    assert num_halved >= halved
    assert tables(folder) == tables(tmp_path / "whole")
    found, wanted = (Checkpoint.load(path) for path in (folder, tmp_path / "whole"))
    assert found.version == wanted.version == version
    for parameter, values in wanted.weights.items():
        np.testing.assert_array_equal(found.weights[parameter], values)


def test_a_checkpoint_is_kept_every_so_many_global_rounds(tmp_path):
    """Of the last evaluated model, so that a resumed run reads the models that an uninterrupted one reads."""
    kept = {}

    def listener(report):
        kept[report.version] = checkpoint_round(tmp_path / "a")

    with pytest.raises(ConfigurationError, match="checkpoint_every = 0: must be at least 1"):
        run_in(HIST, tmp_path / "a", checkpoint_every=0)
    run_in(HIST, tmp_path / "a", listener=listener, checkpoint_every=2)
    assert kept == {0: -1, 1: -1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 6}
    kept.clear()
    (tmp_path / "a").rename(tmp_path / "b")
    run_in(
        evolve(HIST, evaluation=EveryVersions(num_versions=3)),
        tmp_path / "a",
        listener=listener,
        checkpoint_every=1,
    )
    assert kept == {0: -1, 1: -1, 2: -1, 3: 3, 4: 3, 5: 3, 6: 6}


def checkpoint_round(folder: Path) -> int:
    checkpoint = Checkpoint.load(folder)
    return -1 if checkpoint is None else checkpoint.version


def test_two_processes_do_not_run_one_run(tmp_path):
    """A second one is refused while the first runs, and may go on when it has stopped."""
    refused = []

    def listener(report):
        if report.version == 2 and not refused:
            with pytest.raises(ConfigurationError, match=r"in use by process \d+ of .* this run") as error:
                run_in(HIST, tmp_path / "a", resume=True)
            refused.append(error)
        if report.version == 3:
            raise Stopped

    with pytest.raises(Stopped):
        run_in(HIST, tmp_path / "a", listener=listener)
    assert refused
    assert run_in(HIST, tmp_path / "a", resume=True).summary.status == "complete"


# --- Refused ----------------------------------------------------------------------------------------------


def test_what_cannot_go_on(tmp_path, capsys):
    run_in(HIST, tmp_path / "complete")
    with pytest.raises(Stopped):
        run_in(HIST, tmp_path / "stopped", listener=stop_at(2))
    for folder, system, message in (
        ("complete", HIST, "is complete"),
        ("nowhere", HIST, "holds no run"),
        ("stopped", evolve(HIST, seed=2), "another configuration"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            run_in(system, tmp_path / folder, resume=True)
    path = tmp_path / "stopped" / FILE
    whole = path.read_bytes()
    middle = len(whole) // 2
    for damaged in (whole[:-100], whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :], b""):
        path.write_bytes(damaged)
        with pytest.raises(ConfigurationError, match=r"checkpoint\.npz: damaged .* Remove it"):
            run_in(HIST, tmp_path / "stopped", resume=True)
    for arguments in ([str(tmp_path / "nowhere")], [str(tmp_path / "stopped"), "--out", "x"]):
        with pytest.raises(SystemExit) as refused:
            main(["run", "--resume", *arguments])
        assert refused.value.code == 2
        assert has_fix(capsys.readouterr().err)


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path):
    """It says so, and the run ends where an uninterrupted one ends."""
    run_in(HIST, tmp_path / "whole")
    for rounds, resume in ((2, False), (4, True)):
        with pytest.raises(Stopped):
            run_in(HIST, tmp_path / "s", listener=stop_at(rounds), resume=resume)
    last = tmp_path / "s" / FILE
    assert (tmp_path / "s" / BEFORE).exists()
    assert checkpoint_round(tmp_path / "s") == 4
    sound = last.read_bytes()
    middle = len(sound) // 2
    for damaged in (sound[:-100], sound[:middle] + bytes([sound[middle] ^ 255]) + sound[middle + 1 :], b""):
        last.write_bytes(damaged)
        with pytest.warns(
            UserWarning, match=r"checkpoint\.npz: damaged.*The one before it is used, of version 2"
        ):
            assert checkpoint_round(tmp_path / "s") == 2
    with pytest.warns(UserWarning, match="The one before"):
        run_in(HIST, tmp_path / "s", resume=True)
    assert tables(tmp_path / "s") == tables(tmp_path / "whole")
    found, wanted = (Checkpoint.load(tmp_path / part) for part in ("s", "whole"))
    for parameter, values in wanted.weights.items():
        np.testing.assert_array_equal(found.weights[parameter], values)
