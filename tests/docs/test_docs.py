"""Documentation: its programs work as pasted and print what arithmetic says; commands, links, names are real.

Programs of a page run in one folder from top to bottom, each in a process of its own that is forked from one
which has imported the packages; commands pass through the real parser, and run nothing.
"""

import importlib
import importlib.util
import math
import pkgutil
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import attrs
import numpy as np
import pandas as pd
import pytest
import warm
import worlds
from scipy import stats

import cosim
import cosim.results.summary
import cosim.testing
import models
from analysis.studies import load
from cosim import Simulation
from cosim.clock.draws import uniforms
from cosim.configuration import from_dict, to_dict
from cosim.configuration.kinds import is_configuration
from cosim.configuration.port import Port
from cosim.data.pictures import download as downloads
from cosim.links.traces import table as rate_table
from cosim.queues import HyperExponential, PoissonArrivals, StationaryWork
from cosim.queues.station import Station
from cosim.studies.study import Study
from cosim.units import unit_of
from scenarios import command_line, reference
from scenarios.command_line import convert, looking, running
from scenarios.command_line import data as data_command
from scenarios.command_line import plot as plot_command
from scenarios.command_line import table as table_command
from scenarios.command_line.catalogue import catalogue
from scenarios.command_line.commands import COMMANDS
from scenarios.command_line.scenario import Scenario
from scenarios.command_line.study import running as study_running
from scenarios.papers.rawhfl import CommonSteps, RawHfl
from scenarios.papers.vhfl import Vhfl
from scenarios.papers.vhfl.traffic.table_files import read

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(DOCS.rglob("*.md"))
}
SMALLER = {
    ("cluster", "machines.py"): {
        "LocalCluster(n_workers=2": "LocalCluster(dashboard_address=None, processes=False, n_workers=1",
        "seeds=3": "seeds=1",
    },
    ("tutorial", "study.py"): {
        "seeds=5": "seeds=2",
        'studies/bandwidth", ': 'studies/bandwidth", num_workers=1, ',
    },
}
"""Changes that make a program smaller; else it runs word for word."""

RUNNER = """
import os, runpy, sys
from pathlib import Path

fixtures, place, folder, *words = sys.argv[1:]
sys.path.append(fixtures)
import warm

sys.path.remove(fixtures)

def run_script(script):
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(script.with_suffix("." + name), os.O_WRONLY | os.O_CREAT), number)
    os.chdir(script.parent)
    sys.path[0] = str(script.parent)
    sys.argv = [str(script)]
    runpy.run_path(str(script), run_name="__main__")

def forked(act, *given):
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        act(*given)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

def run_page(scripts):
    for script in scripts:
        _, status = os.waitpid(forked(run_script, script), 0)
        script.with_suffix(".rc").write_text(str(os.waitstatus_to_exitcode(status)))

pages = {}
for word in words:
    pages.setdefault(Path(word).parent, []).append(Path(word))
with warm.forked_from(Path(place), Path(folder)) as seconds:
    seconds.connect()
    under_way = set()
    for scripts in sorted(pages.values(), key=len, reverse=True):
        while len(under_way) == 3:  # more would drive each other out of the caches
            under_way.discard(os.wait()[0])
        under_way.add(forked(run_page, scripts))
    while under_way:
        under_way.discard(os.wait()[0])
"""
"""Runs programs."""

TWO_PARTS = """
import cosim
import numpy as np
from cosim.testing import BrokenLaw, check_system, small_system

class Steady(cosim.devices.DrawnTime):
    def draw(self, rng, num):
        return np.full(num, 2.0)

def in_small(law):
    return cosim.evolve(small_system(), devices=cosim.DrawnDevices(training_time=law))

check_system(in_small(Steady()))
with open("said.txt", "a") as file:
    file.write("checked ")

class Hashed(cosim.devices.DrawnTime):
    def draw(self, rng, num):
        return np.full(num, 1.0 + hash("text") % 10**9 / 1e9)

try:
    check_system(in_small(Hashed()))
except BrokenLaw as law:
    print(law)
with open("said.txt", "a") as file:
    file.write("ended")
"""
"""Contracts of a script without a guard, between which it does something."""


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGES[page], flags=re.DOTALL | re.MULTILINE)


def programs(page: str) -> dict[str, str]:
    """Name of each program of a page and its text."""
    found = {}
    for number, code in enumerate(blocks(page, "python"), 1):
        named = re.match(r"# (\w+\.py)\n", code)
        found[named[1] if named else f"program_{number}.py"] = code
    return found


ALL_PROGRAMS = [(page, name) for page in PAGES for name in programs(page)]


class Finished(NamedTuple):
    """Outcome of a program."""

    return_code: int
    printed: str
    errors: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, processes: warm.Processes) -> Path:
    """A folder for each page, in which its programs have run."""
    parent, scripts = tmp_path_factory.mktemp("docs"), []
    for page, name in ALL_PROGRAMS:
        script = parent / page / name
        script.parent.mkdir(exist_ok=True)
        code = programs(page)[name]
        for words, fewer in SMALLER.get((page, name), {}).items():
            assert words in code
            code = code.replace(words, fewer)
        script.write_text(code)
        scripts.append(str(script))
    script = parent / "two_parts" / "two_parts.py"
    script.parent.mkdir()
    script.write_text(TWO_PARTS)
    scripts.append(str(script))
    servers = tmp_path_factory.mktemp("servers")
    words = [Path(warm.__file__).parent, processes.place, servers, *scripts]
    assert processes.start(RUNNER, words, parent).wait() == 0
    return parent


def finished(folder: Path, page: str, name: str) -> Finished:
    script = folder / page / name
    out, err, code = (script.with_suffix(f".{kind}").read_text() for kind in ("out", "err", "rc"))
    return Finished(int(code), out, err)


def numbers(text: str, pattern: str) -> list[float]:
    """The numbers in place of every # of a pattern, which must be there."""
    found = re.search(pattern.replace("#", r"(-?[\d.]+(?:e[+-]\d+)?)"), text)
    assert found, f"{pattern!r} is not in:\n{text}"
    return [float(group) for group in found.groups()]


# --- Every page ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("page", "name"), ALL_PROGRAMS)
def test_programs_work_when_pasted(page, name, folder):
    code = programs(page)[name]
    assert len(code.splitlines()) <= 70, "more than a page"
    done = finished(folder, page, name)
    assert done.return_code == 0, done.errors
    assert "Warning" not in done.errors
    assert done.printed or "print(" not in code


def test_a_script_is_executed_a_second_time_up_to_the_contract_that_asks(folder):
    """In the second process: what it does between two contracts it does there as well, and then no more."""
    done = finished(folder, "two_parts", "two_parts.py")
    assert done.return_code == 0, done.errors
    assert done.printed.startswith("second process: start_s of row 1 of spans is ")
    assert (folder / "two_parts" / "said.txt").read_text() == "checked checked ended"


@pytest.fixture
def only_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands are parsed in an empty folder, and nothing is run."""

    def study(scenario: str, base: cosim.System, options: Any, title: str, to_go_on: str) -> int:
        asked = study_running.asked(base, options)
        assert all(design.error is None for design in asked.designs)
        assert all(study_running.share(option, asked.designs, None) for option in options.precision)
        return 0

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "run_and_show", lambda *_, **__: None)
    monkeypatch.setattr(Scenario, "print_report", lambda *_: None)
    monkeypatch.setattr(study_running, "run_and_show", study)
    monkeypatch.setattr(looking, "report", lambda *_: 0)
    monkeypatch.setattr(looking, "trace", lambda *_: 0)
    monkeypatch.setattr(table_command, "table", lambda *_: 0)
    monkeypatch.setattr(plot_command, "plot", lambda *_: 0)
    monkeypatch.setattr(downloads, "download", lambda *_: None)
    monkeypatch.setattr(convert, "convert", lambda *_: None)
    for module in (*catalogue("reproduce").values(), *catalogue("validate").values()):
        monkeypatch.setattr(importlib.import_module(module), "main", lambda _: 0)
    return tmp_path


def commands(page: str) -> Iterator[list[str]]:
    """The commands in a page's blocks, in words, without their comments."""
    for line in "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines():
        for command in line.split("&&"):
            words = shlex.split(command, comments=True)
            if words:
                yield words


def exit_code(words: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        command_line.main(words)
    return int(ended.value.code or 0)


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_accepted(page, only_parsed, capsys):
    for name, code in programs(page).items():
        (only_parsed / name).write_text(code)
    for number, words in enumerate(commands(page)):
        if words[0] == "python":
            if words[1] not in programs(page):  # which are run below
                check_python(words[1:])
            continue
        assert words[0] == "cosim", words
        if "--import" in words:
            assert page == "tutorial"  # whose commands are really run
            continue
        for option, name in (("--config", ""), ("--resume", "config.json")):
            if option in words:
                path = only_parsed / words[words.index(option) + 1] / name
                path.parent.mkdir(parents=True, exist_ok=True)
                looked_up = f'{{"scenario": "try-{number}", "system": {{}}}}'
                path.write_text(looked_up)
        assert exit_code(words[1:]) == 0, (words, capsys.readouterr().err)
    for name in programs(page):  # another test of this process may have a file of that name
        sys.modules.pop(name.removesuffix(".py"), None)


def check_python(words: list[str]) -> None:
    """That what `python` is asked for exists, and knows the options."""
    if words[0] == "-m":
        assert importlib.util.find_spec(words[1]), words
        files = [word for word in words[2:] if word.endswith(".py")]
        assert all((ROOT / file).exists() for file in files), words
        return
    text = (ROOT / words[0]).read_text()
    assert all(f'"{word}"' in text for word in words[1:] if word.startswith("--")), words


@pytest.mark.parametrize("page", PAGES)
def test_commands_within_sentences_are_known(page):
    known = {
        "run": catalogue("run"),
        "study": catalogue("run"),
        "show": catalogue("run"),
        "reproduce": catalogue("reproduce"),
        "validate": catalogue("validate"),
        "data": data_command.COMMANDS,
    }
    for command, name in re.findall(r"`cosim (\S+?)(?: ([a-z0-9][a-z0-9-]*))?[ `]", PAGES[page]):
        assert command in COMMANDS, command
        assert not name or command not in known or name in known[command], name


def anchors(page: Path) -> set[str]:
    """Anchors that a link into a page may point at."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_and_named_files_are_there(page):
    text = re.sub(r"^```.*?^```", "", PAGES[page], flags=re.DOTALL | re.MULTILINE)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text):
        if target.startswith("http"):
            continue
        own = DOCS / f"{page}.md"
        path = own.parent / target if target else own
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), f"{target}#{anchor}"
    packages = "analysis|benchmarks|cosim|docs|models|scenarios|tests"
    for path in re.findall(rf"`(?:python )?((?:{packages})/[\w/.-]+\.\w+)", text):
        assert (ROOT / path).exists(), path
    for name in re.findall(r"`((?:analysis|cosim|models|scenarios)(?:\.\w+)+)[`(]", text):
        assert resolves(name), name


def resolves(name: str) -> bool:
    """True if a dotted name is a module, or something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_the_index_has_every_page():
    """Of a folder its own index, and what is no figure's."""
    linked = set(re.findall(r"\]\(([\w/-]+)\.md\)", PAGES["README"]))
    own = {page for page in PAGES if "/" not in page or page.endswith(("/README", "/claims"))}
    assert linked == own - {"README"}


# --- Runs and studies ---------------------------------------------------------------------------------------


def test_the_study_draws_energies_that_fall_with_the_bandwidth(folder):
    name = next(name for name, text in programs("using").items() if "studies/energy" in text)
    assert finished(folder, "using", name).return_code == 0
    assert (folder / "using" / "energy.png").read_bytes().startswith(b"\x89PNG")
    runs = load(folder / "using" / "studies" / "energy")
    assert len(runs) == 9
    mean_j = runs.groupby("uplink.sharing.bandwidth_hz")["energy_j"].mean()
    assert mean_j.is_monotonic_decreasing


# --- Asynchronous -------------------------------------------------------------------------------------------


def test_rounds_and_no_rounds_race_to_the_same_target(folder, monkeypatch):
    """One of the runs again: what is printed is the first evaluation that reaches 85 %."""
    printed = finished(folder, "asynchronous", "race.py").printed
    monkeypatch.syspath_prepend(str(folder / "asynchronous"))
    race = importlib.import_module("race")
    assert len(printed.splitlines()) == len(race.protocols) == 4
    assert "not reached" not in printed
    name = "FedBuff, ten updates"
    result = cosim.run(cosim.evolve(race.race, protocol=race.protocols[name]))
    there = result.evaluations[result.evaluations["accuracy"] >= 0.85].iloc[0]
    time_s, energy_j, version = numbers(printed, f"{name}: # s, # J, version #")
    assert time_s == pytest.approx(there["time_s"], abs=5e-4)
    assert energy_j == pytest.approx(there["energy_j"], abs=5e-3)
    assert version == there["version"] == result.evaluations["version"].max()
    waiting = numbers(printed, "rounds, wait for all: # s, # J, version #")
    assert waiting[0] > time_s
    assert waiting[2] < version


# --- Tutorial -----------------------------------------------------------------------------------------------


def from_page(folder: Path, name: str):
    """A module that a reader of the tutorial has written."""
    place = str(folder / "tutorial")
    if place not in sys.path:
        sys.path.append(place)
    return importlib.import_module(name)


def test_what_the_scenario_prints_is_in_its_tables(folder):
    printed = finished(folder, "tutorial", "factory.py").printed
    lates = []
    for megahertz in (2, 3, 4):
        result = cosim.Result.load(folder / "tutorial" / f"runs/{megahertz}-mhz")
        late, asked = numbers(printed, f"{megahertz} MHz: # of # late")
        assert asked == 15 * 2 * 20 == len(result.transfers)
        assert late == (~result.transfers["arrived"]).sum()
        lates.append(late)
        accuracy, time_s, energy_j = numbers(printed, rf"{megahertz} MHz: .*\n  accuracy # after # s and # J")
        assert accuracy == pytest.approx(result.evaluations["accuracy"].iloc[-1], abs=5e-4)
        assert time_s == pytest.approx(result.rounds["end_s"].max(), abs=5e-4)
        assert energy_j == pytest.approx(result.spans["energy_j"].sum(), abs=5e-4)
    assert sorted(lates, reverse=True) == lates
    assert len(set(lates)) == 3


def test_what_the_look_prints_adds_up(folder):
    """Energy of spans is power times time; sending has 0.2 W; rounds and spans agree on the late clients."""
    printed = finished(folder, "tutorial", "look.py").printed
    result = cosim.Result.load(folder / "tutorial/runs/2-mhz")
    late = result.transfers[~result.transfers["arrived"]]
    wasted_j, total_j = numbers(printed, "wasted on the air: # J of # J")
    assert wasted_j == pytest.approx(0.2 * (late["end_s"] - late["start_s"]).sum(), abs=1e-3)
    assert total_j == pytest.approx(result.summary.energy_j, abs=1e-3)
    (late_share, *_), (other_share, *_) = (numbers(printed, rf"{edge} +#") for edge in ("edge-00", "edge-01"))
    assert 300 * (late_share + other_share) == pytest.approx(len(late), abs=1e-3)
    (time_s,) = numbers(printed, "80 % accuracy after # simulated")
    accuracies = result.evaluations.set_index("time_s")["accuracy"]
    assert (accuracies[accuracies.index < time_s - 1e-9] < 0.8).all()
    assert accuracies[accuracies.index > time_s - 1e-9].iloc[0] >= 0.8


def test_the_study_compares_on_the_same_seeds(folder):
    printed = finished(folder, "tutorial", "study.py").printed
    runs = load(folder / "tutorial/studies/bandwidth")
    assert isinstance(runs, pd.DataFrame)
    shares = runs.pivot(index="seed", columns="uplink.sharing.bandwidth_hz", values="dropped_share")
    for bandwidth_hz in (3e6, 4e6):
        (difference,) = numbers(printed, rf"{bandwidth_hz / 1e6:g} MHz: .*difference: #")
        assert difference == pytest.approx((shares[bandwidth_hz] - shares[2e6]).mean(), rel=1e-3)


@pytest.mark.usefixtures("unwritten_pictures")
def test_commands_of_the_tutorial_do_what_they_say(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder / "tutorial")
    fewer = ["--seeds", "1", "--workers", "1"]
    for words in commands("tutorial"):
        words += fewer if words[1] == "study" else []
        assert exit_code(words[1:]) == 0, capsys.readouterr().err
    study = load(Path("studies/asynchronous"))
    assert isinstance(study, pd.DataFrame)
    assert list(study.groupby("protocol.kind").size()) == [1, 1, 1]
    assert (study["time_s"] == 4.0).all()
    assert (study["time_to_0.9_s"] < 4.0).all()
    energy_j = study.pivot(index="seed", columns="protocol.kind", values="energy_j")
    np.testing.assert_allclose(energy_j["FedBuff"], energy_j["FedAsync"], rtol=1e-9)  # the same times
    assert (energy_j["FedBuff"] > energy_j["HFedAvg"]).all()  # no client rests
    assert "<html" in Path("studies/bandwidth/report.html").read_text()
    assert Path("runs/2-mhz/trace.json").exists()
    narrow, wide = (cosim.Result.load(f"runs/{width}-mhz") for width in (4, 5))
    bits = wide.transfers["payload_bits"] == narrow.transfers["payload_bits"]
    assert bits.all()
    assert wide.summary.num_dropped <= narrow.summary.num_dropped


def test_what_is_late_is_in_the_tables(folder):
    """The mean of 200 versions misses its limit by the ages of at most 23 updates that are in none."""
    printed = finished(folder, "tutorial", "late.py").printed
    mean, limit = numbers(printed, "staleness: # in the mean, # by the law")
    assert limit == 2.3
    assert 0.0 <= limit - mean <= 23 * 10 / 2000  # if none of these is older than ten versions
    fewest, most = (
        [float(value) for value in row]
        for row in re.findall(r"^client-\d+ +(\S+) +(\S+) +(\S+)$", printed, re.M)
    )
    assert fewest[0] < 2000 / 24 < most[0]
    assert fewest[1] > most[1]
    applied_j, total_j = numbers(printed, "in versions: # J of # J")
    assert 0.9 * total_j < applied_j < total_j


def test_the_duty_cycle_takes_what_arithmetic_says(folder):
    """64 x 32 + 32 x 10 parameters of 32 bits at 50 kbit/s, a tenth of the time, 0.2 W; HIST sends halves."""
    printed = finished(folder, "tutorial", "check_duty_cycle.py").printed
    for name, share in (("HFedAvg", 1.0), ("Hist", 0.5)):
        send_s = share * (64 * 32 + 32 * 10) * 32 / 50e3
        shortest_s, longest_s, by_hand_s, on_air_j, by_hand_j = numbers(
            printed,
            rf"{name}: rounds of # to # s\n  by arithmetic # s\n  on the air # J\n  by arithmetic # J",
        )
        assert (shortest_s, longest_s, by_hand_s) == pytest.approx((send_s / 0.1,) * 3, abs=1e-6)
        assert (on_air_j, by_hand_j) == pytest.approx((8 * 8 * 0.2 * send_s,) * 2, abs=1e-6)


def duty_cycled(folder: Path, protocol, **changes) -> cosim.System:
    link = from_page(folder, "duty_cycle").DutyCycle(rate_bps=50e3, duty=0.1)
    standard = worlds.digits(
        num_clients=6, model="relu-64-32-10", uplink=link, protocol=protocol, evaluation=cosim.Never()
    )
    return cosim.evolve(standard, **changes)


def test_a_duty_cycle_that_is_cut_is_silent_for_what_was_sent(folder):
    """Transfer by transfer: when it may begin, what is through at the cut, how long it must be silent."""
    training = cosim.EdgeTraining(num_edge_rounds=6, waiting=cosim.Deadline(deadline_s=2.0))
    system = duty_cycled(folder, cosim.HFedAvg(training=training), end=cosim.AfterRounds(num_global_rounds=5))
    transfers = cosim.run(system, models.build(system.model)).transfers
    ends = set()
    for _, own in transfers.groupby("client"):
        silent_until_s = 0.0
        for row in own.itertuples():
            begins_s = max(row.start_s, silent_until_s)
            sent_s = min(max(0.0, row.end_s - begins_s), row.payload_bits / 50e3)
            arrived = math.isclose(sent_s, row.payload_bits / 50e3)
            assert row.sent_bits == pytest.approx(50e3 * sent_s, abs=1e-6)
            assert row.arrived == arrived
            ends.add((arrived, sent_s > 0.0))
            # By the table: nine times the rounding of each row would add up over the rows.
            silent_until_s = row.end_s + 9.0 * row.sent_bits / 50e3 if sent_s else silent_until_s
    assert ends == {(True, True), (False, True), (False, False)}


def test_what_the_tutorial_says_of_links_of_ones_own(folder, tmp_path):
    """VHFL runs over it, files and studies have it as itself; plans refuse it."""
    vhfl = duty_cycled(folder, Vhfl(), num_cells=1, end=cosim.AfterRounds(num_global_rounds=2))
    done = cosim.run(vhfl, models.build(vhfl.model), out=tmp_path / "run")
    assert len(done.transfers) == 12
    again = from_dict(cosim.System, to_dict(vhfl))
    assert again == vhfl
    assert type(again.uplink) is type(vhfl.uplink)
    runs = Study(vhfl, {}, 1).run(tmp_path / "study", num_workers=1)
    there = cosim.Result.load(tmp_path / "study" / runs["folder"].iloc[0])
    pd.testing.assert_frame_equal(there.transfers, done.transfers)
    planned = duty_cycled(folder, cosim.Hist(submodel_sizes=cosim.protocols.LatencyOptimal()))
    for system in (planned, cosim.evolve(planned, protocol=RawHfl())):
        with pytest.raises(cosim.ConfigurationError, match="not known for a DutyCycledLink"):
            cosim.run(system, models.build(system.model))


def test_the_fastest_are_chosen(folder):
    """Frequencies drawn again by name: 1 to 2 GHz in the first cell, 2 to 4 GHz in the second."""
    rule = from_page(folder, "fastest").Fastest(num_participants=3)
    training = cosim.EdgeTraining(num_edge_rounds=1, selection=rule)
    system = worlds.digits(
        seed=5, num_clients=20, protocol=cosim.HFedAvg(training=training), evaluation=cosim.Never()
    )
    transfers = cosim.run(system, models.build(system.model)).transfers
    for cell in (0, 1):
        names = [f"client-{number:04d}" for number in range(10 * cell, 10 * cell + 10)]
        draws = {name: cosim.Simulation(5).of_client(name, "frequency", uniforms) for name in names}
        fastest = sorted(names, key=lambda name: -draws[name])[:3]
        assert set(transfers.loc[transfers["edge"] == f"edge-0{cell}", "client"]) == set(fastest)


def test_the_comparison_is_by_seed(folder):
    """The fastest take less time and, as energy goes with the square of the frequency, more energy."""
    printed = finished(folder, "tutorial", "compare.py").printed
    for metric, sign in (("time_s", -1.0), ("energy_j", 1.0)):
        difference, low, high = numbers(printed, rf"{metric}: fastest less random # \[#, #\]")
        assert low < difference < high
        assert sign * low > 0.0
        assert sign * high > 0.0
        assert re.search(rf"{metric}: .*\n  they differ", printed)


def test_who_sees_one_ring_only_learns_less(folder):
    """And draws with replacement are as good as a random part."""
    printed = finished(folder, "tutorial", "rings.py").printed
    iid, shards, sampled = (numbers(printed, f"{kind}: #%")[0] for kind in ("Iid", "Shards", "Sampled"))
    assert shards < 90.0 < min(iid, sampled)


# --- Parts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", programs("parts"))
def test_an_example_of_a_part_is_small_and_ends_with_its_contract(name):
    lines = programs("parts")[name].splitlines()
    assert len(lines) <= 40
    contract = re.match(r"(check_\w+)\(", lines[-1])
    assert contract
    assert hasattr(cosim.testing, contract[1])


def test_the_page_of_parts_has_every_port():
    """Ports that the engine has; the rules when a channel changes stand with fading."""
    for module in pkgutil.walk_packages(cosim.__path__, "cosim."):
        importlib.import_module(module.name)
    ports = {cls for cls in Port.__subclasses__() if cls.__module__.startswith("cosim.")}
    assert len(ports) > 12
    named = set(re.findall(r"`cosim\.[\w.]*?(\w+)`", PAGES["parts"]))
    assert {cls.__name__ for cls in ports} <= named
    contracts = set(re.findall(r"`(check_\w+)`", PAGES["parts"]))
    assert contracts == {name for name in cosim.testing.__all__ if name.startswith("check_")}


# --- Traces -------------------------------------------------------------------------------------------------


def test_files_become_the_traces_that_they_are(folder, monkeypatch, capsys):
    """Its commands as typed, where its programs have written their files; rates by hand."""
    monkeypatch.chdir(folder / "traces")
    typed = [words for words in commands("traces") if words[1:3] == ["data", "convert"]]
    for words in typed:
        assert exit_code(words[1:]) == 0, (words, capsys.readouterr().err)
        assert capsys.readouterr().out.startswith(f"{words[words.index('--out') + 1]}: ")

    def rates(name: str, device: str) -> list[float]:
        return rate_table.read(Path(name))[device].rate_bps.tolist()

    assert rates("lists.parquet", "car") == pytest.approx(
        2 * [5 * 12_032 / 0.01]
    )  # halves: one row has no length
    assert rates("tram.csv", "tram") == [5e5, 4e6, 4e6]
    assert rates("drives.parquet", "car-1")[24:27] == pytest.approx(
        [1e3 * int(900 + 700 * math.sin(24 / 9 + 1)), 0.0, 0.0]
    )
    assert rates("campaign.parquet", "A") == [8e6, 8e6, 2e6]
    assert rates("campaign.parquet", "B") == [1e6, 3e6]
    assert rates("phone.parquet", "phone") == [4.8e6, 2.4e6]
    assert rates("ns3.parquet", "1") == [1e6, 0.0, 1e6, 0.0, 0.0]
    assert rates("ns3.parquet", "2") == [4e5, 0.0, 0.0, 0.0, 0.0]
    assert rates("sink.parquet", "0") == pytest.approx([2.4e5, 0.0, 0.0, 1.2e5])
    assert rates("sink.parquet", "1") == pytest.approx([0.0, 0.0, 0.0, 1.2e5])
    assert rates("omnetpp.parquet", "0") == [4e5, 0.0, 2.5e5]


def test_the_mean_rate_of_a_drive_is_too_good(folder):
    """For four seeds of five, and on average beyond doubt; with mean rates each upload lasts as by hand."""
    runs = load(folder / "traces" / "studies" / "drive")
    time_s = runs.pivot(index="seed", columns="name", values="time_to_0.9_s")
    assert (time_s["drive"] > time_s["mean rate"]).sum() == 4
    pattern = r"drive: 90 % after # .*; difference: # \[#, #\]"
    printed_s, _, least_s, _ = numbers(finished(folder, "traces", "what_if.py").printed, pattern)
    assert least_s > 0.0
    assert printed_s == pytest.approx(time_s["drive"].mean(), rel=1e-3)
    mean = cosim.Result.load(
        folder / "traces" / "studies" / "drive" / runs[runs["name"] == "mean rate"]["folder"].iloc[0]
    )
    up = mean.transfers[mean.transfers["direction"] == "up"]
    bits = 32 * (64 * 256 + 256 * 10)
    second = np.arange(120)
    for car, own in up.groupby("client"):
        number = int(car[-4:])
        kbps = (900 + 700 * np.sin(second / 9 + number)).astype(int)
        kbps[20 * number + 5 : 20 * number + 15] = 0
        lasts_s = (own["end_s"] - own["start_s"]).to_numpy()
        assert lasts_s == pytest.approx(bits / (1e3 * kbps.mean()), rel=1e-9)


def test_gains_behaviour_and_devices_of_the_page_by_hand(folder):
    """Sums of squares of coefficients; windows in s; three steps on ten samples at 3 times 40 and 20 ms."""
    with np.load(folder / "traces" / "cir_gains.npz") as gains:
        assert gains["gain"] == pytest.approx(np.array([[1.8e-9, 1e-8], [3.4e-9, 1e-8]]), rel=1e-12)
    printed = finished(folder, "traces", "from_behaviour.py").printed
    assert numbers(printed, "client-0000 +#") == [100.0]
    assert numbers(printed, "0 user-1 +# +# +#") == [120.0, 300.0, 600.0]
    printed = finished(folder, "traces", "from_benchmarks.py").printed
    assert numbers(printed, "(?s)client-0000.*?train +#") == [3.6]
    assert numbers(printed, "(?s)client-0001.*?train +#") == [1.8]


# --- Randomness ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "num_claims"), [("streams.py", 4), ("same_tables.py", 4)])
def test_claims_about_streams_come_true(name, num_claims, folder):
    lines = finished(folder, "randomness", name).printed.splitlines()
    assert len(lines) == num_claims
    assert all(line.endswith("True") for line in lines), lines


def test_pairing_pays(folder):
    """Both estimates of the difference are the same, the paired one much sharper."""
    printed = finished(folder, "randomness", "paired.py").printed
    (wide_s, *ends_wide), (narrow_s, *ends_narrow), (difference_s, *ends) = (
        numbers(printed, rf"{label}: # \[#, #\]") for label in ("2 MHz", "1 MHz", "difference, paired")
    )
    assert difference_s == pytest.approx(narrow_s - wide_s, abs=2e-4)
    paired_s, independent_s = numbers(printed, "half width: # s paired, # s as if independent")
    assert paired_s == pytest.approx((ends[1] - ends[0]) / 2, abs=1e-4)
    half_widths_s = [(high - low) / 2 for low, high in (ends_wide, ends_narrow)]
    assert independent_s == pytest.approx(math.hypot(*half_widths_s), abs=2e-4)
    assert paired_s < independent_s / 3


def test_the_stationary_start_needs_no_warm_up(folder):
    """M/M/1 waits rho / (mu - lambda); from empty the second packet waits lambda / (mu (lambda + mu))."""
    printed = finished(folder, "randomness", "warm_up.py").printed
    (long_run_s,) = numbers(printed, "in the long run: # s")
    assert long_run_s == pytest.approx(2.0 / 3.2 / (3.2 - 2.0), abs=1e-4)
    for start, packet, verdict in (
        ("StationaryWork", 2, "agrees"),
        ("StationaryWork", 10, "agrees"),
        ("NoWork", 2, "disagrees"),
        ("NoWork", 10, "disagrees"),
    ):
        mean_s, low_s, high_s = numbers(printed, rf"{start}, packet {packet}: # \[#, #\].*: {verdict}")
        if start == "StationaryWork":
            assert low_s < long_run_s < high_s
        else:
            assert high_s < long_run_s
        if (start, packet) == ("NoWork", 2):
            assert low_s < 2.0 / (3.2 * 5.2) < high_s
        assert low_s < mean_s < high_s


def test_only_intervals_that_know_of_queues_cover(folder):
    """95 of 100 within what chance allows (99.9 %); the textbook's far below."""
    printed = finished(folder, "randomness", "too_narrow.py").printed
    few, most = stats.binom.ppf((0.0005, 0.9995), 100, 0.95)
    for name in ("regeneration cycles", "batch means"):
        (hits,) = numbers(printed, f"{name}: # of 100")
        assert few <= hits <= most
    (hits,) = numbers(printed, "packets taken as independent: # of 100")
    assert hits < few - 20


def test_rare_events_and_verdicts(folder):
    printed = finished(folder, "randomness", "rare.py").printed
    for trials in (100, 10_000):
        (high,) = numbers(printed, rf"0 of {trials}: 0 \[0, #\]")
        assert high == pytest.approx(1.0 - 0.025 ** (1.0 / trials), rel=1e-3)
        assert high == pytest.approx(3.7 / trials, rel=0.03)
    (estimate,) = numbers(printed, "four losses: #")
    assert estimate == pytest.approx(4 / 10_000)
    assert "too noisy: 4 cycles" in printed
    assert re.findall(r"theory .*: (.*)", printed) == ["agrees", "too noisy", "disagrees"]
    assert numbers(printed, "10 points .* each at # %") == [99.5]


# --- Reference ----------------------------------------------------------------------------------------------


def section(heading: str) -> str:
    """The text below a heading of the reference, up to the next."""
    found = re.search(
        rf"^### {re.escape(heading)}$(.*?)(?=^##|\Z)", PAGES["reference"], re.DOTALL | re.MULTILINE
    )
    assert found, heading
    return found[1]


def rows_of(heading: str) -> dict[str, list[str]]:
    """First cell of each row of a section's table -> its other cells."""
    lines = [line for line in section(heading).splitlines() if line.startswith("| `")]
    cells = [re.split(r" \| ", line.strip("| ")) for line in lines]
    return {first.strip("`"): rest for first, *rest in cells}


def test_the_reference_is_what_the_code_says():
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page(), (
        f"make it again: {reference.COMMAND}"
    )


def test_the_matrix_is_what_the_parts_say():
    page = reference.matrix.PAGE.read_text(encoding="utf-8")
    assert page == reference.matrix.with_matrix(page), f"make it again: {reference.COMMAND}"


def test_the_words_are_what_the_code_says():
    assert reference.words.PAGE.read_text(encoding="utf-8") == reference.words.page(), (
        f"make them again: {reference.COMMAND}"
    )


def test_a_word_has_a_meaning_and_one_home():
    meanings = {word: reference.words.meaning(word) for word in reference.words.HOMES}
    assert [word for word, text in meanings.items() if not text.endswith(".")] == []
    assert list(meanings) == sorted(meanings)


def test_the_reference_has_every_field():
    """A walk of its own, over the values of a system of each kind."""
    law = cosim.QueuedLink(service=cosim.queues.Erlang())
    systems = [
        cosim.System(),
        cosim.System(protocol=cosim.HFedAvg(), uplink=law),
        cosim.System(uplink=cosim.Radio(sharing=cosim.radio.OverTheAir(), link=cosim.radio.LinkBudget())),
        cosim.System(devices=cosim.DrawnDevices(tx_power=cosim.devices.PowerRange())),
        cosim.System(protocol=Vhfl(waiting=cosim.waiting.UploadDeadline(upload_deadline_s=1.0))),
        cosim.System(protocol=RawHfl(policy=CommonSteps())),
    ]
    todo, seen = list(systems), set()
    while todo:
        config = todo.pop()
        rows = rows_of(type(config).__name__)
        seen.add(type(config))
        for attribute in attrs.fields(type(config)):
            _, unit, default, what, *_ = rows.pop(attribute.name)
            assert unit == unit_of(attribute.name)
            assert what, attribute.name
            value = getattr(config, attribute.name)
            if is_configuration(type(value)):
                todo.append(value)
            elif attribute.name in ("bandwidth_hz", "num_cells", "learning_rate", "cell_radius_m"):
                assert float(default) == attribute.default
        assert not rows
    assert len(seen) > 12
    assert "LargeScale(environment='uma')" in rows_of("LinkBudget")["large_scale"]


def test_the_reference_has_every_column(folder):
    """Columns of files that were written."""
    run, study = folder / "tutorial/runs/2-mhz", folder / "tutorial/studies/bandwidth"
    kinds = {"float64": "number", "int64": "whole number", "bool": "true or false"}
    for path in (*run.glob("*.parquet"), study / "runs.parquet"):
        rows = rows_of(path.name)
        for column, dtype in pd.read_parquet(path).dtypes.items():
            if str(column).startswith("field."):
                assert "field.PATH" in rows
                continue
            kind, unit, what = rows[str(column)]
            assert kind in (kinds.get(str(dtype), "text"), str(dtype).replace("str", "text")), column
            assert unit == unit_of(str(column))
            assert what
    assert {*cosim.results.summary.Summary._fields, "checksums"} == set(rows_of("summary.json"))
    shown = set(re.findall(r"^\| `([\w.]+)`", PAGES["reference"], re.MULTILINE))
    assert reference.COLUMNS.keys() <= shown


def test_what_the_reference_calls_can_be_called():
    calls = re.findall(r"^\| `((?:analysis|cosim|models)[\w.]+)[(`]", PAGES["reference"], re.MULTILINE)
    assert len(calls) > 60
    assert all(map(resolves, calls))
    assert "`cosim.run(system, network=None, *, out=None" in PAGES["reference"]


def test_the_reference_has_every_option(only_parsed, capsys):
    """Options in the command's own help, of a study and of a reproduction."""
    for words, heading in (
        (["study", "quickstart", "--help"], "cosim study"),
        (["report", "x", "--help"], "cosim report"),
        (["reproduce", "hist-fig9a", "--help"], "cosim reproduce"),
        (["validate", "csi-error", "--help"], "cosim validate"),
    ):
        assert exit_code(words) == 0
        known = set(re.findall(r"`--([\w-]+)[` ]", section(heading)))
        for option in re.findall(r"--([a-z][a-z-]+)", re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)):
            is_field = option in {field.name.replace("_", "-") for field in attrs.fields(cosim.System)}
            assert option in known or option.startswith("no-") or option == "help" or is_field, option


# --- Pages of systems ---------------------------------------------------------------------------------------


def test_the_example_of_a_traffic_table_can_be_read(folder):
    own = folder / "vhfl/my-traffic"
    table = read(own / "traffic.csv", own / "neighbours.csv")
    assert len(table.cells) == 16


def test_a_station_works_on_its_own(folder):
    printed = finished(folder, "vhfl", "station.py").printed
    sim = Simulation(seed=1)
    station = Station(
        sim,
        "path",
        PoissonArrivals(),
        HyperExponential(weights=(0.3, 0.7)),
        StationaryWork(),
        keep_packets=True,
    )
    sim.run(sim.spend("client", "train", 3.0))
    message = station.send("client", num_packets=1)
    sim.run(sim.spend("client", "send", message.done))
    sim.run(sim.spend("client", "wait", 1.0))
    assert station.packets is not None
    (packet,) = (packet for packet in station.packets if packet.sender)
    assert printed == f"sojourn time: {packet.departure_s - packet.arrival_s:.3f} s\n"


def test_a_margin_mends_plans(folder):
    """The share that is lost is the normal tail beyond the margin over the error."""
    lost = [
        float(share)
        for share in re.findall(r"dB: ([0-9.]+) lost", finished(folder, "rawhfl", "margin.py").printed)
    ]
    assert lost == pytest.approx([NormalDist().cdf(-margin) for margin in (0.0, 1.0, 2.0)], abs=0.05)


def test_four_ways_to_train_take_what_closed_forms_say(folder):
    """HIST of 4 equal parts takes a quarter of HFedAvg's time; over the air by eqs. 37 to 39."""
    found = {
        (name, sharing): float(time_s)
        for name, sharing, time_s in re.findall(
            r"(\w+), ([\w-]+): ([0-9.]+) s", finished(folder, "aircomp", "four_ways.py").printed
        )
    }
    for sharing in ("FixedShares", "OverTheAir"):
        assert found["Hist", sharing] == pytest.approx(found["HFedAvg", sharing] / 4, abs=2e-4)
        assert found["HFedAvg", "OverTheAir"] < found["HFedAvg", "FixedShares"]
    # 5 edge rounds: 20 steps of 1e6 cycles on the slowest processor, 1 to 2 GHz, and the airtime.
    sim, names = cosim.Simulation(1), [f"client-{number:04d}" for number in range(30)]
    slowest_hz = min(1e9 + 1e9 * sim.of_client(name, "frequency", uniforms) for name in names)
    airtime_s = (64 * 300 + 300 * 10) * 15e3 / 20e6 / 14e3
    assert found["HFedAvg", "OverTheAir"] == pytest.approx(5 * (20e6 / slowest_hz + airtime_s), abs=1e-4)
