"""The index of a study: it spares reading, and never says what is no longer so."""

import json
import os
import zlib

import pytest

from cosim.records.tables import TABLES
from cosim.studies.index import Index

FILES = ("config.json", "summary.json", *(f"{table}.parquet" for table in TABLES))
OUTCOME = {"status": "complete", "time_s": 0.1 + 0.2, "measures": {"accuracy": ["test accuracy", True, True]}}


@pytest.fixture
def study(tmp_path):
    """A study folder with two runs in its index."""
    for name in ("a", "b"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        for file in FILES:
            (tmp_path / "runs" / name / file).write_text(f"{name} {file}")
        Index(tmp_path).add(f"runs/{name}", OUTCOME | {"error": name})
    return tmp_path


def test_it_gives_back_what_it_was_given(study):
    assert Index(study).outcome("runs/a") == OUTCOME | {"error": "a"}
    assert Index(study).outcome("runs/b") == OUTCOME | {"error": "b"}
    assert Index(study).outcome("runs/c") is None


@pytest.mark.parametrize("file", FILES)
def test_a_run_whose_files_are_others_is_not_known(file, study):
    path = study / "runs" / "a" / file
    before = path.stat()
    path.write_text("other")
    assert Index(study).outcome("runs/a") is None
    path.write_text(f"a {file}")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert Index(study).outcome("runs/a") is not None
    path.unlink()
    assert Index(study).outcome("runs/a") is None
    assert Index(study).outcome("runs/b") is not None


def test_what_lies_beside_them_does_not_matter(study):
    (study / "runs" / "a" / "trace.json").write_text("{}")
    assert Index(study).outcome("runs/a") is not None


def test_no_damage_is_believed(study):
    """Every byte turned, and every end cut: a run is unknown, or known as it was."""
    path, wanted = study / "index.jsonl", (None, OUTCOME | {"error": "a"}, OUTCOME | {"error": "b"})
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 0x15]) + whole[place + 1 :]):
            path.write_bytes(damaged)
            assert all(Index(study).outcome(f"runs/{name}") in wanted for name in "ab")
    path.write_bytes(whole[:-5])
    Index(study).add("runs/b", OUTCOME)
    assert (Index(study).outcome("runs/a"), Index(study).outcome("runs/b")) == (wanted[1], OUTCOME)


STRANGE = (
    3,
    [],
    "x",
    None,
    {"runs/a": 3},
    {"runs/a": {}},
    {"table": ["x"]},
    *(
        {"runs/a": {"stamp": None, "network": None} | own}
        for own in (
            {"outcome": None},
            {"outcome": {"status": None}},
            {"outcome": {"status": "complete", "error": ["x"]}},
            {"outcome": {"status": "complete", "accuracy": "much"}},
            {"outcome": {"status": "complete", "accuracy": True}},
            {"outcome": {"status": "complete", "seed": 3}},
            {"outcome": {"status": "complete", "folder": "../../elsewhere"}},
            {"outcome": {"status": "complete", "field.num_cells": 3}},
            {"outcome": {"status": "complete", "measures": [1]}},
            {"outcome": {"status": "complete", "measures": {"accuracy": ["accuracy"]}}},
            {"outcome": {"status": "complete"}, "stamp": 3},
            {"outcome": {"status": "complete"}, "network": "x"},
        )
    ),
)


@pytest.mark.parametrize("line", STRANGE, ids=str)
def test_what_no_study_writes_is_not_believed(line, study):
    """Also with the right checksum, as a stranger may write it."""
    for path in (study / "runs" / "a").iterdir():
        path.unlink()
    body = json.dumps(line).encode()
    (study / "index.jsonl").write_bytes(b"%08x " % zlib.crc32(body) + body)
    index = Index(study)
    assert index.outcome("runs/a") is None
    assert index.tables == set()
