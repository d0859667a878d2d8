"""Common commands are quick: nothing heavy is loaded before it is needed."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cosim

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"cvxpy", "matplotlib", "networkx", "numpy", "pandas", "scipy", "simpy", "sklearn", "torch"}


def loaded_by(code: str, folder: Path) -> set[str]:
    """The heavy packages that are loaded after a program."""
    program = f"import sys\ntry:\n    {code}\nexcept SystemExit: pass\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Traceback" not in done.stderr
    return (HEAVY | {"tyro"}) & set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["list"],
        ["rnu"],
        ["show", "hits"],
        ["validate", "x"],
    ],
)
def test_help_lists_and_typing_mistakes_load_nothing_heavy(words, tmp_path):
    assert loaded_by(f"from scenarios.command_line import main; main({words!r})", tmp_path) == set()


@pytest.mark.parametrize(
    "words", [["run", "--help"], ["run", "quickstrat"], ["study", "--help"], ["study", "quickstrat"]]
)
def test_options_at_every_level_load_what_makes_options(words, tmp_path):
    assert loaded_by(f"from scenarios.command_line import main; main({words!r})", tmp_path) == {"tyro"}


def test_the_engine_is_loaded_when_it_is_used(tmp_path):
    assert loaded_by("import cosim", tmp_path) == set()
    assert "simpy" in loaded_by("import cosim; cosim.Simulation", tmp_path)


def test_every_public_name_is_there_and_type_checkers_know_it():
    for path in sorted((ROOT / "cosim").glob("**/__init__.pyi")):
        package = importlib.import_module(".".join(path.parent.relative_to(ROOT).parts))
        stub = ast.parse(path.read_text())
        (listed,) = (node.value for node in stub.body if isinstance(node, ast.Assign))
        assert sorted(ast.literal_eval(listed)) == sorted(package.__all__)
        for name in package.__all__:
            assert getattr(package, name) is not None
        assert set(package.__all__) <= set(dir(package))
    assert len(cosim.__all__) <= 40
    with pytest.raises(AttributeError, match="module 'cosim' has no attribute 'Systen'"):
        cosim.Systen  # noqa: B018


@pytest.mark.parametrize(
    ("room", "name", "place"),
    [
        ("cosim", "Oort", "cosim.selection.Oort"),
        ("cosim.waiting", "Oort", "cosim.selection.Oort"),
        ("cosim.waiting", "evolve", "cosim.evolve"),
        ("cosim.waiting", "PerGroup", "cosim.PerGroup"),
        ("cosim.waiting", "Result", "cosim.Result"),
    ],
)
def test_a_name_that_lies_elsewhere_is_said_with_its_place(room, name, place):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'. Use {place}.$"):
        getattr(importlib.import_module(room), name)
    found = importlib.import_module(place.rpartition(".")[0])
    assert getattr(found, name) is not None
