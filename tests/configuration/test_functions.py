"""Which functions a file may name: functions of modules that its reader named. Nothing else is called."""

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import attrs
import pytest
from fixtures.fixes import FIX, has_fix

import cosim
from cosim.configuration import ConfigurationError, Port, from_dict, to_dict
from cosim.configuration.functions import names_of_a_file
from cosim.configuration.kinds import kinds_of
from cosim.data.arrays import Arrays
from cosim.networks.named import network_of
from cosim.system.loading import load_system
from scenarios.command_line import main

WITNESS = '''
"""A module that is loaded for other reasons than a file."""
import test_functions_called as called
from torch import nn

class Meta(type):
    def __getattr__(cls, name):
        called.names.append(f"Meta.{name}")
        raise AttributeError(name)

class Net(nn.Linear, metaclass=Meta):
    def __init__(self, *given):
        called.names.append("Net")
        super().__init__(12, 4)

class Lazy:
    @property
    def part(self):
        called.names.append("part")

lazy = Lazy()

def __getattr__(name):
    called.names.append(f"__getattr__ {name}")
    raise AttributeError(name)

def net(*given):
    called.names.append("net")
    return nn.Linear(12, 4)

system = pictures = train = report = net
'''
OWN = """
import functools, os, subprocess
import numpy as np
from os import abort
from shutil import rmtree
from unittest.mock import Mock
import witness
from witness import net as theirs
from torch import nn

def net():
    return nn.Linear(12, 4)

def noted(function):
    @functools.wraps(function)
    def inner(*given):
        return function(*given)
    return inner

@noted
def decorated():
    return net()

@functools.cache
def cached():
    return net()

class Net(nn.Linear):
    class Inner(nn.Linear):
        pass

    def __init__(self):
        super().__init__(12, 4)

    @staticmethod
    def small():
        return net()

    @classmethod
    def made(cls):
        return cls()

class Builder:
    def __call__(self):
        return net()

    def build(self):
        return net()

brief = lambda: net()
builder = Builder()
bound = builder.build
of_own = functools.partial(net)
of_theirs = functools.partial(abort)
twice = functools.partial(functools.partial(rmtree, "x"))
mock = Mock()
width = 3
loud = witness.lazy
"""


@pytest.fixture
def called(tmp_path, monkeypatch) -> Iterator[list[str]]:
    """Calls of the functions of a loaded module; another module is the user's own."""
    note = ModuleType("test_functions_called")
    note.names = []  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "test_functions_called", note)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own").mkdir()
    for name, text in (
        ("witness.py", WITNESS),
        ("mine.py", OWN),
        ("own/__init__.py", "from own.networks import net\nfrom witness import net as theirs\n"),
        ("own/networks.py", OWN),
    ):
        (tmp_path / name).write_text(text)
    names = ("witness", "mine", "own", "own.networks")
    for name in names:
        importlib.import_module(name)
    note.names.clear()  # type: ignore[attr-defined]
    yield note.names  # type: ignore[attr-defined]
    for name in names:
        sys.modules.pop(name, None)


SMALL = cosim.System(
    num_cells=1,
    num_clients=2,
    model="relu-12-8-4",
    data=cosim.data.Synthetic(),
    protocol=cosim.HFedAvg(
        training=cosim.EdgeTraining(num_edge_rounds=1, steps=cosim.SameSteps(num_local_steps=1))
    ),
    end=cosim.AfterRounds(num_global_rounds=1),
)
TRIES = {
    "model": ({"model": "witness:net"}, None),
    "class": ({"model": "witness:Net"}, None),
    "metaclass": ({"model": "witness:Net.x.y"}, None),
    "property": ({"model": "witness:lazy.part.x"}, None),
    "lazy attribute": ({"model": "witness:no_such"}, None),
    "arrays": ({"data": {"kind": "Arrays", "source": "witness:pictures"}}, None),
    "training": (
        {
            "protocol": {
                "kind": "HFedAvg",
                "training": {
                    "kind": "EdgeTraining",
                    "local": {"kind": "TorchFunction", "function": "witness:train"},
                },
            }
        },
        None,
    ),
    "kind": ({"data": {"kind": "witness:Net"}}, None),
    "kind in a class": ({"data": {"kind": "witness:Net.x"}}, None),
    "kind of a property": ({"data": {"kind": "witness:lazy.part"}}, None),
    "kind of a lazy attribute": ({"data": {"kind": "witness:no_such"}}, None),
    "metric": ({"task": {"kind": "Classification", "metrics": ["witness:Net"]}}, None),
    "metric of a property": ({"task": {"kind": "Classification", "metrics": ["witness:lazy.part"]}}, None),
    "scenario": ({}, "witness:system"),
    "scenario's report": ({}, "witness:no_such"),
    "file": ({"uplink": {"kind": "TracedLink", "trace": {"file": "witness:lazy.part.csv"}}}, None),
}


@pytest.mark.parametrize("way", ["--config", "--resume"])
@pytest.mark.parametrize("attempt", TRIES)
def test_a_file_of_a_stranger_calls_nothing(attempt, way, called, capsys):
    """Not what it names, nor a property, a metaclass or a lazy attribute on the way there."""
    values, scenario = TRIES[attempt]
    Path("run").mkdir()
    config = {"scenario": scenario, "system": to_dict(SMALL) | values}
    Path("run/config.json").write_text(json.dumps(config))
    words = ["run/config.json", "--data-dir", "."] if way == "--config" else ["run"]
    with pytest.raises(SystemExit) as ended:
        main(["run", way, *words, "--quiet"])
    said = capsys.readouterr().err
    assert called == []
    assert ended.value.code == 2, said
    assert said.count("Error: ") == 1
    assert has_fix(said) or "must be one of" in said or "is no metric" in said
    assert not Path("runs").exists()
    if "no such" not in said and attempt in ("model", "arrays", "training", "scenario"):
        assert "--import witness" in said


@pytest.mark.parametrize(
    "text",
    [
        "os:abort",
        "os:__dict__",
        "sys:exit",
        "shutil:rmtree",
        "subprocess:Popen",
        "unittest.mock:Mock",
        "pandas:read_pickle",
        "numpy:fromfile",
        "cosim:run",
        "scenarios.command_line:main",
        "cosim.engine.run.run:run",
        "builtins:exec",
        "__main__:__loader__.get_data",
        "no_such_module:x",
        "a" * 200 + ":x",
        ":x",
        "mine:",
        "mine:net",
    ],
)
@pytest.mark.parametrize("field", ["model", "data", "training"])
def test_what_the_reader_did_not_name_is_refused(field, text, called):
    import subprocess  # noqa: F401
    import unittest.mock  # noqa: F401

    values = {
        "model": {"model": text},
        "data": {"data": {"kind": "Arrays", "source": text}},
        "training": TRIES["training"][0],
    }[field]
    if field == "training":
        values = json.loads(json.dumps(values).replace("witness:train", text))
    with pytest.raises(ConfigurationError, match=FIX) as refused:
        load_system({"system": values})
    assert len(str(refused.value)) < 500


DEFINED = (
    *("net", "decorated", "cached", "Net", "Net.Inner", "Net.small", "Net.made", "brief"),
    *("builder", "builder.build", "bound", "of_own"),
)
OTHERS = {
    "abort": "defined in (posix|nt)",
    "rmtree": "defined in shutil",
    "theirs": "defined in witness",
    "witness.net": "defined in witness",
    "os.abort": "defined in os",
    "np.fromfile": "defined in numpy",
    "subprocess.Popen": "defined in subprocess",
    "Mock": "defined in unittest.mock",
    "mock": "defined in unittest.mock",
    "mock.x": "defined in unittest.mock",
    "of_theirs": "defined in (posix|nt)",
    "twice": "defined in shutil",
    "loud.part": "defined in witness",
    "Net.eval": "defined in torch",
    "Net.mro": "no such function",
    "width": "no such function",
    "nothing": "no such function",
    "__dict__": "no such function",
    "__builtins__.exec": "no such function",
    "net.__globals__": "no such function",
    "__loader__.get_data": "no such function",
}


@pytest.mark.parametrize("module", ["mine", "own.networks"])
@pytest.mark.parametrize("name", DEFINED)
def test_a_file_names_what_is_defined_in_a_named_module(name, module, called):
    system = load_system({"system": {"model": f"{module}:{name}"}}, [module])
    if name not in ("Net.Inner",):
        assert network_of(system.model).out_features == 4
    assert load_system({"system": {"model": f"{module}:{name}"}}, [sys.modules[module]]) == system


@pytest.mark.parametrize("name", OTHERS)
def test_what_a_named_module_only_imports_is_refused(name, called):
    with pytest.raises(ConfigurationError, match=OTHERS[name]):
        load_system({"system": {"model": f"mine:{name}"}}, ["mine"])
    assert called == []


def test_a_package_stands_for_its_submodules_and_not_the_other_way_round(called):
    for text in ("own:net", "own.networks:net"):
        load_system({"system": {"model": text}}, ["own"])
    load_system({"system": {"model": "own.networks:net"}}, ["own.networks"])
    for text, modules in (("own:net", ["own.networks"]), ("own:theirs", ["own"]), ("own:net", ["ow"])):
        with pytest.raises(ConfigurationError, match="a file runs only functions of modules"):
            load_system({"system": {"model": text}}, modules)
    load_system({"system": {"model": "own:theirs"}}, ["own", "witness"])
    assert called == []


def test_main_counts_as_named(called, monkeypatch):
    """In a script, by its own name too, and in a notebook."""
    main_module = ModuleType("__main__")
    exec(OWN, main_module.__dict__)
    main_module.__file__ = "study_of_mine.py"
    monkeypatch.setitem(sys.modules, "__main__", main_module)
    for text in ("__main__:net", "study_of_mine:net", "study_of_mine:Net.small"):
        load_system({"system": {"model": text}})
    for text in ("__main__:abort", "study_of_mine:os.abort"):
        with pytest.raises(ConfigurationError, match="defined in"):
            load_system({"system": {"model": text}})


def test_a_programs_own_words_name_any_function_of_a_loaded_module(called):
    """Written down, they are a file's words, which their reader trusts by naming the module."""
    system = attrs.evolve(SMALL, model="witness:net", evaluation=cosim.ends.EveryVersions())
    result = cosim.run(system, out="a", num_workers=1)
    assert called
    with pytest.raises(ConfigurationError, match="--import witness"):
        load_system(result.config)
    assert load_system(result.config, ["witness"]) == system
    assert from_dict(cosim.System, result.config["system"]) == system
    changed = attrs.evolve(load_system({"system": to_dict(SMALL)}), model="witness:net")
    assert changed == attrs.evolve(SMALL, model="witness:net")


def test_reading_ends_with_the_file(called):
    with suppress(ConfigurationError):
        load_system({"system": {"model": "witness:net"}})
    assert Arrays(source="witness:pictures").source == "witness:pictures"
    with names_of_a_file(["mine"]), pytest.raises(ConfigurationError, match="witness is none of them"):
        Arrays(source="witness:pictures")


def test_named_modules_are_those_of_the_command(called, capsys):
    """By --import, by the scenario, from one command to the next of a process."""
    system = attrs.evolve(SMALL, model="mine:net", evaluation=cosim.Never())
    cosim.run(system, out="a", scenario=None)
    for words, code in (
        (["--import", "mine"], 0),
        (["--import", "mine.py"], 0),
        ([], 2),
        (["--import", "own"], 2),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["run", "--config", "a/config.json", *words, "--quiet"])
        assert ended.value.code == code, capsys.readouterr().err


TEXTS_THAT_NAME_NO_FUNCTION = {
    *("file", "path", "column", "metrics", "personal", "first"),
    *("some_name", "others_name"),
}
"""Of parts: of files, of columns in them and in results, kinds, layers of a network, and names of devices."""


def test_every_text_of_a_part_is_known_to_name_a_function_or_not(called):
    """A new text that names one has the rule `own_function`."""
    checked = set()
    for cls in [cosim.System, *kinds_of(Port)]:
        for attribute in attrs.fields(cls):
            if attribute.type not in (str, str | None, tuple[str, ...]):
                continue
            if attribute.name in TEXTS_THAT_NAME_NO_FUNCTION:
                continue
            with names_of_a_file([]), pytest.raises(ConfigurationError, match="Use --import witness"):
                cls(**{attribute.name: "witness:net"})
            checked.add((cls.__name__, attribute.name))
    assert {("System", "model"), ("Arrays", "source"), ("TorchFunction", "function")} <= checked
    assert called == []
