"""Studies: designs, the same table on any executor, and going on after every kind of end."""

import os
import signal
import sys
from functools import partial
from multiprocessing import forkserver
from pathlib import Path

import pandas as pd
import pytest
import warm
from here import Here

import models
from cosim import (
    AfterRounds,
    ConfigurationError,
    EdgeTraining,
    FixedShares,
    HFedAvg,
    Hist,
    PerClient,
    Radio,
    Result,
    Sgd,
    Simulation,
    System,
    evolve,
    run,
)
from cosim.data import Synthetic
from cosim.protocols import Fractions
from cosim.studies.designs import designs
from cosim.studies.executors import MOST_ATTEMPTS, PRELOADED, pool
from cosim.studies.study import Study
from cosim.system.remarks import Remark
from cosim.training.local_steps import SameSteps
from scenarios import quickstart

BASE = System(
    seed=4,
    num_cells=2,
    num_clients=4,
    model="relu-12-8-4",
    data=Synthetic(),
    protocol=Hist(
        training=EdgeTraining(
            num_edge_rounds=2, steps=SameSteps(num_local_steps=2), local=Sgd(batch_size=10)
        ),
    ),
    end=AfterRounds(num_global_rounds=3),
)
TAKEN = (("time", "_s"), ("energy", "_j"), ("bits_per_client", ""), ("versions", ""))
GRID = {"uplink.sharing.bandwidth_hz": (1e6, 2e6), "num_cells": (1, 2)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Folder of the study of two seeds that nothing has stopped."""
    folder = tmp_path_factory.mktemp("study") / "whole"
    Study(BASE, GRID, 2).run(folder, executor=Here())
    return folder


def bytes_of(folder: Path) -> bytes:
    return (folder / "runs.parquet").read_bytes()


# --- Designs ------------------------------------------------------------------------------------------------


def test_designs_are_every_combination_the_last_field_fastest():
    found = designs({"base": BASE}, GRID)
    assert [design.values for design in found] == [
        {"uplink.sharing.bandwidth_hz": 1e6, "num_cells": 1},
        {"uplink.sharing.bandwidth_hz": 1e6, "num_cells": 2},
        {"uplink.sharing.bandwidth_hz": 2e6, "num_cells": 1},
        {"uplink.sharing.bandwidth_hz": 2e6, "num_cells": 2},
    ]
    assert found[2].system == evolve(BASE, num_cells=1, uplink=Radio(sharing=FixedShares(bandwidth_hz=2e6)))
    assert [design.name for design in found] == [
        "1 MHz, 1 cell",
        "1 MHz, 2 cells",
        "2 MHz, 1 cell",
        "2 MHz, 2 cells",
    ]
    assert [design.name for design in designs({"base": BASE}, {})] == ["base"]


def test_a_kind_may_need_a_value_that_is_changed_with_it():
    """Two values for every client do not fit; with the design's they do."""
    levels_db = [float(level_db) for level_db in range(BASE.num_clients)]
    kind, values = "uplink.link.snr_db.kind", "uplink.link.snr_db.values"
    (fitting,) = designs({"base": BASE}, {kind: ("PerClient",), values: (levels_db,)})
    assert fitting.system.uplink.link.snr_db == PerClient(values=tuple(levels_db))
    (alone,) = designs({"base": BASE}, {kind: ("PerClient",)})
    assert f"2 values for {BASE.num_clients} clients" in alone.error


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"uplink.sharing.bandwith_hz": (1e6,)}, "no field 'bandwith_hz'. Did you mean bandwidth_hz?"),
        ({"num_cells.x": (1,)}, "no field 'x'. Known here: none"),
        ({"num_cells": ()}, "num_cells: has no values"),
        ({"num_cells": (2, 2)}, "given twice"),
        ({"seed": (1, 2)}, "the same seeds. Use --seeds"),
        (
            {"bandwidth_hz": (1e6, "x")},
            'bandwidth_hz = "x": no design can have it. .* must be a finite number',
        ),
        ({"protocol.kind": ("HFedAvg", "Hits")}, 'protocol.kind = "Hits": no design can have it'),
        ({"num_cells": None}, "num_cells = null: no design can have it. .* must be a whole number"),
        ({"uplink.kind": "TracedLink", "uplink.trace.file": "no.csv"}, "there is no file 'no.csv'"),
    ],
)
def test_a_grid_that_cannot_be_is_refused_before_anything_is_written(grid, message, tmp_path):
    with pytest.raises(ConfigurationError, match=message):
        Study(BASE, grid, 2).run(tmp_path / "s", executor=Here())
    assert not (tmp_path / "s").exists()


# --- The table ----------------------------------------------------------------------------------------------


def test_rows_are_those_of_the_runs_on_their_own(tmp_path):
    """Common random numbers: each run is the one that cosim.run makes with that configuration and seed."""
    runs = Study(BASE, GRID, 2, targets=(0.5,)).run(tmp_path / "s", executor=Here())
    assert list(runs["design"]) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert list(runs["seed"]) == [4, 5] * 4
    for row in runs.itertuples():
        system = evolve(
            BASE,
            seed=row.seed,
            num_cells=(1, 2)[row.design % 2],
            uplink=Radio(sharing=FixedShares(bandwidth_hz=(1e6, 2e6)[row.design // 2])),
        )
        alone = run(system, models.build(system.model))
        assert (row.time_s, row.energy_j, row.accuracy) == (
            alone.summary.time_s,
            alone.summary.energy_j,
            alone.summary.scores["accuracy"],
        )
        reached = alone.at_target(0.5)
        took = runs.loc[row.Index, [f"{name}_to_0.5{unit}" for name, unit in TAKEN]]
        assert took.isna().all() if reached is None else tuple(took) == tuple(reached)
        saved = Result.load(tmp_path / "s" / row.folder)
        assert saved.config["system"]["seed"] == row.seed
        pd.testing.assert_frame_equal(saved.spans, alone.spans)
    assert set(runs["status"]) == {"complete"}


def test_the_table_is_the_same_on_any_executor(whole, tmp_path):
    """In this process and in two others; to the last bit."""
    Study(BASE, GRID, 2).run(tmp_path / "two others", num_workers=2)
    assert bytes_of(tmp_path / "two others") == bytes_of(whole)


def test_a_design_that_fails_is_a_row_and_does_not_stop_the_others(tmp_path):
    """One breaks a rule of its class, one only before its clock starts."""
    grid = {"protocol.submodel_sizes.values": ([0.5, 0.5], [0.5, 0.5, 0.5], [0.5, -0.5], [0.25, 0.75])}
    base = evolve(BASE, protocol=evolve(BASE.protocol, submodel_sizes=Fractions()))
    runs = Study(base, grid, 1).run(tmp_path / "s", executor=Here())
    assert list(runs["status"]) == ["complete", "failed", "failed", "complete"]
    assert "ConfigurationError: Fractions.values has 3 values for 2 cells" in runs["error"][1]
    assert "Fractions.values = (0.5, -0.5): must be above 0" in runs["error"][2]
    assert runs["error"][0] == ""


def test_more_seeds_until_they_suffice(tmp_path):
    """Asked when all seeds of a design have ended; at most most_seeds."""
    asked = []

    def enough(own: pd.DataFrame) -> bool:
        asked.append((own["design"][0], len(own)))
        return len(own) >= (3 if own["design"][0] == 0 else 99)

    study = Study(BASE, {"num_cells": (1, 2)}, 2)
    runs = study.run(tmp_path / "s", executor=Here(), enough=enough, most_seeds=4)
    assert list(runs["design"]) == [0] * 3 + [1] * 4
    assert list(runs["seed"]) == [4, 5, 6, 4, 5, 6, 7]
    assert {(0, 2), (0, 3), (1, 2), (1, 3)} <= set(asked)
    assert (1, 4) not in asked


# --- Going on -----------------------------------------------------------------------------------------------


def stops_after(number: int, runs: pd.DataFrame, num_wanted: int) -> None:
    if (runs["status"] != "waiting").sum() == number:
        raise KeyboardInterrupt


@pytest.mark.parametrize("number", [0, 1, 5])
def test_a_stopped_study_goes_on_with_what_is_missing(number, whole, tmp_path, monkeypatch):
    study = Study(BASE, GRID, 2)
    with pytest.raises(KeyboardInterrupt):
        study.run(tmp_path / "s", executor=Here(), listener=partial(stops_after, number))
    finished = [path.name for path in (tmp_path / "s" / "runs").iterdir()]
    clocks, real = [], Simulation.run
    monkeypatch.setattr(Simulation, "run", lambda self, *a: clocks.append(self) or real(self, *a))
    study.run(tmp_path / "s", executor=Here())
    assert len(clocks) == 8 - len(finished)
    assert bytes_of(tmp_path / "s") == bytes_of(whole)


def own():
    """A network of one's own, which `System.model` names."""
    return models.build("relu-12-8-4")


def wider():
    """Another one."""
    return models.build("relu-12-16-4")


def test_runs_of_another_network_are_not_taken_for_its_own(tmp_path, monkeypatch):
    """The function is named by the configuration; where it builds another network, nothing is mixed."""
    base = evolve(BASE, model=f"{__name__}:own")
    first = Study(base, {}, 1).run(tmp_path / "s", executor=Here())
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[__name__], "own", wider)
        other = Study(base, {}, 2).run(tmp_path / "s", executor=Here())
    assert list(other["status"]) == ["failed", "complete"]
    assert "has the network models.relu_network:ReluNetwork" in other["error"].iloc[0]
    again = Study(base, {}, 1).run(tmp_path / "s", executor=Here())
    pd.testing.assert_frame_equal(again, first)


def test_runs_of_a_network_of_ones_own_are_known_by_the_index(tmp_path, monkeypatch):
    """No run is read again, as long as the function builds the same network."""
    study = Study(evolve(BASE, model=f"{__name__}:own"), {"num_cells": (1, 2)}, 2)
    first = study.run(tmp_path / "s", executor=Here())
    monkeypatch.setattr("cosim.studies.study.run_order", None)
    pd.testing.assert_frame_equal(study.run(tmp_path / "s", executor=Here()), first)
    monkeypatch.setattr(sys.modules[__name__], "own", lambda: models.build("relu-12-16-4"))
    asked_again = study.run(tmp_path / "s", executor=Here())
    assert set(asked_again["status"]) == {"failed"}  # of run_order, which is None


def test_a_network_of_ones_own_reaches_other_processes(tmp_path):
    named = Study(evolve(BASE, model=f"{__name__}:own"), {}, 2).run(tmp_path / "named", num_workers=1)
    pd.testing.assert_frame_equal(named, Study(BASE, {}, 2).run(tmp_path / "family", executor=Here()))


def test_a_network_that_there_is_not_is_a_design_that_cannot_run(tmp_path):
    models_of = ("relu-12-8-4", "elsewhere:own", f"{__name__}:nothing")
    runs = Study(BASE, {"model": models_of}, 1).run(tmp_path / "s", executor=Here())
    assert list(runs["status"]) == ["complete", "failed", "failed"]
    assert "the module elsewhere is not loaded" in runs["error"][1]
    assert "no such function" in runs["error"][2]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("bandwidth_hz", "uplink.sharing.bandwidth_hz"),
        ("uplink.sharing.bandwidth_hz", "uplink.sharing.bandwidth_hz"),
        ("num_cells", "num_cells"),
        ("training.num_edge_rounds", "protocol.training.num_edge_rounds"),
        ("training.kind", "protocol.training.kind"),
        ("policy.kind", "protocol.policy.kind"),
        ("theta", "protocol.policy.theta"),
    ],
)
def test_the_end_of_a_path_is_enough_where_it_tells_a_field_from_the_others(name, path):
    """Also of a field that only another kind of a part has, which the grid asks for."""
    kinds = {"protocol.kind": ("RawHfl",)} if "policy" in path else {}
    assert list(Study(BASE, kinds | {name: (1,)}, 1).grid) == [*kinds, path]


def test_an_end_of_several_paths_is_refused_with_the_first_of_them():
    with pytest.raises(
        ConfigurationError,
        match=r"^kind: may be data\.kind or data\.split\.kind or task\.kind or topology\.kind or \d+ others",
    ):
        Study(BASE, {"kind": ("HFedAvg",)}, 1)
    with pytest.raises(ConfigurationError, match=r"given twice"):
        Study(BASE, {"bandwidth_hz": (1e6,), "uplink.sharing.bandwidth_hz": (2e6,)}, 1)


def test_kinds_are_fields_and_keep_what_both_have(tmp_path):
    grid = {
        "protocol.kind": ("Hist", "HFedAvg", "Hits"),
        "protocol.submodel_sizes.kind": ("EqualSizes", "LatencyOptimal"),
    }
    found = designs({"base": BASE}, grid)
    assert [design.name for design in found][:3] == [
        "Hist, EqualSizes",
        "Hist, LatencyOptimal",
        "HFedAvg, EqualSizes",
    ]
    assert [design.error is None for design in found] == [True, True, False, False, False, False]
    assert "HFedAvg has no part 'submodel_sizes'" in str(found[2].error)
    assert "'kind' must be one of FedAsync, FedBuff" in str(found[4].error)
    (_, averaged) = designs({"base": BASE}, {"protocol.kind": ("Hist", "HFedAvg")})
    assert averaged.system is not None
    assert averaged.system.protocol == HFedAvg(training=BASE.protocol.training)
    with pytest.raises(ConfigurationError, match=r"seed\.kind: there is no field|Known here: none"):
        designs({"base": BASE}, {"seed.kind": ("A",)})


def test_another_study_in_the_folder_is_refused(tmp_path):
    Study(BASE, GRID, 1).run(tmp_path / "s", executor=Here())
    before = bytes_of(tmp_path / "s")
    other = evolve(BASE, protocol=HFedAvg(), end=AfterRounds(num_global_rounds=2))
    for study in (
        Study(other, GRID, 1),
        Study(BASE, {"num_cells": (1, 2)}, 1),
        Study(BASE, GRID, 1, targets=(0.5,)),
    ):
        with pytest.raises(ConfigurationError, match="holds another study"):
            study.run(tmp_path / "s", executor=Here())
    assert bytes_of(tmp_path / "s") == before
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "mine").write_text("x")
    with pytest.raises(ConfigurationError, match="exists, and is not a study"):
        Study(BASE, GRID, 1).run(tmp_path / "t", executor=Here())
    # More seeds of the same study go on.
    assert len(Study(BASE, GRID, 2).run(tmp_path / "s", executor=Here())) == 8


def dies_once():
    """A network whose first builder is killed, as by the system for want of memory."""
    marker = Path(os.environ["COSIM_TEST_MARKER"])
    if not marker.exists():
        marker.write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return own()


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_dies_is_replaced_and_its_run_begun_again(tmp_path, monkeypatch):
    monkeypatch.setenv("COSIM_TEST_MARKER", str(tmp_path / "marker"))
    study = Study(evolve(BASE, model=f"{__name__}:dies_once"), {"num_cells": (1, 2)}, 2)
    study.run(tmp_path / "s", num_workers=2)
    assert (tmp_path / "marker").exists()
    study.run(tmp_path / "whole", executor=Here())
    assert bytes_of(tmp_path / "s") == bytes_of(tmp_path / "whole")


@pytest.fixture
def server_of_its_own(monkeypatch):
    """A server of worker processes that is started in the way of users, and has imported nothing."""
    server = forkserver.ForkServer()
    for name in forkserver.__all__:
        monkeypatch.setattr(forkserver, name, getattr(server, name))
    yield
    server._stop()


@pytest.mark.usefixtures("server_of_its_own")
def test_a_worker_begins_with_what_the_first_gradient_imports():
    """The server that it is forked from has imported it once, and passes over a name that it cannot find."""
    found = "{name for name in %r if name in __import__('sys').modules}"
    with pool(None, 1) as processes:
        assert processes().submit(eval, found % (PRELOADED,)).result() == set(PRELOADED)


def test_a_run_that_kills_its_workers_fails_in_the_end(tmp_path):
    runs = Study(evolve(BASE, model=f"{__name__}:dies"), {}, 1).run(tmp_path / "s", num_workers=1)
    assert list(runs["status"]) == ["failed"]
    assert runs["error"][0] == f"its worker died, {MOST_ATTEMPTS} times"


KILLED = """
import os, signal
from cosim.studies.index import Index
add = Index.add
def add_and_die(index, *ended):
    add(index, *ended)
    os.kill(os.getpid(), signal.SIGKILL)
Index.add = add_and_die
"""
"""Ends a study at once and without a word, when one run has ended and others go on."""


def test_killed_it_ends_as_an_uninterrupted_one(tmp_path, processes):
    """The whole command, and the same command again."""
    small = {"end.num-global-rounds": "5", "model": "relu-64-8-10", "num-clients": "8"}
    options = [word for name, value in small.items() for word in (f"--{name}", value)]
    arguments = ["study", "quickstart", "--over", "num_cells=1,2", "--seeds", "2", "--workers", "2", *options]
    words = [*arguments, "--out", str(tmp_path / "s")]
    killed = processes.start(KILLED + warm.COMMAND, words, tmp_path)
    assert killed.wait() == -signal.SIGKILL, killed.err.read_text()
    code, _, errors = processes.command(tmp_path, words)
    assert code == 0, errors
    base = quickstart.system()
    base = evolve(
        base,
        num_clients=8,
        model="relu-64-8-10",
        end=AfterRounds(num_global_rounds=5),
    )
    study = Study(base, {"num_cells": (1, 2)}, 2)
    study.run(tmp_path / "whole", scenario="quickstart", executor=Here())
    assert bytes_of(tmp_path / "s") == bytes_of(tmp_path / "whole")
    for folder in (tmp_path / "whole" / "runs").iterdir():
        for table in folder.glob("*.parquet"):
            other = tmp_path / "s" / "runs" / folder.name / table.name
            assert table.read_bytes() == other.read_bytes(), other


def test_a_study_makes_each_remark_once_before_its_runs(tmp_path):
    study = Study(BASE, {"topology.backhaul_rate_bps": (1e6, 77.0), "num_cells": (1, 2)}, seeds=2)
    said_then = []
    with pytest.warns(Remark, match=r"topology\.backhaul_rate_bps = 77 bit/s is little") as said:
        study.run(
            tmp_path / "a",
            executor=Here(),
            listener=lambda table, done: said_then.append(len(said)),
        )
    assert len(said) == 1
    assert said_then[0] == 1
    assert said[0].filename == __file__
