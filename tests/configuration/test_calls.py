"""Calls of a first day: `cosim.run` and studies say what they take, before anything is run."""

from pathlib import Path

import numpy as np
import pytest
import torch

import cosim
from cosim import ConfigurationError, Never, Result, evolve
from cosim.studies.study import Study
from cosim.testing import small_system

SYSTEM = evolve(small_system(), evaluation=Never())
RESULT = cosim.run(SYSTEM)


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        (
            ("quickstart",),
            {},
            "run: system = 'quickstart': must be a System. Use run(System(...)); the",
        ),
        ((cosim.Hist(),), {}, "run: system = Hist: must be a System. Use run(System(protocol=Hist))."),
        ((cosim.System,), {}, "must be a System. Use run(System())."),
        ((), {}, "run: missing a required argument: 'system'. Use run(system, network=..., out="),
        (
            (SYSTEM, "runs/a"),
            {},
            "run: network = 'runs/a': must be a torch.nn.Module, or a function that returns one.",
        ),
        (
            (SYSTEM, Path("runs/a")),
            {},
            "must be a torch.nn.Module, or a function that returns one. Use out= for a folder",
        ),
        (
            (SYSTEM, torch.nn.Linear),
            {},
            "run: network = Linear: a class: must be a torch.nn.Module, or a function that returns one. "
            "Use Linear(...)",
        ),
        ((SYSTEM, None, "runs/a"), {}, "run: too many positional arguments. Use run(system, netw"),
        (
            (SYSTEM,),
            {"output": "a"},
            "run has no argument 'output'. Did you mean out? Known: system, network,",
        ),
        ((SYSTEM,), {"out": 3}, "run: out = 3: must be a text or a path or None."),
        (
            (SYSTEM,),
            {"clock": "event"},
            "must be one of 'auto', 'events', 'arrays'. Did you mean events? Use the",
        ),
        ((SYSTEM,), {"records": "none"}, "run: records = 'none': must be one of 'auto', 'all', 'rounds'."),
        ((SYSTEM,), {"num_workers": "2"}, "run: num_workers = '2': must be a whole number or None."),
        ((SYSTEM,), {"num_workers": 0}, "run: num_workers = 0: must be at least 1. Leave it out."),
        (
            (SYSTEM,),
            {"checkpoint_every": 2.5},
            "run: checkpoint_every = 2.5: must be a whole number or None.",
        ),
        ((SYSTEM,), {"resume": "yes"}, "run: resume = 'yes': must be true or false or one of 'as found'."),
        ((SYSTEM,), {"listener": 3}, "run: listener = 3: must be a function. Leave it out."),
        ((SYSTEM,), {"scenario": "a b"}, "must be a scenario's name, or module:function. Use None;"),
    ],
)
def test_a_run_says_what_it_takes(given, named, message):
    with pytest.raises(ConfigurationError) as refused:
        cosim.run(*given, **named)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        (
            (),
            {},
            "Study: missing a required argument: 'systems'. Use Study(systems, grid=..., seeds=...",
        ),
        (
            (),
            {"system": SYSTEM},
            "Study has no argument 'system'. Did you mean systems? Known: systems, grid,",
        ),
        ((SYSTEM,), {"seed": 3}, "Study has no argument 'seed'. Did you mean seeds?"),
        (([SYSTEM, SYSTEM],), {}, "must be a System, or several by their names. Use {"),
        (("quickstart",), {}, "Study.systems = 'quickstart': must be a System, or several by their names."),
        ((cosim.Hist(),), {}, "Study.systems = Hist: must be a System, or several by their names."),
        ((SYSTEM, ["num_cells"]), {}, "Study.grid = ['num_cells']: must be fields, each with its values."),
        ((SYSTEM, {3: (1, 2)}), {}, "Study.grid = {3: (1, 2)}: must be fields, each with its values."),
        ((SYSTEM,), {"seeds": (4, 5)}, "Use seeds=2 of System(seed=4)."),
        ((SYSTEM,), {"seeds": range(3)}, "Use seeds=3 of System(seed=0)."),
        ((SYSTEM,), {"seeds": 2.0}, "Study.seeds = 2: must be a whole number, how many"),
        ((SYSTEM,), {"seeds": "2"}, "Study.seeds = '2': must be a whole number, how many"),
        ((SYSTEM,), {"seeds": 0}, "Study.seeds = 0: must be at least 1. Use the default, 5."),
        ((SYSTEM,), {"held": True}, "Study.held = True: must be a whole number, how many"),
        (
            (SYSTEM,),
            {"targets": "most"},
            "Study.targets = 'most': must be values of the headline. Use t",
        ),
        ((SYSTEM,), {"targets": None}, "Study.targets = None: must be values of the headline."),
    ],
)
def test_a_study_says_what_it_takes(given, named, message):
    with pytest.raises(ConfigurationError) as refused:
        Study(*given, **named)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({}, "Study.run: missing a required argument: 'out'. Use Study.run(out, scenario=..."),
        ({"out": None}, "Study.run: out = None: must be a text or a path. Use Study.run(out=...)."),
        ({"out": "s", "workers": 2}, "Study.run has no argument 'workers'. Did you mean num_workers?"),
        ({"out": "s", "num_workers": "2"}, "Study.run: num_workers = '2': must be a whole number or None."),
        ({"out": "s", "records": "none"}, "Study.run: records = 'none': must be one of"),
    ],
)
def test_a_run_of_a_study_says_what_it_takes(named, message):
    with pytest.raises(ConfigurationError) as refused:
        Study(SYSTEM).run(**named)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Result.load(3),
            "Result.load: folder = 3: must be a text or a path. Use Result.load(fo",
        ),
        (
            lambda: Result.load(),
            "Result.load: missing a required argument: 'folder'. Use Result.load(fo",
        ),
        (lambda: RESULT.at_target("x"), "Result.at_target: target = 'x': must be a finite number."),
        (
            lambda: RESULT.time_to_target_s(0.5, 1.5),
            "Result.time_to_target_s: held = 1.5: must be a whole numb",
        ),
    ],
)
def test_a_result_says_what_it_takes(call, message):
    with pytest.raises(ConfigurationError) as refused:
        call()
    assert message in str(refused.value)


def test_one_for_many_and_numbers_of_other_libraries_work():
    assert Study(SYSTEM, targets=0.9).targets == (0.9,)
    assert Study(SYSTEM, targets=np.array([0.5, 0.9])).targets == (0.5, 0.9)
    seeds = Study(SYSTEM, seeds=np.int64(2)).seeds
    assert (seeds, type(seeds)) == (2, int)
    for one in (2, np.int64(2)):
        assert [design.system.num_cells for design in Study(SYSTEM, {"num_cells": one}).designs] == [2]
    for two in ((1, 2), [1, 2], range(1, 3), np.array([1, 2]), (np.int64(1), np.int64(2))):
        found = [design.values for design in Study(SYSTEM, {"num_cells": two}).designs]
        assert found == [{"num_cells": 1}, {"num_cells": 2}]
        assert all(type(values["num_cells"]) is int for values in found)
    (design,) = Study(SYSTEM, {"protocol.kind": "Hist"}).designs
    assert type(design.system.protocol) is cosim.Hist
    assert cosim.run(SYSTEM, num_workers=np.int64(1)).summary == cosim.run(system=SYSTEM).summary
