"""Damaged files: one sentence, or run again; never a traceback, and nothing that only looks valid.

The short form takes a handful of damages of every file. The long one, `COSIM_DAMAGES=all pytest
tests/engine/store/test_damaged_files.py`, takes every damage of every file with every command, and every
field with every wrong type: some minutes.
"""

import io
import json
import os
import random
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fixtures.fixes import has_fix
from here import Here, Stopped

from cosim import (
    AfterRounds,
    AfterSeconds,
    ConfigurationError,
    EdgeTraining,
    FedBuff,
    Hist,
    Never,
    Result,
    Sgd,
    System,
    evolve,
    run,
)
from cosim.data import Synthetic
from cosim.engine.store.checkpoint import Checkpoint
from cosim.files.on_disk import checksum
from cosim.records.tables import TABLES as EVERY_TABLE
from cosim.studies.study import Study
from cosim.studies.table import table_in
from cosim.training.local_steps import SameSteps
from scenarios.command_line import main

pytestmark = [
    pytest.mark.filterwarnings("default::UserWarning"),
    pytest.mark.usefixtures("unwritten_pictures"),
]
ALL = os.environ.get("COSIM_DAMAGES") == "all"
TRAINING = EdgeTraining(num_edge_rounds=1, steps=SameSteps(num_local_steps=1), local=Sgd(batch_size=10))
SYSTEM = System(
    num_cells=1,
    num_clients=2,
    model="relu-12-8-4",
    data=Synthetic(),
    protocol=Hist(training=TRAINING),
    end=AfterRounds(num_global_rounds=3),
)
STUDY = Study(evolve(SYSTEM, evaluation=Never()), {"num_clients": (2, 3)}, 1)
ALL_TABLES = tuple(EVERY_TABLE)
TABLES = ("spans", "transfers", "fates", "plans", "rounds", "evaluations")
FILES = (
    "config.json",
    "provenance.json",
    "summary.json",
    "checkpoint.npz",
    *map("{}.parquet".format, TABLES),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A complete run, one that was stopped, and a study of one design."""
    folder = tmp_path_factory.mktemp("whole")
    run(SYSTEM, out=folder / "complete", num_workers=1)

    def stop(report) -> None:
        if report.version == 2:
            raise Stopped

    with pytest.raises(Stopped):
        run(SYSTEM, out=folder / "stopped", num_workers=1, listener=stop)
    STUDY.run(folder / "study", executor=Here())
    return folder


# --- Damages ------------------------------------------------------------------------------------------------


def flipped(content: bytes) -> bytes:
    place = random.Random(len(content)).randrange(len(content))
    return content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda content: None,
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "flipped": flipped,
    "zeros": lambda content: bytes(len(content)),
    "deep": lambda content: b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a list": lambda content: b"[1, 2]",
    "an empty object": lambda content: b"{}",
    "no text": lambda content: b"\xff\xfe{}",
}
WRONG = (None, 3, -1.5, "x", [1], {"a": 1}, True)


def wrong_types(content: bytes) -> Iterator[bytes]:
    """Every field of a JSON file with a value of another type, and without it."""
    values = json.loads(content)
    for name in values:
        for wrong in WRONG:
            if type(wrong) not in ((float, int) if type(values[name]) is float else (type(values[name]),)):
                yield json.dumps(values | {name: wrong}).encode()
        yield json.dumps({other: value for other, value in values.items() if other != name}).encode()
    yield json.dumps(values | {"more": 1}).encode()


def parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def wrong_tables(content: bytes) -> Iterator[bytes]:
    """Tables that are whole, with other columns, types or rows."""
    frame = pd.read_parquet(io.BytesIO(content))
    yield parquet(pd.DataFrame({"x": [1]}))
    yield parquet(frame.astype(str))
    yield parquet(frame.iloc[:, 1:])
    yield parquet(frame.iloc[:0])
    yield parquet(frame.assign(**{str(frame.columns[0]): None}))


def npz(arrays: dict[str, object]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def wrong_checkpoints(content: bytes) -> Iterator[bytes]:
    """Archives that are whole, with other versions, weights or evaluations."""
    with np.load(io.BytesIO(content)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    evaluations = json.loads(str(arrays["evaluations"]))
    many = [evaluations[-1] | {"version": version} for version in range(100)]
    weights = next(name for name in arrays if name.startswith("weights."))
    for other in (
        {"version": 99, "evaluations": json.dumps(many)},
        {weights: arrays[weights] * np.nan},
        {"version": "x"},
        {"version": 99},
        {"evaluations": "[]"},
        {"evaluations": "[" * 100_000},
        {"evaluations": json.dumps([row | {"scores": {"accuracy": "much"}} for row in evaluations])},
        {weights: arrays[weights][:1]},
        {weights: np.array("x")},
        {"journal.x": np.array("x")},
        {"rows": "[]"},
        {"state.client-1.x": np.array("x")},
    ):
        yield npz(arrays | other)
    for missing in (weights, "rows"):
        yield npz({name: values for name, values in arrays.items() if name != missing})


def damages(file: str, content: bytes) -> Iterator[bytes | None]:
    """Other contents of a file; in the short form a few of them, others for each file.

    tests/scenarios/test_bad_input.py has more of configurations.
    """
    found: list[bytes | None] = [damage(content) for damage in DAMAGES.values()]
    if file.endswith("json") and not file.endswith("config.json"):
        found += wrong_types(content)
    elif file.endswith("parquet"):
        found += wrong_tables(content)
    elif file.endswith("npz"):
        found += wrong_checkpoints(content)
    found = [other for other in found if other != content]
    yield from found if ALL else random.Random(file).sample(found, 2)


def damaged(folder: Path, file: str, content: bytes | None, place: Path) -> Path:
    """A copy of a folder with another file in it."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place)
    (place / file).unlink()
    if content is not None:
        (place / file).write_bytes(content)
    return place


def said_by(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Exit code of a command, and what it says to the user."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    output = capsys.readouterr()
    return int(str(ended.value.code)), output.err


def num_errors(said: str) -> int:
    """Errors that a command tells of; the reason in one may be an OSError."""
    return sum(line.startswith("Error: ") for line in said.splitlines())


def says(content: bytes, names: Sequence[str]) -> object:
    """Values of some names in a JSON file, or what it holds besides an object; None if it is no JSON."""
    try:
        found = json.loads(content)
        return (
            {name: found[name] for name in names} if found.keys() - names <= {"seeds", "sources"} else found
        )
    except (ValueError, KeyError, AttributeError, RecursionError):
        return None


# --- Runs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("kind", ["complete", "stopped"])
def test_a_damaged_run_is_refused_in_one_sentence_or_goes_on(kind, file, whole, tmp_path, capsys):
    """It ends as an uninterrupted one, or with an error that says what to do; report and trace likewise."""
    good = Result.load(whole / "complete").summary
    for content in damages(file, (whole / kind / file).read_bytes()):
        for command in ("report", "trace") if ALL or kind == "complete" else ():
            place = damaged(whole / kind, file, content, tmp_path / "r")
            code, said = said_by(capsys, command, str(place))
            assert code in (0, 2), said
            assert "Traceback" not in said
            assert code == 0 or (num_errors(said) == 1 and has_fix(said))
        place = damaged(whole / kind, file, content, tmp_path / "r")
        code, said = said_by(capsys, "run", "--resume", str(place), "--quiet", "--workers", "1")
        assert "Traceback" not in said
        if code == 0:
            assert Result.load(place).summary == good
            assert (place / "overview.png").exists()
        else:
            assert (code, num_errors(said), has_fix(said)) == (2, 1, True)
            assert file in ("config.json", "checkpoint.npz"), said


def test_provenance_decides_nothing(whole, tmp_path, capsys):
    place = damaged(whole / "stopped", "provenance.json", b"[1, 2]", tmp_path / "r")
    code, said = said_by(capsys, "run", "--resume", str(place), "--quiet", "--workers", "1")
    assert code == 0
    assert "Warning: " in said
    assert "provenance.json: damaged (a list in place of an object). It is left out" in said


def test_a_table_that_is_not_what_was_written_is_said_and_made_anew(whole, tmp_path, capsys):
    """Whole, of the right columns and types, and with other numbers: only its checksum tells."""
    frame = pd.read_parquet(whole / "complete" / "spans.parquet")
    other = parquet(frame.assign(energy_j=2 * frame["energy_j"]))
    place = damaged(whole / "complete", "spans.parquet", other, tmp_path / "r")
    with pytest.raises(ConfigurationError, match=r"spans\.parquet: .* \(its checksum differs\)\..*--resume"):
        Result.load(place)
    code, said = said_by(capsys, "report", str(place))
    assert code == 2
    assert "its checksum differs" in said
    code, said = said_by(capsys, "run", "--resume", str(place), "--quiet", "--workers", "1")
    assert code == 0
    assert "its checksum differs). The run is simulated again" in said
    assert (place / "spans.parquet").read_bytes() == (whole / "complete" / "spans.parquet").read_bytes()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, r"resume: the stopped run made version 0 at .* Restore it"),
        (1, r"checkpoint\.npz: damaged \(.*weights that are not finite.* Remove it"),
        (-1, r"checkpoint\.npz: damaged \('rows is not a file.* Remove it"),
    ],
)
def test_a_checkpoint_that_cannot_be_of_this_run_is_refused(number, words, whole, tmp_path):
    content = list(wrong_checkpoints((whole / "stopped" / "checkpoint.npz").read_bytes()))[number]
    place = damaged(whole / "stopped", "checkpoint.npz", content, tmp_path / "r")
    with pytest.raises(ConfigurationError, match=words):
        run(SYSTEM, out=place, num_workers=1, resume=True)
    (place / "checkpoint.npz").unlink()
    run(SYSTEM, out=place, num_workers=1, resume=True)
    found, wanted = (Checkpoint.load(folder) for folder in (place, whole / "complete"))
    assert found is not None
    assert wanted is not None
    for name, values in wanted.weights.items():
        np.testing.assert_array_equal(found.weights[name], values)


def test_a_complete_run_without_its_picture_gets_it(whole, tmp_path, capsys):
    """Killed between the last table and the picture, it has nothing more to run."""
    shutil.copytree(whole / "complete", tmp_path / "r")
    code, said = said_by(capsys, "run", "--resume", str(tmp_path / "r"))
    assert (code, said) == (0, "")
    assert (tmp_path / "r" / "overview.png").exists()
    for path in (whole / "complete").iterdir():
        assert (tmp_path / "r" / path.name).read_bytes() == path.read_bytes()


# --- Files of a stranger, whose checksums are right ---------------------------------------------------------

ASYNCHRONOUS = evolve(SYSTEM, protocol=FedBuff(), end=AfterSeconds(duration_s=1.0), evaluation=Never())
OTHER_TABLES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "without rows": lambda frame: frame.iloc[:0],
    "the first row alone": lambda frame: frame.iloc[:1],
    "no number": lambda frame: frame.assign(**dict.fromkeys(frame.select_dtypes("float"), np.nan)),
    "endless": lambda frame: frame.assign(**dict.fromkeys(frame.select_dtypes("float"), np.inf)),
    "large": lambda frame: frame.assign(**dict.fromkeys(frame.select_dtypes("int"), 2**62)),
    "below 0": lambda frame: frame.assign(**dict.fromkeys(frame.select_dtypes("int"), -(2**62))),
    "of others": lambda frame: frame.assign(
        **dict.fromkeys(frame.select_dtypes(exclude=["number", "bool"]), "<script>")
    ),
}


@pytest.fixture(scope="module")
def strangers(whole, tmp_path_factory) -> Path:
    """A run with rounds and one with versions, about to be changed."""
    folder = tmp_path_factory.mktemp("strangers")
    shutil.copytree(whole / "complete", folder / "rounds")
    run(ASYNCHRONOUS, out=folder / "versions")
    return folder


def summed_again(folder: Path) -> None:
    """Let the summary have the checksums of the tables that there are."""
    summary = json.loads((folder / "summary.json").read_bytes())
    summary["checksums"] = {name: checksum(folder / f"{name}.parquet") for name in ALL_TABLES}
    (folder / "summary.json").write_text(json.dumps(summary))


def is_shown_or_refused(capsys, words: Sequence[str]) -> None:
    """A command ends well, or with one sentence."""
    code, said = said_by(capsys, *words)
    assert (code, num_errors(said), has_fix(said)) in ((0, 0, False), (2, 1, True)), said


@pytest.mark.parametrize("other", OTHER_TABLES)
@pytest.mark.parametrize("kind", ["rounds", "versions"])
def test_tables_that_no_run_writes_are_shown_or_refused(kind, other, strangers, tmp_path, capsys):
    """By report for the table whose lack it has never met, by trace and table for each."""
    names = ALL_TABLES if ALL else random.Random(f"{kind} {other}").sample(ALL_TABLES, 3)
    for name in {*names, "versions"}:
        frame = pd.read_parquet(strangers / kind / f"{name}.parquet")
        content = parquet(OTHER_TABLES[other](frame))
        place = damaged(strangers / kind, f"{name}.parquet", content, tmp_path / "r")
        summed_again(place)
        is_shown_or_refused(capsys, ["trace", str(place)])
        is_shown_or_refused(capsys, ["table", str(place), "--out", str(tmp_path / "table.txt")])
        if ALL or (name, other) == ("versions", "without rows"):
            is_shown_or_refused(capsys, ["report", str(place)])


@pytest.mark.parametrize("field", ["seed", "num_cells", "num_clients", "scenario", "data.split"])
@pytest.mark.parametrize(
    "wrong", [None, "x", [1], {"a": {}}, -1, 1.5, 10**400], ids=lambda word: f"{word!r:.9}"
)
def test_texts_and_nulls_for_what_config_json_says(field, wrong, strangers, tmp_path, capsys):
    config = json.loads((strangers / "rounds" / "config.json").read_bytes())
    *outer, last = ([] if field == "scenario" else ["system"]) + field.split(".")
    holder = config
    for name in outer:
        holder = holder[name]
    holder[last] = wrong
    place = damaged(strangers / "rounds", "config.json", json.dumps(config).encode(), tmp_path / "r")
    is_shown_or_refused(capsys, ["trace", str(place)])
    if ALL or (field, wrong) in (("num_clients", None), ("num_cells", "x"), ("data.split", 10**400)):
        is_shown_or_refused(capsys, ["table", str(place), "--out", str(tmp_path / "table.txt")])
        is_shown_or_refused(capsys, ["report", str(place)])
    if field in ("num_cells", "num_clients") or (field == "seed" and type(wrong) is not int):
        with pytest.raises(ConfigurationError, match=rf"config\.json: {field} = .*whole number"):
            Result.load(place)


def test_a_page_runs_nothing_of_a_strangers(strangers, whole, tmp_path, capsys):
    """Names of scenarios, designs, nodes and kinds, and texts of errors, are text on it."""
    evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    place = tmp_path / "r"
    shutil.copytree(strangers / "rounds", place)
    config = json.loads((place / "config.json").read_bytes())
    config["scenario"] = config["system"]["model"] = config["system"]["data"]["kind"] = evil
    config["system"][evil] = {"kind": evil, evil: evil}
    (place / "config.json").write_text(json.dumps(config))
    summary = json.loads((place / "summary.json").read_bytes())
    summary["measures"]["accuracy"][0] = evil
    (place / "summary.json").write_text(json.dumps(summary))
    (place / "provenance.json").write_text(json.dumps({"remark_on_times": evil, "remarks": [evil]}))
    for name in ("spans", "transfers", "fates"):
        frame = pd.read_parquet(place / f"{name}.parquet")
        column = "node" if name == "spans" else "client"
        words = {column: frame[column].replace("client-0001", evil)} | dict.fromkeys(
            {"outcome"} & {*frame}, evil
        )
        frame.assign(**words).astype(frame.dtypes).to_parquet(place / f"{name}.parquet", index=False)
    summed_again(place)
    shutil.copytree(whole / "study", tmp_path / "s")
    runs = pd.read_parquet(tmp_path / "s" / "runs.parquet")
    changed = runs.assign(name=evil, error=evil, status=["complete", "failed"])
    changed.attrs = runs.attrs
    changed.to_parquet(tmp_path / "s" / "runs.parquet", index=False)
    (tmp_path / "s" / "index.jsonl").unlink()
    for folder in (place, tmp_path / "s"):
        code, said = said_by(capsys, "report", str(folder))
        assert code == 0, said
        page = (folder / "report.html").read_text(encoding="utf-8")
        assert "&lt;script&gt;alert(1)" in page
        assert "<script" not in page
        assert "<img src=x" not in page


# --- Studies ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "file", [f"{table}.parquet" for table in TABLES] + ["summary.json", "config.json", "provenance.json"]
)
def test_a_damaged_run_of_a_study_is_run_again(file, whole, tmp_path):
    """Not a failed row for ever; the other run stays as it is."""
    run, other = ("runs/design-001-seed-1", "runs/design-000-seed-1")
    said = "starts again" if file == "config.json" else "The run is simulated again"
    for content in damages(file, (whole / "study" / run / file).read_bytes()):
        place = damaged(whole / "study", f"{run}/{file}", content, tmp_path / "s")
        before = [path.stat().st_mtime_ns for path in sorted((place / other).iterdir())]
        if file == "provenance.json" or (content is None and file == "summary.json"):
            STUDY.run(place, executor=Here())
        else:
            with pytest.warns(UserWarning, match=said):
                STUDY.run(place, executor=Here())
        for path in (f"{run}/spans.parquet", f"{run}/config.json", "runs.parquet"):
            assert (place / path).read_bytes() == (whole / "study" / path).read_bytes()
        assert before == [path.stat().st_mtime_ns for path in sorted((place / other).iterdir())]


@pytest.mark.parametrize("file", ["checkpoint.npz", "config.json", "provenance.json"])
def test_a_stopped_run_of_a_study_that_cannot_go_on_is_begun_anew(file, whole, tmp_path):
    """It says so in a line, and ends where an uninterrupted one does."""
    study = Study(SYSTEM, {}, 1)
    study.run(tmp_path / "s", executor=Here())
    wanted = (tmp_path / "s" / "runs.parquet").read_bytes()
    run = tmp_path / "s" / "runs" / "design-000-seed-1"
    for content in damages(f"stopped {file}", (whole / "stopped" / file).read_bytes()):
        damaged(whole / "stopped", file, content, run)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            runs = study.run(tmp_path / "s", executor=Here())
        assert list(runs["status"]) == ["complete"], runs["error"].tolist()
        assert (tmp_path / "s" / "runs.parquet").read_bytes() == wanted
        assert len(said) <= 1 or file == "provenance.json"
        if file == "config.json":
            assert "starts again" in str(said[0].message)


def test_a_table_of_runs_that_is_lost_has_all_of_them_again(tmp_path):
    """Also designs that cannot run, that failed before they had a folder, and that still wait."""
    system = evolve(SYSTEM, evaluation=Never())
    study = Study(system, {"model": ("relu-12-8-4", "elsewhere:own"), "num_clients": (2, 1, 3)}, 2)

    class Three(Here):
        """Runs three, and lets the others wait."""

        def submit(self, fn, /, *args, **kwargs):
            begun.append(args)
            return super().submit(fn, *args, **kwargs) if len(begun) <= 3 else Future()

    def stop(runs: pd.DataFrame, num_wanted: int) -> None:
        if (runs["status"] == "complete").sum() == 3:
            raise Stopped

    begun = []
    with pytest.raises(Stopped):
        study.run(tmp_path / "s", executor=Three(), listener=stop)
    wanted = pd.read_parquet(tmp_path / "s" / "runs.parquet")
    assert wanted["status"].value_counts().to_dict() == {"failed": 6, "complete": 3, "waiting": 3}
    (tmp_path / "s" / "runs.parquet").unlink()
    with pytest.warns(UserWarning, match="made again"):
        pd.testing.assert_frame_equal(table_in(tmp_path / "s"), wanted)
    (tmp_path / "s" / "index.jsonl").unlink()
    with pytest.warns(UserWarning, match="made again"):
        found = table_in(tmp_path / "s")
    assert found["status"].value_counts().to_dict() == {"complete": 3, "waiting": 9}


def test_runs_whose_study_json_is_lost_are_not_taken_by_another_study(whole, tmp_path):
    """Else they would look damaged to it."""
    place = damaged(whole / "study", "study.json", None, tmp_path / "s")
    other = Study(evolve(SYSTEM, evaluation=Never()), {"num_clients": (2, 4)}, 1)
    with pytest.raises(ConfigurationError, match=r"another study \(its design-001-seed-1 is of another conf"):
        other.run(place, executor=Here())
    assert not (place / "study.json").exists()
    STUDY.run(place, executor=Here())
    assert (place / "study.json").read_bytes() == (whole / "study" / "study.json").read_bytes()


def test_the_table_of_runs_is_made_anew_from_whole_runs(whole, tmp_path, capsys):
    import analysis

    wanted = analysis.load(whole / "study")
    frame = pd.read_parquet(whole / "study" / "runs.parquet")
    others = [parquet(frame.assign(status=None)), parquet(frame.assign(**{"field.num_clients": "{"}))]
    for content in [*damages("runs.parquet", parquet(frame)), *others]:
        place = damaged(whole / "study", "runs.parquet", content, tmp_path / "s")
        with pytest.warns(UserWarning, match=r"runs\.parquet: damaged .* made again from the runs"):
            found = analysis.load(place)
        assert isinstance(found, pd.DataFrame)
        pd.testing.assert_frame_equal(found, wanted)


def test_a_damaged_study_json_says_what_to_do_and_that_helps(whole, tmp_path, capsys):
    path, asked = tmp_path / "s" / "study.json", json.loads((whole / "study" / "study.json").read_bytes())
    asked = {name: value for name, value in asked.items() if name not in ("seeds", "sources")}
    for content in damages("study.json", (whole / "study" / "study.json").read_bytes()):
        place = damaged(whole / "study", "study.json", content, tmp_path / "s")
        code, said = said_by(capsys, "report", str(place))
        assert code in (0, 2)
        assert "Traceback" not in said
        if content is None or says(content, ("scenario", "systems", "grid", "targets", "held")) == asked:
            continue
        with pytest.raises(ConfigurationError, match=r"study\.json: damaged .*Remove it|holds another study"):
            STUDY.run(place, executor=Here())
        path.unlink()
        STUDY.run(place, executor=Here())
        assert (place / "runs.parquet").read_bytes() == (whole / "study" / "runs.parquet").read_bytes()
        assert path.read_bytes() == (whole / "study" / "study.json").read_bytes()


def test_a_report_tells_of_a_run_that_is_damaged_and_shows_the_others(whole, tmp_path, capsys):
    file = "runs/design-001-seed-1/spans.parquet"
    content = flipped((whole / "study" / file).read_bytes())
    place = damaged(whole / "study", file, content, tmp_path / "s")
    code, said = said_by(capsys, "report", str(place))
    assert (code, said) == (0, "")
    page = (place / "report.html").read_text(encoding="utf-8")
    assert "spans.parquet: it has changed since the run wrote it" in page


@pytest.mark.parametrize(
    "started_with", [{"workers": 10**9}, {"workers": 10**400}, {"workers": 0}, {"device": "x"}]
)
def test_a_run_that_was_started_absurdly_does_not_go_on_so(started_with, whole, tmp_path, capsys):
    origin = json.loads((whole / "stopped" / "provenance.json").read_bytes())
    origin["started_with"] |= started_with
    content = json.dumps(origin).encode()
    place = damaged(whole / "stopped", "provenance.json", content, tmp_path / "r")
    code, said = said_by(capsys, "run", "--resume", str(place), "--quiet")
    assert (code, num_errors(said)) == (2, 1), said
    assert "must be" in said
