"""Sources: a user's modules are known again by their files, and a changed one is refused."""

import hashlib
import importlib
import json
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

import cosim
from cosim import AfterRounds, ConfigurationError, HFedAvg, Hist, System, evolve
from cosim.data import Synthetic
from cosim.own_code.sources import check_sources, sources_of
from cosim.studies.study import Study
from scenarios.command_line.catalogue import catalogue, find

ROOT = Path(__file__).resolve().parents[2]
BASES = '''
"""What a part of one's own derives from."""

import cosim


class Slow(cosim.Selection):
    """Waits a little before every edge round."""

    def participants(self, sim, edge, coming):
        """Everyone, later."""
        yield from sim.spend(edge.name, "idle", 0.25)
        return edge.clients
'''
PARTS = '''
"""Parts of one's own."""

import cosim
from calm.bases import Slow


class Calm(Slow):
    """Slow, under a name of its own."""


def network():
    """Twelve features, four classes."""
    from torch import nn

    return nn.Sequential(nn.Linear(12, 6), nn.ReLU(), nn.Linear(6, 4))


def samples(data_dir):
    """Nothing that this test reads."""


def system():
    """Timing only, so that nothing but the clock is run."""
    return cosim.System(
        num_cells=2,
        num_clients=4,
        model="calm.parts:network",
        data=cosim.data.Synthetic(),
        protocol=cosim.HFedAvg(training=cosim.EdgeTraining(num_edge_rounds=1, selection=Calm())),
        end=cosim.AfterRounds(num_global_rounds=3),
        evaluation=cosim.Never(),
    )


if __name__ == "__main__":
    import json

    from cosim.own_code.sources import sources_of

    print(json.dumps(sources_of(system())))
'''


@pytest.fixture
def calm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module `calm.parts` of a package in a folder of its own."""
    package = tmp_path / "calm"
    package.mkdir()
    for name, code in (("__init__", ""), ("bases", BASES), ("parts", PARTS)):
        (package / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("calm.parts")
    for name in ("calm", "calm.bases", "calm.parts"):
        sys.modules.pop(name, None)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def edited(module: ModuleType) -> None:
    """Another law, in the file only, as it is when a run is resumed in a new process."""
    path = Path(str(module.__file__))
    path.write_text(path.read_text().replace("0.25", "0.5") + "\n")


@pytest.mark.parametrize("name", catalogue("run"))
def test_ours_are_not_listed(name):
    assert sources_of(find("run", name).system()) == {}


def test_texts_that_are_no_functions_are_not_listed():
    assert sources_of(System(model="json:no_such_function"), System(model="nothing.loaded:f")) == {}


def test_classes_their_bases_and_named_functions_are_listed(calm, tmp_path):
    system = evolve(calm.system(), data=cosim.Arrays(source="calm.parts:samples"))
    assert sources_of(system) == {
        "calm": {
            "imported_by": ["calm.bases", "calm.parts"],
            "file": str(tmp_path / "calm/__init__.py"),
            "sha256": digest(tmp_path / "calm/__init__.py"),
        },
        "calm.bases": {"of": ["Slow"], "sha256": digest(tmp_path / "calm/bases.py")},
        "calm.parts": {"of": ["Calm", "network", "samples"], "sha256": digest(tmp_path / "calm/parts.py")},
    }


PART = "\n\ndef network():\n    'Read by nobody.'\n"
TREES = {
    "beside it": ({"mine.py": "import laws", "laws.py": ""}, "mine", {"laws": ["mine"]}),
    "in turn, in a circle": (
        {"mine.py": "import laws", "laws.py": "from tables import A", "tables.py": "import laws\nA = 1"},
        "mine",
        {"laws": ["mine", "tables"], "tables": ["laws"]},
    ),
    "within a function, never called": (
        {"mine.py": "def f():\n    import laws", "laws.py": "not { python"},
        "mine",
        {"laws": ["mine"]},
    ),
    "by a constant name": (
        {"mine.py": "import importlib\nx = lambda: importlib.import_module('laws')", "laws.py": ""},
        "mine",
        {"laws": ["mine"]},
    ),
    "of its package, and nothing else of it": (
        {
            "own/__init__.py": "from . import plots",
            "own/plots.py": "",
            "own/mine.py": "from . import laws\nfrom .deep.tables import A",
            "own/laws.py": "",
            "own/deep/__init__.py": "",
            "own/deep/tables.py": "from ..units import S\nA = 1",
            "own/units.py": "S = 1",
        },
        "own.mine",
        {
            "own": ["own.deep.tables", "own.laws", "own.mine", "own.units"],
            "own.laws": ["own.mine"],
            "own.deep": ["own.deep.tables", "own.mine"],
            "own.deep.tables": ["own.mine"],
            "own.units": ["own.deep.tables"],
        },
    ),
    "a name of a package, which it imports": (
        {"mine.py": "from own import A", "own/__init__.py": "from .laws import A", "own/laws.py": "A = 1"},
        "mine",
        {"own": ["mine", "own", "own.laws"], "own.laws": ["own"]},
    ),
    "without __init__": (
        {"spaced/mine.py": "import spaced.laws", "spaced/laws.py": ""},
        "spaced.mine",
        {"spaced.laws": ["spaced.mine"]},
    ),
    "a package itself": (
        {"own/__init__.py": "from .laws import A" + PART, "own/laws.py": "A = 1"},
        "own",
        {"own.laws": ["own"]},
    ),
    "not what is installed, standard or ours": (
        {"mine.py": "def f():\n    import json, numpy, cosim.names, models, nowhere"},
        "mine",
        {},
    ),
    "only by the scenario": (
        {"mine.py": "", "scenario.py": "import mine, laws", "laws.py": ""},
        "mine",
        {},
    ),
}


@pytest.mark.parametrize("tree", TREES)
def test_what_own_modules_import_of_ones_own_is_listed(tree, tmp_path, monkeypatch):
    files, named, wanted = TREES[tree]
    for name, code in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(code + PART * name.endswith("mine.py"))
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    try:
        importlib.import_module(named)
        found = sources_of(System(model=f"{named}:network"))
    finally:
        for name in set(sys.modules) - before:
            del sys.modules[name]
    assert found.pop(named)["of"] == ["network"]
    assert {name: of["imported_by"] for name, of in found.items()} == wanted
    for of in found.values():
        assert of["sha256"] == digest(Path(of["file"]))


def test_a_run_whose_imported_module_has_changed_is_refused_by_its_file(calm, tmp_path):
    """One that is imported when a rule is first asked, and that no configuration names."""
    lazily = "\n\ndef seconds():\n    from calm import clocks\n\n    return clocks.T\n"
    bases = BASES.replace("0.25)", "seconds())") + lazily
    for file, code in (("bases", bases), ("clocks", "from calm.ticks import T"), ("ticks", "T = 0.25")):
        (tmp_path / f"calm/{file}.py").write_text(code + "\n")
    importlib.reload(sys.modules["calm.bases"])
    importlib.reload(calm)
    stopped(calm.system(), tmp_path / "a")
    hashes = [hashlib.sha256(text.encode()).hexdigest()[:12] for text in ("T = 0.25\n", "T = 2.5\n")]
    (tmp_path / "calm/ticks.py").write_text("T = 2.5\n")
    with pytest.raises(ConfigurationError) as refused:
        cosim.run(calm.system(), out=tmp_path / "a", resume=True)
    assert str(refused.value) == (
        f"resume: {tmp_path / 'a'}: was started with another module calm.ticks (which calm.clocks imports): "
        f"{tmp_path / 'calm/ticks.py'} has changed since (sha256 {hashes[0]} then, {hashes[1]} now). Restore "
        "that file, or use another folder."
    )


def test_a_script_goes_by_its_file(tmp_path, calm):
    """Its classes belong to `__main__`, and files call them by the name of the script."""
    script = tmp_path / "mine.py"
    script.write_text(PARTS.replace("calm.parts:", "mine:"))
    environment = {"PYTHONPATH": f"{ROOT}:{tmp_path}"}
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["mine"] == {"of": ["Calm", "network"], "sha256": digest(script)}
    assert found.keys() == {"calm", "calm.bases", "mine"}


def test_a_module_without_a_file_says_so_and_refuses_nothing(monkeypatch):
    made = types.ModuleType("made_up")
    exec("def network():\n    'No file.'\n", made.__dict__)
    monkeypatch.setitem(sys.modules, "made_up", made)
    found = sources_of(System(model="made_up:network"))
    assert found == {"made_up": {"of": ["network"], "sha256": None}}
    with_one = {"made_up": {"of": ["network"], "sha256": "0" * 64}}
    check_sources(found, with_one, "a")
    check_sources(with_one, found, "a")
    check_sources({}, with_one, "a")


def stopped(system: System, out: Path) -> None:
    """A run that was interrupted after its first global round."""

    def stop(report: object) -> None:
        if report.version == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cosim.run(system, out=out, listener=stop)


@pytest.mark.parametrize("module", ["calm.parts", "calm.bases"])
def test_a_stopped_run_goes_on_with_the_same_source_and_refuses_another(module, calm, tmp_path):
    stopped(calm.system(), tmp_path / "a")
    origin = json.loads((tmp_path / "a/provenance.json").read_text())
    assert origin["sources"] == sources_of(calm.system())
    before = Path(sys.modules[module].__file__).read_text()
    edited(sys.modules[module])
    written = {path: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    message = f"a: was started with another module {module} (of which it takes "
    with pytest.raises(ConfigurationError, match=re.escape(message)) as refused:
        cosim.run(calm.system(), out=tmp_path / "a", resume=True)
    hashes = [found[module]["sha256"][:12] for found in (origin["sources"], sources_of(calm.system()))]
    changed = f"has changed since (sha256 {hashes[0]} then, {hashes[1]} now)"
    fix = "Restore that file, or use another folder."
    assert str(refused.value).endswith(f"{sys.modules[module].__file__} {changed}. {fix}")
    assert {path: path.read_bytes() for path in (tmp_path / "a").iterdir()} == written
    Path(sys.modules[module].__file__).write_text(before)
    assert cosim.run(calm.system(), out=tmp_path / "a", resume=True).summary.status == "complete"
    with pytest.raises(ConfigurationError, match="is complete"):
        cosim.run(calm.system(), out=tmp_path / "a", resume=True)
    edited(sys.modules[module])
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        cosim.run(calm.system(), out=tmp_path / "a", resume="as found")


def test_a_study_that_goes_on_refuses_another_source_of_any_design(calm, tmp_path):
    """The base has no part of the user's; one of the designs has."""
    base = evolve(
        calm.system(),
        model="relu-12-8-4",
        protocol=HFedAvg(),
        end=AfterRounds(num_global_rounds=2),
        data=Synthetic(),
    )
    study = Study(base, {"protocol.training.selection.kind": ("Everyone", "calm.parts:Calm")}, 1)
    with ThreadPoolExecutor(1) as executor:
        for _ in ("begins", "goes on"):
            runs = study.run(tmp_path / "s", executor=executor)
            assert list(runs["status"]) == ["complete"] * 2
            asked = json.loads((tmp_path / "s/study.json").read_text())
            assert asked["sources"].keys() == {"calm", "calm.bases", "calm.parts"}
        edited(sys.modules["calm.bases"])
        with pytest.raises(
            ConfigurationError, match=r"s: was started with another module calm\.bases .*takes Slow"
        ):
            study.run(tmp_path / "s", executor=executor)


def test_a_part_of_ours_never_refuses(tmp_path):
    stopped(
        System(data=Synthetic(), model="relu-12-8-4", protocol=Hist(), end=AfterRounds(num_global_rounds=2)),
        tmp_path / "a",
    )
    assert json.loads((tmp_path / "a/provenance.json").read_text())["sources"] == {}
