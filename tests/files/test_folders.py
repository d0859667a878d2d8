"""Folders: made whole or not at all, one process at a time, at the place that the user means."""

import errno
import os
import platform
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest
from here import Here

from cosim import AfterRounds, ConfigurationError, EdgeTraining, Hist, Never, Result, System, run
from cosim.data import Synthetic
from cosim.files import folders
from cosim.files import on_disk as files
from cosim.studies.study import Study
from scenarios.command_line import main

pytestmark = pytest.mark.usefixtures("unwritten_pictures")

ROOT = Path(__file__).parents[2]
SYSTEM = System(
    num_cells=1,
    num_clients=2,
    model="relu-12-8-4",
    data=Synthetic(),
    evaluation=Never(),
    protocol=Hist(training=EdgeTraining(num_edge_rounds=1)),
    end=AfterRounds(num_global_rounds=2),
)
STUDY = Study(SYSTEM, {}, 2)
QUICK = ("run", "quickstart", "--num-global-rounds", "1", "--evaluation.kind", "Never", "--quiet")


class Killed(BaseException):
    """An end of a process at once."""


def killed(*args: object) -> None:
    raise Killed


def ended(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(words))
    return int(str(end.value.code))


# --- Whole or not at all ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("of", ["run", "study"])
def test_killed_in_its_first_instant_there_is_no_folder_or_a_whole_one(of, number, tmp_path, monkeypatch):
    """Killed when it writes its first file and when it puts the folder in its place; then it goes on."""

    def hold() -> None:
        if of == "run":
            run(SYSTEM, out=tmp_path / "a")
        else:
            STUDY.run(tmp_path / "a", executor=Here())

    with monkeypatch.context() as patch:
        patch.setattr(*((files, "replace"), (Path, "rename"))[number], killed)
        with pytest.raises(Killed):
            hold()
    assert list(tmp_path.iterdir()) == []
    hold()
    assert (tmp_path / "a").is_dir()


def test_runs_of_a_study_whose_file_is_lost_are_kept(tmp_path):
    STUDY.run(tmp_path / "s", executor=Here())
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "s").glob("runs/*/spans.parquet")}
    (tmp_path / "s" / "study.json").unlink()
    STUDY.run(tmp_path / "s", executor=Here())
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert (tmp_path / "s" / "study.json").exists()


def test_what_killed_starts_have_left_is_swept_and_what_others_write_is_not(tmp_path):
    """In the folder, beside it, and beside the runs of a study."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    run(SYSTEM, out=tmp_path / "a")
    STUDY.run(tmp_path / "s", executor=Here())
    machine, dead = platform.node().partition(".")[0], process.pid
    places = (tmp_path, tmp_path / "s", tmp_path / "s" / "runs")
    for place in places:
        (place / f".x.{machine}.{dead}.partial").mkdir()
        (place / f".x.{machine}.{dead}.partial" / "config.json").write_text("")
        (place / f".y.{machine}.{dead}.partial").write_text("")
        (place / f".z.{machine}.{os.getpid()}.partial").write_text("")
        (place / f".z.elsewhere.{dead}.partial").write_text("")
        (place / ".z.partial").write_text("mine")
    run(SYSTEM, out=tmp_path / "b")
    Study(SYSTEM, {}, 3).run(tmp_path / "s", executor=Here())
    for place in places:
        left = {path.name for path in place.glob(".*partial")}
        assert left == {f".z.{machine}.{os.getpid()}.partial", f".z.elsewhere.{dead}.partial", ".z.partial"}


# --- One process at a time ----------------------------------------------------------------------------------


def test_two_studies_do_not_fill_one_folder(tmp_path):
    refused = []

    def listener(runs, num_wanted) -> None:
        if not refused:
            with pytest.raises(
                ConfigurationError,
                match=r"s: in use by process \d+ of .* this study",
            ) as error:
                STUDY.run(tmp_path / "s", executor=Here())
            refused.append(error)

    runs = STUDY.run(tmp_path / "s", executor=Here(), listener=listener)
    assert refused
    assert list(runs["status"]) == ["complete", "complete"]
    again = STUDY.run(tmp_path / "s", executor=Here())
    assert again.equals(runs)


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path):
    """Its lock file stays, and nothing that is made of the folder knows it."""
    run(SYSTEM, out=tmp_path / "a")
    hold = "import sys, time; from cosim.files.folders import alone_in; from pathlib import Path\n"
    hold += "with alone_in(Path(sys.argv[1]), 'run'): print('held', flush=True); time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", hold, tmp_path / "a"], stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    with (
        pytest.raises(ConfigurationError, match=rf"a: in use by process {holder.pid} of "),
        folders.alone_in(tmp_path / "a", "run"),
    ):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert run(SYSTEM, out=tmp_path / "a", resume="as found").summary.status == "complete"
    assert (tmp_path / "a" / folders.LOCK).exists()


def test_a_disk_without_locks_is_refused(tmp_path, monkeypatch):
    """A lock that is a mere file would stay held when its process is killed."""

    def flock(handle: int, kind: int) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    run(SYSTEM, out=tmp_path / "a")
    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(ConfigurationError, match=r"a: cannot be locked \(Function not implemented\)\. Use a"):
        run(SYSTEM, out=tmp_path / "a", resume="as found")


# --- Places -------------------------------------------------------------------------------------------------


def test_a_place_is_the_one_that_is_meant_wherever_the_process_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.place("~/x") == tmp_path / "x"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    result = run(SYSTEM, out="~/a", listener=lambda report: os.chdir(tmp_path / "elsewhere"))
    assert result.folder == tmp_path / "a"
    assert Result.load("~/a").summary == result.summary
    os.chdir(tmp_path)
    run(SYSTEM, out="b", listener=lambda report: os.chdir(tmp_path / "elsewhere"))
    assert (tmp_path / "b" / "summary.json").exists()
    STUDY.run("~/s", executor=Here())
    assert (tmp_path / "s" / "runs.parquet").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_commands_know_the_home_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MPLCONFIGDIR", matplotlib.get_configdir())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert ended(*QUICK, "--out=~/a") == 0
    assert "Run folder: a\n" in capsys.readouterr().out
    assert ended("report", "~/a", "--out=~/page.html") == 0
    assert ended("trace", "~/a", "--out=~/t.json") == 0
    assert ended("run", "--config=~/a/config.json", "--out=~/b", "--quiet") == 0
    assert ended("run", "--resume=~/b", "--quiet") == 0
    assert {"a", "b", "page.html", "t.json"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.quick
@pytest.mark.parametrize("path", ["x" * 300, "~nobody-of-that-name/x", "a\0b"])
def test_a_place_that_cannot_be_is_refused(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"cannot be the path of a file .*Use another path"):
        run(SYSTEM, out=path)
    with pytest.raises(ConfigurationError, match="cannot be the path of a file"):
        STUDY.run(path, executor=Here())
    assert list(tmp_path.iterdir()) == []


def test_a_name_just_short_enough_is_a_place(tmp_path):
    name = "ü" * 127
    run(SYSTEM, out=tmp_path / name)
    assert Result.load(tmp_path / name).summary.status == "complete"


# --- Terminals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sweep[lr=0.1]", "r1[/b]", "a:smile:", "[red]"])
def test_a_folder_is_printed_as_it_is_called(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert ended(*QUICK, "--out", name) == 0
    printed = capsys.readouterr().out
    assert f"Run folder: {name}\n" in printed
    assert f"Picture:    {name}/overview.png\n" in printed


def test_a_long_word_is_not_repeated_in_full(capsys):
    word = "x" * 100_000
    for words in ((word,), ("run", word), ("show", f"{word}.py"), ("run", "quickstart", f"--{word}", "1")):
        assert ended(*words) == 2
        said = capsys.readouterr().err
        assert said.startswith("Error: ")
        assert len(said) < 2000


def process(*words: str, **options: object) -> "subprocess.CompletedProcess[str]":
    code = "from scenarios.command_line import main; main()"
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"PYTHONPATH": path} | options.pop("env", {})  # type: ignore[operator]
    options = {"stderr": subprocess.PIPE} | options
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, env=environment, text=True, check=False, **options)  # type: ignore[call-overload]


@pytest.mark.parametrize("words", [("list",), ("--help",)])
def test_a_full_output_is_one_clear_error(words):
    with Path("/dev/full").open("w") as full:
        done = process(*words, stdout=full)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Error: the output: cannot be read or written (No space left on device)" in done.stderr


@pytest.mark.parametrize("stream", [None, "/dev/full"])
def test_progress_that_nobody_can_read_stops_nothing(stream, tmp_path, monkeypatch, capsys):
    """On a full disk, or closed: then it does not go where the table goes either."""
    monkeypatch.setattr(sys, "stderr", stream and open(stream, "w", buffering=1))  # noqa: SIM115
    assert ended(*QUICK[:-1], "--out", str(tmp_path / "a")) == 0
    assert capsys.readouterr().out.startswith("quickstart-Never: 1 global rounds, complete")
    assert Result.load(tmp_path / "a").summary.status == "complete"
    sys.stderr.close()


@pytest.mark.parametrize("closed", [1, 2])
def test_an_output_that_is_closed_changes_no_exit_code(closed):
    done = process("nonsense", stdout=subprocess.PIPE, preexec_fn=lambda: os.close(closed))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: no command 'nonsense'") == (closed == 1)


def test_an_error_that_cannot_be_written_keeps_its_exit_code():
    with Path("/dev/full").open("w") as full:
        assert process("nonsense", stderr=full).returncode == 2


@pytest.mark.parametrize("words", [("list",), ("--help",)])
def test_a_reader_that_has_seen_enough_is_no_failure(words):
    reading, writing = os.pipe()
    os.close(reading)
    done = process(*words, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_that_knows_only_ascii_gets_escapes(tmp_path):
    run(SYSTEM, out=tmp_path / "grün")
    done = process("trace", "grün", cwd=tmp_path, stdout=subprocess.PIPE, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Trace: gr\\xfcn/trace.json (")


def test_only_in_a_run_or_a_study_is_it_said_how_that_goes_on(tmp_path):
    """A file to paste is of none."""

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").touch()
    for folder, goes_on in ((tmp_path, False), (tmp_path / "run", True), (tmp_path / "run" / "runs", True)):
        with pytest.raises(ConfigurationError, match="Make room on the disk") as refused:
            files.replace(folder / "z.png", full)
        assert ("--resume" in str(refused.value)) == goes_on
