"""The command `cosim`: what it shows, what it runs, and how it refuses bad input."""

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from cosim import (
    AfterRounds,
    Deadline,
    EdgeTraining,
    FixedShares,
    Hist,
    Never,
    Radio,
    Result,
    Sgd,
    System,
    evolve,
)
from cosim.configuration import Port, from_dict, to_dict
from cosim.configuration.kinds import is_configuration, kinds_of
from cosim.data import Synthetic
from cosim.data.pictures.sets import FASHION_MNIST
from cosim.devices import CyclesPerOperation
from cosim.protocols import Fractions
from cosim.system.other_kinds import parts_by_path
from cosim.tasks import Classification
from cosim.training.local_steps import SameSteps
from cosim.units import unit_of
from scenarios.command_line import main
from scenarios.command_line.catalogue import ROOMS, catalogue, find

ROOT = Path(__file__).parents[2]
TINY = System(
    num_cells=2,
    num_clients=4,
    model="relu-12-8-4",
    data=Synthetic(),
    uplink=Radio(sharing=FixedShares(bandwidth_hz=1e6)),
    protocol=Hist(
        training=EdgeTraining(
            num_edge_rounds=1, steps=SameSteps(num_local_steps=2), local=Sgd(batch_size=10)
        ),
    ),
    end=AfterRounds(num_global_rounds=2),
)
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cosim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command on a wide terminal in an empty folder: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "600")
    monkeypatch.setenv("COLUMNS", "600")

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        output = capsys.readouterr()
        return ended.value.code, output.out, output.err

    return call


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def fields(config: object, prefix: str = "") -> list[tuple[str, object]]:
    """Dotted name and value of every field."""
    found: list[tuple[str, object]] = []
    for attribute in attrs.fields(type(config)):
        value = getattr(config, attribute.name)
        if is_configuration(type(value)):
            found += fields(value, f"{prefix}{attribute.name}.")
        else:
            found.append((prefix + attribute.name, value))
    return found


# What it shows.


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_names_every_command(cosim: Call, arguments: tuple[str, ...]) -> None:
    code, output, errors = cosim(*arguments)
    assert (code, errors) == (0, "")
    for command in ("list", "show", "run", "reproduce", "validate", "data"):
        assert f"cosim {command}" in output


def test_list_names_the_scenarios_and_what_else_can_be_listed(cosim: Call) -> None:
    code, output, errors = cosim("list")
    assert (code, errors) == (0, "")
    assert re.findall(r"^ *cosim (.*?) +│", output, flags=re.MULTILINE) == [
        f"run {n}" for n in catalogue("run")
    ]
    assert all(name in output for name in ("validations", "waiting", "cosim list --all"))


def test_list_of_a_room_has_its_kinds_below_their_ports(cosim: Call) -> None:
    code, output, errors = cosim("list", "radio")
    assert (code, errors) == (0, "")
    names = re.findall(r"^ +(\w+) +│", output, flags=re.MULTILINE)
    assert names[names.index("Sharing") :][:3] == ["Sharing", "FixedShares", "OverTheAir"]
    assert "Equal shares for all participants" in output


def test_list_all_names_everything_with_its_question(cosim: Call) -> None:
    code, output, errors = cosim("list", "--all")
    assert (code, errors) == (0, "")
    kinds = {kind.__name__ for kind in kinds_of(Port)} - {"Port"}
    assert kinds <= {*re.findall(r"^ +(\w+) +│", output, flags=re.MULTILINE)}
    for command in ROOMS:
        for name in catalogue(command):
            (line,) = re.findall(rf"^.*cosim {command} {name} +│.*$", output, flags=re.MULTILINE)
            question = (find(command, name).__doc__ or "").partition("\n")[0]
            assert question in line
            assert len(question) > 20


def page(output: str) -> dict[str, list[str]]:
    """Path -> value, unit, source and other kinds of ours of every row that `show` printed."""
    lines = output.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith(" field "))
    starts = [*(lines[head].index(name) for name in ("field", "value", "unit", "source")), None]
    found: dict[str, list[str]] = {}
    for line in lines[head + 2 :]:
        if not line.strip():
            continue
        if not line.startswith(" "):
            break
        path, *cells = (line[i:j].strip() for i, j in itertools.pairwise(starts))
        if path:
            found[path] = [*cells, ""]
            also = ""
        also += cells[2].removesuffix(",") + ", "
        if "also " in also:
            source, _, kinds = also.partition("also ")
            of_ours = [kind for kind in kinds.removesuffix(", ").split(", ") if ":" not in kind]
            found[list(found)[-1]][2:] = [source.removesuffix(", "), ", ".join(of_ours)]
        else:
            assert path
    return found


KINDS_OF_WHAT_IS_OFF = {
    "task": "Classification, NextToken, Regression",
    "training_time": "ExponentialTime, HalfNormalTime, HyperExponentialTime, LogNormalTime",
    "presence": "OnOff, PresenceWindows",
    "battery": "Battery",
    "large_scale_redrawn": "CoherenceTime, EveryEdgeRound, EveryGlobalRound",
    "message_service": "Deterministic, Empirical, Erlang, Exponential, HyperExponential",
    "model_codec": "BFloat16, Float16",
}


@pytest.mark.parametrize("name", catalogue("run"))
def test_show_gives_every_field_with_unit_and_source(cosim: Call, name: str) -> None:
    code, output, errors = cosim("show", name)
    assert (code, errors) == (0, "")
    shown = page(output)
    for field, value in fields(find("run", name).system()):
        words, unit, source, others = shown.pop(field)
        assert words
        assert unit == unit_of(field.removesuffix(".values"))
        assert source
        assert "[" not in source
        assert "that of the field" not in source
        assert others == (KINDS_OF_WHAT_IS_OFF.get(field.rpartition(".")[2], "") if value is None else "")
        if isinstance(value, int) and not isinstance(value, bool):
            assert words == str(value)
    assert all(words[0].isupper() or words == "none (off)" for words, *_ in shown.values()), "kinds are left"


def test_show_gives_the_kind_of_every_part_and_what_else_it_may_be(cosim: Call) -> None:
    shown = page(cosim("show", "aircomp", "--sharing.kind", "FixedShares", "--num-antennas", "3")[1])
    assert shown["uplink"] == [
        "Radio",
        "",
        "HIST journal, Section IV-A: by radio",
        "GivenRates, Instantaneous, QueuedLink, TracedLink",
    ]
    fixed = "OverTheAir, RedividedShares, ResourceBlocks, SlottedAloha"
    assert shown["uplink.sharing"] == ["FixedShares", "", "HIST journal, Section IV-A: fixed shares", fixed]
    assert shown["uplink.fading.num_antennas"] == ["3", "", "chosen here", ""]
    assert shown["protocol.training"] == ["EdgeTraining", "", "", ""]
    rules = "Adam, Momentum, Proximal, Scaffold, TorchFunction, VerticalSgd"
    assert shown["protocol.training.local"] == ["Sgd", "", "HIST journal, eq. 5: SGD", rules]
    assert shown["uplink.link.snr_db"] == ["PerGroup", "", "", "Column, PerClient"]
    assert shown["uplink.link.snr_db.values"] == ["0", "dB", "chosen in this scenario", ""]
    assert shown["topology"][::3] == ["Disc", "TableTopology"]
    assert page(cosim("show", "hist")[1])["uplink.link.snr_db.values"][2] == "HIST journal, Section VI-C"
    assert page(cosim("show", "aircomp")[1])["uplink.sharing"][2] == "chosen in this scenario"


def test_show_marks_what_the_scenario_chose(cosim: Call) -> None:
    shown = page(cosim("show", "quickstart")[1])
    assert shown["uplink.sharing.bandwidth_hz"][::2] == ["1e+06", "chosen in this scenario"]
    assert shown["uplink.fading.num_antennas"][2] == "HIST journal, Section VI-C"


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("hist", "A local step takes 1e+06 cycles, whatever the network (cycles.step_cycles)"),
        ("rawhfl", "A local step takes 25 to 40 cycles for each bit of the mini-batch, whatever the network"),
        ("vhfl", "A local step takes 5e+08 cycles, whatever the network (cycles.step_cycles)"),
    ],
)
def test_show_says_what_decides_the_cycles_of_a_step(cosim: Call, name: str, rule: str) -> None:
    assert rule in " ".join(cosim("show", name)[1].split())


def test_show_says_which_cycles_follow_the_network(cosim: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    by_flops = evolve(TINY, cycles=CyclesPerOperation())
    monkeypatch.setattr("scenarios.hist.system", lambda: by_flops)
    shown = " ".join(cosim("show", "hist")[1].split())
    assert "A local step takes 0.125 cycles for each floating-point operation" in shown
    assert "whatever the network" not in shown.partition("cycles.cycles_per_flop).")[0].rpartition("┘")[2]


def test_bits_of_a_parameter_say_what_they_leave_alone(cosim: Call) -> None:
    """Help wraps its lines in a box."""
    shown = " ".join(cosim("run", "quickstart", "--help")[1].replace("│", " ").split())
    assert "fewer shorten the upload, and learning stays in float32" in shown


def test_run_help_names_every_field_and_option(cosim: Call) -> None:
    code, output, _ = cosim("run", "quickstart", "--task.kind", "Classification", "--help")
    assert code == 0
    system = System(protocol=Hist(), task=Classification())
    off = {path for path, part, _ in parts_by_path(system) if part is None}
    assert "devices.processor" in off
    for field, _ in fields(system):
        if field in off:
            field += ".kind"  # a part that is off has no fields
        assert re.search(rf"--{re.escape(field.replace('_', '-'))}[ ,]", output)
    for option in ("--out", "--data-dir", "--workers", "--device", "--quiet"):
        assert re.search(rf"{option}[ ,]", output)


@pytest.mark.parametrize("command", ["run", "show", "reproduce", "validate"])
def test_a_command_without_name_says_how(cosim: Call, command: str) -> None:
    code, output, _ = cosim(command)
    assert code == 0
    assert f"usage: cosim {command}" in output


# What it runs.


def test_run_with_the_overrides_of_the_manual(cosim: Call, tmp_path: Path) -> None:
    code, output, errors = cosim(
        *(
            "run",
            "quickstart",
            "--num-cells",
            "2",
            "--uplink.sharing.bandwidth-hz",
            "5e6",
            "--seed",
            "7",
            "--out",
            "X",
        ),
        *("--num-global-rounds", "2", "--num-clients", "6", "--workers", "1"),
    )
    assert code == 0
    assert (tmp_path / "X" / "overview.png").exists()
    assert "2 of 2 rounds" in errors
    assert "Run folder: X" in output
    result = Result.load(tmp_path / "X")
    chosen = find("run", "quickstart").system()
    expected = evolve(
        chosen,
        num_cells=2,
        num_clients=6,
        seed=7,
        uplink=evolve(chosen.uplink, sharing=FixedShares(bandwidth_hz=5e6)),
        end=AfterRounds(num_global_rounds=2),
    )
    assert from_dict(System, result.config["system"]) == expected
    assert result.config["scenario"] == "quickstart"
    assert result.summary.num_global_rounds == 2


def test_runs_without_out_take_the_next_free_folder(cosim: Call, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"scenario": "tiny", "system": to_dict(TINY)}))
    for number in (1, 2):
        assert cosim("run", "--config", "config.json", "--quiet")[0] == 0
        assert Result.load(tmp_path / "runs" / f"tiny-{number}").summary.status == "complete"


def test_options_of_nothing_and_of_lists_reach_the_run(cosim: Call, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"scenario": None, "system": to_dict(TINY)}))
    code, _, errors = cosim(
        *("run", "--config", "config.json", "--out", "X", "--quiet", "--evaluation.kind", "Never"),
        *("--cell-sizes", "1", "3", "--submodel-sizes.kind", "Fractions"),
        *("--submodel-sizes.values", "0.25", "0.75"),
        *("--waiting.kind", "Deadline", "--deadline-s", "0.5"),
    )
    assert (code, errors) == (0, "")
    system = from_dict(System, Result.load(tmp_path / "X").config["system"])
    training = evolve(TINY.protocol.training, waiting=Deadline(deadline_s=0.5))
    assert system == evolve(
        TINY,
        evaluation=Never(),
        cell_sizes=(1, 3),
        protocol=evolve(TINY.protocol, submodel_sizes=Fractions(values=(0.25, 0.75)), training=training),
    )


# What it refuses.

BAND = "--uplink.sharing.bandwidth-hz"
QUICK = ("run", "quickstart", "--out", "X")


def refused(call: tuple[int, str, str], *words: str) -> None:
    """Exit code 2, and one message on standard error, without traceback, that holds these words."""
    code, output, errors = call
    assert code == 2
    assert output == ""
    assert "Traceback" not in errors
    if errors.startswith("Error: "):
        assert errors.count("\n") == 1
    else:
        assert errors.count("For full helptext") == 1
    message = " ".join(errors.replace("│", " ").split())
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(
            ("run", "quickstrat"), ("no scenario 'quickstrat'", "Did you mean quickstart"), id="scenario"
        ),
        pytest.param(("show", "hits"), ("no scenario 'hits'", "Did you mean hist"), id="scenario to show"),
        pytest.param(
            ("validate", "latency"), ("Did you mean round-latency? Known: aircomp-latency",), id="validation"
        ),
        pytest.param(
            ("rnu", "hist"), ("no command 'rnu'. Did you mean run? Known: init, list, show",), id="command"
        ),
        pytest.param(
            ("data", "get", "fashion"), ("no data set 'fashion'", "Did you mean fashion-mnist"), id="data"
        ),
        pytest.param(
            ("data", "cifar10"), ("no command 'data cifar10'. Use cosim data get cifar10",), id="set"
        ),
        pytest.param(
            ("reproduce", "hist-fig3"), ("no reproduction 'hist-fig3'. Did you mean hist-",), id="figure"
        ),
        pytest.param(
            (*QUICK, "--num-celz", "2"), ("no option --num-celz. Did you mean --num-cells?",), id="option"
        ),
        pytest.param(
            (*QUICK, "--bandwith-hz", "2"), ("Did you mean --bandwidth-hz?",), id="end of an option's path"
        ),
        pytest.param(
            (*QUICK, "--num-blocks", "2"),
            ("no option --num-blocks. ResourceBlocks has it: --uplink.sharing.kind ResourceBlocks.",),
            id="option of another kind",
        ),
        pytest.param(
            (*QUICK, "--num-participants", "2"),
            ("BySamples, DeadlineFeasible, ", "RoundRobin, Uniform have it: ", ".selection.kind Uniform."),
            id="option of other kinds",
        ),
        pytest.param(
            ("run", "trace", "--bandwidth-hz", "1e6"),
            ("no option --bandwidth-hz. Radio has it: --uplink.kind Radio.",),
            id="option of a part of another uplink",
        ),
        pytest.param(
            ("run", "trace", "--downlink.bandwidth-hz", "1e6"),
            ("Broadcast has it: --downlink.kind Broadcast.",),
            id="option of another downlink",
        ),
        pytest.param((*QUICK, "--papers-scale"), ("Did you mean --paper-scale?",), id="option anywhere"),
        pytest.param(("run", "--resum", "a"), ("Did you mean --resume?",), id="option without scenario"),
        pytest.param(("study", "hist", "--seedz", "2"), ("Did you mean --seed",), id="option of a study"),
        pytest.param(
            (*QUICK, "--protocol.kind", "Hits"), ("'kind' must be one of", "Did you mean Hist?"), id="kind"
        ),
        pytest.param(
            (*QUICK, "--protocl.kind", "Hist"), ("no part 'protocl'", "Did you mean protocol?"), id="part"
        ),
        pytest.param((*QUICK, "--model", "relo-64-10"), ("Did you mean relu-64-10?",), id="family"),
        pytest.param(("list", "hist"), ("'hist'. Use cosim run hist.",), id="list-scenario"),
        pytest.param(("list", "Oort"), ("'Oort'. Use cosim list selection.",), id="list-kind"),
        pytest.param(("list", "wating"), ("Did you mean waiting? Known: scenarios,",), id="list"),
        pytest.param(("list", "--al"), ("Did you mean --all?",), id="list-option"),
        pytest.param(
            (*QUICK, "--num-cells", "two"),
            ("--num-cells two: must be a whole number", "Use the default, 3."),
            id="type",
        ),
        pytest.param(
            (*QUICK, "--num-cells", "2.5"),
            ("--num-cells 2.5: must be a whole number",),
            id="fraction of a cell",
        ),
        pytest.param(
            (*QUICK, BAND, "-5e6"),
            (f"{BAND}: FixedShares.bandwidth_hz = -5e+06: must be above 0", "Use the default, 1e+06 Hz"),
            id="negative bandwidth",
        ),
        pytest.param((*QUICK, BAND, "nan"), ("= nan: must be a finite number. Use ",), id="no number"),
        pytest.param((*QUICK, BAND, "ten"), ("ten: must be a finite number", "1e+06 Hz"), id="a text"),
        pytest.param(
            (*QUICK, "--outage-probability", "5%"), ("5%: must be a finite number. Use 0.05.",), id="per cent"
        ),
        pytest.param(
            (*QUICK, "--outage-probability", "5"),
            ("must lie from 0 to 1. Use 0.05 for 5 %.",),
            id="a percentage",
        ),
        pytest.param((*QUICK, "--workers", "a"), ("--workers a: must be a whole number",), id="many cores"),
        pytest.param(
            (*QUICK, BAND, "1e-300"),
            ("FixedShares.bandwidth_hz = 1e-300", "1e-30", "Check the unit"),
            id="vanishing bandwidth",
        ),
        pytest.param((*QUICK, "--num-clients", "0"), ("System.num_clients = 0",), id="no clients"),
        pytest.param(
            (*QUICK, "--num-cells", "25"),
            ("System.num_cells = 25", "is more than num_clients = 24", "Use at most 24."),
            id="is more than num_clients",
        ),
        pytest.param(
            (*QUICK, "--num-cells", "9", "--model", "relu-64-8-10"),
            ("9 cells for the 8 units", "Use fewer cells or a wider layer"),
            id="more cells than units",
        ),
        pytest.param(
            (*QUICK, "--deadline-s", "0"),
            ("Deadline.deadline_s = 0: must be at least 1e-9, a nanosecond.", "Use the default, 0.022 s."),
            id="deadline",
        ),
        pytest.param(
            (*QUICK, "--selection.kind", "Uniform", "--num-participants", "9"),
            ("Uniform.num_participants = 9", "the smallest cell has 8 clients"),
            id="participants",
        ),
        pytest.param(
            ("run", "hist", "--out", "X", "--data-dir", "nowhere"),
            ("--data-dir = ", "nowhere is no folder"),
            id="missing data",
        ),
        pytest.param((*QUICK, "--model", "relu-784-300-10"), ("64 features",), id="features of another set"),
        pytest.param(
            (*QUICK, "--model", "relu-64-32-9"), ("(1, 9)", "(1, 10)", "Classification"), id="classes"
        ),
        pytest.param((*QUICK, "--model", "cnn-64-10"), ("System.model", "'cnn-64-10'"), id="network"),
        pytest.param(
            (*QUICK, "--model", "relu-64-99999999999999999999-10"),
            ("System.model", "too large"),
            id="endless network",
        ),
        pytest.param((*QUICK, "--workers", "0"), ("num_workers = 0", "at least 1"), id="workers"),
        pytest.param((*QUICK, "--device", "tpu"), ("'tpu'", "cpu, cuda"), id="device"),
        pytest.param(("run", "--config", "no.json"), ("--config no.json", "No such file"), id="no config"),
    ],
)
def test_bad_input_is_one_message_and_leaves_no_folder(
    cosim: Call, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    refused(cosim(*arguments), *words)
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{not json", ("cannot be read as JSON", "Use a run's config.json")),
        ("", ("cannot be read as JSON",)),
        ("[" * 100_000, ("cannot be read as JSON",)),
        ("\ud800", ("cannot be read as JSON",)),
        ("[1, 2]", ("a list in place of an object",)),
        ("{}", ("no 'system' in it",)),
        ('{"system": 3}', ("System = 3", "must be an object")),
        ('{"scenario": "../../elsewhere", "system": {}}', ("scenario = '../../elsewhere'",)),
        ('{"scenario": {"a": 1}, "system": {}}', ("scenario = {'a': 1}",)),
        ('{"system": {}, "sytem": {}}', ("unknown 'sytem'",)),
        ('{"system": {"num_cell": 2}}', ("System has no field 'num_cell'", "Did you mean num_cells?")),
        ('{"system": {"num_cells": "2"}}', ("System.num_cells = '2'", "whole number")),
        ('{"system": {"num_cells": true}}', ("System.num_cells = True", "whole number")),
        (
            '{"system": {"codec": {"kind": "Uncompressed", "bits_per_parameter": -1}}}',
            ("Uncompressed.bits_per_parameter = -1", "at least 1", "Use the default, 32"),
        ),
        (
            '{"system": {"topology": {"kind": "Disc", "cell_radius_m": NaN}}}',
            ("Disc.cell_radius_m = nan", "finite"),
        ),
        (
            '{"system": {"protocol": {"kind": "Hits"}}}',
            ("'kind' must be one of FedAsync, FedBuff", "Did you mean Hist?"),
        ),
        ('{"system": {"initial_weights": "dawn"}}', ("no such choice", "Did you mean drawn?")),
    ],
)
def test_bad_config_is_one_message_and_leaves_no_folder(
    cosim: Call, tmp_path: Path, content: str, words: tuple[str, ...]
) -> None:
    (tmp_path / "config.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    refused(cosim("run", "--config", "config.json", "--out", "X"), "--config config.json", *words)
    assert files(tmp_path) == ["config.json"]


def test_damaged_data_file_is_named(cosim: Call, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for path in FASHION_MNIST.files.paths(tmp_path / "data"):
        path.write_bytes(b"\x00\x00\x08\x03 not the published content")
    before = files(tmp_path)
    refused(
        cosim("run", "hist", "--data-dir", "data", "--out", "X"),
        "train-images-idx3-ubyte",
        "Remove",
    )
    assert files(tmp_path) == before


def test_existing_run_folder_is_refused(cosim: Call, tmp_path: Path) -> None:
    (tmp_path / "X").mkdir()
    (tmp_path / "X" / "mine").write_text("mine")
    refused(cosim(*QUICK), "out = X: exists", "Use another --out")
    assert files(tmp_path) == ["X", "X/mine"]


def test_out_under_a_file_is_refused(cosim: Call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    refused(
        cosim("run", "quickstart", "--out", "file/X"), "file/X: cannot be written", "Use a folder of yours"
    )
    assert files(tmp_path) == ["file"]


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("run", "quickstart", "--num-cells", "0", "--out", "X"), 2, "System.num_cells = 0"),
        (
            ("run", "quickstart", "--cycles.step-cycles", "-1", "--out", "X"),
            2,
            "step_cycles = -1: must be above",
        ),
    ],
)
def test_a_real_process_refuses_as_well(
    tmp_path: Path, arguments: tuple[str, ...], code: int, word: str
) -> None:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    ended = subprocess.run(
        [sys.executable, "-c", "from scenarios.command_line import main; main()", *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == code
    assert word in ended.stderr
    assert "Traceback" not in ended.stderr
    assert files(tmp_path) == []


LONG = ("abcdefgh" * 50, "ab cd ef " * 50)
"""Names that a user may have pasted, without blanks and with some."""


@pytest.mark.parametrize("name", LONG, ids=["one word", "words"])
@pytest.mark.parametrize(
    "words",
    [
        "NAME",
        "run NAME",
        "run NAME.py",
        "run NAME:system",
        "run quickstart --NAME 1",
        "run quickstart --import NAME",
        "run quickstart --seed NAME",
        "run quickstart --model NAME",
        "run quickstart --model NAME:x",
        "run quickstart --model os:NAME",
        "run quickstart --data.kind NAME",
        "run quickstart --data.kind NAME:x",
        "run quickstart --NAME.kind x",
        "run quickstart --clock NAME",
        "run quickstart --target NAME",
        "run --config NAME",
        "run --resume NAME",
        "show NAME",
        "study quickstart --over NAME",
        "study quickstart --over NAME=1",
        "study quickstart --design NAME:x=1",
        "study quickstart --design a:NAME=1",
        "study quickstart --timing-only --executor NAME",
        "study quickstart --timing-only --precision NAME=1%",
        "report NAME",
        "plot NAME --kind NAME",
        "plot a --width NAME",
        "reproduce NAME",
        "validate NAME",
        "data NAME",
        "list NAME",
    ],
)
def test_a_name_that_was_typed_is_shown_with_80_letters_at_most(words, name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main([word.replace("NAME", name) for word in words.split()])
    said = " ".join(capsys.readouterr().err.split())
    assert ended.value.code == 2, said
    assert name[:81] not in said
    assert said.startswith("Error: ")
