"""Import contracts: the tree keeps them, and a file that is new is inside the fence without being listed."""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINTER = PYPROJECT["tool"]["importlinter"]
CONTRACTS = {contract["name"]: contract for contract in LINTER["contracts"]}

ENGINE = "the engine knows no models, no analysis, no scenarios"
LAYERS = "the engine points downwards"
MODELS = "models know torch, and transformers where a model is one of its"
ANALYSIS = "analysis reads records and never drives the engine"
ORACLE = "closed forms are an independent oracle"
TORCH = "torch only in the learner and the models"
SIMPY = "simpy only in the clock"
CVXPY = "cvxpy only in plans and oracles"
POOCH = "pooch only where data is downloaded"
JINJA = "jinja2 only in the report"
ROOMS = "the rooms of the engine point downwards"
KINDS = "the engine imports ports, never kinds"

BANNED = [
    ("cosim/new.py", "import models", ENGINE),
    ("cosim/new.py", "from analysis.intervals.statistics import mean_interval", ENGINE),
    ("cosim/training/new.py", "import scenarios.hist", ENGINE),
    ("cosim/new.py", "", LAYERS),
    ("cosim/radio/new.py", "from cosim.engine.run.run import run", LAYERS),
    ("cosim/data/new.py", "from cosim.engine.learning.levels import levels", LAYERS),
    ("models/new.py", "from cosim.units import db_to_linear", MODELS),
    ("models/new.py", "import numpy as np", MODELS),
    ("analysis/new.py", "from cosim.system import System", ANALYSIS),
    ("analysis/new.py", "from cosim import Result", ANALYSIS),
    ("analysis/new.py", "import models", ANALYSIS),
    ("analysis/new.py", "from scenarios.hist import system", ANALYSIS),
    ("analysis/closed_forms/new.py", "from cosim.clock.simulation import Simulation", ORACLE),
    ("analysis/closed_forms/new.py", "from cosim.records.rows import Span", ORACLE),
    ("analysis/closed_forms/new.py", "from analysis import load", ORACLE),
    ("analysis/closed_forms/new.py", "from analysis.intervals.statistics import mean_interval", ORACLE),
    ("analysis/closed_forms/new.py", "import pandas as pd", ORACLE),
    ("cosim/new.py", "import torch", TORCH),
    ("cosim/data/pictures/new.py", "import torch", TORCH),
    ("cosim/radio/new.py", "def f():\n    from torch import nn", TORCH),
    ("analysis/new.py", "import torch", TORCH),
    ("scenarios/new.py", "import torch", TORCH),
    ("cosim/protocols/new.py", "import simpy", SIMPY),
    ("cosim/queues/new.py", "import simpy", SIMPY),
    ("cosim/radio/new.py", "from simpy.events import NORMAL", SIMPY),
    ("cosim/radio/new.py", "import cvxpy", CVXPY),
    ("scenarios/new.py", "import cvxpy", CVXPY),
    ("cosim/data/new.py", "import pooch", POOCH),
    ("analysis/new.py", "import jinja2", JINJA),
    ("scenarios/command_line/new.py", "import requests", POOCH),
    ("cosim/selection/new.py", "from cosim.engine.servers.cloud import Cloud", LAYERS),
    ("cosim/codecs/new.py", "def f():\n    from cosim.engine.learning.learner import Learner", LAYERS),
    ("cosim/engine/new.py", "", ROOMS),
    ("cosim/engine/store/new.py", "from cosim.engine.run.run import run", ROOMS),
    ("cosim/engine/run/new.py", "from cosim.codecs.qsgd import Qsgd", KINDS),
    ("cosim/engine/run/new.py", "from cosim.radio.radio import Radio", KINDS),
]
ALLOWED = [
    ("cosim/training/new.py", "import torch"),
    ("cosim/clock/new.py", "import simpy"),
    ("scenarios/papers/rawhfl/plans/new.py", "import cvxpy"),
    ("cosim/selection/new.py", "from cosim.waiting.port import Waiting"),
    ("cosim/engine/run/new.py", "from cosim.codecs.port import Codec"),
    ("models/new.py", "import torch, transformers"),
    ("analysis/new.py", "from cosim.records.rows import Span\nfrom cosim.results.result import Result"),
    ("analysis/closed_forms/new.py", "import attrs, numpy, scipy\nfrom cosim.units import db_to_linear"),
    ("scenarios/new.py", "import analysis, cosim, models"),
]


def linted(tree: Path) -> tuple[set[str], str]:
    """Names of the contracts that a tree breaks, and all that the linter says; it is asked for every one."""
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run([sys.executable, "-c", command], cwd=tree, capture_output=True, text=True)
    verdicts = dict(re.findall(r"^(.+) (KEPT|BROKEN)(?: \(.*\))?$", done.stdout, flags=re.MULTILINE))
    assert verdicts.keys() == CONTRACTS.keys(), done.stdout + done.stderr
    found = {name for name, verdict in verdicts.items() if verdict == "BROKEN"}
    assert (done.returncode == 1) == bool(found)
    return found, done.stdout


def numbered(path: str, number: int) -> Path:
    return Path(path).with_stem(f"new_{number}")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages, with the linter's notes on what is in them and in files that are allowed."""
    copy = tmp_path_factory.mktemp("tree")
    shutil.copy(ROOT / "pyproject.toml", copy)
    for package in LINTER["root_packages"]:
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    files = [copy / numbered(path, number) for number, (path, _) in enumerate(ALLOWED)]
    for file, (_, code) in zip(files, ALLOWED, strict=True):
        file.write_text(code + "\n")
    assert linted(copy)[0] == set()
    for file in files:
        file.unlink()
    return copy


@pytest.fixture(scope="module")
def refused(tree: Path) -> dict[str, str]:
    """Contract -> what the linter says of it when all files are new that are banned."""
    files = [tree / numbered(path, number) for number, (path, _, _) in enumerate(BANNED)]
    for file, (_, code, _) in zip(files, BANNED, strict=True):
        file.write_text(code + "\n")
    said = linted(tree)[1]
    for file in files:
        file.unlink()
    parts = re.split(r"^(.+)\n-+\n", said, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("number", range(len(BANNED)), ids=[f"{path}: {code}" for path, code, _ in BANNED])
def test_new_file_is_inside_the_fence(number: int, refused: dict[str, str]):
    """It is named under its contract, as the one that begins a chain of imports or is in no layer."""
    path, _, contract = BANNED[number]
    module = ".".join(numbered(path, number).with_suffix("").parts)
    assert re.search(rf"^- +{re.escape(module)}( ->|$)", refused[contract], flags=re.MULTILINE)


def importers(root: Path, library: str) -> set[str]:
    """Modules below a folder that import a library anywhere, in annotations' imports too."""
    wanted = re.compile(rf"^\s*(?:from|import) {library}\b", re.MULTILINE)
    files = (path for package in LINTER["root_packages"] for path in (root / package).rglob("*.py"))
    found = [path for path in files if wanted.search(path.read_text(encoding="utf-8"))]
    return {".".join(path.relative_to(root).with_suffix("").parts) for path in found}


def strangers(root: Path, contract: str) -> set[str]:
    """Importers that the law of a library does not allow."""
    law = CONTRACTS[contract]
    (library,) = law["protected_modules"]
    let_out = {line.partition(" -> ")[0] for line in law.get("ignore_imports", ())}
    rooms = tuple(f"{room}." for room in law["allowed_importers"])
    return {name for name in importers(root, library) - let_out if not f"{name}.".startswith(rooms)}


@pytest.mark.parametrize("contract", [TORCH, SIMPY, CVXPY])
def test_the_law_of_a_library_holds_for_names_of_types_too(contract: str, tree: Path):
    """The linter leaves out what is imported for type checkers only; of a library that is no way round."""
    assert strangers(ROOT, contract) == set()
    (library,) = CONTRACTS[contract]["protected_modules"]
    file = tree / "cosim" / "topology" / "new_names.py"
    file.write_text(f"from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from {library} import it\n")
    assert strangers(tree, contract) == {"cosim.topology.new_names"}
    file.unlink()


def test_every_folder_is_a_package():
    """The linter does not see the files of a folder without __init__.py."""
    files = [path for package in LINTER["root_packages"] for path in (ROOT / package).rglob("*.py")]
    assert files
    outside = {path.parent for path in files if not (path.parent / "__init__.py").is_file()}
    assert outside == {ROOT / "scenarios" / "init"}  # a template, which nothing imports


@pytest.mark.parametrize(
    ("contract", "own"),
    [(MODELS, {"torch", "transformers"}), (ORACLE, {"attrs", "numpy", "scipy"})],
)
def test_new_dependency_is_banned_where_few_are_allowed(contract: str, own: set[str]):
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    declared = [*project["dependencies"], *extras["cluster"], *extras["lora"]]
    names = {re.split(r"[><=]", wanted)[0].replace("-", "_") for wanted in declared}
    names = names - {"scikit_learn"} | {"sklearn"}
    assert names - own <= set(CONTRACTS[contract]["forbidden_modules"])


def needed_for(wanted: list[str]) -> set[str]:
    """Names of the installed distributions that these ask for, directly or through others."""
    left, followed = [Requirement(one) for one in wanted], set[tuple[str, str]]()
    while left:
        one = left.pop()
        name = canonicalize_name(one.name)
        for extra in {"", *one.extras}:
            if (name, extra) in followed:
                continue
            followed.add((name, extra))
            below = [Requirement(text) for text in metadata.requires(name) or ()]
            left += [of for of in below if of.marker is None or of.marker.evaluate({"extra": extra})]
    return {name for name, _ in followed}


def test_what_is_pinned_is_what_is_needed():
    """Else `.ci/run`, which installs what is pinned, would not miss what `pyproject.toml` forgets."""
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    pinned = {canonicalize_name(line.partition("==")[0]) for line in lines}
    notebook = {Requirement(one).name for one in extras["notebook"]}
    assert pinned - notebook <= needed_for([*project["dependencies"], *extras["test"]])


def test_nothing_heavy_is_imported_before_it_is_needed(tmp_path: Path):
    """Configurations, options and times need no torch, which takes seconds; showing needs no tables.

    A run of what comes with cosim, its picture included, needs no compiler of torch's, no package that only
    holds its samples, and no laws of probability.
    """
    code = (
        "import sys, cosim, cosim.values.combinations, cosim.studies.executors\n"
        "from cosim.configuration import from_dict, to_dict\n"
        "from scenarios.papers.rawhfl import RawHfl\n"
        "from scenarios.papers.vhfl import Vhfl\n"
        "for protocol in (cosim.Hist(), cosim.HFedAvg(), RawHfl(), Vhfl()):\n"
        "    system = cosim.System(protocol=protocol)\n"
        "    assert from_dict(cosim.System, to_dict(system)) == system\n"
        "from scenarios.command_line import main\n"
        "def called(*words):\n"
        "    try:\n"
        "        main([*words])\n"
        "    except SystemExit as ended:\n"
        "        assert ended.code == 0\n"
        "def absent(*names):\n"
        "    found = sys.modules.keys() & {*names}\n"
        "    assert not found, found\n"
        "never = 'networkx', 'cvxpy', 'sklearn', 'scipy.stats', 'pooch', 'jinja2', 'sympy', 'torch._dynamo'\n"
        "for name in ('hist', 'rawhfl', 'vhfl'):\n"
        "    called('show', name)\n"
        "absent(*never, 'torch', 'pandas', 'matplotlib')\n"
        "ways = [], ['--evaluation.kind', 'Never']\n"
        "for number, way in enumerate(ways):\n"
        "    out = f'{sys.argv[1]}/{number}'\n"
        "    called('run', 'quickstart', '--num-global-rounds', '1', '--quiet', '--out', out, *way)\n"
        "absent(*never)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, check=True)
