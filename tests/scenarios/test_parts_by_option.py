"""Own parts by options: the command line builds what the documentation's programs build in Python.

Programs are imported with contracts that only note the system which they would run. The words that make that
system of the small one are given to `main`, in this process: `show`, `run` and `study`.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from own_commands import exit_code

import cosim
import cosim.testing
from cosim import System
from cosim.configuration import ConfigurationError, from_dict, lacks_in, to_dict
from cosim.configuration.going_together import EVERY_UPDATE, GLOBAL_ROUNDS
from cosim.configuration.kinds import is_configuration, kind_of
from cosim.system.drafts import finished, with_kind
from cosim.testing import small_system
from scenarios.command_line import running
from scenarios.command_line.study import running as study_running

DOCS = Path(__file__).resolve().parents[2] / "docs"
PROGRAM = re.compile(r"^```python\n(# (\w+)\.py\n.*?)^```", re.DOTALL | re.MULTILINE)
PROGRAMS = {
    found[2]: found[1]
    for page in sorted(DOCS.rglob("*.md"))
    for found in PROGRAM.finditer(page.read_text(encoding="utf-8"))
    if found[1].splitlines()[-1].startswith("check_") and re.search("^class|^def", found[1], re.MULTILINE)
}
"""Module -> its text, of every program of the documentation that ends with the contract of a part."""
BASE = cosim.evolve(small_system(), end=cosim.AfterRounds(num_global_rounds=1), evaluation=cosim.Never())
SCENARIO = """
import cosim
from cosim.testing import small_system

def system():
    end = cosim.AfterRounds(num_global_rounds=1)
    return cosim.evolve(small_system(), end=end, evaluation=cosim.Never())
"""


def in_place(name: str, part: Any, system: System | None = None) -> System:
    """The system that a contract runs, in one round and without learning, where the part allows that."""
    system = system or (part if isinstance(part, System) else BASE)
    name = name.removeprefix("check_").removesuffix("_training")
    name = {"network": "model", "link": "uplink"}.get(name, name)
    if name in ("selection", "local"):
        training = cosim.evolve(system.protocol.training, **{name: part})  # type: ignore[attr-defined]
        system = cosim.evolve(system, evaluation=cosim.ends.EveryVersions())  # a rule may read losses
        return cosim.evolve(system, protocol=cosim.evolve(system.protocol, training=training))
    if name == "arrivals":
        name, part = "uplink", cosim.queues.QueuedLink(arrivals=part, initial_work=cosim.queues.NoWork())
    if name == "presence":
        return cosim.evolve(system, devices=cosim.evolve(system.devices, presence=part))  # type: ignore[call-arg]
    if name == "uplink" and lacks_in(part, EVERY_UPDATE):
        system = cosim.evolve(system, protocol=small_system(cosim.Deadline(deadline_s=1.0)).protocol)
    if name == "protocol" and lacks_in(part, GLOBAL_ROUNDS):
        system = cosim.evolve(BASE, protocol=part, end=cosim.AfterVersions(num_versions=2))
    if type(system.end) is cosim.AfterRounds:
        system = cosim.evolve(system, end=BASE.end, evaluation=BASE.evaluation)
    return system if name == "system" else cosim.evolve(system, **{name: part})


def words(base: Any, wanted: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Path and value of the fields by which a configuration differs, a kind before the fields of its part."""
    for attribute in attrs.fields(type(wanted)):
        name, path = attribute.name, f"{prefix}{attribute.name}"
        before, value = getattr(base, name), getattr(wanted, name)
        if is_configuration(type(value)):
            if type(before) is not type(value):
                yield f"{path}.kind", kind_of(type(value))
                before = getattr(with_kind(base, [name], kind_of(type(value))), name)
            yield from words(before, value, f"{path}.")
        elif value != before:
            yield path, value


def options(found: list[tuple[str, Any]]) -> list[str]:
    said = []
    for path, value in found:
        values = value if isinstance(value, tuple) else (value,)
        said += [f"--{path.replace('_', '-')}", *map(str, values)]
    return said


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a small scenario; no pictures are drawn, and a study is asked for and not run."""
    (tmp_path / "base.py").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(running, "overview", lambda result: None)
    monkeypatch.setattr(running, "save_picture", lambda figure, path: None)
    before = {*sys.modules}
    yield tmp_path
    for name in {*sys.modules} - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == tmp_path:
            del sys.modules[name]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The designs of the studies that are asked for."""
    found: list[Any] = []

    def run_and_show(scenario: str, base: System, options: Any, **_: Any) -> int:
        found.extend(study_running.asked(base, options).designs)
        return 0

    monkeypatch.setattr(study_running, "run_and_show", run_and_show)
    return found


@pytest.mark.parametrize("module", PROGRAMS)
def test_every_part_of_the_documentation_is_reached_by_options(module, here, asked, monkeypatch, capsys):
    wanted: list[System] = []
    for name in [name for name in cosim.testing.__all__ if name.startswith("check_")]:
        note = lambda *given, name=name: wanted.append(in_place(name, *given[:2]))  # noqa: E731
        monkeypatch.setattr(cosim.testing, name, note)
    (here / f"{module}.py").write_text(PROGRAMS[module])
    __import__(module)
    assert wanted
    for number, system in enumerate(wanted):
        found = list(words(BASE, system))
        assert any(":" in str(value) for _, value in found)
        own = ["base.py:system", *options(found), "--import", module]
        assert exit_code("run", *own, "--out", f"run-{number}", "--quiet") == 0, capsys.readouterr().err
        assert (
            from_dict(System, json.loads(Path(f"run-{number}/config.json").read_text())["system"]) == system
        )
        changes = "; ".join(f"{path}={json.dumps(value)}" for path, value in found)
        assert exit_code("study", "base.py:system", "--design", f"own: {changes}") == 0, (
            capsys.readouterr().err
        )
        assert asked.pop().system == system


# --- Fields without a default -------------------------------------------------------------------------------

BOUGHT = """
import cosim
from cosim.configuration import at_least, knob, part
from cosim.ends.port import Counted

@part
class Bought(cosim.ends.End):
    num_updates: int = knob(at_least(1))

    def counted(self, progress):
        return Counted(progress.num_updates, self.num_updates, "updates")

@part
class Nested(cosim.ends.End):
    first: cosim.ends.End
    price: float = knob(at_least(1.0))

    def counted(self, progress):
        return self.first.counted(progress)

@part
class Between(cosim.ends.End):
    lowest: float = 10.0
    highest: float = 20.0

    def __attrs_post_init__(self):
        if self.lowest > self.highest:
            raise cosim.ConfigurationError("Between: lowest above highest. Swap them.")

    def counted(self, progress):
        return Counted(progress.num_updates, self.highest, "updates")

def train(network, batches, state, rng):
    return state
"""


@pytest.fixture
def bought(here: Path) -> Path:
    """A module with kinds that have fields without a default."""
    (here / "bought.py").write_text(BOUGHT)
    return here


@pytest.mark.parametrize("command", ["show base.py:system", "run base.py:system --quiet --out run"])
@pytest.mark.parametrize(
    "own",
    [
        "--end.kind bought:Bought --end.num-updates 5",
        "--num-updates=5 --end.kind=bought:Bought",
        "--end.kind bought:Nested --first.kind bought:Bought --end.first.num-updates 5 --end.price 2",
        "--end.kind bought:Nested --first.kind AfterRounds --end.price 2",
        "--local.kind TorchFunction --local.function bought:train",
        "--uplink.link.kind GivenSnr --snr-db.kind PerClient --snr-db.values 1 2 3 4 5",
        "--end.kind bought:Between --lowest 30 --highest 40",  # each alone breaks a rule with the default
    ],
)
def test_a_kind_and_its_fields_come_together(command, own, bought, capsys):
    words = f"{command} {own} --import bought".split()
    assert exit_code(*words) == 0, capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "run", "study"])
@pytest.mark.parametrize(
    ("own", "message"),
    [
        (
            "--end.kind bought:Bought",
            "Bought lacks num_updates: no default. Give --end.num-updates with a whole number.",
        ),
        (
            "--end.kind bought:Nested",
            "Nested lacks first and price: no default. Give --end.first.kind and --end.price with a "
            "finite number.",
        ),
        (
            "--end.kind bought:Nested --end.price 2 --end.first.kind bought:Bought",
            "Bought lacks num_updates: no default. Give --end.first.num-updates with a whole number.",
        ),
        (
            "--end.kind bought:Bought --num-updates x",
            "--num-updates x: must be a whole number. Give another one.",
        ),
        (
            "--end.kind bought:Bought --num-updates 0",
            "--num-updates: Bought.num_updates = 0: must be at least 1. Use another num_updates.",
        ),
        (
            "--local.kind TorchFunction",
            "TorchFunction lacks function: no default. Give --protocol.training.local.function with a text.",
        ),
    ],
)
def test_an_open_field_is_named_by_its_option(command, own, message, bought, capsys):
    assert exit_code(*f"{command} base.py:system {own} --import bought".split()) == 2
    assert capsys.readouterr().err == f"Error: {message}\n"


@pytest.mark.parametrize("command", ["show", "run", "study"])
def test_help_has_the_fields_without_a_default(command, bought, capsys):
    own = "--end.kind bought:Nested --end.first.kind bought:Bought --import bought --help"
    assert exit_code(command, "base.py:system", *own.split()) == 0
    printed = " ".join(re.sub(r"\x1b\[[0-9;]*m|[^\x00-\x7f]", "", capsys.readouterr().out).split())
    assert re.search(r"--end.first.num-updates INT \(required\)", printed)
    assert re.search(r"--end.price FLOAT \(required\)", printed)


def test_designs_give_a_kind_and_its_fields_together(bought, asked, capsys):
    words = ["study", "base.py:system", "--import", "bought"]
    assert exit_code(*words, "--design", "A: end.kind=bought:Bought; num_updates=5", "--design", "B:") == 0
    assert [to_dict(design.system.end) for design in asked] == [
        {"kind": "bought:Bought", "num_updates": 5},
        {"num_global_rounds": 1},
    ]
    assert (
        exit_code(
            *words, "--over", "end.kind=bought:Bought", "--over", "num_updates=5,6", "--over", "num_cells=1,2"
        )
        == 0
    )
    assert [(d.system.end.num_updates, d.system.num_cells) for d in asked[2:]] == [
        (5, 1),
        (5, 2),
        (6, 1),
        (6, 2),
    ]
    assert exit_code(*words, "--design", "A: end.kind=bought:Bought") == 2
    assert (
        "Bought lacks num_updates: no default. Give end.num_updates with a whole number."
        in capsys.readouterr().err
    )


def test_a_draft_is_finished_or_says_what_is_open():
    made = with_kind(cosim.System(), ["protocol", "training", "local"], "TorchFunction")
    with pytest.raises(ConfigurationError, match="TorchFunction lacks function"):
        finished(made)
    assert finished(with_kind(cosim.System(), ["end"], "AfterSeconds")).end == cosim.AfterSeconds()
