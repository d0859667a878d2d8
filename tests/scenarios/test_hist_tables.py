"""The reproductions of Tables I to III: what they run, count, write, claim and refuse."""

import importlib
import math
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import pandas as pd
import pytest
import torch
from transformers import GPT2TokenizerFast

import cosim
import models
from cosim.data.texts import newsgroups_files as newsgroups
from cosim.records import Evaluation, Transfer
from cosim.row_groups import RowGroups
from cosim.trace import Trace
from scenarios.command_line import main, playing
from scenarios.command_line.console import console
from scenarios.reproduce.figures import Options
from scenarios.reproduce.hist import stand_in_texts
from scenarios.reproduce.hist import tables as hist_tables
from scenarios.reproduce.hist.figures import DEALT
from scenarios.reproduce.hist.tables import NAMES, bits_to, grid_claim, label, upload_bits

TABLES = {
    f"hist-table{number}": importlib.import_module(f"scenarios.reproduce.hist.table{number}")
    for number in (1, 2, 3)
}
Patch = pytest.MonkeyPatch
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def usual_places(tmp_path: Path, monkeypatch: Patch):
    """A wide terminal, no weights of GPT-2, few texts; what a reproduction sets is undone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console, "width", 600)
    monkeypatch.setenv("COSIM_GPT2", "")
    monkeypatch.setattr(stand_in_texts, "_NUM_MESSAGES", {newsgroups.TRAIN: 12, newsgroups.TEST: 4})


@pytest.fixture
def reproduce(capsys: pytest.CaptureFixture[str]) -> Call:
    """`cosim reproduce`: exit code, output, errors."""

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["reproduce", *map(str, arguments)])
        output = capsys.readouterr()
        return ended.value.code, output.out, output.err  # type: ignore[return-value]

    return call


def reached(accuracies: list[float]) -> cosim.Result:
    """Two clients, each of which sends 100 bits before every evaluation but the first."""
    trace = Trace()
    for number, accuracy in enumerate(accuracies):
        scores = {"accuracy": accuracy, "loss_nats": 1.0}
        trace.record(Evaluation(float(number), number, scores, cosim.Classification().measures()))
        for client in ("a", "b") if number else ():
            sent = Transfer(client, "edge", number, 0, number - 0.5, float(number), 100, 100.0, True)
            trace.record(sent)
    return cosim.Result.of(RowGroups(trace, 2), {}, "complete", 1.0)


# --- bits and what the paper counts ---


@pytest.mark.parametrize(
    ("accuracy", "bits"),
    [(0.1, 0.0), (0.6, 100.0), (0.7, 200.0), (0.71, 400.0), (0.72, 400.0), (0.73, None)],
)
def test_bits_are_those_of_the_first_evaluation_that_reaches(accuracy, bits):
    assert bits_to(reached([0.1, 0.65, 0.7, 0.5, 0.72, 0.69]), accuracy) == bits


def test_diverged_training_reaches_nothing():
    assert bits_to(reached([math.nan, math.nan]), 0.0) is None


def test_the_papers_entries_are_multiples_of_uploads_of_these_networks():
    claims = {name: grid_claim(table.TABLE) for name, table in TABLES.items()}
    assert {name: claim.agrees for name, claim in claims.items()} == {
        "hist-table1": True,
        "hist-table2": True,
        "hist-table3": False,
    }
    assert "1.6947 MB; of 8 entries 8 are" in claims["hist-table1"].ours
    assert "0.4358 GB; of 8 entries 8 are" in claims["hist-table2"].ours
    assert claims["hist-table3"].ours.endswith("2.2500 MB; of 8 entries 7 are, all but 177.45")
    assert {table.TABLE.multiple_bits for table in TABLES.values()} == {
        10 * 32 * 44_426,
        10 * 32 * (11_689_512 + 9_600),
        32 * 12 * 16 * (768 + 2304),
    }


@pytest.mark.parametrize(
    ("name", "step", "step_bits"),
    [
        pytest.param("hist-table1", 1.69, 10 * upload_bits(models.build("lenet5padded-10")), id="bits only"),
        pytest.param("hist-table1", 2.354, 10 * upload_bits(models.build("lenet5padded-10")), id="padded"),
        pytest.param("hist-table1", 3.38, 20 * 32 * 44_426, id="twenty uploads"),
        pytest.param("hist-table1", 1.778, 10 * 32 * 46_606, id="another network"),
        pytest.param("hist-table2", 1.308, 30 * 32 * 11_699_112, id="thirty uploads of ResNet-18"),
        pytest.param("hist-table2", 0.4166, 10 * 32 * 11_183_562, id="ten outputs"),
        pytest.param("hist-table3", 4.50, 64 * 12 * 16 * 3072, id="two uploads of adapters"),
        pytest.param("hist-table3", 2.309, 32 * (12 * 16 * 3072 + 20 * 768), id="a head that travels"),
    ],
)
def test_another_step_is_found_out(name, step, step_bits):
    table = TABLES[name].TABLE
    table = attrs.evolve(table, entries=without(table.entries, 177.45))
    assert grid_claim(table).agrees
    assert not grid_claim(attrs.evolve(table, multiple=step, multiple_bits=step_bits)).agrees


def without(entries, odd: float):
    """The entries, with one that is no multiple made 0."""
    return {
        accuracy: {split: tuple(0.0 if n == odd else n for n in numbers) for split, numbers in splits.items()}
        for accuracy, splits in entries.items()
    }


# --- claims ---


@pytest.mark.parametrize(
    ("hist", "hfedavg", "agrees", "words"),
    [
        ([0.1, 0.7], [0.1, 0.1, 0.7], True, "100 against 200"),
        ([0.1, 0.1, 0.7], [0.1, 0.7], False, "200 against 100"),
        ([0.1, 0.7], [0.1, 0.7], False, "100 against 100"),
        ([0.1, 0.7], [0.1, 0.6], True, "100 against not reached"),
        ([0.1, 0.6], [0.1, 0.7], False, "not reached against 100"),
        ([0.1, 0.6], [0.1, 0.6], False, "not reached against not reached"),
    ],
    ids=["less", "more", "equal", "HFedAvg never", "HIST never", "neither"],
)
@pytest.mark.parametrize("name", ["hist-table1", "hist-table2"])
def test_claims_compare_and_required_ones_decide(
    name, hist, hfedavg, agrees, words, reproduce, monkeypatch, tmp_path
):
    """Table I requires N = 4 on fully non-i.i.d. data; Table II, whose quick form stands in, nothing."""
    table, results = TABLES[name], {"HIST": reached(hist), "HFedAvg": reached(hfedavg)}
    is_required = name == "hist-table1"
    monkeypatch.setattr(
        hist_tables, "play_all", lambda figure, systems, options: {k: results[k.split()[0]] for k in systems}
    )
    quick = table.setting
    monkeypatch.setattr(
        table, "setting", lambda options: attrs.evolve(quick(options), cells=(4,), accuracies=(0.7,))
    )
    monkeypatch.setattr(table, "TABLE", attrs.evolve(table.TABLE, unit="MB"))
    monkeypatch.setattr(hist_tables.PaperTable, "unit_bits", property(lambda self: 1))
    code, out, _ = reproduce(name, "--quick", "--out", tmp_path)
    assert code == int(is_required and not agrees)
    (line,) = [line for line in out.splitlines() if "HIST needs less" in line]
    verdict = "agrees" if agrees else "DISAGREES" if is_required else "does not show"
    assert [cell.strip() for cell in line.strip("│").split("│")] == [
        "fully non-i.i.d., N = 4, to 70 %: HIST needs less upload than HFedAvg",
        f"{words} MB",
        verdict,
    ]


# --- what is run ---


class Seen(BaseException):
    """Ends a reproduction before it runs anything."""


def systems_of(name: str, monkeypatch: Patch, options: Options) -> dict[str, cosim.System]:
    seen: dict[str, cosim.System] = {}

    def look(figure, systems, options):
        seen.update(systems)
        raise Seen

    monkeypatch.setattr(hist_tables, "play_all", look)
    with pytest.raises(Seen):
        TABLES[name].main(options)
    return seen


@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
@pytest.mark.parametrize("name", TABLES)
def test_hist_and_hfedavg_differ_in_what_a_cell_trains_alone(name, quick, tmp_path, monkeypatch, capsys):
    options = Options(quick=quick, out=tmp_path, seed=7)
    setting = TABLES[name].setting(options)
    systems = systems_of(name, monkeypatch, options)
    cells = (4,) if quick and name == "hist-table1" else (2, 4)
    splits = ("shards",) if quick else ("shards", "cell-iid")
    assert list(systems) == [label(n, cells_, split) for split in splits for cells_ in cells for n in NAMES]
    for split in splits:
        for num_cells in cells:
            hist, hfedavg = (systems[label(name, num_cells, split)] for name in NAMES)
            assert isinstance(hist.protocol, cosim.Hist)
            assert isinstance(hfedavg.protocol, cosim.HFedAvg)
            assert hist.protocol.training == hfedavg.protocol.training
            assert hist.protocol.training.num_edge_rounds == 5
            assert hist.protocol == cosim.Hist(training=hist.protocol.training)
            assert hist.end.num_global_rounds == setting.rounds["HIST", num_cells]
            assert hfedavg.end.num_global_rounds == setting.rounds["HFedAvg", num_cells]
            assert hist.end.num_global_rounds > hfedavg.end.num_global_rounds
            assert (hist.num_cells, hist.data.split, hist.seed) == (num_cells, DEALT[split], 7)
            assert cosim.evolve(hist, protocol=hfedavg.protocol, end=hfedavg.end) == hfedavg
    training, num_clients = hist.protocol.training, hist.num_clients
    if quick and name != "hist-table1":
        printed = " ".join(capsys.readouterr().out.split())
        assert f"40 clients by {num_clients}" in printed
        assert f"by {training.steps.num_local_steps}" in printed
        assert f"by {training.local.learning_rate:g}" in printed
        return
    assert num_clients == 40
    if not quick:
        assert set(setting.accuracies) == set(TABLES[name].TABLE.entries)
        num_samples = {"hist-table1": 60_000, "hist-table2": 50_000}.get(name, 40 * 40 * 8 // 2)
        assert training.steps.num_local_steps == 2 * num_samples // 40 // training.local.batch_size
        assert not setting.replaced


def resnet_values(width: int, share: float) -> float:
    """Values of a part of the quick network by hand, four running or trained ones of every normalisation."""
    values, num_in = 9 * width + 4 * width, width
    for stage in range(4):
        out = width * 2**stage
        inner = out * share
        for first in (True, False):
            values += 9 * (num_in if first else out) * inner + 4 * inner + 9 * inner * out + 4 * out
        values += num_in * out + 4 * out if stage else 0
        num_in = out
    return values + 10 * num_in + 10


@pytest.mark.parametrize("name", TABLES)
def test_every_upload_counts_what_it_holds(name, tmp_path, monkeypatch, request):
    """LeNet-5's convolutions and last layers whole, statistics of ResNet, ranks of the adapters."""
    if name == "hist-table1":
        request.getfixturevalue("fashion_mnist")
    options = Options(quick=True, out=tmp_path)
    systems = systems_of(name, monkeypatch, options)
    hist = {
        "hist-table1": {4: 3_506 + 341 * 30},
        "hist-table2": {2: resnet_values(8, 0.5), 4: resnet_values(8, 0.25)},
        "hist-table3": {2: 2 * 8 * (64 + 192), 4: 2 * 4 * (64 + 192)},
    }[name]
    whole = {"hist-table1": 44_426, "hist-table2": resnet_values(8, 1.0), "hist-table3": 2 * 16 * 256}[name]
    for title, system in systems.items():
        played = cosim.run(
            cosim.evolve(system, evaluation=cosim.Never(), end=cosim.AfterRounds(num_global_rounds=1)),
            models.build(system.model),
            data_dir=tmp_path / "stand-in" if name == "hist-table3" else None,
        )
        values = hist[system.num_cells] if title.startswith("HIST") else whole
        assert set(played.transfers["payload_bits"]) == {32 * values}, title
        assert played.summary.bits_per_client == pytest.approx(5 * 32 * values, rel=1e-12)


# --- a whole reproduction ---


def shrink(name: str, monkeypatch: Patch) -> None:
    """Four clients, few global rounds of one edge round, dense networks where there are pictures."""
    table = TABLES[name]
    real = table.setting

    def tiny(options: Options) -> hist_tables.Setting:
        setting = real(options)
        num_steps, batch_size, num_rounds = (20, 50, 4) if name in DENSE else (1, 2, 2)
        training = cosim.EdgeTraining(
            num_edge_rounds=1,
            steps=cosim.SameSteps(num_local_steps=num_steps),
            local=cosim.Sgd(batch_size=batch_size, learning_rate=0.2),
        )
        model = DENSE.get(name, setting.base.model)
        base = attrs.evolve(setting.base, model=model, num_clients=4, protocol=cosim.Hist(training=training))
        rounds = dict.fromkeys(setting.rounds, num_rounds)
        return attrs.evolve(setting, base=base, rounds=rounds, accuracies=ACCURACIES)

    monkeypatch.setattr(table, "setting", tiny)


DENSE = {"hist-table1": "relu-784-20-10", "hist-table2": "mlp-64-20-10"}
ACCURACIES = (0.3, 0.7)


def uploaded(folder: Path, accuracy: float) -> float:
    """Bits per client to an accuracy, counted from the uploads of a run folder; NaN: not reached."""
    result = cosim.Result.load(folder)
    for row in result.evaluations.itertuples():
        if row.accuracy >= accuracy:
            before = result.transfers[result.transfers["end_s"] <= row.time_s]
            return before["sent_bits"].sum() / 4
    return math.nan


@pytest.mark.parametrize("name", TABLES)
def test_a_reproduction_leaves_table_picture_and_runs(name, reproduce, monkeypatch, tmp_path, request):
    if name == "hist-table1":
        request.getfixturevalue("fashion_mnist")
    shrink(name, monkeypatch)
    out = tmp_path / "out"
    code, printed, _ = reproduce(name, "--quick", "--out", out)
    cells = (4,) if name == "hist-table1" else (2, 4)
    table, unit = pd.read_csv(out / f"{name}.csv"), "GB" if name == "hist-table2" else "MB"
    paper = {(0.7, "HIST"): 8.08, (0.7, "HFedAvg"): 20.28} if name == "hist-table1" else {}
    keys = [(a, n, algorithm) for a in ACCURACIES for n in cells for algorithm in NAMES]
    assert list(zip(table["accuracy"], table["num_cells"], table["algorithm"], strict=True)) == keys
    assert set(table["split"]) == {"shards"}
    for (accuracy, num_cells, algorithm), row in zip(keys, table.itertuples(), strict=True):
        bits = uploaded(out / "runs" / f"{algorithm}_N{num_cells}_shards", accuracy)
        ours, theirs = row[5:7]
        assert ours == pytest.approx(bits / (8 * 2**30 if unit == "GB" else 8 * 2**20), nan_ok=True)
        assert theirs == pytest.approx(paper.get((accuracy, algorithm), math.nan), nan_ok=True)
    assert list(table.columns[4:]) == [f"upload_{unit}", f"paper_{unit}"]
    assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert len(list((out / "runs").iterdir())) == 2 * len(cells)
    amounts = table[f"upload_{unit}"]
    assert amounts.isna().any()
    assert "not reached" in printed
    assert amounts.gt(0.0).any() or name not in DENSE
    assert ("replaces" in printed) == (name != "hist-table1")
    hist, hfedavg = amounts[::2].fillna(math.inf).to_numpy(), amounts[1::2].fillna(math.inf).to_numpy()
    assert code == int(name == "hist-table1" and not (hist < hfedavg).all())


def test_a_stopped_reproduction_goes_on_and_ends_where_a_whole_one_does(reproduce, monkeypatch, tmp_path):
    """Ctrl-C in the second of four runs."""
    name = "hist-table2"
    shrink(name, monkeypatch)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert reproduce(name, "--quick", "--out", whole)[0] == 0
    played: list[tuple[str, bool]] = []
    real, stops = playing.run, [False, True]

    def run(system, network, **options):
        was_there = options["out"].exists()

        def listener(report):
            if report.version == 1:
                played.append((options["out"].name, was_there))
            if report.version == 2 and stops and stops.pop(0):
                raise KeyboardInterrupt

        return real(system, network, listener=listener, **options)

    monkeypatch.setattr(playing, "run", run)
    code, _, errors = reproduce(name, "--quick", "--out", stopped)
    assert (code, stops) == (130, [])
    assert "Interrupted" in errors
    assert sorted(path.name for path in stopped.iterdir()) == ["runs"]
    assert played == [("HIST_N2_shards", False), ("HFedAvg_N2_shards", False)]
    assert reproduce(name, "--quick", "--out", stopped)[0] == 0
    assert played[2:] == [
        ("HFedAvg_N2_shards", True),
        ("HIST_N4_shards", False),
        ("HFedAvg_N4_shards", False),
    ]
    assert (stopped / f"{name}.csv").read_bytes() == (whole / f"{name}.csv").read_bytes()
    assert reproduce(name, "--quick", "--out", stopped)[0] == 0
    assert len(played) == 5
    code, _, errors = reproduce(name, "--quick", "--out", stopped, "--seed", 2)
    assert code == 2
    assert "another configuration" in errors


# --- what is missing ---


def refused(call: tuple[int, str, str]) -> str:
    """The message of one clear error."""
    code, _, errors = call
    (line,) = errors.splitlines()
    assert code == 2
    assert line.startswith("Error: ")
    assert "Usual fix: " in line
    return line


def test_without_data_or_weights_nothing_begins(reproduce, monkeypatch, tmp_path):
    empty, out = tmp_path / "empty", tmp_path / "out"
    empty.mkdir()
    monkeypatch.delenv("COSIM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(empty))
    to_out, of_empty = ("--out", out), ("--data-dir", empty)
    assert "train-images" in refused(reproduce("hist-table1", "--quick", *to_out, *of_empty))
    for places in ((), of_empty):
        assert "cifar-10-binary.tar.gz" in refused(reproduce("hist-table2", *to_out, *places))
    assert "GPT-2's weights: no folder" in refused(reproduce("hist-table3", *to_out, *of_empty))
    monkeypatch.setenv("COSIM_GPT2", str(empty))
    assert "config.json" in refused(reproduce("hist-table3", *to_out, *of_empty))
    stand_in_texts.write(tmp_path / "stand-in")
    monkeypatch.setenv("COSIM_GPT2", str(tmp_path / "stand-in" / "gpt2"))
    assert newsgroups.TRAIN in refused(reproduce("hist-table3", *to_out, *of_empty))
    assert "20 Newsgroups: no folder" in refused(reproduce("hist-table3", *to_out))
    six = refused(reproduce("hist-table3", *to_out, "--data-dir", tmp_path / "stand-in"))
    assert "(1, 20)" in six
    assert "(1, 6)" in six
    assert not out.exists()


@pytest.mark.parametrize("module", ["transformers", "tokenizers", "safetensors.torch"])
def test_without_transformers_the_quick_form_of_table_iii_says_what_to_install(
    module, reproduce, monkeypatch, tmp_path
):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, module, None)
        assert "pip install 'cosim[lora]'" in refused(reproduce("hist-table3", "--quick", "--out", tmp_path))
    assert not (tmp_path / "runs").exists()
    stand_in_texts.write(tmp_path / "stand-in")
    assert (tmp_path / "stand-in" / "gpt2" / "model.safetensors").exists()


def test_a_folder_that_cannot_be_written_is_named(reproduce, tmp_path):
    (tmp_path / "file").touch()
    for name in ("hist-table2", "hist-table3"):
        assert "cannot be written" in refused(reproduce(name, "--quick", "--out", tmp_path / "file" / "out"))


# --- texts that stand in ---


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_stand_ins_are_the_same_wherever_they_are_written(tmp_path):
    """What is there is left alone."""
    state = torch.get_rng_state()
    for name in ("a", "b"):
        stand_in_texts.write(tmp_path / name)
    assert torch.equal(torch.get_rng_state(), state)
    written = contents(tmp_path / "a")
    assert len(written) == 6 * (12 + 4) + 4
    assert contents(tmp_path / "b") == written
    own = tmp_path / "b" / newsgroups.TRAIN / "group.0" / "00000"
    own.unlink()
    stand_in_texts.write(tmp_path / "b")
    assert not own.exists()


def test_stand_ins_are_read_as_the_real_ones_are(tmp_path, monkeypatch):
    """Tokens spell the texts; 35 words in 100 are their group's own (99.9 % interval)."""
    tmp_path = tmp_path / "stand-in"
    monkeypatch.setattr(stand_in_texts, "_NUM_MESSAGES", {newsgroups.TRAIN: 90, newsgroups.TEST: 30})
    stand_in_texts.write(tmp_path)
    news = newsgroups.load(tmp_path, tmp_path / "gpt2")
    assert np.bincount(news.train_labels).tolist() == [90] * stand_in_texts.NUM_GROUPS
    assert np.bincount(news.test_labels).tolist() == [30] * stand_in_texts.NUM_GROUPS
    spell = GPT2TokenizerFast.from_pretrained(tmp_path / "gpt2").decode
    paths = sorted((tmp_path / newsgroups.TRAIN).glob("*/*"))
    texts = [path.read_text().partition("\n\n")[2].strip() for path in paths]
    for row, text in zip(news.train_tokens, texts, strict=True):
        assert text.startswith(spell(row[row >= 0]))
    used = [Counter(" ".join(texts[90 * group :][:90]).split()) for group in range(stand_in_texts.NUM_GROUPS)]
    for group, counts in enumerate(used):
        own = {word for word, _ in counts.most_common(12)}
        assert not own & set().union(*(others for n, others in enumerate(used) if n != group))
        share, total = sum(counts[word] for word in own) / counts.total(), counts.total()
        assert total == 90 * 40
        assert abs(share - 0.35) < 3.29 * math.sqrt(0.35 * 0.65 / total)
    monkeypatch.setenv("COSIM_GPT2", str(tmp_path / "gpt2"))
    network = models.build(f"gpt2lora-16-{stand_in_texts.NUM_GROUPS}")
    assert len(network.unit_groups) == stand_in_texts.NUM_LAYERS
