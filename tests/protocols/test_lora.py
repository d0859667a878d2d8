"""HIST of low-rank adapters on the clock: ranks as bits and cycles, deadlines, sums over the air, resuming.

Texts and GPT-2 are made up: two layers of width 64, and texts of up to 30 words.
"""

import threading
from collections.abc import Collection, Iterator
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
import worlds
from data_sets import loaded
from here import Stopped
from hypothesis import given, settings
from torch.func import functional_call
from torch.nn.functional import cross_entropy

import cosim
from cosim import (
    AfterRounds,
    Deadline,
    EdgeTraining,
    FixedShares,
    GivenSnr,
    HFedAvg,
    Hist,
    Never,
    PerGroup,
    Sgd,
    System,
    evolve,
)
from cosim.clock.simulation import Simulation
from cosim.data import Iid, Newsgroups20
from cosim.data.dataset import Dataset
from cosim.data.texts.newsgroups_files import TEST, TRAIN
from cosim.devices import CyclesPerOperation
from cosim.ends import EveryVersions
from cosim.engine.learning.learner import Learner
from cosim.engine.run.ground import ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.engine.servers.cloud import Cloud
from cosim.engine.store.checkpoint import Checkpoint
from cosim.networks.named import network_of
from cosim.protocols.drawn_parts import draw_parts, even_counts
from cosim.radio import OverTheAir
from cosim.recording.recorder import Recorder
from cosim.values.submodels import NetworkShape, Part
from cosim.values.weights import cut
from models.gpt2_lora import Gpt2Lora
from scenarios.reproduce.hist import stand_in_texts

LAYERS, WIDTH, CLASSES, TOKENS = 2, 64, 6, 128
RANK, SAMPLES = 5, 12
RATE, STEPS, ROUNDS, EDGE_ROUNDS = 2.0, 2, 2, 2
LORA = worlds.alike(
    2,
    2,
    model=f"gpt2lora-{RANK}-{CLASSES}",
    data=Newsgroups20(split=Iid()),
    uplink=worlds.still(1000.0, sharing=FixedShares()),
    protocol=Hist(
        training=EdgeTraining(
            num_edge_rounds=EDGE_ROUNDS,
            steps=cosim.SameSteps(num_local_steps=STEPS),
            local=Sgd(batch_size=4, learning_rate=RATE),
        ),
    ),
    end=AfterRounds(num_global_rounds=ROUNDS),
)
RANKS = {"edge-00": 3, "edge-01": 2}
"""Parts of five that the cells get."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Few short texts, so that rows are padded: 8 and 3 of a group."""
    folder = tmp_path_factory.mktemp("texts") / "stand-in"
    stand_in_texts.write(folder)
    for split, num_messages in ((TRAIN, 8), (TEST, 3)):
        for path in folder.glob(f"{split}/*/*"):
            number = int(path.name)
            if number >= num_messages:
                path.unlink()
            else:
                path.write_text(f"X: y\n\n{' '.join(path.read_text().split()[2 : 5 + 3 * number])}")
    return folder


@pytest.fixture(autouse=True, scope="module")
def gpt2(folder: Path) -> Iterator[None]:
    """GPT-2 is found; threads, which wait for each other on networks this small, are switched off."""
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COSIM_GPT2", str(folder / "gpt2"))
        yield
    torch.set_num_threads(num_threads)


@pytest.fixture(scope="module")
def lora(gpt2: None) -> Gpt2Lora:
    return network_of(LORA.model)  # type: ignore[return-value]


@pytest.fixture(scope="module")
def texts(gpt2: None, folder: Path) -> Dataset:
    return loaded(Newsgroups20(), folder)


@pytest.fixture
def run_lora(lora: Gpt2Lora, folder: Path):
    return lambda system, **options: cosim.run(system, lora, data_dir=folder, num_workers=1, **options)


# --- parts ---


@settings(max_examples=30)
@given(num_cells=st.integers(1, RANK), seed=st.integers(0, 2**32))
def test_parts_are_disjoint_and_what_they_add_to_a_token_adds_up(lora, num_cells, seed):
    shape = NetworkShape.of(lora)
    parts = draw_parts(shape.num_units, even_counts(shape.num_units, num_cells), np.random.default_rng(seed))
    for layer in range(LAYERS):
        held = [part.units[f"layer{layer}"] for part in parts]
        assert sorted(np.concatenate(held)) == list(range(RANK))
        assert max(map(len, held)) - min(map(len, held)) <= 1
    assert sum(map(shape.num_values, parts)) == shape.num_values() == LAYERS * RANK * (WIDTH + 3 * WIDTH)
    generator = torch.Generator().manual_seed(seed)
    weights = {name: torch.randn(size, generator=generator) for name, size in shape.tensors.items()}
    z_BTI = torch.randn((2, 3, WIDTH), generator=generator)
    smaller = [cut(weights, shape, part) for part in parts]
    for layer, adapter in enumerate(lora.adapters):
        added = [
            functional_call(adapter, {n: own[f"adapters.{layer}.{n}"] for n in "AB"}, (z_BTI,))
            for own in smaller
        ]
        whole = 16.0 / RANK * z_BTI @ weights[f"adapters.{layer}.A"].T @ weights[f"adapters.{layer}.B"].T
        torch.testing.assert_close(sum(added), whole, rtol=1e-4, atol=1e-4)


# --- learning ---


def run_of(system: System, lora: Gpt2Lora, texts: Dataset) -> tuple[Recorder, Learner, Cloud, dict]:
    """The trace, the learner, the network of nodes and the global model."""
    ground, learner = ground_of(system), Learner(lora, texts, num_workers=1)
    sim = ground.sim
    cloud = nodes_of(system, ground, learner, lambda: texts)
    return sim.recorder, learner, cloud, learner.weights(sim.run(system.protocol.run(sim, cloud)))


def masked_sgd(lora: Gpt2Lora, weights: dict, masks: dict, texts: Dataset, samples) -> dict:
    """Steps of the whole network on all samples of a client, all ranks outside of a part switched off."""
    leaves = {name: values.clone().requires_grad_() for name, values in weights.items()}
    x_BT, y_B = torch.tensor(texts.train_x[samples]), torch.tensor(texts.train_y[samples])
    optimizer = torch.optim.SGD(leaves.values(), lr=RATE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        masked = {name: values * masks[name] for name, values in leaves.items()}
        cross_entropy(functional_call(lora, masked, (x_BT,)), y_B).backward()
        optimizer.step()
    return {name: values.detach() for name, values in leaves.items()}


def by_hand(
    system: System, lora: Gpt2Lora, texts: Dataset, cloud: Cloud, model: dict, late: Collection[str]
) -> dict:
    """Algorithm 1 on whole networks; the updates of late clients are lost."""
    for global_round in range(1, ROUNDS + 1):
        parts = system.protocol.parts(Simulation(system.seed), cloud, global_round)
        found = {name: torch.zeros_like(values) for name, values in model.items()}
        for edge, part in zip(cloud.edges, parts, strict=True):
            masks = rank_masks(part)
            edge_model = model
            for _ in range(EDGE_ROUNDS):
                in_time = [client for client in edge.clients if client.name not in late]
                updates = [masked_sgd(lora, edge_model, masks, texts, client.samples) for client in in_time]
                edge_model = {name: sum(u[name] for u in updates) / len(updates) for name in model}
            for name, mask in masks.items():
                found[name] += mask * edge_model[name]
        model = found
    return model


def rank_masks(part: Part) -> dict[str, torch.Tensor]:
    """1 for the ranks of a part: a row of every A, a column of every B."""
    masks = {}
    for layer in range(LAYERS):
        mask = torch.zeros(RANK)
        mask[torch.tensor(part.units[f"layer{layer}"])] = 1.0
        masks |= {f"adapters.{layer}.A": mask[:, None], f"adapters.{layer}.B": mask}
    return masks


def test_global_model_is_that_of_masked_whole_networks(lora, texts):
    """Batches are all that a client has, so their order does not matter; one is too slow."""
    training = evolve(
        LORA.protocol.training,
        local=Sgd(batch_size=SAMPLES, learning_rate=RATE),
        waiting=Deadline(deadline_s=0.05),
    )
    system = evolve(
        LORA,
        devices=worlds.processors(1e9, 1e9, 1e9, 1e7),
        protocol=evolve(LORA.protocol, training=training),
    )
    trace, learner, cloud, found = run_of(system, lora, texts)
    assert {len(client.samples) for edge in cloud.edges for client in edge.clients} == {SAMPLES}
    first = learner.initial_model(Simulation(system.seed).key("cloud", "initial weights"))
    start = {name: torch.tensor(values) for name, values in learner.weights(first).items()}
    late = {"client-0003"}
    wanted = by_hand(system, lora, texts, cloud, start, late)
    for name, values in found.items():
        np.testing.assert_allclose(values, wanted[name], rtol=1e-3, atol=1e-5)
        assert np.abs(values - start[name].numpy()).max() > 1e-3
    cut_short = [span for span in trace.spans if span.outcome != "done"]
    assert [(span.node, span.activity, span.outcome) for span in cut_short] == ROUNDS * EDGE_ROUNDS * [
        (client, "train", "deadline") for client in late
    ]
    power_w = 0.5 * 2e-28 * 1e7**3
    assert [span.energy_j for span in cut_short] == pytest.approx([0.05 * power_w] * len(cut_short), rel=1e-9)


# --- bits and cycles ---


def seconds_by_cell(result: cosim.Result) -> dict[str, float]:
    """How long a client of a cell trains in an edge round; the same for all of a cell."""
    training = result.spans[result.spans["activity"] == "train"]
    edges = result.transfers.drop_duplicates("client").set_index("client")["edge"]
    lasting = (training["end_s"] - training["start_s"]).groupby(training["node"].map(edges))
    assert (lasting.max() - lasting.min()).max() < 1e-12
    return lasting.mean().to_dict()


def test_uploads_and_steps_follow_the_ranks(run_lora):
    """All that is trained is cut, so a part of r of 5 ranks sends and computes r fifths."""
    result = run_lora(evolve(LORA, evaluation=Never()))
    bits = result.transfers.groupby("edge")["payload_bits"].agg(["min", "max"])
    for edge, ranks in RANKS.items():
        assert set(bits.loc[edge]) == {32 * LAYERS * ranks * (WIDTH + 3 * WIDTH)}
    assert seconds_by_cell(result) == pytest.approx(
        {edge: STEPS * 1e6 * ranks / RANK / 1e9 for edge, ranks in RANKS.items()}, rel=1e-9
    )
    hfedavg = HFedAvg(training=LORA.protocol.training)
    whole = run_lora(evolve(LORA, evaluation=Never(), protocol=hfedavg, end=AfterRounds(num_global_rounds=1)))
    assert set(whole.transfers["payload_bits"]) == {32 * LAYERS * RANK * (WIDTH + 3 * WIDTH)}


def training_flops(ranks: int) -> int:
    """By hand: frozen matrices pass gradients on but get none, and nothing before layer 0 wants one."""
    attention = 2 * 3 * TOKENS**2 * WIDTH
    total = 2 * WIDTH * CLASSES
    for layer in range(LAYERS):
        wants_input = int(layer > 0)
        total += (1 + wants_input) * TOKENS * WIDTH * 3 * WIDTH
        total += (2 + wants_input) * TOKENS * WIDTH * ranks + 3 * TOKENS * ranks * 3 * WIDTH
        total += attention + 2 * TOKENS * WIDTH * (WIDTH + 4 * WIDTH + 4 * WIDTH)
    return 2 * total


def test_by_operations_the_frozen_layers_cost_every_cell_nearly_the_same(lora, texts, run_lora):
    result = run_lora(evolve(LORA, evaluation=Never(), cycles=CyclesPerOperation()))
    learner = Learner(lora, texts, num_workers=1)
    shape = learner.shape
    parts = draw_parts(shape.num_units, even_counts(shape.num_units, 2), np.random.default_rng(1))
    assert learner.flops.of() == training_flops(RANK)
    assert [learner.flops.of(part) for part in parts] == list(map(training_flops, RANKS.values()))
    assert seconds_by_cell(result) == pytest.approx(
        {edge: STEPS * 0.125 * training_flops(ranks) * 4 / 1e9 for edge, ranks in RANKS.items()}, rel=1e-9
    )
    shares = {edge: training_flops(ranks) / training_flops(RANK) for edge, ranks in RANKS.items()}
    assert min(shares.values()) > 0.9 > 0.6 == max(RANKS.values()) / RANK


# --- deadlines, sums over the air, resuming ---


def test_over_the_air_a_symbol_per_value_and_noise_on_adapters(run_lora):
    """Without noise worth the name it is what fixed shares learn."""
    air = evolve(
        LORA,
        uplink=evolve(LORA.uplink, sharing=OverTheAir(), link=GivenSnr(snr_db=PerGroup(values=(200.0,)))),
    )
    result = run_lora(air)
    settings_ = air.uplink.sharing
    sends = result.transfers.assign(seconds=result.transfers["end_s"] - result.transfers["start_s"])
    for edge, rows in sends.groupby("edge"):
        symbols = LAYERS * RANKS[edge] * 4 * WIDTH / (settings_.bandwidth_hz / settings_.subcarrier_hz)
        assert rows["seconds"].to_numpy() == pytest.approx(symbols * settings_.symbol_s, rel=1e-9)
    fixed = run_lora(LORA)
    np.testing.assert_allclose(result.evaluations["loss_nats"], fixed.evaluations["loss_nats"], rtol=1e-3)
    noisy = run_lora(evolve(air, uplink=evolve(air.uplink, link=GivenSnr(snr_db=PerGroup(values=(0.0,))))))
    assert np.isfinite(noisy.evaluations["loss_nats"]).all()
    assert abs(noisy.evaluations["loss_nats"].iloc[-1] - fixed.evaluations["loss_nats"].iloc[-1]) > 0.01


def test_a_stopped_run_goes_on_bit_for_bit_and_keeps_adapters_only(run_lora, tmp_path):
    def stop(report):
        if report.version == 1:
            raise Stopped

    run_lora(LORA, out=tmp_path / "whole")
    with pytest.raises(Stopped):
        run_lora(LORA, out=tmp_path / "stopped", listener=stop)
    assert Checkpoint.load(tmp_path / "stopped").version == 1
    run_lora(LORA, out=tmp_path / "stopped", resume=True)
    found, wanted = (Checkpoint.load(tmp_path / name) for name in ("stopped", "whole"))
    assert wanted.weights.keys() == {f"adapters.{layer}.{n}" for layer in range(LAYERS) for n in "AB"}
    for name, values in wanted.weights.items():
        np.testing.assert_array_equal(found.weights[name], values)
    for name in ("spans", "transfers", "evaluations"):
        of_stopped, of_whole = (tmp_path / run / f"{name}.parquet" for run in ("stopped", "whole"))
        assert of_stopped.read_bytes() == of_whole.read_bytes()


# --- frozen weights ---


def test_all_threads_share_the_frozen_weights_and_none_changes_them(folder):
    """Two workers train side by side, each in its own network around the same GPT-2."""
    own = network_of(LORA.model)
    frozen = {name: p for name, p in own.named_parameters() if not p.requires_grad}
    places = {name: p.data_ptr() for name, p in frozen.items()}
    before = {name: p.clone() for name, p in frozen.items()}
    met, seen = threading.Barrier(2), {}

    def look(module, _inputs):
        thread = threading.current_thread().name
        if torch.is_grad_enabled() and thread.startswith("learner") and thread not in seen:
            found = {name: p.data_ptr() for name, p in module.named_parameters() if name in places}
            seen[thread] = (id(module), found)
            met.wait(timeout=300.0)

    own.register_forward_pre_hook(look)
    cosim.run(
        evolve(LORA, evaluation=EveryVersions(num_versions=ROUNDS)), own, data_dir=folder, num_workers=2
    )
    assert len(seen) == 2
    assert len({module for module, _ in seen.values()}) == 2
    assert all(found == places for _, found in seen.values())
    for name, p in own.named_parameters():
        if name in before:
            assert p.data_ptr() == places[name]
            assert torch.equal(p, before[name])
