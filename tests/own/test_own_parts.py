"""Parts of a user's own go everywhere as themselves, or are refused by name before the clock starts.

`own_parts` has one for each extension point that the documentation knows. Each is run in memory, and what
comes out is compared with what a file, a stopped run, a study in other processes and a report make of it.
"""

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import attrs
import numpy as np
import own_parts
import pandas as pd
import pytest
import worlds
from equal import same
from torch import nn

import cosim
import models
from analysis.designs import designs_of
from cosim import Never, configuration
from cosim.configuration import ConfigurationError, from_dict, to_dict
from cosim.configuration.field_types import options_of
from cosim.configuration.going_together import EVERY_UPDATE, ONE_BY_ONE
from cosim.configuration.json_form import check_reloads
from cosim.configuration.kinds import kind_of, kinds_of
from cosim.networks.of_run import network_of
from cosim.studies.study import Study
from scenarios import command_line
from scenarios.command_line import running
from scenarios.papers.rawhfl import CommonSteps, RawHfl, ResourceAware

ROOT = Path(__file__).resolve().parents[2]
BASE = worlds.digits()
TRAINING = BASE.protocol.training
CUT = cosim.Hist(training=TRAINING)
QUEUED = attrs.evolve(BASE, uplink=cosim.QueuedLink())
SHARED = cosim.QueuedLink(paths=cosim.queues.SharedPath(), initial_work=cosim.queues.NoWork())


def trained_by(kind: type) -> cosim.System:
    so_many = {"num_participants": 2} if issubclass(kind, cosim.selection.SomeClients) else {}
    training = attrs.evolve(TRAINING, selection=kind(**so_many))
    return attrs.evolve(BASE, protocol=attrs.evolve(BASE.protocol, training=training))


def waiting_by(rule) -> cosim.HFedAvg:
    return attrs.evolve(BASE.protocol, training=attrs.evolve(TRAINING, waiting=rule))


def planned_by(policy) -> cosim.System:
    usual = worlds.rawhfl(end=cosim.AfterRounds(num_global_rounds=1))
    return attrs.evolve(usual, protocol=attrs.evolve(usual.protocol, policy=policy))


SYSTEMS = {
    "selection": (trained_by(own_parts.Fastest), BASE),
    "waiting selection": (trained_by(own_parts.Patient), BASE),
    "selection by loss": (trained_by(own_parts.Hardest), BASE),
    "uplink": (attrs.evolve(BASE, uplink=own_parts.Constant()), BASE),
    "queued link": (attrs.evolve(BASE, uplink=own_parts.Calm()), QUEUED),
    "service law": (
        attrs.evolve(BASE, uplink=cosim.QueuedLink(service=own_parts.Slow())),
        attrs.evolve(BASE, uplink=cosim.QueuedLink(service=cosim.queues.Exponential())),
    ),
    "waiting": (attrs.evolve(BASE, protocol=waiting_by(own_parts.Grace())), BASE),
    "end": (attrs.evolve(BASE, end=own_parts.Budget()), BASE),
    "evaluation times": (attrs.evolve(BASE, evaluation=own_parts.Even()), BASE),
    "submodel sizes": (
        attrs.evolve(BASE, protocol=attrs.evolve(CUT, submodel_sizes=own_parts.LargeFirst())),
        attrs.evolve(BASE, protocol=CUT),
    ),
    "paths": (attrs.evolve(BASE, uplink=cosim.QueuedLink(paths=own_parts.PerCell())), QUEUED),
    "start": (attrs.evolve(BASE, uplink=cosim.QueuedLink(initial_work=own_parts.RushHour())), QUEUED),
    "discipline": (
        attrs.evolve(BASE, uplink=attrs.evolve(SHARED, discipline=own_parts.LastComeFirstServed())),
        attrs.evolve(BASE, uplink=SHARED),
    ),
    "data": (attrs.evolve(BASE, data=own_parts.Noise()), BASE),
    "split": (attrs.evolve(BASE, data=cosim.Digits(split=own_parts.FirstCome())), BASE),
    "arrays": (
        attrs.evolve(BASE, data=cosim.Arrays(source="own_parts:faded")),
        attrs.evolve(BASE, data=cosim.Digits(split=cosim.data.Iid())),
    ),
    "task": (attrs.evolve(BASE, task=own_parts.Guesses()), BASE),
    "protocol": (
        attrs.evolve(BASE, protocol=own_parts.Rested(training=TRAINING)),
        BASE,
    ),
    "devices": (attrs.evolve(BASE, devices=own_parts.Listed()), BASE),
    "training time": (
        attrs.evolve(BASE, devices=cosim.DrawnDevices(training_time=own_parts.Halting())),
        BASE,
    ),
    "cycles": (attrs.evolve(BASE, cycles=own_parts.Layered()), BASE),
    "downlink": (attrs.evolve(BASE, downlink=own_parts.CableDown(rate_bps=2e5)), BASE),
    "broadcast": (attrs.evolve(BASE, downlink=own_parts.Broadcast()), BASE),
    "policy": (planned_by(own_parts.Rough()), planned_by(CommonSteps())),
    "solver": (
        planned_by(ResourceAware(solver=own_parts.Sparing())),
        planned_by(ResourceAware()),
    ),
}
"""A system with the part, and one with its base."""
PLANNED = ("policy", "solver")
"""They run one global round."""


def run(system: cosim.System, **options) -> cosim.Result:
    return cosim.run(system, models.build(system.model), num_workers=1, **options)


@pytest.fixture(scope="module")
def in_memory() -> dict[str, cosim.Result]:
    return {name: run(system) for name, (system, _) in SYSTEMS.items()}


@pytest.fixture(scope="module")
def of_the_base() -> Callable[[cosim.System], cosim.Result]:
    """The run of a base, which several parts have in common."""
    return cache(run)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_part_of_ones_own_is_not_its_base(name, in_memory, of_the_base):
    """Else nothing below would show anything."""
    own, base = SYSTEMS[name]
    assert to_dict(own) != to_dict(base)
    assert not same(in_memory[name], of_the_base(base))


@pytest.mark.parametrize("name", SYSTEMS)
def test_it_is_itself_from_a_file_and_after_a_stop(name, in_memory, tmp_path, monkeypatch, capsys):
    system, _ = SYSTEMS[name]
    monkeypatch.setattr(running, "save_picture", lambda figure, path: None)
    if name != "task":  # the only one whose columns are its own
        monkeypatch.setattr(running, "overview", lambda result: None)

    def stop(report) -> None:
        if report.version == (0 if name in PLANNED else 1):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(system, out=tmp_path / "stopped", listener=stop)
    for words in (
        ["--config", str(tmp_path / "stopped/config.json"), "--out", str(tmp_path / "again"), "--quiet"],
        ["--resume", str(tmp_path / "stopped"), "--quiet"],
    ):
        with pytest.raises(SystemExit) as ended:
            command_line.main(["run", *words, "--import", "own_parts"])
        assert ended.value.code == 0, capsys.readouterr().err
    for folder in ("again", "stopped"):
        assert same(cosim.Result.load(tmp_path / folder), in_memory[name])


def test_it_is_itself_in_a_study_on_processes_and_in_a_report(in_memory, of_the_base, tmp_path):
    """And a report takes a part and its base for two designs, not for seeds of one."""
    runs = Study({name: own for name, (own, _) in SYSTEMS.items()}, {}, seeds=1).run(tmp_path, num_workers=2)
    assert set(runs["status"]) == {"complete"}, runs["error"].tolist()
    assert runs["name"].tolist() == list(SYSTEMS)
    found = [cosim.Result.load(tmp_path / folder) for folder in runs["folder"]]
    for name, result in zip(SYSTEMS, found, strict=True):
        assert same(result, in_memory[name]), name
    results = []
    for name in ("selection", "queued link"):
        results += [found[list(SYSTEMS).index(name)], of_the_base(SYSTEMS[name][1])]
    assert len(designs_of(results)) == 4


def test_kinds_are_a_field_of_a_study(in_memory, tmp_path):
    grid = {"protocol.training.selection.kind": ("Uniform", "own_parts:Fastest", "own_parts:Patient")}
    runs = Study(BASE, grid, seeds=1).run(tmp_path / "rules", num_workers=1)
    assert list(runs["status"]) == ["complete"] * 3, runs["error"].tolist()
    assert runs["name"].tolist() == ["Uniform", "Fastest", "Patient"]
    for folder, expected in zip(
        runs["folder"],
        (run(BASE), in_memory["selection"], in_memory["waiting selection"]),
        strict=True,
    ):
        assert same(cosim.Result.load(tmp_path / "rules" / folder), expected)


def test_a_new_process_asks_for_the_module_and_then_runs_the_part(in_memory, processes, tmp_path):
    """Reading a file imports only what was asked for."""
    system, _ = SYSTEMS["selection"]
    run(system, out=tmp_path / "run")
    words = [
        "run",
        "--config",
        str(tmp_path / "run/config.json"),
        "--out",
        str(tmp_path / "again"),
        "--quiet",
    ]
    code, _, errors = processes.command(ROOT / "tests/fixtures", words)
    assert code == 2
    assert "own_parts is not loaded" in errors
    assert "--import own_parts" in errors
    assert not (tmp_path / "again").exists()
    code, _, errors = processes.command(ROOT / "tests/fixtures", [*words, "--import", "own_parts"])
    assert code == 0, errors
    assert same(cosim.Result.load(tmp_path / "again"), in_memory["selection"])


def test_options_of_a_part_of_ones_own_change_it_and_keep_it(tmp_path):
    """The parser is made of the classes that there are, not of the ones that fields name."""
    (tmp_path / "config.json").write_text(
        json.dumps({"scenario": None, "system": to_dict(SYSTEMS["selection"][0])})
    )
    words = ["--config", str(tmp_path / "config.json"), "--num-participants", "1"]
    with pytest.raises(SystemExit) as ended:
        command_line.main(["run", *words, "--out", str(tmp_path / "run"), "--quiet"])
    assert ended.value.code == 0
    training = cosim.Result.load(tmp_path / "run").config["system"]["protocol"]["training"]
    assert training["selection"] == {"kind": "own_parts:Fastest", "num_participants": 1}


# --- Every class --------------------------------------------------------------------------------------------

REGISTERED = [
    cls for cls in kinds_of(object) if all(a.default is not attrs.NOTHING for a in attrs.fields(cls))
]


@pytest.mark.parametrize("decorated", [False, True])
@pytest.mark.parametrize("cls", REGISTERED, ids=lambda cls: cls.__name__)
def test_every_class_and_a_subclass_without_fields_come_back_as_themselves(cls, decorated, monkeypatch):
    """Type and value, alone and as a field of another configuration."""
    body = {"__module__": own_parts.__name__, "__qualname__": "Own"}
    own = type("Own", (cls,), body)
    own = configuration.part(own) if decorated else own
    monkeypatch.setattr(own_parts, "Own", own, raising=False)
    for kind in (cls, own):
        again = from_dict(cls, json.loads(json.dumps(to_dict(kind()))))
        assert type(again) is kind
        assert again == kind()
    for holder in REGISTERED:
        for attribute in attrs.fields(holder):
            if cls in options_of(attribute.type):
                held = holder(**{attribute.name: own()})
                again = from_dict(holder, json.loads(json.dumps(to_dict(held))))
                assert type(getattr(again, attribute.name)) is own
                assert again == held


def test_classes_that_need_a_value_come_back_too(tmp_path):
    path = tmp_path / "durations.txt"
    path.write_text("1.0\n2.0\n")
    left_out = [cls for cls in kinds_of(object) if cls not in REGISTERED]
    made = (
        cosim.queues.Empirical(path=str(path)),
        cosim.radio.LargeScale(environment="umi"),
        cosim.PerGroup(values=(1.0, 2.0)),
        cosim.PerClient(values=(3.0,)),
        cosim.training.TorchFunction(function="mine:train"),
        cosim.schedules.ByRound(values=(0.1, 0.01), first_rounds=(1, 11)),
        cosim.schedules.StepDecay(initial=0.1, factor=0.5),
        cosim.schedules.Cosine(initial=0.1, last=0.001, num_rounds=100),
        cosim.schedules.WarmUp(then=cosim.schedules.StepDecay(initial=0.1, factor=0.5), num_rounds=5),
    )
    assert set(left_out) == {type(one) for one in made}
    for one in made:
        assert from_dict(type(one), json.loads(json.dumps(to_dict(one)))) == one


def test_a_class_of_a_script_goes_by_the_name_of_its_module(monkeypatch):
    rule = type("Rule", (cosim.selection.Everyone,), {"__module__": "__main__", "__qualname__": "Rule"})
    main = type(sys)("__main__")
    main.__file__, main.Rule, main.__spec__ = "/somewhere/my_rules.py", rule, None
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert kind_of(rule) == "my_rules:Rule"
    assert type(from_dict(cosim.Selection, to_dict(rule()))) is rule


def test_a_class_that_nobody_finds_again_runs_in_memory_and_is_not_saved(tmp_path):
    class Local(cosim.selection.Everyone):
        """Within a function."""

    system = attrs.evolve(trained_by(Local), evaluation=Never())
    assert run(system).summary.status == "complete"
    for attempt in (
        lambda: run(system, out=tmp_path / "run"),
        lambda: Study(system, {}, seeds=1).run(tmp_path / "study"),
    ):
        with pytest.raises(ConfigurationError, match=r"cannot be saved.*into a module"):
            attempt()
    assert not list(tmp_path.iterdir())


NO_UPLINKS = ("os:system", "own_parts:ConstantLink", "own_parts:Noise", "cosim.engine.run.run:run")


@pytest.mark.parametrize("kind", NO_UPLINKS)
def test_a_kind_that_is_no_such_part_is_refused(kind):
    with pytest.raises(
        ConfigurationError,
        match=r"must be one of GivenRates, Instantaneous, QueuedLink, Radio, TracedLink, (?!Unicast)",
    ):
        from_dict(cosim.System, {"uplink": {"kind": kind}})


# --- Rules, links and weights -------------------------------------------------------------------------------


def test_a_rule_that_chooses_nobody_stops_the_run_and_says_so(tmp_path):
    with pytest.raises(
        ConfigurationError, match=r"NoClients\.participants chose no client in edge-0[01] at 0 s"
    ):
        run(trained_by(own_parts.NoClients), out=tmp_path / "run")
    assert cosim.Result.load(tmp_path / "run").summary.status == "failed"


@pytest.mark.parametrize(
    ("cls", "method", "said"),
    [
        (cosim.HFedAvg, "run", r"HFedAvg\.run"),
        (cosim.HFedAvg, "global_round", "the function of a global round"),
        (cosim.WaitForAll, "wait", r"WaitForAll\.wait"),
    ],
)
def test_a_method_that_returns_no_process_is_refused_by_its_name(cls, method, said, monkeypatch):
    monkeypatch.setattr(cls, method, lambda *given: None)
    with pytest.raises(ConfigurationError, match=f"{said} returned NoneType: must be a process"):
        run(BASE, clock="events")


def test_a_rule_may_wait(in_memory):
    """Two edge rounds in each of two global rounds begin a second after what came before."""
    rounds = in_memory["waiting selection"].rounds
    edge = rounds[(rounds["level"] == "edge") & (rounds["node"] == "edge-00")]
    starts, ends = edge["start_s"].to_numpy(), edge["end_s"].to_numpy()
    assert starts[0] == 1.0
    assert starts[1] - ends[0] == pytest.approx(1.0, abs=1e-12)
    assert (edge["num_participants"] == 4).all()


@pytest.mark.parametrize(
    "choose", [lambda clients: clients[:1] * 2, lambda clients: ["client-0000"], lambda clients: [None]]
)
def test_a_rule_that_chooses_strangers_or_somebody_twice_is_refused(choose, monkeypatch):
    monkeypatch.setattr(
        own_parts.NoClients, "participants", lambda self, sim, edge, coming: choose(edge.clients)
    )
    with pytest.raises(ConfigurationError, match="must be clients of this cell, each once"):
        run(trained_by(own_parts.NoClients))


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (None, "returned None: must be clients of edge-0"),
        (3, "returned 3: must be clients"),
        ("client-0000", "must be clients of edge-0"),
    ],
)
def test_a_rule_that_returns_no_clients_is_refused(returned, words, monkeypatch):
    monkeypatch.setattr(own_parts.NoClients, "participants", lambda *given: returned)
    with pytest.raises(ConfigurationError, match=words):
        run(trained_by(own_parts.NoClients))


@pytest.mark.parametrize("yielded", [5.0, "client"])
def test_a_rule_that_yields_no_event_is_refused(yielded, monkeypatch):
    def rule(self, sim, edge, coming):
        yield yielded

    monkeypatch.setattr(own_parts.NoClients, "participants", rule)
    with pytest.raises(ConfigurationError, match=r"rule yielded .* clock\..*, and return to give a result"):
        run(trained_by(own_parts.NoClients))


def test_clients_may_come_in_any_iterable(monkeypatch, in_memory):
    """Also in one that can be gone through but once, to and fro."""

    def rule(self, sim, edge, coming):
        assert (
            coming.losses(client for client in edge.clients).tolist() == coming.losses(edge.clients).tolist()
        )
        assert len(coming.upload_s(iter(edge.clients))) == len(coming.known_snr(iter(edge.clients))) == 4
        fastest = sorted(edge.clients, key=lambda client: -client.device.frequency_hz)
        return (client for client in fastest[: self.num_participants])

    monkeypatch.setattr(own_parts.NoClients, "participants", rule)
    assert same(run(trained_by(own_parts.NoClients)), in_memory["selection"])


def test_what_a_class_would_lose_is_refused_when_it_is_made():
    """A value without a type, a field without the decorator, a constructor, what an object keeps beside."""

    class Narrow(cosim.FixedShares):
        bandwidth_hz = 1e5

    class Forgotten(cosim.EdgeTraining):
        boost: float = 2.0

    class Constructed(cosim.EdgeTraining):
        def __init__(self, k=1, **fields):
            super().__init__(**fields)

    for make, words in (
        (Narrow, "Narrow.bandwidth_hz: would be ignored"),
        (Forgotten, "Forgotten.boost: would be ignored"),
        (Constructed, r"Constructed.__init__: its values would not be saved"),
        (
            lambda: configuration.part(type("B", (cosim.FixedShares,), {"bandwidth_hz": 1e5})),
            "would be ignored",
        ),
    ):
        with pytest.raises(ConfigurationError, match=words):
            make()
    kept = own_parts.Fastest()
    object.__setattr__(kept, "k", 2)
    with pytest.raises(ConfigurationError, match=r"cannot be saved.*values outside its fields"):
        check_reloads(kept)


def test_a_field_that_files_cannot_hold_is_refused_in_one_sentence():
    made = configuration.part(
        type("Held", (cosim.EdgeTraining,), {"__annotations__": {"f": np.ndarray}, "f": None})
    )
    with pytest.raises(ConfigurationError, match=r"Held\.f = None: a .*ndarray has no form in files"):
        made()


@pytest.mark.parametrize("value", [own_parts.Fastest, own_parts.Fastest()])
def test_a_study_over_objects_asks_for_their_kinds(value):
    with pytest.raises(ConfigurationError, match=r"for a class, protocol\.training\.kind and its name"):
        Study(BASE, {"protocol.training": (value,)}, 1).designs  # noqa: B018


@pytest.mark.parametrize(
    ("words", "said"), [(["--import"], "--import: needs a value"), (["--import", "gone"], "gone")]
)
def test_a_module_that_cannot_be_loaded_is_one_sentence(words, said, tmp_path, monkeypatch, capsys):
    (tmp_path / "gone.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        command_line.main(["run", "quickstart", *words])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_losses_are_those_of_the_clients_own_samples(monkeypatch):
    """Against torch, on the model as it was drawn; and the hardest are chosen."""
    seen = []

    def look(self, sim, edge, coming):
        losses = coming.losses(edge.clients)
        seen.append((losses, [client.samples for client in edge.clients], coming))
        return edge.clients

    monkeypatch.setattr(own_parts.Hardest, "participants", look)
    system = trained_by(own_parts.Hardest)
    run(system)
    losses, samples, coming = seen[0]
    data = system.data.load(cosim.Simulation(1), None)
    network = network_of(system)
    network.load_state_dict(coming.model.settled, strict=True)
    import torch

    for loss, own in zip(losses, samples, strict=True):
        outputs = network(torch.tensor(data.train_x[own]))
        by_torch = nn.functional.cross_entropy(outputs, torch.tensor(data.train_y[own]))
        assert loss == pytest.approx(float(by_torch.detach()), rel=1e-5)


def test_links_are_known_to_rules_as_they_will_be(monkeypatch):
    """Static links over fixed shares: an upload takes exactly as long as was known before it began."""
    known = {}

    def look(self, sim, edge, coming):
        for client, upload_s in zip(edge.clients, coming.upload_s(edge.clients), strict=True):
            known[client.name, coming.job.global_round, coming.job.edge_round] = upload_s
        snr = coming.known_snr(edge.clients)
        share_hz = edge.route.uplink.link.known.share_hz(len(edge.clients))
        bits_per_s = share_hz * np.log2(1.0 + snr)
        assert coming.upload_s(edge.clients) == pytest.approx(coming.payload.bits / bits_per_s, rel=1e-9)
        return edge.clients

    monkeypatch.setattr(own_parts.Hardest, "participants", look)
    transfers = run(attrs.evolve(trained_by(own_parts.Hardest), evaluation=Never())).transfers
    for row in transfers.itertuples():
        expected = known[row.client, row.global_round, row.edge_round]
        assert row.end_s - row.start_s == pytest.approx(expected, rel=1e-9)
    assert len(known) == len(transfers) == 8 * 2 * 2


def test_a_rule_that_reads_losses_is_refused_where_nothing_is_learned():
    with pytest.raises(ConfigurationError, match=r"evaluation = Never: nothing is learned, but .*losses"):
        run(attrs.evolve(trained_by(own_parts.Hardest), evaluation=Never()))


def test_what_is_known_of_links_is_refused_where_there_is_none():
    def asked(system):
        return run(attrs.evolve(system, evaluation=Never()))

    class Curious(cosim.Selection):
        """Asks a queue for its rate."""

        def participants(self, sim, edge, coming):
            coming.upload_s(edge.clients)

    queued = attrs.evolve(trained_by(Curious), uplink=cosim.QueuedLink())
    with pytest.raises(ConfigurationError, match=r"ComingRound.upload_s: asks for .* not known for a Queue"):
        asked(queued)


def test_an_uplink_without_a_link_for_each_cell_is_refused():
    class Short(own_parts.Constant):
        """Forgets a cell."""

        def of_cells(self, sim, cells):
            return super().of_cells(sim, cells)[1:]

    with pytest.raises(ConfigurationError, match=r"Short.of_cells gives 1 links for 2 cells"):
        run(attrs.evolve(BASE, uplink=Short()))


@pytest.mark.parametrize(
    ("word", "protocol", "message"),
    [
        (
            ONE_BY_ONE,
            RawHfl(),
            r"Odd: only the mean of .* arrives, and .*RawHfl needs them one by one",
        ),
        (EVERY_UPDATE, cosim.HFedAvg(), r"Odd: some uploads never end, and .*WaitForAll waits for every one"),
    ],
)
def test_a_protocol_that_an_uplink_of_ones_own_does_not_fit_is_refused(word, protocol, message):
    """An uplink says what it lacks, a protocol what it asks for."""
    odd = type("Odd", (own_parts.Constant,), {"lacks": (cosim.configuration.Lack(word),)})()
    with pytest.raises(ConfigurationError, match=message):
        attrs.evolve(BASE, uplink=odd, protocol=protocol)


class Brought(nn.Module):
    """A network with a layer of zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.last = nn.Linear(64, 8), nn.Linear(8, 10)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, x_BD):
        """Scores."""
        return self.last(self.hidden(x_BD).relu())


def test_a_network_starts_from_its_own_weights_where_it_is_to(tmp_path):
    """Ten classes with scores of 0: a loss of log 10, which drawn weights have not; its hash is kept."""
    own = attrs.evolve(BASE, model="brought", initial_weights="network")
    network = Brought()
    result = cosim.run(own, network, out=tmp_path / "own")
    assert result.evaluations["loss_nats"].iloc[0] == pytest.approx(np.log(10.0), rel=1e-6)
    drawn = cosim.run(attrs.evolve(own, initial_weights="drawn"), network, out=tmp_path / "drawn")
    assert abs(drawn.evaluations["loss_nats"].iloc[0] - np.log(10.0)) > 1e-3
    origin = json.loads((tmp_path / "own/provenance.json").read_text())
    assert origin["initial_weights"] == result.config["network"]["weights"]
    origin = json.loads((tmp_path / "drawn/provenance.json").read_text())
    assert origin["initial_weights"] == "drawn from the seed"


def test_another_network_or_other_weights_do_not_go_on_with_a_run(tmp_path, capsys):
    def stop(report) -> None:
        raise KeyboardInterrupt

    own = attrs.evolve(BASE, initial_weights="network")
    with pytest.raises(KeyboardInterrupt):
        cosim.run(own, Brought(), out=tmp_path / "run", listener=stop)
    with pytest.raises(ConfigurationError, match=r"test_own_parts:Brought.*other weights"):
        cosim.run(own, Brought(), out=tmp_path / "run", resume=True)
    with pytest.raises(ConfigurationError, match=r"has the network test_own_parts:Brought, this one models"):
        run(own, out=tmp_path / "run", resume=True)
    drawn = tmp_path / "drawn"
    cosim.run(BASE, Brought(), out=drawn)
    with pytest.raises(SystemExit) as ended:
        command_line.main(["run", "--config", str(drawn / "config.json"), "--out", str(tmp_path / "again")])
    assert ended.value.code == 2
    assert "has the network test_own_parts:Brought" in capsys.readouterr().err
    assert not (tmp_path / "again").exists()


def test_a_name_brings_no_weights(capsys):
    with pytest.raises(SystemExit) as ended:
        command_line.main(["run", "quickstart", "--initial-weights", "network"])
    assert ended.value.code == 2
    assert "has no weights of its own" in capsys.readouterr().err


def test_a_result_has_the_trained_weights_and_the_network(tmp_path):
    """Its accuracy is that of the last evaluation; a folder gives the same weights."""
    import torch

    result = run(BASE, out=tmp_path / "run")
    data = BASE.data.load(cosim.Simulation(1), None)
    right = result.network(torch.tensor(data.test_x)).argmax(1).numpy() == data.test_y
    assert right.mean() == pytest.approx(result.summary.scores["accuracy"])
    loaded = cosim.Result.load(tmp_path / "run")
    assert loaded.network is None
    for name, values in result.weights.items():
        np.testing.assert_array_equal(loaded.weights[name], values)
        np.testing.assert_array_equal(result.network.state_dict()[name].numpy(), values)
    timing = run(attrs.evolve(BASE, evaluation=Never()))
    assert timing.weights is None
    assert timing.network is None
    assert isinstance(result.spans, pd.DataFrame)
